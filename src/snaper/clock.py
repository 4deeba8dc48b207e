"""From a mean trajectory length to leapfrog steps, and the time that the criterion is told."""

from dataclasses import dataclass

import jax.numpy as jnp

from ._types import Scalar


@dataclass(frozen=True)
class Integrated:
    """Told is the time really integrated, whose mean is the mean trajectory length.

    Rounding up adds half a step on average, so half a step is taken off before the jitter.
    """

    def steps(self, jitter: Scalar, length: Scalar, step_size: Scalar) -> Scalar:
        return jnp.ceil(jitter * (length / step_size - 0.5))

    def told(self, jitter: Scalar, length: Scalar, integrated: Scalar) -> Scalar:
        return integrated


@dataclass(frozen=True)
class Drawn:
    """Told is the time that was drawn, before rounding up to whole steps."""

    def steps(self, jitter: Scalar, length: Scalar, step_size: Scalar) -> Scalar:
        return jnp.ceil(jitter * length / step_size)

    def told(self, jitter: Scalar, length: Scalar, integrated: Scalar) -> Scalar:
        return jitter * length

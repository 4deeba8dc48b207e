"""From a mean trajectory length to leapfrog steps, and the time that the criterion is told."""

from dataclasses import dataclass

import jax.numpy as jnp

from ._types import Scalar


class _Whole:
    """Rounds up to whole steps, or to whole pairs of them, which adds half of that on average."""

    def unit(self, alternation: Scalar | float) -> Scalar | float:
        """How many steps belong together."""
        return 1.0

    def longest(self, length: Scalar, unit: Scalar | float) -> Scalar:
        """The longest step that is taken on trajectories of this mean length."""
        return jnp.full_like(length, jnp.inf)


@dataclass(frozen=True)
class Integrated(_Whole):
    """Told is the time really integrated, whose mean is the mean trajectory length: what rounding
    adds is taken off before the jitter.
    """

    def steps(
        self, jitter: Scalar, length: Scalar, step_size: Scalar, cap: Scalar, unit: Scalar | float
    ) -> Scalar:
        units = jnp.ceil(jitter * (length / (unit * step_size) - 0.5))
        return jnp.minimum(unit * jnp.clip(units, 1, jnp.maximum(cap // unit, 1)), cap)

    def told(self, jitter: Scalar, length: Scalar, integrated: Scalar) -> Scalar:
        return integrated


@dataclass(frozen=True)
class Paired(Integrated):
    """The same, in pairs where kicks alternate: at least one, so that no step is longer than half
    of the mean trajectory. Single steps where no pair is allowed.
    """

    def unit(self, alternation: Scalar | float) -> Scalar:
        return jnp.where(alternation > 0, 2.0, 1.0)

    def longest(self, length: Scalar, unit: Scalar | float) -> Scalar:
        return length / unit


@dataclass(frozen=True)
class Drawn(_Whole):
    """Told is the time that was drawn, before rounding up to whole steps."""

    def steps(
        self, jitter: Scalar, length: Scalar, step_size: Scalar, cap: Scalar, unit: Scalar | float
    ) -> Scalar:
        return jnp.clip(jnp.ceil(jitter * length / step_size), 1, cap)

    def told(self, jitter: Scalar, length: Scalar, integrated: Scalar) -> Scalar:
        return jitter * length

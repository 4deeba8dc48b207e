"""Running averages that forget: the window grows with the steps, so early iterates fade."""

import jax.numpy as jnp

from .._types import Scalar


def weight(step: Scalar, memory: float, dtype, pseudo: float = 0.0) -> Scalar:
    """Weight of the newest value, 1 / (ceil(step / memory) + 1), step counted from zero.

    `pseudo` counts observations made before the first one; with none, the first value replaces the
    start.
    """
    return 1.0 / (jnp.ceil(step.astype(dtype) / memory) + 1.0 + pseudo)


def blend(old, new, weight: Scalar):
    """Move an average towards a new value."""
    return old + weight * (new - old)

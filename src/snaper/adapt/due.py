"""When to do what is too costly to do after every transition."""

import jax.numpy as jnp

from .._types import Scalar

FIRST = 8  # transitions before which nothing is worth it


def due(step: Scalar, per_doubling: float, every: int = 1) -> Scalar:
    """Whether now, if so many times while the number of transitions doubles, and only after each
    `every` of them; it depends on their number alone.
    """
    number = step.astype(jnp.float32)
    before, after = (
        jnp.floor(per_doubling * jnp.log2(number + later) + 1e-4)  # whole numbers are rounded
        for later in (1.0, 1.0 + every)
    )
    return (before != after) & (step >= FIRST) & (step % every == 0)

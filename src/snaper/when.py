"""A branch for large states."""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from ._types import Scalar

Tree = TypeVar("Tree")


def when(now: Scalar, update: Callable[..., Tree], state: Tree, *seen: Any) -> Tree:
    """`update(state, *seen)` if now is the time, else the state as it is.

    A loop of one turn or none leaves a state where it lies; `lax.cond` copies it, which can take
    longer than a gradient. Whatever `update` computes with must be handed to it: a compiler takes
    what no turn changes out of the loop, and would compute it at all times.
    """

    def turn(i, state):
        _, state, seen_now = jax.lax.optimization_barrier((i, state, seen))
        return update(state, *seen_now)

    return jax.lax.fori_loop(0, now.astype(jnp.int32), turn, state)

"""Seconds, on machines that do other things too."""

import time
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from snaper import Target
from snaper.hmc import init

ROUNDS = 5
_TINY = 1e-30  # enough that the compiler cannot leave a gradient out


def seconds(call: Callable[[], object]) -> float:
    """Of one call, until its arrays are there."""
    began = time.perf_counter()
    jax.block_until_ready(call())
    return time.perf_counter() - began


def in_turn(*calls: Callable[[], float], rounds: int = ROUNDS) -> np.ndarray:
    """What the calls return, [round, call]: A, B, A, B, ..., so that both sides of a ratio meet the
    same machine.
    """
    return np.asarray([[call() for call in calls] for _ in range(rounds)])


class Bare:
    """Loops of known length of nothing but gradients, and of the density with its gradient."""

    def __init__(self, target: Target, x: jax.Array, wanted: float = 0.2):
        self._target, self._x = target, x
        self._lengths = [self._long_enough(loop, wanted) for loop in (_gradients, _both)]

    def _long_enough(self, loop, wanted: float) -> int:
        """Turns that take about so many seconds."""
        length = 4
        while True:
            jax.block_until_ready(loop(self._target, self._x, length))  # compiles
            took = seconds(partial(loop, self._target, self._x, length))
            if took > 0.25 * wanted or length >= 2**16:
                return length
            length = int(min(length * np.clip(0.5 * wanted / took, 2, 64), 2**16))

    def gradient(self) -> float:
        """Seconds of one batch of gradients."""
        length = self._lengths[0]
        return seconds(lambda: _gradients(self._target, self._x, length)) / length

    def both(self) -> float:
        """Seconds of one batch of densities with gradients."""
        length = self._lengths[1]
        return seconds(lambda: _both(self._target, self._x, length)) / length


@partial(jax.jit, static_argnums=2)
def _gradients(target: Target, x: jax.Array, length: int) -> jax.Array:
    gradient = jax.vmap(jax.grad(target.logp))
    return jax.lax.fori_loop(0, length, lambda _, x: x + _TINY * gradient(x), x)


@partial(jax.jit, static_argnums=2)
def _both(target: Target, x: jax.Array, length: int) -> tuple[jax.Array, jax.Array]:
    def body(_, carry):
        x, total = carry
        chains = init(target.logp, x)
        return x + _TINY * chains.grad, total + chains.logp

    return jax.lax.fori_loop(0, length, body, (x, jnp.zeros_like(x[:, 0])))

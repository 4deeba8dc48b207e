"""What is sampled, and where chains start."""

import jax
import jax.numpy as jnp

import snaper
from experiments.paper.problems import PROBLEMS
from snaper import targets

__all__ = ["AUTOREGRESSION", "PROBLEMS", "TITLES", "start", "target"]

AUTOREGRESSION = "autoregression"  # where the metric is of low rank, and gradients cost little
TITLES = {**PROBLEMS, AUTOREGRESSION: "Autoregression"}
_STEPS, _MEMORY = 1000, 0.9


def target(problem: str) -> snaper.Target:
    """One of the posteriors, or the autoregression."""
    if problem == AUTOREGRESSION:
        return snaper.Target(_log_autoregression, jnp.zeros(_STEPS, jnp.float32))
    return targets.get(problem)


def start(problem: str, chains: int) -> jax.Array:
    """All chains at one point, [chain, dim]: the prior mean; of the autoregression ones."""
    point = (
        jnp.ones(_STEPS, jnp.float32)
        if problem == AUTOREGRESSION
        else targets.prior_mean(problem, jax.random.key(3))
    )
    return jnp.broadcast_to(point, (chains, point.size))


def _log_autoregression(x: jax.Array) -> jax.Array:
    """A normal: each coordinate remembers the one before."""
    return -0.5 * (x[0] ** 2 + jnp.sum((x[1:] - _MEMORY * x[:-1]) ** 2))

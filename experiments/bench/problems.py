"""What is sampled, and where chains start."""

import jax
import jax.numpy as jnp

import snaper
from experiments.paper.problems import PROBLEMS
from snaper import targets

__all__ = ["PROBLEMS", "TITLES", "WALK", "start", "target"]

WALK = "autoregression"  # where the metric is of low rank, and gradients cost little
TITLES = {**PROBLEMS, WALK: "Autoregression"}
_STEPS, _MEMORY = 1000, 0.9


def target(problem: str) -> snaper.Target:
    """One of the posteriors, or the normal."""
    if problem == WALK:
        return snaper.Target(_log_walk, jnp.zeros(_STEPS, jnp.float32))
    return targets.get(problem)


def start(problem: str, chains: int) -> jax.Array:
    """All chains at the prior mean, [chain, dim]; of the normal, at a point about as far out."""
    point = (
        jnp.ones(_STEPS, jnp.float32)
        if problem == WALK
        else targets.prior_mean(problem, jax.random.key(3))
    )
    return jnp.broadcast_to(point, (chains, point.size))


def _log_walk(x: jax.Array) -> jax.Array:
    """Each coordinate remembers the one before."""
    return -0.5 * (x[0] ** 2 + jnp.sum((x[1:] - _MEMORY * x[:-1]) ** 2))

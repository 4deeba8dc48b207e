"""What is sampled, and where chains start."""

import jax
import jax.numpy as jnp

from experiments.paper.problems import PROBLEMS
from snaper import targets

__all__ = ["PROBLEMS", "start"]


def start(problem: str, chains: int) -> jax.Array:
    """All chains at the prior mean, [chain, dim]."""
    point = targets.prior_mean(problem, jax.random.key(3))
    return jnp.broadcast_to(point, (chains, point.size))

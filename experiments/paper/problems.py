"""The six posteriors, in the order of the tables, and where chains start."""

import jax
import jax.numpy as jnp

from snaper import targets

PROBLEMS = {
    "brownian-bridge": "Brownian Bridge",
    "hierarchical-linear": "Hierarchical Linear Model",
    "item-response": "Item Response Theory",
    "logistic-regression": "Logistic Regression",
    "sparse-logistic-regression": "Sparse Logistic Regression",
    "stochastic-volatility": "Stochastic Volatility",
}
CHAINS = 64
_START = 3  # seed of the prior draws; some of stochastic volatility's means are at 1e8


def start(name: str) -> jax.Array:
    """All chains at the prior mean, [chain, dim]."""
    point = targets.prior_mean(name, jax.random.key(_START))
    return jnp.broadcast_to(point, (CHAINS, point.size))

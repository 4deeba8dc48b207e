"""The six posteriors, in the order of the tables, and where chains start."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp

from snaper import targets
from snaper.target import Target

from . import fused

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


@dataclass(frozen=True, eq=False)
class Problem:
    """What is sampled, where chains start, and how its points are those of the posterior that is
    measured: for coordinates other than the posterior's own.
    """

    target: Target
    start: jax.Array  # [chain, dim]
    original: Callable[[jax.Array], jax.Array] = lambda x: x  # of points [..., dim]


def get(name: str) -> Problem:
    """With a kernel for its gradient, where there is one."""
    make = fused.TARGETS[name] if has_kernel(name) else partial(targets.get, name)
    return Problem(make(), start(name))


def has_kernel(name: str) -> bool:
    """Whether its gradient is one here."""
    return name in fused.TARGETS and jax.default_backend() == "gpu"


def start(name: str) -> jax.Array:
    """All chains at the prior mean, [chain, dim]."""
    point = targets.prior_mean(name, jax.random.key(_START))
    return jnp.broadcast_to(point, (CHAINS, point.size))

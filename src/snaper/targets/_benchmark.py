"""What is known of a benchmark beyond its log density."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from .._types import Key
from ..target import Target
from ._data import load

Quantities = dict[str, Any]
"""Named arrays: the parameters of a target, or what is computed from them."""


class Moments(NamedTuple):
    """Mean and standard deviation of each quantity, and how well they are known."""

    mean: dict[str, np.ndarray]
    sd: dict[str, np.ndarray]
    standard_error: float
    """The largest standard error among the means, in standard deviations; 0 for exact moments."""


def identity(params: Quantities) -> Quantities:
    return params


class Benchmark(NamedTuple):
    """A target with a prior to start from and moments to compare with."""

    target: Target
    sample_prior: Callable[[Key], Quantities]
    """One draw of the (constrained) parameters from the prior.

    A target that is no posterior has no prior: the draw is then an exact one from the target.
    """
    moments: Moments | None
    """Of `quantities`; None where they are unknown."""
    quantities: Callable[[Quantities], Quantities] = identity
    """What the moments are of, from one point's (constrained) parameters."""

    def prior_mean(self, key: Key, draws: int = 256) -> jax.Array:
        """A start for the chains: the mean of prior draws, mapped to unconstrained space."""
        prior = jax.vmap(self.sample_prior)(jax.random.split(key, draws))
        return self.target.flatten(jax.tree.map(lambda values: values.mean(axis=0), prior))


def shipped_moments(name: str) -> Moments:
    """Moments estimated by long runs of another sampler."""
    found = load("moments")
    stacked = {
        key.split("/")[1]: value for key, value in found.items() if key.startswith(f"{name}/")
    }
    return Moments(
        mean={key: value[0] for key, value in stacked.items()},
        sd={key: value[1] for key, value in stacked.items()},
        standard_error=float(found["standard_error"][_order(found).index(name)]),
    )


def _order(found: dict[str, np.ndarray]) -> list[str]:
    """The targets in the order of their first array."""
    return list(dict.fromkeys(key.split("/")[0] for key in found if "/" in key))

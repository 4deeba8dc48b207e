"""Benchmark posteriors and small teaching targets, by name."""

from types import ModuleType
from typing import NamedTuple

import jax

from .._types import Key
from ..target import Target
from . import (
    banana,
    brownian_bridge,
    eight_schools,
    funnel,
    gaussian_spectrum,
    hierarchical_linear,
    ill_conditioned_gaussian,
    item_response,
    logistic_regression,
    sparse_logistic_regression,
    stochastic_volatility,
)
from ._benchmark import Benchmark, Moments
from ._data import DataError

__all__ = [
    "Benchmark",
    "DataError",
    "Description",
    "Moments",
    "benchmark",
    "describe",
    "get",
    "names",
    "prior_mean",
]

_MODULES: dict[str, ModuleType] = {
    "logistic-regression": logistic_regression,
    "sparse-logistic-regression": sparse_logistic_regression,
    "brownian-bridge": brownian_bridge,
    "item-response": item_response,
    "hierarchical-linear": hierarchical_linear,
    "stochastic-volatility": stochastic_volatility,
    "gaussian-spectrum": gaussian_spectrum,
    "ill-conditioned-gaussian": ill_conditioned_gaussian,
    "funnel": funnel,
    "banana": banana,
    "eight-schools": eight_schools,
}


class Description(NamedTuple):
    """One line of a listing of the targets."""

    name: str
    dim: int
    summary: str
    source: str


def names() -> list[str]:
    """The names `get` knows."""
    return list(_MODULES)


def describe() -> list[Description]:
    """Name, dimension (with default options), summary and source of every target."""
    return [
        Description(name, module.DIM, module.SUMMARY, module.SOURCE)
        for name, module in _MODULES.items()
    ]


def benchmark(name: str, **options) -> Benchmark:
    """A target with its prior and, where they are known, its moments."""
    if name not in _MODULES:
        raise ValueError(f"There is no target named {name!r}; the names are {', '.join(_MODULES)}.")
    return _MODULES[name].benchmark(**options)


def get(name: str, **options) -> Target:
    """The target of this name."""
    return benchmark(name, **options).target


def prior_mean(name: str, key: Key, draws: int = 256, **options) -> jax.Array:
    """A start for the chains, [dim]: the mean of prior draws, mapped to unconstrained space."""
    return benchmark(name, **options).prior_mean(key, draws)

"""Changes of a log density over small moves, against what its gradients say."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import gammaln

import snaper
from snaper.diagnostics.slope import unexplained


def points(dim: int, dtype=np.float32) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(64, dim)).astype(dtype)


def of(log_density, x) -> np.ndarray:
    with jax.enable_x64(x.dtype == np.float64):
        return unexplained(snaper.Target(log_density, np.zeros_like(x[0])), x)


def funnel(x):
    return -(x[0] ** 2) / 18 - 0.5 * jnp.exp(-x[0]) * jnp.sum(x[1:] ** 2) - 4.5 * x[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_bent_density_is_explained(dtype):
    """Deep in its neck a step as long as these is a tenth of the width and more."""
    x = points(10, dtype)
    x[0, 0], x[0, 1:] = -10.0, 3.0 * np.exp(-5.0)
    assert of(funnel, x).max() < 1e-3


def overdispersed(x):
    """Counts of which the last are rounded away where the shape e^-2x is large."""
    shape = jnp.exp(-2.0 * x[0])
    return jnp.sum(gammaln(shape + jnp.arange(50.0)) - gammaln(shape)) - 0.5 * jnp.sum(x**2)


def test_digits_that_are_lost_in_one_place_are_seen_there():
    x = points(2)
    x[7, 0] = -8.0
    assert np.flatnonzero(of(overdispersed, x) > 0.3).tolist() == [7]
    assert of(overdispersed, x.astype(np.float64)).max() < 1e-3


@pytest.mark.parametrize("law", ["Student-t", "Cauchy"])
def test_heavy_tails_are_explained(law):
    """And a chain that is lost makes no others suspicious, however far off it is."""
    draws = {"Student-t": 4.0, "Cauchy": 1.0}[law]
    x = np.random.default_rng(2).standard_t(draws, size=(1024, 10)).astype(np.float32)
    x[5] = 1e6
    off = of(lambda x: -0.5 * (draws + 1.0) * jnp.sum(jnp.log1p(x**2 / draws)), x)
    assert off.max() < 1e-3


@pytest.mark.parametrize("gone", [np.inf, np.nan])
def test_a_chain_that_is_not_finite_hides_no_others(gone):
    x = points(2)
    x[7, 0], x[5] = -8.0, gone
    assert np.flatnonzero(of(overdispersed, x) > 0.3).tolist() == [7]


def test_where_chains_do_not_differ_nothing_can_be_told():
    x = np.tile(np.float32([-8.0, 1.0]), (64, 1))
    assert (of(overdispersed, x) == 0.0).all()

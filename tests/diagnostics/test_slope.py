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


@jax.custom_jvp
def doubled(x):
    return -0.5 * jnp.sum(x**2)


@doubled.defjvp
def _doubled_slope(primals, tangents):
    return doubled(primals[0]), -2.0 * jnp.dot(primals[0], tangents[0])


def test_a_gradient_that_is_not_the_slope_is_seen():
    """By as much as moves are long, even in double precision: 0.25 of a thousandth."""
    off = of(doubled, points(50, np.float64))
    assert 1e-4 < np.median(off) < 1e-2
    assert of(lambda x: -0.5 * jnp.sum(x**2), points(50, np.float64)).max() < 1e-12


def test_what_is_not_finite_or_stands_still_says_nothing():
    x = points(3)
    x[5] = np.inf
    x[:, 2] = 1.0
    off = of(lambda x: -0.5 * jnp.sum(x**2), x)
    assert not (off > 1e-3).any()

"""Means and variances against the truth.

Every comparison allows five Monte Carlo standard errors, by the run's own effective sample size:
for one normal coordinate a false alarm once in 1.7 million; a correct sampler fails one of these
tests with a probability below 1 in 500 over all coordinates, and seeds are fixed.
"""

import jax.numpy as jnp
import numpy as np
import pytest

import snaper
from snaper.diagnostics import ess

pytestmark = pytest.mark.statistical


def assert_moments(run, mean, variance):
    x = jnp.asarray(run.unconstrained, jnp.float64)
    pooled = np.asarray(x.reshape(-1, x.shape[-1]))
    assert_within(pooled, ess.ess_per_dimension(x), mean)
    squares = (x - jnp.asarray(mean)) ** 2
    assert_within(
        np.asarray(squares.reshape(-1, x.shape[-1])), ess.ess_per_dimension(squares), variance
    )


def assert_within(values, effective, truth):
    error = values.std(axis=0) / np.sqrt(np.asarray(effective))
    np.testing.assert_array_less(np.abs(values.mean(axis=0) - truth) / error, 5.0)


LARGE = pytest.param(1000, 1e4, False, marks=pytest.mark.slow)


def gaussian(x, covariance):
    axes, scale, mean = covariance
    z = (axes.T @ (x - mean)) / scale
    return -0.5 * (z @ z)


@pytest.mark.parametrize(
    ("dim", "condition", "rotated"),
    [(2, 1.0, False), (2, 1e4, True), (20, 1e2, True), (100, 1e4, False), LARGE],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gaussians(dim, condition, rotated, dtype):
    if dim == 1000 and dtype == np.float64:
        pytest.skip("single precision is the harder case")
    rng = np.random.default_rng(dim)
    scale = np.sqrt(np.geomspace(1.0 / condition, 1.0, dim))
    axes = np.linalg.qr(rng.normal(size=(dim, dim)))[0] if rotated else np.eye(dim)
    mean = rng.normal(size=dim)
    data = tuple(part.astype(dtype) for part in (axes, scale, mean))
    target = snaper.Target(gaussian, np.zeros(dim, dtype), data)
    run = snaper.sample(target, warmup=1200, draws=400, seed=1, progress=False)
    assert run.findings == []
    assert_moments(run, mean, (axes**2) @ scale**2)


def gumbel(x):
    """Independent Gumbel coordinates: skewness 1.14."""
    return -jnp.sum(x + jnp.exp(-x))


def test_a_skewed_target():
    run = snaper.sample(snaper.Target(gumbel, jnp.zeros(10)), draws=2000, seed=2, progress=False)
    assert run.findings == []
    assert_moments(run, np.full(10, np.euler_gamma), np.full(10, np.pi**2 / 6))


def banana(x):
    """x0 ~ N(0, 1), x1 | x0 ~ N(x0^2 - 1, 0.5^2)."""
    return -0.5 * x[0] ** 2 - 0.5 * ((x[1] - x[0] ** 2 + 1.0) / 0.5) ** 2


def test_a_banana():
    run = snaper.sample(snaper.Target(banana, jnp.zeros(2)), draws=4000, seed=3, progress=False)
    assert_moments(run, np.zeros(2), np.array([1.0, 2.25]))


@pytest.mark.parametrize("criterion", ["chees", "chees_rate", "esjd"])
@pytest.mark.parametrize("preset", ["default", "paper"])
def test_every_criterion_and_preset_samples_correctly(criterion, preset):
    rng = np.random.default_rng(5)
    scale, mean = np.array([1.0, 0.5, 0.2]), rng.normal(size=3)
    target = snaper.Target(gaussian, np.zeros(3), (np.eye(3), scale, mean))
    run = snaper.sample(
        target, warmup=500, draws=500, criterion=criterion, preset=preset, progress=False
    )
    assert_moments(run, mean, scale**2)


@pytest.mark.parametrize("chains", [1, 2, 5])
def test_few_chains_work_and_say_so(chains):
    data = (np.eye(3), np.array([1.0, 0.5, 0.2]), np.ones(3))
    target = snaper.Target(gaussian, np.zeros(3), data)
    run = snaper.sample(target, chains=chains, warmup=2000, draws=4000, seed=4, progress=False)
    assert "few-chains" in [finding.topic for finding in run.findings]
    assert_moments(run, np.ones(3), np.array([1.0, 0.25, 0.04]))

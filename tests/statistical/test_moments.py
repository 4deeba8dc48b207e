"""Means and variances against the truth.

Every comparison allows five Monte Carlo standard errors, by the run's own effective sample size:
for one normal coordinate a false alarm once in 1.7 million; a correct sampler fails one of these
tests with a probability below 1 in 500 over all coordinates, and seeds are fixed.
"""

import jax
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


def gaussian(x, shape):
    axes, scale, mean = shape
    z = (axes.T @ (x - mean)) / scale
    return -0.5 * (z @ z)


def gumbel(x, _):
    """Independent Gumbel coordinates: skewness 1.14."""
    return -jnp.sum(x + jnp.exp(-x))


def banana(x, _):
    """x0 ~ N(0, 1), x1 | x0 ~ N(x0^2 - 1, 0.5^2)."""
    return -0.5 * x[0] ** 2 - 0.5 * ((x[1] - x[0] ** 2 + 1.0) / 0.5) ** 2


LAWS = [gaussian, gumbel, banana]


def log_density(x, data):
    law, shape = data
    return jax.lax.switch(law, LAWS, x, shape)


def target(law, axes, scale, mean, dtype=np.float64):
    """One log density serves all, so that it is compiled once for each size and precision."""
    shape = tuple(np.asarray(part, dtype) for part in (axes, scale, mean))
    return snaper.Target(
        log_density, np.zeros(len(scale), dtype), (np.asarray(LAWS.index(law)), shape)
    )


def without_shape(law, dim, dtype=np.float64):
    return target(law, np.eye(dim), np.ones(dim), np.zeros(dim), dtype)


# Larger ones in single precision, which is the harder case, small ones in double.
SIZES = [
    (np.float32, 20, 1e2, True),
    (np.float64, 2, 1.0, False),
    (np.float64, 2, 1e4, True),
]
OTHERS = [
    (np.float32, 2, 1.0, False),
    (np.float32, 2, 1e4, True),
    (np.float32, 100, 1e4, False),
    (np.float32, 1000, 1e4, False),
    (np.float64, 20, 1e2, True),
    (np.float64, 100, 1e4, False),
]


@pytest.mark.parametrize(
    ("dtype", "dim", "condition", "rotated"),
    [*SIZES, *(pytest.param(*each, marks=pytest.mark.slow) for each in OTHERS)],
)
def test_gaussians(dtype, dim, condition, rotated):
    rng = np.random.default_rng(dim)
    scale = np.sqrt(np.geomspace(1.0 / condition, 1.0, dim))
    axes = np.linalg.qr(rng.normal(size=(dim, dim)))[0] if rotated else np.eye(dim)
    mean = rng.normal(size=dim)
    of = target(gaussian, axes, scale, mean, dtype)
    run = snaper.sample(of, warmup=1200, draws=400, seed=1, progress=False)
    assert run.findings == []
    assert_moments(run, mean, (axes**2) @ scale**2)


def test_a_skewed_target():
    of = without_shape(gumbel, 20, np.float32)
    run = snaper.sample(of, draws=2000, seed=2, progress=False)
    assert run.findings == []
    assert_moments(run, np.full(20, np.euler_gamma), np.full(20, np.pi**2 / 6))


def test_a_banana():
    run = snaper.sample(without_shape(banana, 2), draws=4000, seed=3, progress=False)
    assert_moments(run, np.zeros(2), np.array([1.0, 2.25]))


PAIRS = [("default", "esjd"), ("paper", "chees"), ("paper", "chees_rate")]
OTHER_PAIRS = [("default", "chees"), ("default", "chees_rate"), ("paper", "esjd")]


@pytest.mark.parametrize(
    ("preset", "criterion"),
    [*PAIRS, *(pytest.param(*each, marks=pytest.mark.slow) for each in OTHER_PAIRS)],
)
def test_every_criterion_and_preset_samples_correctly(preset, criterion):
    rng = np.random.default_rng(5)
    scale, mean = np.array([1.0, 0.5, 0.2]), rng.normal(size=3)
    run = snaper.sample(
        target(gaussian, np.eye(3), scale, mean),
        warmup=500,
        draws=500,
        criterion=criterion,
        preset=preset,
        progress=False,
    )
    assert_moments(run, mean, scale**2)


@pytest.mark.parametrize(
    "chains", [pytest.param(1, marks=pytest.mark.slow), 2, pytest.param(5, marks=pytest.mark.slow)]
)
def test_few_chains_work_and_say_so(chains):
    of = target(gaussian, np.eye(3), np.array([1.0, 0.5, 0.2]), np.ones(3))
    run = snaper.sample(of, chains=chains, warmup=2000, draws=4000, seed=4, progress=False)
    assert "few-chains" in [finding.topic for finding in run.findings]
    assert_moments(run, np.ones(3), np.array([1.0, 0.25, 0.04]))

"""Reductions over chains, against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from snaper import ensemble

pytestmark = pytest.mark.usefixtures("strict")

X = jax.random.normal(jax.random.key(0), (7, 3)) + 2.0
WEIGHT = jnp.array([1.0, 0.5, 0.0, 2.0, 0.25, 0.0, 1.0])
CENTRE = jnp.array([1.0, 2.0, 3.0])
DIRECTION = jnp.array([0.6, 0.0, 0.8])
KEPT = np.flatnonzero(WEIGHT)

REDUCTIONS = {
    "mean of numbers": lambda x, w: ensemble.mean(x[:, 0], w),
    "mean of vectors": ensemble.mean,
    "harmonic mean": lambda x, w: ensemble.harmonic_mean(jnp.abs(x[:, 0]) / 10, w),
    "variance": lambda x, w: ensemble.variance(x, CENTRE, w),
    "scatter": lambda x, w: ensemble.scatter(x, CENTRE, w, DIRECTION),
    "count": lambda x, w: ensemble.count(w),
}
each_reduction = pytest.mark.parametrize("name", REDUCTIONS)


def test_reductions_are_numpys():
    x, w = np.asarray(X), np.asarray(WEIGHT)
    z = x - np.asarray(CENTRE)
    covariance = np.einsum("k,ki,kj->ij", w / w.sum(), z, z)
    np.testing.assert_allclose(ensemble.mean(X, WEIGHT), np.average(x, axis=0, weights=w))
    np.testing.assert_allclose(ensemble.variance(X, CENTRE, WEIGHT), np.diag(covariance))
    np.testing.assert_allclose(
        ensemble.scatter(X, CENTRE, WEIGHT, DIRECTION), covariance @ np.asarray(DIRECTION)
    )
    np.testing.assert_allclose(ensemble.project(X, DIRECTION), x @ np.asarray(DIRECTION))
    np.testing.assert_allclose(ensemble.median(X[:, 0], X[:, 0] < 1e9), np.median(x[:, 0]))
    assert ensemble.count(WEIGHT) == 4.75


def test_harmonic_mean_is_ruled_by_the_worst_chain():
    probability = jnp.array([0.5, 0.25, 1.0])
    np.testing.assert_allclose(ensemble.harmonic_mean(probability, jnp.ones(3)), 3 / 7)
    dead = ensemble.harmonic_mean(jnp.array([1.0, 0.0]), jnp.ones(2))
    np.testing.assert_allclose(dead, 2 / (1 + 1e5))  # as if it were 1e-5


@each_reduction
def test_weight_zero_leaves_a_chain_out(name):
    reduce = REDUCTIONS[name]
    for far in (50.0, 1e200, np.inf):
        wild = X.at[2].set(far).at[5].set(-far)
        np.testing.assert_allclose(reduce(wild, WEIGHT), reduce(X, WEIGHT), rtol=1e-12)
    np.testing.assert_allclose(reduce(X, WEIGHT), reduce(X[KEPT], WEIGHT[KEPT]), rtol=1e-12)


@each_reduction
def test_order_of_chains_is_irrelevant(name):
    order = np.array([4, 2, 6, 0, 1, 5, 3])
    reduce = REDUCTIONS[name]
    np.testing.assert_allclose(reduce(X[order], WEIGHT[order]), reduce(X, WEIGHT), rtol=1e-12)


@each_reduction
def test_without_any_weight_all_chains_count_alike(name):
    reduce = REDUCTIONS[name]
    expected = 1.0 if name == "count" else reduce(X, jnp.ones(7))
    np.testing.assert_allclose(reduce(X, jnp.zeros(7)), expected)

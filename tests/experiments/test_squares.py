"""Sparse logistic regression with its scales as squares is the same posterior."""

import jax
import jax.numpy as jnp
import numpy as np

from experiments import squares
from experiments.paper import problems


def test_its_density_is_the_plain_one_with_the_jacobian():
    sampled, plain = squares.problem(), problems.get(squares.NAME)
    n = jnp.asarray(np.random.default_rng(0).normal(size=(4, plain.target.dim)))
    slopes = np.asarray(jax.vmap(jax.jacobian(sampled.original))(n))
    log_dets = np.linalg.slogdet(slopes)[1]
    expected = jax.vmap(plain.target.logp)(sampled.original(n)) + log_dets
    given = jax.vmap(sampled.target.logp)(n)
    np.testing.assert_allclose(given - given[0], expected - expected[0], rtol=1e-4, atol=1e-2)
    assert np.ptp(log_dets) > 1 and np.ptp(expected) > 10  # neither is a constant


def test_its_chains_start_where_those_of_the_posterior_do():
    sampled, plain = squares.problem(), problems.get(squares.NAME)
    np.testing.assert_allclose(sampled.original(sampled.start), plain.start, rtol=1e-4, atol=1e-4)


def test_the_sign_of_a_root_does_not_matter():
    sampled = squares.problem()
    n = jnp.asarray(np.random.default_rng(1).normal(size=sampled.target.dim))
    turned = n.at[: squares.SCALES].multiply(-1.0)
    np.testing.assert_allclose(sampled.target.logp(turned), sampled.target.logp(n), rtol=1e-6)
    np.testing.assert_array_equal(sampled.original(turned), sampled.original(n))

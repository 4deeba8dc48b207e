"""The Brownian bridge in other coordinates is the same posterior."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments import learnt_bend, straightened
from experiments.paper import problems
from experiments.straightened import MEANS, NAME, NOISE, OBSERVATIONS, PLAIN, Problem

COORDINATES = [(OBSERVATIONS, 0.7), (OBSERVATIONS, 1.0), (MEANS, 0.5)]


def points(num_points=4):
    """Such that the noise is small in some of them."""
    z = np.random.default_rng(0).normal(size=(num_points, problems.get(NAME).target.dim))
    z[:, NOISE] = np.linspace(-4.0, 1.0, num_points)
    return jnp.asarray(z)


@pytest.mark.parametrize(("centres", "exponent"), COORDINATES)
def test_its_density_is_the_plain_one_with_the_jacobian(centres, exponent):
    sampled, plain = straightened.problem(centres, exponent), problems.get(NAME)
    assert isinstance(sampled, Problem)
    z = points()
    log_dets = np.linalg.slogdet(np.asarray(jax.vmap(jax.jacobian(sampled.original))(z)))[1]
    expected = jax.vmap(plain.target.logp)(sampled.original(z)) + log_dets
    np.testing.assert_allclose(jax.vmap(sampled.target.logp)(z), expected, rtol=1e-4)
    assert np.ptp(log_dets) > 10 * exponent  # it is no constant
    np.testing.assert_allclose(sampled.original(sampled.start), plain.start, rtol=1e-4, atol=1e-4)


def test_there_and_back():
    bend, z = straightened.bend(OBSERVATIONS, 0.7), points()
    np.testing.assert_allclose(bend.straight(bend.bent(z)), z, rtol=1e-3, atol=1e-4)
    moved = np.flatnonzero(np.any(np.asarray(bend.bent(z)) != z, axis=0))
    places = [*range(1, 11), *range(21, 31), 31]  # observed locations, and the noise by its median
    np.testing.assert_array_equal(moved, places)
    target = problems.get(NAME).target
    assert target.coordinate_name(target.dim + NOISE) == "observation_noise_scale"
    assert straightened.problem(PLAIN, 0.0) == NAME


def test_scores_are_gradients_of_the_straightened_density():
    sampled, plain = straightened.problem(OBSERVATIONS, 0.7), problems.get(NAME)
    assert isinstance(sampled, Problem)
    z = points()
    grad = jax.vmap(jax.grad(plain.target.logp))(sampled.original(z))
    expected = jax.vmap(jax.grad(sampled.target.logp))(z)
    found = straightened.bend(OBSERVATIONS, 0.7).score(z, grad)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_a_gaussian_is_not_rough_and_a_funnel_is_until_it_is_straight():
    """Exact draws of both: the funnel's pivot is found, and its bend by half of it."""
    normal = jax.random.normal(jax.random.key(0), (4000, 3))
    widths = jnp.asarray([0.1, 1.0, 30.0])
    x, grad = normal * widths, -normal / widths
    nothing = learnt_bend.find(x, grad)
    assert nothing.pivots.size == 0
    assert abs(learnt_bend.roughness(nothing, x, grad)) < 0.05

    v = normal[:, :1]
    x = jnp.concatenate([v, jnp.exp(v / 2) * normal[:, 1:]], axis=1)
    grad = jax.vmap(jax.grad(_log_funnel))(x)
    assert learnt_bend.roughness(nothing, x, grad) > 0.3
    learnt = learnt_bend.find(x, grad)
    np.testing.assert_array_equal(learnt.pivots, [0])
    np.testing.assert_allclose(learnt.exponents[:, 0], [0.0, 0.5, 0.5], atol=0.05)
    assert abs(learnt_bend.roughness(learnt, x, grad)) < 0.05


def _log_funnel(x):
    """Of a scale with variance one, and two coordinates that it is the log variance of."""
    return -(x[0] ** 2) / 2 - jnp.sum(x[1:] ** 2) * jnp.exp(-x[0]) / 2 - x[0]

"""The Brownian bridge in other coordinates is the same posterior."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments import straightened
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

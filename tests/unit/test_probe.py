"""The narrow place, asked of the target itself: against closed forms."""

import jax.numpy as jnp
import numpy as np
import pytest

import snaper
from snaper import probe
from snaper.bend import Bend

SEEN = np.array([1.5, -0.5, 0.2])
NOISE = 3  # its place among the coordinates
MIDDLE, EXPONENT = -1.0, 0.3


def log_observed(x, tilt):
    """Three numbers with standard normal priors, seen with noise whose log scale is unknown."""
    scale = jnp.exp(x[NOISE])
    misfit = jnp.sum((x[:NOISE] - SEEN) ** 2) / scale**2 + 2 * NOISE * x[NOISE]
    prior = jnp.sum(x[:NOISE] ** 2) + (x[NOISE] - MIDDLE) ** 2
    return tilt * x[NOISE + 1] - 0.5 * (misfit + prior)


@pytest.fixture
def bend():
    """About the priors' means, with exponents too small for where the noise is small; the last
    coordinate has nothing to do with the others.
    """
    centre = jnp.zeros(NOISE + 2).at[NOISE].set(MIDDLE)
    exponents = jnp.zeros((NOISE + 2, 1)).at[:NOISE].set(EXPONENT).at[-1].set(0.1)
    return Bend(centre, jnp.ones(NOISE + 2).at[:NOISE].set(0.4), jnp.asarray([NOISE]), exponents)


def observed(tilt):
    return snaper.Target(log_observed, jnp.zeros(NOISE + 2), jnp.asarray(tilt))


def log_width(log_noise):
    return -0.5 * np.log(1.0 + np.exp(-2.0 * log_noise))


def test_centres_and_exponents_are_those_of_the_narrow_place(bend):
    found = probe.probed(observed(0.0), bend, at_once=2)
    deep = MIDDLE - probe.DEPTH
    np.testing.assert_allclose(found.centre[:NOISE], SEEN / (1 + np.exp(2 * deep)), atol=2e-3)
    there = (log_width(MIDDLE) - log_width(deep)) / probe.DEPTH
    halfway = EXPONENT + probe.SHARE * (there - EXPONENT)
    np.testing.assert_allclose(found.exponents[:NOISE, 0], halfway, atol=2e-3)
    assert there > 2 * EXPONENT
    np.testing.assert_array_equal(found.width, bend.width)
    np.testing.assert_array_equal(found.pivots, bend.pivots)


def test_narrow_is_where_widths_shrink(bend):
    """With the noise's logarithm turned around, the same."""
    turned = bend._replace(width=bend.width.at[NOISE].set(-1.0), exponents=-bend.exponents)
    plain, other = (probe.probed(observed(0.0), each, at_once=8) for each in (bend, turned))
    np.testing.assert_allclose(other.centre, plain.centre, atol=1e-5)
    np.testing.assert_allclose(other.exponents, -plain.exponents, atol=1e-5)


def test_what_is_flat_stays_as_it_is(bend):
    found = probe.probed(observed(0.0), bend, at_once=8)
    assert found.centre[-1] == bend.centre[-1]
    assert found.exponents[-1, 0] == bend.exponents[-1, 0]
    assert found.centre[NOISE] == MIDDLE and found.exponents[NOISE, 0] == 0.0


def test_without_a_top_all_stays_as_it_is(bend):
    found = probe.probed(observed(5.0), bend, at_once=8)
    for now, before in zip(found, bend, strict=True):
        np.testing.assert_array_equal(now, before)

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
FLOATING = ("centre", "width", "exponents")


def log_observed(x, data):
    """Three numbers with standard normal priors, seen with noise whose log scale, or minus that, is
    unknown.
    """
    log_noise = data["sign"] * x[NOISE]
    misfit = jnp.sum((x[:NOISE] - SEEN) ** 2) * jnp.exp(-2 * log_noise) + 2 * NOISE * log_noise
    prior = jnp.sum(x[:NOISE] ** 2) + (log_noise - MIDDLE) ** 2
    return data["tilt"] * x[NOISE + 1] - 0.5 * (misfit + prior)


@pytest.fixture
def bend():
    """About the priors' means, with exponents too small for where the noise is small; the last
    coordinate has nothing to do with the others.
    """
    centre = jnp.zeros(NOISE + 2).at[NOISE].set(MIDDLE)
    exponents = jnp.zeros((NOISE + 2, 1)).at[:NOISE].set(EXPONENT).at[-1].set(0.1)
    return Bend(centre, jnp.ones(NOISE + 2).at[:NOISE].set(0.4), jnp.asarray([NOISE]), exponents)


def observed(tilt=0.0, sign=1.0):
    return snaper.Target(log_observed, jnp.zeros(NOISE + 2), {"tilt": tilt, "sign": sign})


def log_width(log_noise):
    return -0.5 * np.log(1.0 + np.exp(-2.0 * log_noise))


def test_centres_and_exponents_are_those_of_the_narrow_place(bend):
    found = probe.probed(observed(), bend, at_once=2)
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
    turned = bend._replace(centre=bend.centre.at[NOISE].set(-MIDDLE), exponents=-bend.exponents)
    plain = probe.probed(observed(), bend, at_once=8)
    other = probe.probed(observed(sign=-1.0), turned, at_once=8)
    np.testing.assert_allclose(other.centre[:NOISE], plain.centre[:NOISE], atol=1e-5)
    np.testing.assert_allclose(other.exponents, -plain.exponents, atol=1e-5)


def test_single_precision_is_enough(bend):
    single = bend._replace(**{n: getattr(bend, n).astype("float32") for n in FLOATING})
    like = jnp.zeros(NOISE + 2, "float32")
    data = {"tilt": jnp.float32(0.0), "sign": jnp.float32(1.0)}
    found = probe.probed(snaper.Target(log_observed, like, data), single, at_once=8)
    double = probe.probed(observed(), bend, at_once=8)
    for name in FLOATING:
        now, expected = getattr(found, name), getattr(double, name)
        assert now.dtype == jnp.float32
        np.testing.assert_allclose(now, expected, atol=5e-3)


def log_twice(x, powers):
    """A number that two scales hold, each somewhere else, and one faster."""
    one, other = jnp.exp(-2 * powers * x[1:])
    misfit = one * (x[0] - 1.0) ** 2 + other * (x[0] + 1.0) ** 2 + 2 * jnp.sum(powers * x[1:])
    return -0.5 * (misfit + jnp.sum(x[1:] ** 2))


@pytest.mark.parametrize(("powers", "centre"), [((1.0, 0.5), 1.0), ((0.5, 1.0), -1.0)])
def test_what_follows_two_is_centred_for_the_one_that_it_follows_more(powers, centre):
    """One pivot is deep in its narrow side while the other is on its wide one."""
    exponents = jnp.zeros((3, 2)).at[0].set(0.3)
    bend = Bend(jnp.zeros(3), jnp.ones(3), jnp.asarray([1, 2]), exponents)
    target = snaper.Target(log_twice, jnp.zeros(3), jnp.asarray(powers))
    found = probe.probed(target, bend, at_once=8)
    assert abs(found.centre[0] - centre) < 1e-2
    deep, wide = (np.exp(sign * 2 * probe.DEPTH * np.array(powers)) for sign in (1.0, -1.0))
    slopes = 0.5 * np.log((deep + wide[::-1]) / (1.0 + wide[::-1])) / probe.DEPTH
    np.testing.assert_allclose(found.exponents[0], 0.5 * (0.3 + slopes), atol=2e-3)


def test_a_pivot_without_a_narrow_side_is_left_alone(bend):
    """Where as much widens as narrows."""
    even = bend._replace(exponents=jnp.zeros_like(bend.exponents).at[:2, 0].set([0.3, -0.3]))
    found = probe.probed(observed(), even, at_once=8)
    np.testing.assert_array_equal(found.exponents, even.exponents)
    assert np.all(np.isfinite(found.centre))


def log_walled(x):
    """A funnel of bounded width: outside there is nothing, and no gradient."""
    inside = jnp.all(jnp.abs(x[1:]) < 6 * jnp.exp(x[0]))
    within = jnp.sum(x[1:] ** 2) * jnp.exp(-2 * x[0]) + 2 * (x.size - 1) * x[0]
    return jnp.where(inside, -0.5 * (x[0] ** 2 + within), -jnp.inf)


def test_where_there_is_no_density_nothing_is_told():
    """About a centre that is outside where the funnel is narrow."""
    exponents = jnp.full((3, 1), 0.9).at[0].set(0.0)
    bend = Bend(jnp.asarray([0.0, 3.0, 3.0]), jnp.ones(3), jnp.asarray([0]), exponents)
    found = probe.probed(snaper.Target(log_walled, jnp.zeros(3)), bend, at_once=8)
    walled = np.asarray(found.centre[1:])
    assert np.all((walled == 3.0) | (np.abs(walled) < 6 * np.exp(-probe.DEPTH)))
    assert np.all(np.asarray(found.exponents[1:]) >= 0.9)


def test_what_is_flat_stays_as_it_is(bend):
    found = probe.probed(observed(), bend, at_once=8)
    assert found.centre[-1] == bend.centre[-1]
    assert found.exponents[-1, 0] == bend.exponents[-1, 0]
    assert found.centre[NOISE] == MIDDLE and found.exponents[NOISE, 0] == 0.0


def test_without_a_top_all_stays_as_it_is(bend):
    found = probe.probed(observed(tilt=5.0), bend, at_once=8)
    for now, before in zip(found, bend, strict=True):
        np.testing.assert_array_equal(now, before)

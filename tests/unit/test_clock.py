"""Whole numbers of leapfrog steps from a drawn time."""

import jax.numpy as jnp
import numpy as np
import pytest

from snaper import clock

pytestmark = pytest.mark.usefixtures("strict")

STEP, CAP = jnp.asarray(0.5), jnp.asarray(1000.0)
EVENLY = (jnp.arange(100_000) + 0.5).astype(float) / 50_000  # jitter that fills (0, 2)


@pytest.mark.parametrize("length", [0.5, 0.8, 1.7, 12.3])
def test_integrated_time_has_the_mean_trajectory_length_as_its_mean(length):
    """Though every trajectory is a whole number of steps."""
    steps = clock.Integrated().steps(EVENLY, jnp.asarray(length), STEP, CAP, 1.0)
    np.testing.assert_array_equal(steps, np.round(steps))
    assert steps.min() >= 1
    told = clock.Integrated().told(EVENLY, jnp.asarray(length), steps * STEP)
    np.testing.assert_array_equal(told, steps * STEP)
    np.testing.assert_allclose(np.mean(told), length, rtol=0.03)


def test_drawn_rounds_up_and_tells_what_was_drawn():
    jitter, length = jnp.array([0.3, 0.6, 1.2, 1.9]), jnp.asarray(1.0)
    np.testing.assert_array_equal(clock.Drawn().steps(jitter, length, STEP, CAP, 1.0), [1, 2, 3, 4])
    told = clock.Drawn().told(jitter, length, jnp.asarray(9.0))
    np.testing.assert_array_equal(told, jitter)


def test_one_step_long_is_one_step():
    one = jnp.asarray(1.0)
    for kind in (clock.Integrated(), clock.Drawn()):
        assert kind.steps(one, STEP, STEP, CAP, 1.0) == 1


@pytest.mark.parametrize("kind", [clock.Integrated(), clock.Drawn()])
@pytest.mark.parametrize("cap", [1, 2, 7])
def test_steps_are_at_most_the_cap(kind, cap):
    """And every number up to it there is."""
    steps = kind.steps(EVENLY, jnp.asarray(12.3), STEP, jnp.asarray(float(cap)), 1.0)
    np.testing.assert_array_equal(np.unique(steps), np.arange(1, cap + 1))


def test_steps_belong_together_where_kicks_alternate():
    """In pairs; by the other clocks, whose kicks do not, each is for itself."""
    for alternation, unit in ((0.0, 1.0), (0.153, 2.0)):
        assert clock.Paired().unit(jnp.asarray(alternation)) == unit
        for kind in (clock.Integrated(), clock.Drawn()):
            assert kind.unit(jnp.asarray(alternation)) == 1.0


@pytest.mark.parametrize("length", [1.0, 1.7, 2.5, 4.3, 12.3])
def test_time_in_pairs_has_the_mean_trajectory_length_as_its_mean(length):
    """From one pair on. Exactly so where it is a whole number of steps, m and one; where m is f
    beyond a whole number, rounding up adds f (1 - f) / m steps more.
    """
    steps = clock.Paired().steps(EVENLY, jnp.asarray(length), STEP, CAP, 2.0)
    told = clock.Paired().told(EVENLY, jnp.asarray(length), steps * STEP)
    np.testing.assert_array_equal(told, steps * STEP)
    m = length / 0.5 - 1
    more = (m % 1) * (1 - m % 1) / m
    np.testing.assert_allclose(np.mean(told), length + 0.5 * more, rtol=1e-4)


@pytest.mark.parametrize(("cap", "most"), [(1000, 48), (12, 12), (7, 6), (3, 2), (2, 2)])
def test_steps_come_in_pairs(cap, most):
    """One at least, and as many as the cap has room for; 12.3 is 24.6 steps, twice that at most."""
    steps = clock.Paired().steps(EVENLY, jnp.asarray(12.3), STEP, jnp.asarray(float(cap)), 2.0)
    np.testing.assert_array_equal(np.unique(steps), np.arange(2, most + 2, 2))


def test_a_cap_of_one_is_one_step():
    """Where there is no room for a pair."""
    steps = clock.Paired().steps(EVENLY, jnp.asarray(12.3), STEP, jnp.asarray(1.0), 2.0)
    np.testing.assert_array_equal(steps, 1)


@pytest.mark.parametrize("cap", [1.0, 7.0, 1000.0])
def test_steps_with_even_kicks_need_no_partner(cap):
    """They are as many as without pairs, bit for bit."""
    arguments = (EVENLY, jnp.asarray(12.3), STEP, jnp.asarray(cap), 1.0)
    paired, alone = (kind.steps(*arguments) for kind in (clock.Paired(), clock.Integrated()))
    np.testing.assert_array_equal(paired, alone)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("unit", [1.0, 2.0])
def test_as_many_of_the_longest_steps_as_belong_together_are_the_mean_trajectory(unit, dtype):
    """Whatever the jitter; without pairs, steps are of any length."""
    length = jnp.asarray(1.3, dtype)
    longest = clock.Paired().longest(length, unit)
    assert longest == length / unit and longest.dtype == dtype
    steps = clock.Paired().steps(EVENLY.astype(dtype), length, longest, CAP.astype(dtype), unit)
    np.testing.assert_array_equal(steps, unit)
    for kind in (clock.Integrated(), clock.Drawn()):
        assert kind.longest(length, 1.0) == np.inf and kind.longest(length, 1.0).dtype == dtype

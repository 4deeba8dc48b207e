"""Whole numbers of leapfrog steps from a drawn time."""

import jax.numpy as jnp
import numpy as np
import pytest

from snaper import clock

pytestmark = pytest.mark.usefixtures("strict")

STEP = jnp.asarray(0.5)
EVENLY = (jnp.arange(100_000) + 0.5).astype(float) / 50_000  # jitter that fills (0, 2)


@pytest.mark.parametrize("length", [0.5, 0.8, 1.7, 12.3])
def test_integrated_time_has_the_mean_trajectory_length_as_its_mean(length):
    """Though every trajectory is a whole number of steps."""
    steps = clock.Integrated().steps(EVENLY, jnp.asarray(length), STEP)
    np.testing.assert_array_equal(steps, np.round(steps))
    assert steps.min() >= 1
    told = clock.Integrated().told(EVENLY, jnp.asarray(length), steps * STEP)
    np.testing.assert_array_equal(told, steps * STEP)
    np.testing.assert_allclose(np.mean(told), length, rtol=0.03)


def test_drawn_rounds_up_and_tells_what_was_drawn():
    jitter, length = jnp.array([0.3, 0.6, 1.2, 1.9]), jnp.asarray(1.0)
    np.testing.assert_array_equal(clock.Drawn().steps(jitter, length, STEP), [1, 2, 3, 4])
    told = clock.Drawn().told(jitter, length, jnp.asarray(9.0))
    np.testing.assert_array_equal(told, jitter)


def test_one_step_long_is_one_step():
    one = jnp.asarray(1.0)
    for kind in (clock.Integrated(), clock.Drawn()):
        assert kind.steps(one, STEP, STEP) == 1

"""The mean trajectory length: ascent of a criterion."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from snaper.adapt import TrajectoryLength

STEP_SIZE = 0.1


@partial(jax.jit, static_argnums=0)
def climb(learner, state, scale, step_size, num_one_step, cap, num_steps):
    """Ascend 4 sin(t)^2 / t, exactly known, in any units."""

    def criterion(log_t):
        t = jnp.exp(log_t)
        return scale * 4 * jnp.sin(t) ** 2 / t

    def body(step, state):
        value, slope = jax.value_and_grad(criterion)(jnp.log(learner.value(state, True)))
        return learner.update(state, value, slope, step_size, step < num_one_step, cap, step)

    return jax.lax.fori_loop(0, num_steps, body, state)


def run(learner, num_steps, *, scale=1.0, start=0.2, step_size=STEP_SIZE, num_one_step=0, cap=1000):
    state = learner.init(jnp.float64, jnp.asarray(start))
    arrays = map(jnp.asarray, (scale, step_size, num_one_step, cap, num_steps))
    return climb(learner, state, *arrays)


BEST = 1.165561  # tan t = 2 t


@pytest.mark.parametrize("start", [0.2, 1.9])
@pytest.mark.parametrize("unit_free", [True, False])
def test_climbs_to_the_top(start, unit_free):
    learner = TrajectoryLength(unit_free=unit_free)
    state = run(learner, 400, start=start)
    np.testing.assert_allclose(learner.value(state, False), BEST, rtol=0.02)


@pytest.mark.parametrize("power", [-24, -12, 12, 24])
def test_units_of_the_criterion_cancel(power):
    learner = TrajectoryLength()
    here, there = (float(run(learner, 20, scale=scale).log_length) for scale in (1.0, 10.0**power))
    assert np.exp(here) > 0.3  # it moves
    np.testing.assert_allclose(there, here, rtol=1e-5)


def test_the_rate_falls_once_settled():
    """Uphill all the way, Adam takes steps of its rate: as the root of the steps since then."""
    learner = TrajectoryLength(rate=1e-3, settle=100.0)
    state = learner.init(jnp.float64, jnp.asarray(0.2))
    ways = []
    for step in range(400):
        before = float(state.log_length)
        seen = (1.0, 1.0, STEP_SIZE, False, 1000, step)
        state = learner.update(state, *map(jnp.asarray, seen))
        ways.append(float(state.log_length) - before)
    np.testing.assert_allclose(ways[:100], 1e-3, rtol=1e-6)
    np.testing.assert_allclose(ways[100:], 1e-3 * np.sqrt(100 / np.arange(101, 401)), rtol=1e-6)


def test_without_unit_free_small_units_stop_it():
    """The control of the test above: what it guards against does happen."""
    learner = TrajectoryLength(unit_free=False)
    np.testing.assert_allclose(np.exp(run(learner, 20, scale=1e-24).log_length), 0.2, rtol=1e-6)


def test_one_step_phase_follows_the_step_size_and_learns_nothing():
    learner = TrajectoryLength()
    state = run(learner, 5, num_one_step=5)
    np.testing.assert_allclose(learner.value(state, True), STEP_SIZE)
    np.testing.assert_array_equal(jax.tree.leaves(state.adam), 0)
    later = run(learner, 6, num_one_step=5)
    assert learner.value(later, True) > STEP_SIZE and later.adam.count == 1


def test_length_stays_within_its_bounds():
    """At most `longest` times the cap on leapfrog steps, at least `shortest` steps."""
    learner = TrajectoryLength(shortest=2.0, longest=0.5)
    np.testing.assert_allclose(np.exp(run(learner, 200, cap=16).log_length), 8 * STEP_SIZE)
    np.testing.assert_allclose(np.exp(run(learner, 200, step_size=1.0).log_length), 2.0)


def test_flat_criterion_moves_nothing():
    learner = TrajectoryLength()
    state = run(learner, 50, scale=0.0)
    np.testing.assert_allclose(learner.value(state, True), 0.2)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_criterion_that_overflows_moves_nothing(bad):
    learner = TrajectoryLength()
    state = run(learner, 50, scale=bad)
    np.testing.assert_allclose(learner.value(state, True), 0.2)
    assert np.isfinite(jax.tree.leaves(state)).all()


def test_sampling_uses_the_average():
    learner = TrajectoryLength()
    state = run(learner, 30)
    assert learner.value(state, True) != learner.value(state, False)
    np.testing.assert_allclose(learner.value(state, False), np.exp(state.log_average))


def test_given_value_is_where_it_starts():
    learner = TrajectoryLength()
    state = learner.init(jnp.float32, jnp.asarray(0.7, jnp.float32))
    for warming in (True, False):
        np.testing.assert_allclose(learner.value(state, warming), 0.7, rtol=1e-6)
    assert learner.value(state, True).dtype == jnp.float32
    np.testing.assert_allclose(learner.value(learner.init(jnp.float64), True), 1.0)

"""The step size: search, then Adam towards an acceptance."""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from snaper.adapt import StepSize

NUM_CHAINS = 4
ONES = jnp.ones(NUM_CHAINS)


@partial(jax.jit, static_argnums=0)
def update(learner, state, accept_prob, weight, step, longest):
    return learner.update(state, accept_prob, weight, step, longest)


def run(learner, acceptance, num_steps, state=None, weight=ONES, longest=np.inf):
    """Step sizes before each update, and the state after the last, for a given response."""
    state = learner.init(jnp.float64) if state is None else state
    trace = []
    for step in range(num_steps):
        trace.append(float(learner.value(state, True)))
        seen = jnp.asarray(acceptance(min(trace[-1], longest)), float)
        accept_prob = jnp.broadcast_to(seen, (NUM_CHAINS,))
        state = update(learner, state, accept_prob, weight, jnp.asarray(step, jnp.int32), longest)
    return np.array(trace), state


def response(step_size):
    """Acceptance that falls with the step size; 0.8 at 0.47."""
    return np.exp(-(step_size**2))


def test_search_doubles_until_acceptance_falls_below_the_target():
    trace, state = run(StepSize(), response, 8)
    np.testing.assert_allclose(trace[:7], 0.01 * 2.0 ** np.arange(7))
    assert trace[6] == pytest.approx(0.64)  # the first beyond 0.47
    assert trace[7] == pytest.approx(0.64 * np.exp(-0.05))  # Adam's first step
    assert state.heading == 2


def test_search_halves_from_above():
    trace, _ = run(StepSize(initial=8.0), response, 6)
    np.testing.assert_allclose(trace[:6], [8.0, 4.0, 2.0, 1.0, 0.5, 0.25])
    assert response(0.5) < 0.8 < response(0.25)


def test_search_never_resumes():
    _, state = run(StepSize(), response, 20)
    trace, _ = run(StepSize(), lambda _: 1.0, 10, state)
    assert np.all(trace[1:] / trace[:-1] < 1.2)


def test_search_ends_at_its_limit():
    learner = StepSize(max_search=5)
    trace, _ = run(learner, lambda _: 1.0, 8)
    np.testing.assert_allclose(trace[:6], 0.01 * 2.0 ** np.arange(6))
    np.testing.assert_allclose(trace[6:] / trace[5:-1], np.exp(0.05), rtol=1e-6)


def test_adam_moves_by_its_rate_at_first():
    """Without a search, the first step of Adam is its rate, whatever the shortfall."""
    for acceptance, factor in ((1.0, np.exp(0.05)), (0.0, np.exp(-0.05))):
        trace, _ = run(StepSize(search=1.0), lambda _, a=acceptance: a, 2)
        np.testing.assert_allclose(trace[1] / trace[0], factor, rtol=1e-6)


@pytest.mark.parametrize("search", [1.0, 2.0])
def test_acceptance_reaches_the_target(search):
    learner = StepSize(initial=0.1, target=0.7, search=search)
    _, state = run(learner, response, 400)
    assert response(float(learner.value(state, False))) == pytest.approx(0.7, abs=0.02)


@pytest.mark.parametrize("search", [1.0, 2.0])
def test_steps_are_little_longer_than_any_that_is_taken(search):
    """Where acceptance would have them longer, they wait at 1.5 times as much. Longer trajectories
    have the steps of the acceptance aimed at; shorter ones bound them at once.
    """
    learner = StepSize(initial=0.1, search=search)
    trace, state = run(learner, response, 100, longest=0.2)
    assert trace.max() == trace[-1] == pytest.approx(0.3)
    trace, _ = run(learner, response, 400, state, longest=0.6)
    assert response(trace[-1]) == pytest.approx(0.8, abs=0.02)
    trace, _ = run(learner, response, 2, state, longest=0.1)
    assert trace[1] == pytest.approx(0.15)


def test_sampling_uses_the_average():
    learner = StepSize(initial=0.5, search=1.0)
    _, state = run(learner, lambda eps: 1.0 if eps < 0.5 else 0.3, 200)
    latest, average = (float(learner.value(state, warming)) for warming in (True, False))
    assert latest != average
    np.testing.assert_allclose(average, np.exp(state.log_average))
    np.testing.assert_allclose(average, 0.5, rtol=0.1)


def test_average_forgets_the_start():
    """The window is the last sixteenth or so of the steps."""
    learner = StepSize(search=1.0)
    state = learner.init(jnp.float64)
    moved = state._replace(log_step=jnp.asarray(2.0), log_average=jnp.asarray(-50.0))
    held = dataclasses.replace(learner, rate=0.0)
    _, state = run(held, response, 100, moved)
    np.testing.assert_allclose(state.log_average, 2.0, rtol=1e-10)


def test_chain_left_out_does_not_count():
    weight = jnp.array([1.0, 1.0, 0.0, 1.0])
    lost = np.array([0.9, 0.9, 0.0, 0.9])
    with_lost, _ = run(StepSize(), lambda _: lost, 4, weight=weight)
    np.testing.assert_allclose(with_lost[1:] / with_lost[:-1], 2.0)
    without, _ = run(StepSize(), lambda _: lost, 4)
    np.testing.assert_allclose(without[1:] / without[:-1], 0.5)


def test_given_value_is_where_it_starts_without_a_search():
    learner = StepSize()
    given = learner.init(jnp.float64, jnp.asarray(0.3))
    for warming in (True, False):
        np.testing.assert_allclose(learner.value(given, warming), 0.3)
    trace, _ = run(learner, lambda _: 1.0, 2, given)
    np.testing.assert_allclose(trace[1], 0.3 * np.exp(0.05), rtol=1e-6)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_dtype_is_kept(dtype):
    learner, some = StepSize(), jax.ShapeDtypeStruct((NUM_CHAINS,), dtype)
    step = jax.ShapeDtypeStruct((), jnp.int32)

    def values(accept_prob, weight, step):
        state = learner.update(learner.init(dtype), accept_prob, weight, step)
        return learner.value(state, True), learner.value(state, False)

    assert {value.dtype for value in jax.eval_shape(values, some, some, step)} == {np.dtype(dtype)}

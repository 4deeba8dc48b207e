"""Which kicks: two step sizes that follow each other, and a trial now and then."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from snaper.adapt import Kicks, StepSize

NUM_STEPS, NUM_CHAINS = 600, 4
KICKS = Kicks()
OFTEN = Kicks(clear=np.inf)  # whoever is ahead, and by however much
BEST = np.sqrt(-np.log(0.8))  # the step size at which even kicks are accepted as they should be


@partial(jax.jit, static_argnums=0)
def _run(learner, state, gain, later_gain, later, width, first, began, num_one_step, length):
    def body(state, step):
        one_step = step < num_one_step
        now = jnp.where(step < later, gain, later_gain)
        unit = jnp.where((state.used == 1) & ~one_step, now, 1.0) * width
        longest = jnp.where(one_step, jnp.inf, length / jnp.where(state.used == 1, 2.0, 1.0))
        taken = jnp.minimum(learner.value(state, True), longest)
        accept_prob = jnp.exp(-((taken / unit) ** 2))
        ones = jnp.ones(NUM_CHAINS)
        age = step + 1 - began
        new = learner.update(state, accept_prob * ones, ones, step, longest, one_step, age)
        return new, new

    steps = first + jnp.arange(NUM_STEPS, dtype=jnp.int32)
    return jax.lax.scan(body, state, steps)[1]


def run(
    gain,
    *,
    learner=KICKS,
    state=None,
    width=1.0,
    first=0,
    began=0,
    num_one_step=100,
    length=np.inf,
    later=None,
) -> list:
    """States before and after every transition, the first of which has the number `first`, of a run
    that began at number `began`. Acceptance is exp(-eps^2) with even kicks; with alternating ones,
    as of steps that are `gain` times shorter, or from a number on, by another gain: `later`. On a
    target of another `width` it is in units of that. One step is no longer than the trajectory's
    `length`, nor are two of the latter.
    """
    state = learner.init(jnp.float64) if state is None else state
    later, later_gain = (0, gain) if later is None else later
    numbers = (gain, later_gain, later, width, first, began, num_one_step, length)
    states = jax.tree.map(np.asarray, _run(learner, state, *map(jnp.asarray, numbers)))
    return [state, *(jax.tree.map(lambda leaf, t=t: leaf[t], states) for t in range(NUM_STEPS))]


def accepted(log_step, gain, width=1.0):
    """Acceptance of either kicks at steps [..., 2]."""
    return np.exp(-((np.exp(log_step) / np.array([1.0, gain]) / width) ** 2))


@pytest.mark.parametrize(
    ("gain", "best"), [(1.5, 1), (1.2, 1), (1.1, 0), (1.0, 0), (1 / 1.2, 0), (1 / 1.5, 0)]
)
def test_the_kicks_of_longer_steps_are_found(gain, best):
    """Alternating ones if they gain a factor of 1.15 or more. Either have steps of the acceptance
    aimed at, and draws have those of the better kicks.
    """
    end = run(gain)[-1]
    assert end.best == best
    np.testing.assert_allclose(accepted(end.rivals.log_average, gain), 0.8, atol=0.01)
    np.testing.assert_allclose(KICKS.value(end, False), np.exp(end.rivals.log_average[best]))
    np.testing.assert_allclose(KICKS.value(end, False), BEST * (gain if best else 1), rtol=1e-3)
    assert KICKS.alternates(end, False) == (0.153 if best else 0.0)


def test_another_acceptance_is_aimed_at():
    end = run(1.5, learner=KICKS.aiming_at(0.6))[-1]
    np.testing.assert_allclose(accepted(end.rivals.log_average, 1.5), 0.6, atol=0.01)


def test_rivals_are_one_while_transitions_have_one_step():
    """Kicks of a single step do not alternate: bit for bit, whichever is said to be used."""
    states = run(1.5)
    for state in states[:101]:
        for leaf in jax.tree.leaves(state.rivals):
            np.testing.assert_array_equal(leaf[0], leaf[1])
        assert state.best == 0
    assert {int(state.used) for state in states[:100]} == {0, 1}
    alone = StepSize().init(jnp.float64)
    for step in range(100):  # which is as either would learn without the other
        accept_prob = jnp.full(NUM_CHAINS, np.exp(-np.exp(2 * alone.log_step)))
        alone = StepSize().update(alone, accept_prob, jnp.ones(NUM_CHAINS), jnp.asarray(step))
    np.testing.assert_allclose(states[100].rivals.log_average[0], alone.log_average, rtol=1e-9)
    assert states[108].rivals.log_step[0] != states[108].rivals.log_step[1]


@pytest.mark.parametrize(("gain", "close"), [(1.5, False), (1.3, True), (1.0, True), (0.9, False)])
@pytest.mark.parametrize("every", [7, 3])
def test_one_transition_of_so_many_is_a_trial(gain, close, every):
    """Of the rival that is worse; all others, and draws, have the better one. After 512 transitions
    trials are fewer, unless steps are within a factor of 1.2 of those 1.15 times as long.
    """
    learner = Kicks(every=every)
    states = run(gain, learner=learner)
    trials = [step for step, state in enumerate(states) if state.used != state.best]
    late = [step for step in range(513, NUM_STEPS + 1) if step % every == 0] if close else [558]
    assert trials == [*range(every, 513, every), *late]
    assert states[-1].best == (gain > 1.15)
    for state in states[-2 * every :]:
        used, best = int(state.used), int(state.best)
        np.testing.assert_allclose(learner.value(state, True), np.exp(state.rivals.log_step[used]))
        assert learner.alternates(state, True) == 0.153 * used
        assert learner.alternates(state, False) == 0.153 * best


def test_trials_become_rarer_as_transitions_double():
    """Eight while their number does."""
    states = run(1.5, state=run(1.5)[-1], first=NUM_STEPS)
    trials = [NUM_STEPS + at for at, state in enumerate(states) if state.used != state.best]
    assert trials == [608, 663, 724, 789, 861, 939, 1023, 1116]  # before 512 * 2^(k/8)


def test_a_run_that_begins_with_a_tuning_looks_as_closely_as_any_other():
    """By its own transitions, not by the number of the first: where the metric that it begins with
    is poor, and alternating kicks are worse at first, they are found to be better soon after.
    """
    given = KICKS.init(jnp.float64, jnp.asarray(BEST), jnp.asarray(0.0))
    numbers = {"first": 1000, "began": 1000, "num_one_step": 0}
    states = run(0.6, later=(1100, 1.6), state=given, **numbers)
    verdicts = [int(state.best) for state in states]
    assert set(verdicts[:100]) == {0} and set(verdicts[300:]) == {1}


def test_a_trial_is_about_the_difference():
    """It moves its own steps alone, and twice as far; other transitions move both as far."""
    states = run(1.5)
    moves = np.diff([state.rivals.log_step for state in states], axis=0)
    for step in range(100, NUM_STEPS):
        used, best = int(states[step].used), int(states[step].best)
        if used != best:
            assert moves[step, best] == 0.0
            alone = StepSize().update(
                jax.tree.map(lambda leaf, used=used: leaf[used], states[step].rivals),
                jnp.full(NUM_CHAINS, accepted(states[step].rivals.log_step, 1.5)[used]),
                jnp.ones(NUM_CHAINS),
                jnp.asarray(step),
            )
            once = float(alone.log_step) - states[step].rivals.log_step[used]
            np.testing.assert_allclose(moves[step, used], 2 * once, rtol=1e-6, atol=1e-12)
        else:
            np.testing.assert_allclose(moves[step, 0], moves[step, 1], rtol=1e-6, atol=1e-12)
    assert np.max(np.abs(moves[100:])) > 0.05


def test_steps_are_little_longer_than_any_that_is_taken():
    """Of neither rival are they more than 1.5 times as long; where both could be longer, none gains
    anything. Where one alone could, it does.
    """
    states = run(1.5, length=0.2, num_one_step=0)
    steps = np.exp([state.rivals.log_step for state in states])
    assert np.all(steps <= np.array([0.3, 0.15]) * (1 + 1e-12))
    np.testing.assert_allclose(steps[-1], [0.3, 0.15])
    assert states[-1].best == 0
    wide = run(1.1, state=run(1.1)[-1], first=NUM_STEPS, width=10.0, length=0.5 / 1.5)
    steps = np.exp([state.rivals.log_step for state in wide])
    np.testing.assert_allclose(steps[0], [BEST, 1.1 * BEST], rtol=0.01)
    assert np.all(steps[1:] <= np.array([0.5, 0.25]) * (1 + 1e-12))
    # Longer than 0.47, where even kicks would be, and 0.71:
    between = run(1.5, length=1.2, learner=OFTEN)[-1]
    np.testing.assert_allclose(np.exp(between.rivals.log_average), [BEST, 0.9], rtol=0.01)
    assert between.best == 1


def test_other_units_of_time_are_those_of_both():
    before = run(1.5)[-1]
    after = KICKS.rescale(before, jnp.asarray(3.0))
    for name in ("log_step", "log_average"):
        moved = getattr(after.rivals, name) - getattr(before.rivals, name)
        np.testing.assert_allclose(moved, np.log(3.0))
    for warming in (True, False):
        ratio = KICKS.value(after, warming) / KICKS.value(before, warming)
        np.testing.assert_allclose(ratio, 3.0)
    kept = (after.best, after.used, after.rivals.adam, after.rivals.heading)
    was = (before.best, before.used, before.rivals.adam, before.rivals.heading)
    jax.tree.map(np.testing.assert_array_equal, kept, was)


@pytest.mark.parametrize(("alternation", "best"), [(0.0, 0), (0.153, 1)])
def test_given_kicks_are_gone_on_with(alternation, best):
    """Draws and the first transition of warm-up have the step size and the kicks that are given."""
    state = KICKS.init(jnp.float64, jnp.asarray(0.3), jnp.asarray(alternation))
    assert state.best == state.used == best
    for warming in (True, False):
        np.testing.assert_allclose(KICKS.value(state, warming), 0.3)
        assert KICKS.alternates(state, warming) == alternation


def test_given_kicks_are_not_unlearnt():
    """More warm-up, of any length, leaves them as they are where they were right."""
    given = KICKS.init(jnp.float64, jnp.asarray(1.5 * BEST), jnp.asarray(0.153))
    states = run(1.5, state=given, first=1000, num_one_step=0)
    assert {int(state.best) for state in states} == {1}
    steps = [float(KICKS.value(state, False)) for state in states]
    np.testing.assert_allclose(steps, 1.5 * BEST, rtol=0.05)


def test_both_follow_a_target_that_becomes_wider():
    """Ten times, which Adam is through in 20 transitions, as it was quiet before. Three of them are
    trials: by these alone one rival would be left behind, ten times as far off. It follows, and
    what the trials add, as either is accepted too often at first, is less than a factor of 1.5.
    Where trials are seldom the verdict is the same, and the one in use has the right steps.
    """
    settled = run(1.5)[-1]
    seldom = run(1.5, state=settled, first=NUM_STEPS, width=10.0)
    assert {int(state.best) for state in seldom} == {1}
    of_both = accepted(seldom[-1].rivals.log_average, 1.5, 10.0)
    np.testing.assert_allclose(of_both[1], 0.8, atol=0.01)
    np.testing.assert_allclose(of_both[0], 0.8, atol=0.04)
    states = run(1.5, state=settled, first=NUM_STEPS, width=10.0, learner=OFTEN)
    ratio = np.exp([np.diff(state.rivals.log_step)[0] for state in states])
    assert np.all((1.5 / 1.5 < ratio) & (ratio < 1.5 * 1.5))
    for state in (states[50], states[-1]):
        steps = np.exp(state.rivals.log_step)
        np.testing.assert_allclose(steps, 10 * BEST * np.array([1.0, 1.5]), rtol=0.5)
    np.testing.assert_allclose(accepted(states[-1].rivals.log_average, 1.5, 10.0), 0.8, atol=0.01)
    assert states[-1].best == 1


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_dtype_is_kept(dtype):
    some, one = jax.ShapeDtypeStruct((NUM_CHAINS,), dtype), jax.ShapeDtypeStruct((), dtype)
    step, flag = jax.ShapeDtypeStruct((), jnp.int32), jax.ShapeDtypeStruct((), bool)

    def values(accept_prob, weight, step, longest, one_step):
        first = KICKS.init(dtype)
        state = KICKS.update(first, accept_prob, weight, step, longest, one_step, step)
        state = KICKS.rescale(state, longest)
        told = [KICKS.value(state, True), KICKS.alternates(state, one_step)]
        return *told, state.rivals.log_step, state.rivals.log_average, first.rivals.log_step

    found = jax.eval_shape(values, some, some, step, one, flag)
    assert {value.dtype for value in found} == {np.dtype(dtype)}

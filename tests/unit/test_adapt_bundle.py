"""The learners together, and those that only hold."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import standard_normal

from snaper import hmc
from snaper.adapt import (
    Adaptation,
    DenseMetric,
    DiagonalMetric,
    Held,
    HeldDirection,
    HeldMetric,
    HeldMoments,
    Hyperparams,
    Kicks,
    LowRankMetric,
    Moments,
    Quarantine,
    StepSize,
    Trust,
)
from snaper.metric import Diagonal

NUM_CHAINS = 8
X = jnp.asarray(np.random.default_rng(0).normal(size=(NUM_CHAINS, 2)))
KEY = jax.random.key(0)


def chains(x):
    return hmc.init(standard_normal, x)


def transition(accept_prob=None, proposal=None):
    ones = jnp.ones(NUM_CHAINS)
    accept_prob = ones if accept_prob is None else accept_prob
    proposal = X + 0.5 if proposal is None else proposal
    return hmc.Transition(X, proposal, X, accept_prob, ones > 0, ones < 0, ones, 1)


LEARNING = Adaptation(Kicks(every=3), quarantine=Quarantine(patience=4))
HOLDING = Adaptation(
    Held(0.25),
    Held(2.0),
    HeldMetric((0.5, 1.0)),
    HeldMoments((1.0, 2.0), (3.0, 4.0)),
    HeldDirection((0.0, 1.0)),
    Trust(),
)


def flat(tree):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)])


@partial(jax.jit, static_argnums=0)
def update(adaptation, state, where, seen, step):
    climb, free, cap = (jnp.asarray(1.0), jnp.asarray(0.5)), jnp.asarray(False), jnp.asarray(1000)
    longest = jnp.asarray(jnp.inf)
    return adaptation.update(
        jax.random.key(1), state, seen, where, climb, None, free, longest, cap, step, step + 1
    )


def learn(adaptation, state, num_steps, where, seen):
    for step in range(num_steps):
        state, where = update(adaptation, state, where, seen, jnp.asarray(step, jnp.int32))
    return state, where


def test_held_learners_hold():
    state = HOLDING.init(KEY, chains(X))
    later, where = learn(HOLDING, state, 5, chains(X + 7.0), transition())
    for warming in (True, False):
        before, after = (HOLDING.value(s, jnp.asarray(warming)) for s in (state, later))
        np.testing.assert_array_equal(flat(before), flat(after))
    assert float(after.step_size) == 0.25 and float(after.trajectory_length) == 2.0
    np.testing.assert_array_equal(after.metric.scale, [0.5, 1.0])
    np.testing.assert_array_equal(after.mean, [1.0, 2.0])
    np.testing.assert_array_equal(after.direction, [0.0, 1.0])
    seen = HOLDING.statistics(state, transition(), where, jnp.asarray(0, jnp.int32))
    np.testing.assert_array_equal(seen.mean, [1.0, 2.0])
    np.testing.assert_array_equal(seen.mean_new, [1.0, 2.0])


def test_the_others_all_learn():
    """After three transitions the other rival of the kicks is on trial."""
    adaptation = LEARNING
    state = adaptation.init(KEY, chains(X))
    later, _ = learn(adaptation, state, 3, chains(X + 1.0), transition())
    before, after = (adaptation.value(s, jnp.asarray(True)) for s in (state, later))
    for name in Hyperparams._fields:
        assert not np.array_equal(flat(getattr(before, name)), flat(getattr(after, name))), name


@pytest.mark.parametrize(
    ("step_size", "alternation"), [(StepSize(), 0.0), (Kicks(), 0.0), (Kicks(), 0.153)]
)
def test_given_values_come_back(step_size, alternation):
    adaptation = Adaptation(step_size)
    given = Hyperparams(
        jnp.asarray(0.3),
        jnp.asarray(1.7),
        Diagonal(jnp.array([1.0, 0.25])),
        jnp.array([5.0, 6.0]),
        jnp.array([0.6, 0.8]),
        jnp.asarray(2.0),
        jnp.asarray(alternation),
    )
    state = adaptation.init(KEY, chains(X), given)
    for warming in (True, False):
        value = adaptation.value(state, jnp.asarray(warming))
        np.testing.assert_allclose(flat(value), flat(given))


def test_statistics_leave_out_chains_that_all_but_rejected():
    accept_prob = jnp.array([1.0, 0.5, 1e-3, 2e-4, 1e-4, 1e-5, 0.0, 0.9])
    proposal = X.at[5].set(1e3)
    adaptation = Adaptation(quarantine=Trust(), moments=Moments(pseudo=1.0))
    step = jnp.asarray(0, jnp.int32)
    state = adaptation.init(KEY, chains(X))
    seen = adaptation.statistics(state, transition(accept_prob, proposal), chains(X), step)
    np.testing.assert_allclose(seen.weight, [1.0, 0.5, 1e-3, 2e-4, 0.0, 0.0, 0.0, 0.9])
    old = np.asarray(state.moments.mean)
    centre = np.average(proposal, axis=0, weights=seen.weight)
    np.testing.assert_allclose(seen.mean_new, old + 0.5 * (centre - old))
    np.testing.assert_allclose(seen.mean, old + 0.5 * (np.mean(X, axis=0) - old))
    np.testing.assert_array_equal(seen.direction, state.direction)


def test_a_lost_chain_touches_no_learner():
    """But one: quarantine, which moves it when its time is up."""
    adaptation, patience = LEARNING, LEARNING.quarantine.patience
    lost = chains(X.at[3].set(1e5))
    state = adaptation.init(KEY, chains(X))
    rejecting = transition(jnp.ones(NUM_CHAINS).at[3].set(0.0))
    with_lost, where = learn(adaptation, state, patience - 1, lost, rejecting)
    np.testing.assert_array_equal(where.x[3], 1e5)
    elsewhere, _ = learn(adaptation, state, patience - 1, chains(X.at[3].set(-3e4)), transition())
    for name in ("step_size", "trajectory", "moments", "direction"):
        left, right = flat(getattr(with_lost, name)), flat(getattr(elsewhere, name))
        np.testing.assert_allclose(left, right, rtol=1e-9, err_msg=name)
    step = jnp.asarray(0, jnp.int32)
    assert adaptation.statistics(state, transition(), lost, step).weight[3] == 0.0
    later, where = learn(adaptation, with_lost, 1, where, rejecting)
    assert np.abs(where.x[3]).max() < 10 and later.quarantine.reseeded[3] == 1


def test_a_dense_metric_can_be_held():
    """As a run's tuning has it; what holds it can be hashed, so that it is static when compiled."""
    factor = np.array([[1.0, 0.0], [0.5, 2.0]])
    held = HeldMetric(factor)  # type: ignore[arg-type]
    moments = HOLDING.moments.init(X, X)
    np.testing.assert_array_equal(held.value(None, moments).array(), factor)
    assert hash(held) == hash(HeldMetric(tuple(map(tuple, factor))))


def test_steps_go_as_far_when_the_metric_changes_its_size():
    """The metric grows a hundredfold at the first transition: steps shrink as much."""
    adaptation = Adaptation(metric=DenseMetric())
    far = chains(100.0 * X)
    state = adaptation.init(KEY, chains(X))
    learnt, _ = update(adaptation, state, far, transition(), jnp.asarray(0))
    before, after = (adaptation.value(one, jnp.asarray(True)) for one in (state, learnt))
    assert after.metric.size() > 50.0 * before.metric.size()
    reach = [float(one.step_size * one.metric.size()) for one in (before, after)]
    assert reach[1] == pytest.approx(2.0 * reach[0])  # by the search, as acceptance is one
    ratio = float(after.trajectory_length / before.trajectory_length)
    assert ratio < 0.1


@pytest.mark.parametrize("metric", [DenseMetric(least_gain=0.0), LowRankMetric(least_gain=0.0)])
def test_steps_go_as_far_when_the_metric_is_renewed(metric):
    """Another metric, of another size, and times in its units."""
    adaptation = Adaptation(metric=metric)
    state = adaptation.init(KEY, chains(X))
    for step in jnp.arange(20, 30):  # what is known changes, and the metric not yet
        learner = metric.update(
            state.metric, 9.0 * X, -X, jnp.ones(len(X)), state.moments, step, step
        )
        state = state._replace(metric=learner)
    renewed = jax.jit(adaptation.renew)(state, jnp.asarray(20))
    before, after = (adaptation.value(one, jnp.asarray(True)) for one in (state, renewed))
    sizes = [float(one.metric.size()) for one in (before, after)]
    assert abs(np.log(sizes[1] / sizes[0])) > 0.005
    for name in ("step_size", "trajectory_length"):
        times = [float(getattr(one, name)) for one in (before, after)]
        reach = np.multiply(times, sizes)
        assert reach[1] == pytest.approx(reach[0], rel=1e-5)


def test_given_times_are_in_units_of_the_given_metric():
    """A diagonal metric has length one where the target is widest, a dense one whitens."""
    scale = jnp.array([1.0, 0.1])
    given = Hyperparams(
        jnp.asarray(3.0), jnp.asarray(9.0), Diagonal(scale), X[0], X[0], jnp.asarray(20.0)
    )
    for metric, unit in ((DenseMetric(), 20.0), (DiagonalMetric(), 1.0)):
        adaptation = Adaptation(metric=metric)
        value = adaptation.value(adaptation.init(KEY, chains(X), given), jnp.asarray(False))
        np.testing.assert_allclose(unit * value.step_size, 3.0)
        np.testing.assert_allclose(unit * value.trajectory_length, 9.0)
        np.testing.assert_allclose(value.metric.forward(jnp.eye(2)) / unit, jnp.diag(scale))

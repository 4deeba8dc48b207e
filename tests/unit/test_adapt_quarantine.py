"""Chains that are lost: left out, then moved."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import standard_normal

from snaper import hmc
from snaper.adapt import Quarantine, Trust

NUM_CHAINS = 8


def chains(x):
    return hmc.init(standard_normal, jnp.asarray(x))


BULK = np.random.default_rng(0).normal(size=(NUM_CHAINS, 2))
FAR = BULK.copy()
FAR[5] = 1e4
ALL = jnp.ones(NUM_CHAINS, bool)


@partial(jax.jit, static_argnums=0)
def update(learner, key, state, where, accepted):
    return learner.update(key, state, where, accepted)


def run(learner, state, where, accepted, num_steps):
    for step in range(num_steps):
        state, where = update(learner, jax.random.key(step), state, where, accepted)
    return state, where


def test_outlier_has_no_weight():
    np.testing.assert_array_equal(Quarantine().weight(chains(BULK)), 1.0)
    expected = np.where(np.arange(NUM_CHAINS) == 5, 0.0, 1.0)
    np.testing.assert_array_equal(Quarantine().weight(chains(FAR)), expected)


def test_chain_far_above_the_others_counts():
    """Others on their way in from far are no reason to distrust the one that has arrived."""
    x = 30.0 + BULK
    x[2] = 0.0
    np.testing.assert_array_equal(Quarantine().weight(chains(x)), 1.0)


def test_outlier_is_moved_to_a_chain_in_the_bulk_after_its_patience():
    learner = Quarantine(patience=3)
    state, where = run(learner, learner.init(chains(FAR)), chains(FAR), ALL, 2)
    np.testing.assert_array_equal(where.x, FAR)
    state, where = run(learner, state, where, ALL, 1)
    source = np.flatnonzero((BULK == where.x[5]).all(axis=1))
    assert source.size == 1 and source[0] != 5
    np.testing.assert_array_equal(np.delete(where.x, 5, axis=0), np.delete(FAR, 5, axis=0))
    np.testing.assert_allclose(where.logp, chains(where.x).logp)  # density and gradient move along
    np.testing.assert_allclose(where.grad, chains(where.x).grad)
    np.testing.assert_array_equal(state.reseeded, np.arange(NUM_CHAINS) == 5)
    np.testing.assert_array_equal(state.strikes, 0)


def test_chain_that_never_moves_is_moved_too():
    learner, stuck = Quarantine(patience=3), ALL.at[2].set(False)
    state, where = run(learner, learner.init(chains(BULK)), chains(BULK), stuck, 3)
    np.testing.assert_array_equal(state.reseeded, np.arange(NUM_CHAINS) == 2)
    assert not np.array_equal(where.x[2], BULK[2])


def test_one_good_transition_clears_the_record():
    learner, stuck = Quarantine(patience=3), ALL.at[2].set(False)
    state, where = run(learner, learner.init(chains(BULK)), chains(BULK), stuck, 2)
    state, where = run(learner, state, where, ALL, 1)
    state, where = run(learner, state, where, stuck, 2)
    np.testing.assert_array_equal(where.x, BULK)
    np.testing.assert_array_equal(state.reseeded, 0)
    assert state.strikes[2] == 2


def test_where_all_are_lost_none_is_moved():
    learner = Quarantine(patience=3)
    state, where = run(learner, learner.init(chains(BULK)), chains(BULK), ~ALL, 5)
    np.testing.assert_array_equal(where.x, BULK)
    np.testing.assert_array_equal(state.reseeded, 0)


def test_sources_are_spread_over_the_bulk():
    """Two chains that are lost at once need not land on one."""
    x = BULK.copy()
    x[5], x[6] = 1e4, -1e4
    learner, landed = Quarantine(patience=1), set()
    for seed in range(10):
        state = learner.init(chains(x))
        _, where = update(learner, jax.random.key(seed), state, chains(x), ALL)
        landed |= {float(where.x[5, 0]), float(where.x[6, 0])}
    assert len(landed) > 3 and landed <= {*map(float, np.delete(BULK, [5, 6], axis=0)[:, 0])}


def test_trust_counts_and_keeps_every_chain():
    learner = Trust()
    np.testing.assert_array_equal(learner.weight(chains(FAR)), 1.0)
    state, where = run(learner, learner.init(chains(FAR)), chains(FAR), ~ALL, 300)
    np.testing.assert_array_equal(where.x, FAR)
    np.testing.assert_array_equal(state.reseeded, 0)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_dtype_is_kept(dtype):
    where = hmc.init(standard_normal, jnp.asarray(BULK, dtype))
    assert Quarantine().weight(where).dtype == Trust().weight(where).dtype == dtype

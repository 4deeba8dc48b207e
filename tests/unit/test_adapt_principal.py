"""Oja's rule."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from snaper import config
from snaper.adapt import HeldMoments, Principal

pytestmark = pytest.mark.usefixtures("strict")

DIM, NUM_CHAINS = 5, 16
ONES = jnp.ones(NUM_CHAINS)
ROTATION = np.linalg.qr(np.random.default_rng(0).normal(size=(DIM, DIM)))[0]
SD = np.array([3.0, 1.5, 1.0, 0.5, 0.1])
FIRST = ROTATION[:, 0]
MEAN = np.arange(5.0) * 10
PAPER = config.paper().adapt.principal


def moments(mean, variance):
    return HeldMoments(tuple(mean), tuple(variance)).init(jnp.ones((1, DIM)), jnp.ones((1, DIM)))


VARIANCE = np.diag(ROTATION * SD**2 @ ROTATION.T)
RUNNING = moments(MEAN, VARIANCE)


@partial(jax.jit, static_argnums=0)
def follow(learner, direction, batches, weight, running):
    def update(direction, now):
        x, step = now
        return learner.update(direction, x, weight, running, step), None

    steps = jnp.arange(len(batches), dtype=jnp.int32)
    return jax.lax.scan(update, direction, (batches, steps))[0]


def batches(num_steps, num_chains=NUM_CHAINS, seed=0):
    noise = np.random.default_rng(seed).normal(size=(num_steps, num_chains, DIM))
    return jnp.asarray(MEAN + (noise * SD) @ ROTATION.T)


def start(seed=0, learner=None):
    return (learner or Principal()).init(jax.random.key(seed), jnp.zeros(DIM))


@pytest.mark.parametrize("learner", [Principal(), PAPER], ids=["default", "paper"])
def test_finds_the_first_eigenvector(learner):
    direction = follow(learner, start(), batches(300), ONES, RUNNING)
    np.testing.assert_allclose(jnp.sum(direction**2), 1.0)
    assert abs(direction @ FIRST) > 0.995
    assert abs(start() @ FIRST) < 0.9


@pytest.mark.parametrize("power", [-90, 90])
def test_units_cancel(power):
    """Fourth powers of these numbers overflow or vanish."""
    scale = 10.0**power
    running = moments(MEAN * scale, VARIANCE * scale**2)
    here = follow(Principal(), start(), batches(20), ONES, RUNNING)
    there = follow(Principal(), start(), batches(20) * scale, ONES, running)
    np.testing.assert_allclose(there, here, rtol=1e-6)


def test_one_step_is_algorithm_2():
    x, w, step = batches(1)[0], start(), 20
    z = np.asarray(x) - np.mean(x, axis=0)
    image = z.T @ (z @ np.asarray(w))
    expected = np.asarray(w) + 8 / step * image / np.linalg.norm(image)
    new = PAPER.update(w, x, ONES, RUNNING, jnp.asarray(step, jnp.int32))
    np.testing.assert_allclose(new, expected / np.linalg.norm(expected))


def test_lone_chain_learns_from_its_distance_to_the_running_mean():
    direction = follow(Principal(), start(), batches(2000, 1), jnp.ones(1), RUNNING)
    assert abs(direction @ FIRST) > 0.95


def test_chain_left_out_does_not_count():
    x, weight = batches(20), ONES.at[0].set(0.0)
    wild = follow(Principal(), start(), x.at[:, 0].set(1e3), weight, RUNNING)
    np.testing.assert_allclose(wild, follow(Principal(), start(), x, weight, RUNNING), rtol=1e-9)


def test_coinciding_chains_change_nothing():
    x = jnp.broadcast_to(RUNNING.mean, (3, NUM_CHAINS, DIM))
    np.testing.assert_allclose(follow(Principal(), start(), x, ONES, RUNNING), start())


def test_start_is_random_or_given_and_of_unit_length():
    a, b = start(0), start(1)
    assert abs(a @ b) < 0.99
    np.testing.assert_allclose([a @ a, b @ b], 1.0)
    given = Principal().init(jax.random.key(0), jnp.zeros(DIM), jnp.asarray(2 * FIRST))
    np.testing.assert_allclose(given, FIRST)

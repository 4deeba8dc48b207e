"""Running mean and variance, and the average they are made of."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from snaper import config
from snaper.adapt import Moments, ema

pytestmark = pytest.mark.usefixtures("strict")

MEAN, SD = jnp.array([1.0, -3.0]), jnp.array([0.1, 20.0])
NUM_CHAINS, NUM_STEPS = 32, 400
ONES = jnp.ones(NUM_CHAINS)
PAPER = config.paper().adapt.moments


def moments(mean, variance):
    """A state to begin with."""
    start = Moments().init(jnp.ones((4, 2)), jnp.ones((4, 2)))
    return start._replace(mean=mean, variance=variance)


@partial(jax.jit, static_argnums=0)
def _follow(learner, state, batches, weight, first):
    """Feed batches of chains [step, chain, dim], one a step, with a Gaussian's gradients."""

    def update(state, now):
        x, step = now
        return learner.update(state, x, -(x - MEAN) / SD**2, weight, step), None

    steps = first + jnp.arange(len(batches), dtype=jnp.int32)
    return jax.lax.scan(update, state, (batches, steps))[0]


def follow(learner, state, batches, weight, first=0):
    return _follow(learner, state, batches, weight, jnp.asarray(first, jnp.int32))


def batches(num_steps, seed=0):
    return MEAN + SD * jax.random.normal(jax.random.key(seed), (num_steps, NUM_CHAINS, 2))


@pytest.mark.parametrize("learner", [Moments(), PAPER], ids=["default", "paper"])
def test_moments_of_the_target_are_found(learner):
    """Also from a start that is wrong by orders of magnitude."""
    state = moments(jnp.array([5.0, 5.0]), jnp.array([1e6, 1e-6]))
    state = follow(learner, state, batches(NUM_STEPS), ONES)
    np.testing.assert_allclose((state.mean - MEAN) / SD, 0.0, atol=0.1)
    np.testing.assert_allclose(jnp.sqrt(state.variance) / SD, 1.0, rtol=0.1)
    np.testing.assert_allclose(jnp.sqrt(state.grad_variance) * SD, 1.0, rtol=0.1)


def test_drift_from_a_far_start_does_not_widen_the_target():
    """A batch that approaches from 1000 sd away, at constant width."""
    path = MEAN + SD * (1000.0 * 0.99 ** jnp.arange(float(NUM_STEPS))[:, None, None])
    x = path + SD * jax.random.normal(jax.random.key(1), (NUM_STEPS, NUM_CHAINS, 2))
    state = moments(jnp.mean(x[0], axis=0), SD**2)
    limited = follow(Moments(), state, x, ONES)
    free = follow(PAPER, state, x, ONES)
    assert np.all(jnp.sqrt(limited.variance) < 2 * SD)
    assert np.all(jnp.sqrt(free.variance) > 10 * SD)


def test_chains_that_come_in_apart_widen_the_target_slowly_at_first():
    """Half of them get away, a hundred sd, at transition 20. By the paper's preset the target is
    more than 25 times as wide as it is ten transitions later, and so it is later in warm-up.
    """
    apart = jnp.where(jnp.arange(NUM_CHAINS) % 2 == 0, 100.0, 0.0)[:, None]
    x = batches(30)
    x = x.at[20:].add(SD * apart)
    here = moments(MEAN, SD**2)
    believed = jnp.sqrt(follow(Moments(), here, x, ONES).variance) / SD
    assert np.all(believed > 1.2) and np.all(believed < 5.0)
    assert np.all(jnp.sqrt(follow(PAPER, here, x, ONES).variance) > 25.0 * SD)
    later = follow(Moments(), here, x[20:], ONES, first=100)
    assert np.all(jnp.sqrt(later.variance) > 25.0 * SD)


def test_chains_that_spread_as_gradients_say_count_at_once():
    """However narrow they were before."""
    state = follow(Moments(), moments(MEAN, 1e-6 * SD**2), batches(1), ONES, first=1)
    assert np.all(state.variance > 0.3 * SD**2)


def test_starts_that_are_far_apart_count_at_once():
    """As wide as the target they may well be, though gradients there are those of a narrow one."""
    learner, x = Moments(), 10.0 * (batches(1)[0] - MEAN)
    state = learner.init(x, -1e6 * x)
    for step in range(5):
        state = learner.update(state, x, -1e6 * x, ONES, jnp.asarray(step, jnp.int32))
    np.testing.assert_allclose(state.variance, np.var(x, axis=0), rtol=0.2)


def test_variance_never_vanishes():
    """Even where all chains stay at one point."""
    state = moments(MEAN, SD**2)
    state = follow(Moments(), state, jnp.broadcast_to(MEAN, (NUM_STEPS, NUM_CHAINS, 2)), ONES)
    assert np.all(state.variance > 0)


def test_first_batch_replaces_the_start_where_nothing_else_was_seen():
    x = batches(1)
    state = follow(PAPER, moments(jnp.zeros(2), jnp.ones(2)), x, ONES)
    np.testing.assert_allclose(state.mean, np.mean(x[0], axis=0))
    np.testing.assert_allclose(state.variance, np.mean(x[0] ** 2, axis=0))  # about the old mean


def test_chain_left_out_does_not_count():
    x, weight = batches(NUM_STEPS), ONES.at[3].set(0.0)
    state = moments(MEAN, SD**2)
    wild = follow(Moments(), state, x.at[:, 3].set(1e3), weight)
    calm = follow(Moments(), state, x, weight)
    np.testing.assert_allclose(wild.mean, calm.mean, rtol=1e-12)
    np.testing.assert_allclose(wild.variance, calm.variance, rtol=1e-12)


def test_centre_is_the_mean_after_one_more_batch():
    learner, state, x = Moments(), moments(MEAN + 1.0, SD**2), batches(1)
    after = follow(learner, state, x, ONES, first=20)
    centre = learner.centre(state, x[0], ONES, jnp.asarray(20, jnp.int32))
    np.testing.assert_allclose(centre, after.mean)
    assert np.all(np.abs(centre - state.mean) > 1e-3)


def test_first_guess_is_exact_for_a_round_gaussian():
    """Wherever the points are: gradients spread by 1 / sigma^2 times the points."""
    x = 100.0 + 3.0 * jax.random.normal(jax.random.key(2), (10, 2))
    state = Moments().init(x, -(x - MEAN) / 0.25)
    np.testing.assert_allclose(state.variance, 0.25)
    np.testing.assert_allclose(state.mean, np.mean(x, axis=0))


@pytest.mark.parametrize("power", [-8, 8])
def test_first_guess_has_the_units_of_the_target(power):
    x = 3.0 * jax.random.normal(jax.random.key(2), (10, 2))
    grad, scale = -(x**3) - x, 10.0**power
    here, there = Moments().init(x, grad), Moments().init(x * scale, grad / scale)
    np.testing.assert_allclose(there.variance, here.variance * scale**2)


def test_first_guess_where_all_points_coincide():
    """The size of the gradient is what remains; without one, nothing is known."""
    x, grad = jnp.ones((10, 2)), jnp.full((10, 2), 4.0)
    np.testing.assert_allclose(Moments().init(x, grad).variance, 1 / 16)
    np.testing.assert_allclose(Moments().init(x, 0.0 * grad).variance, 1.0)


def test_given_values_are_where_it_starts():
    given = moments(MEAN, SD)
    state = Moments().init(jnp.ones((4, 2)), jnp.ones((4, 2)), given)
    np.testing.assert_array_equal(state.mean, MEAN)
    np.testing.assert_array_equal(state.variance, SD)


def test_weight_of_the_newest():
    """1 / (ceil(step / memory) + 1), as in the paper."""
    steps = jnp.array([0, 1, 8, 9, 16, 800], jnp.int32)
    weight = [ema.weight(step, 8.0, jnp.float64) for step in steps]
    np.testing.assert_allclose(weight, [1, 1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 101])
    np.testing.assert_allclose(ema.weight(steps[0], 8.0, jnp.float32, 1.0), 0.5)
    np.testing.assert_allclose(ema.blend(jnp.asarray(2.0), jnp.asarray(4.0), 0.25), 2.5)

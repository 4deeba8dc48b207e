"""The metric for many dimensions: a few directions found, the others left alone."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from snaper import metric
from snaper.adapt import LowRankMetric
from snaper.adapt.moments import MomentsState
from snaper.when import when

pytestmark = pytest.mark.usefixtures("strict")

DIM, RANK = 200, 8


def spiked(lengths, seed=0):
    """Standard deviations along orthonormal axes that are turned; one along all others."""
    axes = np.linalg.qr(np.random.default_rng(seed).normal(size=(DIM, len(lengths))))[0]
    return axes, np.asarray(lengths)


AXES, LENGTHS = spiked([6.0, 4.0, 0.25, 0.2, 0.15, 0.1])
COVARIANCE = np.eye(DIM) + (AXES * (LENGTHS**2 - 1.0)) @ AXES.T
ROOT = np.eye(DIM) + (AXES * (LENGTHS - 1.0)) @ AXES.T


@partial(jax.jit, static_argnums=0)
def _follow(learner, state, batches, precision, weight, moments):
    def body(carry, batch):
        state, step = carry
        age = step + 1
        state = learner.update(state, batch, -batch @ precision, weight, moments, step, age)
        due = learner.due(batch.shape[-1], step, age)
        state = when(due, learner.renew, state, moments, age)
        return (state, step + 1), None

    first = jnp.zeros((), jnp.int32)
    return jax.lax.scan(body, (state, first), batches)[0][0]


def moments(dtype=np.float64):
    variance = np.diag(COVARIANCE)
    curvature = np.diag(np.linalg.inv(COVARIANCE))
    return MomentsState(
        *(jnp.asarray(part, dtype) for part in (np.zeros(DIM), variance, curvature))
    )


def follow(learner, batches, weight=None, state=None):
    dtype = batches.dtype
    state = learner.init(moments(dtype)) if state is None else state
    weight = np.ones(batches.shape[1]) if weight is None else weight
    arrays = (jnp.asarray(part, dtype) for part in (batches, np.linalg.inv(COVARIANCE), weight))
    return _follow(learner, state, *arrays, moments(dtype))


def at_rest(num_steps=600, num_chains=64, seed=0, dtype=np.float64):
    noise = np.random.default_rng(seed).normal(size=(num_steps, num_chains, DIM))
    return (noise @ ROOT).astype(dtype)


def steps(found):
    """How many steps cross the Gaussian: square root of its condition number in the metric."""
    factor = np.asarray(found.forward(jnp.eye(DIM, dtype=found.scale.dtype)), np.float64).T
    values = np.linalg.eigvals(np.linalg.solve(COVARIANCE, factor @ factor.T)).real
    return np.sqrt(values.max() / values.min())


DIAGONAL = metric.Diagonal(jnp.asarray(np.sqrt(np.diag(COVARIANCE))))


@pytest.mark.parametrize("dtype", [pytest.param(np.float64, marks=pytest.mark.slow), np.float32])
def test_the_few_directions_of_a_gaussian_are_found(dtype):
    """In units of its coordinates' widths, which are not all one, it has more than six directions:
    what is left is what the rank cannot tell.
    """
    learner = LowRankMetric(rank=RANK)
    state = follow(learner, at_rest(dtype=dtype))
    assert steps(DIAGONAL) > 30.0
    assert steps(learner.value(state, moments(dtype))) < steps(DIAGONAL) / 8.0
    assert state.gain > 5.0 and "8 directions" in learner.describe(state)
    again = learner.init(moments(dtype), learner.value(state, moments(dtype)))
    assert again.gain > 5.0 and "8 directions" in learner.describe(again)


def test_axes_stay_orthonormal():
    state = follow(LowRankMetric(rank=RANK), at_rest(dtype=np.float32))
    for columns in map(np.asarray, (state.axes, state.basis)):
        np.testing.assert_allclose(columns.T @ columns, np.eye(RANK), atol=1e-5)


def test_without_correlations_it_is_diagonal():
    noise = np.random.default_rng(1).normal(size=(300, 64, DIM))
    learner = LowRankMetric(rank=RANK)
    ones = jnp.ones(DIM)
    plain = MomentsState(0.0 * ones, ones, ones)
    precision, weight = jnp.eye(DIM), jnp.ones(64)
    state = _follow(learner, learner.init(plain), jnp.asarray(noise), precision, weight, plain)
    np.testing.assert_array_equal(state.lengths, 1.0)
    assert learner.describe(state).startswith("diagonal: ")


def test_few_chains_and_short_runs_stay_safe():
    """Four chains in 200 dimensions: no direction is stretched far beyond what it is."""
    learner = LowRankMetric(rank=RANK, least_gain=0.0)
    for num_steps in (12, 40, 200):
        found = learner.value(follow(learner, at_rest(num_steps, 4)), moments())
        assert steps(found) < 1.5 * steps(DIAGONAL)


def test_directions_that_few_chains_seem_to_have_are_left_out():
    """Of a target without any, whose gradients have nothing to do with where points happen to be: a
    Gaussian's would undo what few points seem to say, and these do not.
    """
    x = np.random.default_rng(2).normal(size=(40, 2, DIM))
    ones = jnp.ones(DIM)
    plain = MomentsState(0.0 * ones, ones, ones)
    learner = LowRankMetric(rank=RANK, least_gain=0.0)
    state = learner.init(plain)
    grads = np.random.default_rng(3).normal(size=x.shape)
    for step, (points, pull) in enumerate(zip(x, grads, strict=True)):
        now = jnp.asarray(step, jnp.int32)
        arrays = (jnp.asarray(points), jnp.asarray(pull), jnp.ones(2), plain, now, now + 1)
        state = learner.update(state, *arrays)
        if bool(learner.due(DIM, now, now + 1)):
            state = learner.renew(state, plain, now + 1)
    assert np.all(np.abs(np.log(state.lengths)) < 0.2)


def test_two_dimensions_have_directions_that_are_told_from_a_dense_metric():
    learner = LowRankMetric(least_gain=0.0)
    assert [learner.rank_in(dim) for dim in (1, 2, 3, 4, 600)] == [1, 2, 1, 2, 32]
    for dim in (1, 2, 3):
        ones = jnp.ones(dim)
        plain = MomentsState(0.0 * ones, ones, ones)
        found = learner.value(learner.init(plain), plain)
        again = metric.from_array(jnp.asarray(found.array()))
        assert isinstance(again, metric.LowRank)
        np.testing.assert_allclose(again.axes, found.axes)


@pytest.mark.parametrize("what", ["all equal", "at the mode", "overflow"])
def test_chains_that_show_too_little_do_no_lasting_harm(what):
    batches = at_rest()
    early = {
        "all equal": lambda x: np.repeat(x[:, :1], 64, axis=1),
        "at the mode": np.zeros_like,
        "overflow": lambda x: 1e200 * x,
    }
    batches[:100] = early[what](batches[:100])
    learner = LowRankMetric(rank=RANK)
    state = follow(learner, batches)
    assert all(np.isfinite(part).all() for part in state)
    assert steps(learner.value(state, moments())) < steps(DIAGONAL) / 6.0


def test_chains_of_weight_zero_are_left_out():
    batches, weight = at_rest(100), np.ones(64)
    weight[5] = 0.0
    wild = batches.copy()
    wild[:, 5] = 1e200
    learner = LowRankMetric(rank=RANK)
    one, other = (follow(learner, x, weight) for x in (batches, wild))
    np.testing.assert_array_equal(one.axes, other.axes)


def test_the_map_is_what_its_numbers_say():
    """`forward` and `inverse_mass` are L and L L^T, and `array` holds all there is."""
    scale = jnp.linspace(0.5, 2.0, DIM)
    low_rank = metric.LowRank(scale, jnp.asarray(AXES), jnp.asarray(LENGTHS))
    v, g = jax.random.normal(jax.random.key(0), (2, 5, DIM))
    factor = np.asarray(scale)[:, None] * ROOT
    np.testing.assert_allclose(low_rank.forward(v), v @ factor.T, atol=1e-12)
    np.testing.assert_allclose(low_rank.inverse_mass(g), g @ factor @ factor.T, atol=1e-12)
    width = jnp.asarray(2.0)
    np.testing.assert_allclose(low_rank.variance(width), 4.0 * np.diag(factor @ factor.T))
    again = metric.from_array(jnp.asarray(low_rank.array()))
    for part, same in zip(low_rank, again, strict=True):
        np.testing.assert_allclose(part, same, atol=1e-12)


def test_a_given_metric_is_where_it_starts():
    learner = LowRankMetric(rank=len(LENGTHS))
    given = metric.LowRank(jnp.sqrt(moments().variance), jnp.asarray(AXES), jnp.asarray(LENGTHS))
    found = learner.value(learner.init(moments(), given), moments())
    for part, same in zip(given, found, strict=True):
        np.testing.assert_allclose(part, same)

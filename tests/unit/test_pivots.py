"""Which widths follow which coordinates: found from exact draws, whose structure is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.distributions import constraints

import snaper
from snaper import pivots

POINTS = 4000


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def gradients(log_density, x):
    return np.asarray(jax.vmap(jax.grad(log_density))(jnp.asarray(x))), x


def found(score, x, is_positive=None, chain=None):
    positive = np.zeros(x.shape[1], bool) if is_positive is None else is_positive
    alone = np.arange(len(x)) if chain is None else chain
    return pivots.find(score * x.std(axis=0), x, positive, alone)


@pytest.mark.parametrize("seed", range(3))
def test_nobody_follows_in_a_gaussian_however_it_is_turned(seed):
    """Slopes of 30 pairs must be 0.1, six standard errors, and their squares sum to 0.05: no false
    alarm is to be expected.
    """
    turn = normal(10 + seed, 6, 6)
    x = normal(seed, POINTS, 6) @ turn
    score = -np.linalg.solve(turn @ turn.T, x.T).T
    assert found(score, x).pivots.size == 0


@pytest.mark.parametrize("spread", [1.0, 3.0])
def test_the_neck_of_a_funnel_is_found(spread):
    v = spread * normal(0, POINTS, 1)
    x = np.concatenate([v, np.exp(v / 2) * normal(1, POINTS, 9)], axis=1)

    def log_density(x):
        within = jnp.sum(x[1:] ** 2) * jnp.exp(-x[0]) + 9 * x[0]
        return -0.5 * ((x[0] / spread) ** 2 + within)

    told = found(*gradients(log_density, x))
    np.testing.assert_array_equal(told.pivots, [0])
    np.testing.assert_array_equal(told.edges[:, 0], [False, *9 * [True]])
    np.testing.assert_allclose(told.slopes[1:, 0], spread / 2, atol=0.1)


def test_points_of_a_chain_that_stays_count_as_one():
    """A Gaussian, where one chain of 20 stays at a few places, and gradients are smaller there."""
    chain = np.repeat(np.arange(20), POINTS // 20)
    x = normal(0, POINTS, 6)
    stays = chain == 7
    x[stays] = 0.2 * x[stays] + np.array([0.0, 4.0, 4.0, 0.0, 0.0, 0.0])
    score = -np.where(stays[:, None], 0.02, 1.0) * (x - stays[:, None] * x[stays].mean(axis=0))
    assert found(score, x).pivots.size > 0
    assert found(score, x, chain=chain).pivots.size == 0
    apart = 64 * chain  # as where one chain in many has points
    assert found(score, x, chain=apart).pivots.size == 0


def test_each_weight_follows_its_own_scale_and_all_the_one_they_share():
    """Weights whose products with their scales are held: wide where scales are small."""
    count = 5
    logs = 0.8 * normal(0, POINTS, count + 1)
    width = np.exp(-logs[:, :1] - logs[:, 1:])
    x = np.concatenate([logs, width * normal(1, POINTS, count)], axis=1)

    def log_density(x):
        scales, weights = x[0] + x[1 : count + 1], x[count + 1 :]
        held = jnp.sum((weights * jnp.exp(scales)) ** 2) - 2 * jnp.sum(scales)
        return -0.5 * (held + jnp.sum((x[: count + 1] / 0.8) ** 2))

    is_positive = np.arange(2 * count + 1) <= count
    told = found(*gradients(log_density, x), is_positive)
    np.testing.assert_array_equal(told.pivots, np.arange(count + 1))
    expected = np.zeros((2 * count + 1, count + 1), bool)
    expected[count + 1 :] = np.eye(count, count + 1, 1, dtype=bool)
    expected[count + 1 :, 0] = True
    np.testing.assert_array_equal(told.edges, expected)
    np.testing.assert_allclose(told.slopes[expected], -0.8, atol=0.12)


def test_scales_are_told_by_what_parameters_are_made_of():
    like = {"a": jnp.zeros(2), "b": 1.0, "c": jnp.ones(2), "d": 0.5, "e": jnp.ones(3) / 3}
    kinds_of = {
        "b": constraints.positive,
        "c": constraints.softplus_positive,
        "d": constraints.unit_interval,
        "e": constraints.simplex,
    }
    target = snaper.Target(lambda p: -jnp.sum(p["a"] ** 2) - p["b"], like, constraints=kinds_of)
    x = normal(0, 50, target.dim)
    values = jax.vmap(target.constrain)(jnp.asarray(x))
    kinds = pivots.kinds(target, x, {name: np.asarray(value) for name, value in values.items()})
    np.testing.assert_array_equal(kinds.is_positive, [0, 0, 1, 1, 1, 0, 0, 0])
    np.testing.assert_array_equal(kinds.is_softplus, [0, 0, 0, 1, 1, 0, 0, 0])

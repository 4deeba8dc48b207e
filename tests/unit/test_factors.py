"""Two normal factors, from exact points of posteriors that have them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from snaper import factors, pivots

GROUPS, ERROR, CHAINS, STEPS = 6, 0.7, 8, 150
COUNT = CHAINS * STEPS
CHAIN = np.repeat(np.arange(CHAINS), STEPS)


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=(COUNT, *shape))


def told(log_density, x, positive):
    """By those that seem to follow what is `positive`."""
    grad = gradients(log_density, x)
    following = pivots.seeming(grad * x.std(axis=0), x, np.asarray(positive))
    return factors.find(x, grad, x[:, positive], following, CHAIN)


def gradients(log_density, x):
    return np.asarray(jax.vmap(jax.grad(log_density))(jnp.asarray(x)))


def log_effects(x):
    """Effects around a mean, of an unknown scale, that were seen with an error."""
    effects, mean, log_scale = x[:GROUPS], x[GROUPS], x[GROUPS + 1]
    scaled = (effects - mean) * jnp.exp(-log_scale)
    seen = jnp.sum((effects - jnp.arange(GROUPS)) ** 2) / ERROR**2
    return -0.5 * (jnp.sum(scaled**2) + seen) - GROUPS * log_scale


def effects():
    noise = normal(0, GROUPS + 2)
    mean, log_scale = 2.0 + noise[:, -2:-1], 0.8 * noise[:, -1:]
    around = between(mean, np.exp(-2 * log_scale), np.arange(GROUPS), noise[:, :GROUPS])
    return np.column_stack([around, mean, log_scale])


def between(prior, precision, seen, noise):
    """Draws where a normal factor around `prior` meets one around what was seen."""
    both = precision + 1 / ERROR**2
    return (precision * prior + seen / ERROR**2) / both + noise / np.sqrt(both)


def test_effects_follow_their_scale_and_move_with_their_mean():
    x = effects()
    found = told(log_effects, x, [GROUPS + 1])
    assert found.pivots.tolist() == [GROUPS + 1] and found.anchors.tolist() == [GROUPS]
    known = np.flatnonzero(np.isfinite(found.precisions[0]))
    np.testing.assert_array_equal(known, np.arange(GROUPS))
    np.testing.assert_array_equal(found.powers[known], -2.0)
    np.testing.assert_allclose(found.moves[known], 1.0, rtol=1e-6)
    np.testing.assert_allclose(found.precisions[0, known], 1 / ERROR**2, rtol=1e-6)
    middle = np.exp(-2 * x[:, -1].mean())
    np.testing.assert_allclose(found.precisions[1, known], middle, rtol=1e-6)
    np.testing.assert_allclose(found.centres[0, known], known, atol=1e-5)
    np.testing.assert_allclose(found.centres[1, known], x[:, GROUPS].mean(), atol=1e-6)
    np.testing.assert_allclose(found.leans, 0.0, atol=1e-5)


def log_products(x):
    """Coefficients whose scales are products of one of their own and one that all share."""
    coefficients, logs, shared = x[:GROUPS], x[GROUPS : 2 * GROUPS], x[2 * GROUPS]
    scaled = coefficients * jnp.exp(-logs - shared)
    seen = jnp.sum((coefficients - 1.0) ** 2) / ERROR**2
    return -0.5 * (jnp.sum(scaled**2) + seen + jnp.sum(logs**2) + shared**2)


def test_widths_follow_products():
    noise = normal(1, 2 * GROUPS + 1)
    logs = noise[:, GROUPS : 2 * GROUPS] + noise[:, -1:]
    coefficients = between(0.0, np.exp(-2 * logs), 1.0, noise[:, :GROUPS])
    x = np.column_stack([coefficients, noise[:, GROUPS:]])
    found = told(log_products, x, np.arange(GROUPS, 2 * GROUPS + 1))
    expected = np.column_stack([-2.0 * np.eye(GROUPS), np.full(GROUPS, -2.0)])
    np.testing.assert_array_equal(found.powers[:GROUPS], expected)
    np.testing.assert_allclose(found.precisions[0, :GROUPS], 1 / ERROR**2, rtol=1e-5)
    np.testing.assert_allclose(found.centres[1, :GROUPS], 0.0, atol=1e-5)


@pytest.mark.parametrize("error", [ERROR, 0.2])
def test_a_centre_may_lean_by_its_own_width(error):
    """Standard weights whose products with their own scales were seen are held to a number over
    the scale.
    """

    def log_seen_products(x):
        weights, logs = x[:GROUPS], x[GROUPS:]
        misfit = jnp.sum((weights * jnp.exp(logs) - 2.0) ** 2) / error**2
        return -0.5 * (misfit + jnp.sum(weights**2) + jnp.sum(logs**2))

    noise = normal(2, 2 * GROUPS)
    logs = noise[:, GROUPS:]
    precision = 1 + np.exp(2 * logs) / error**2
    mean = 2.0 * np.exp(logs) / error**2 / precision
    x = np.column_stack([mean + noise[:, :GROUPS] / np.sqrt(precision), logs])
    found = told(log_seen_products, x, np.arange(GROUPS, 2 * GROUPS))
    np.testing.assert_array_equal(found.powers[:GROUPS], 2.0 * np.eye(GROUPS))
    np.testing.assert_allclose(found.leans[:GROUPS], 2.0 / error, rtol=1e-4)
    np.testing.assert_allclose(found.precisions[0, :GROUPS], 1.0, rtol=1e-4)


def all_may_follow(places, dim):
    slopes = np.ones((dim, len(places)))
    slopes[places, np.arange(len(places))] = 0.0
    return pivots.Following(np.asarray(places), slopes > 0, slopes)


@pytest.mark.parametrize("seed", range(3))
def test_nobody_follows_in_a_gaussian(seed):
    """Though all are asked, even where no gradient is quite linear."""
    axes = np.random.default_rng(seed).normal(size=(5, 5))
    precision = np.linalg.inv(axes @ axes.T)
    x = normal(seed, 5) @ axes.T
    for noise in (0.0, 1e-3):
        grad = -x @ precision + noise * normal(seed + 10, 5)
        assert factors.find(x, grad, x[:, 3:], all_may_follow([3, 4], 5), CHAIN) is None


def test_few_points_and_few_chains_tell_nothing():
    x = effects()
    grad, following = gradients(log_effects, x), all_may_follow([GROUPS + 1], GROUPS + 2)

    def found(some=slice(None), chain=CHAIN):
        return factors.find(x[some], grad[some], x[some, -1:], following, chain[some])

    assert found(slice(None, None, 5)) is not None
    assert found(slice(None, None, 30)) is None
    assert found(chain=np.zeros(COUNT, int)) is None
    assert found(chain=2 * CHAIN).anchors.tolist() == [GROUPS]  # where others have no points


def test_powers_that_would_overflow_are_not_taken():
    """Though they are right: one point has a precision e^80 or e^120 times less than the others."""
    x, following = effects(), all_may_follow([GROUPS + 1], GROUPS + 2)
    for log_scale, is_squared in ((40.0, True), (60.0, False)):
        x[0, -1] = log_scale
        grad = gradients(log_effects, x)
        found = factors.find(x, grad, x[:, -1:], following, CHAIN)
        assert (np.nanmin(found.powers) == -2.0) == is_squared


def test_plainest_centres_are_anchors_themselves_or_zero():
    found = told(log_effects, effects(), [GROUPS + 1])
    rough = found._replace(moves=found.moves + 0.2, centres=found.centres + 0.1)
    mean = np.arange(GROUPS + 2.0)
    plain = rough.plainest(mean)
    np.testing.assert_array_equal(plain.moves[:GROUPS], 1.0)
    np.testing.assert_array_equal(plain.centres[1, :GROUPS], mean[GROUPS])
    np.testing.assert_array_equal(plain.centres[0], rough.centres[0])

"""Effective sample size and R-hat, against closed forms."""

import jax.numpy as jnp
import numpy as np
import pytest

from snaper.diagnostics import ess

NUM_CHAINS, NUM_DRAWS = 16, 4000


def autoregressive(rho, seed=0):
    """AR(1) chains of unit variance, [chain, draw]."""
    rng = np.random.default_rng(seed)
    x = np.empty((NUM_CHAINS, NUM_DRAWS))
    x[:, 0] = rng.normal(size=NUM_CHAINS)
    noise = rng.normal(size=x.shape) * np.sqrt(1 - rho**2)
    for i in range(1, NUM_DRAWS):
        x[:, i] = rho * x[:, i - 1] + noise[:, i]
    return x


RHOS = [0.0, 0.5, 0.9]
DRAWS = np.stack([autoregressive(rho, seed) for seed, rho in enumerate(RHOS)], axis=-1)


def test_autoregressive_chains_have_the_size_of_theory():
    """N (1 - rho) / (1 + rho)."""
    size = np.asarray(ess.ess_per_dimension(jnp.asarray(DRAWS)))
    rho = np.array(RHOS)
    np.testing.assert_allclose(size, DRAWS[..., 0].size * (1 - rho) / (1 + rho), rtol=0.15)


def test_squares_decorrelate_faster():
    """The square of a Gaussian AR(1) is one of rho^2 in its autocorrelation."""
    size = np.asarray(ess.ess_of_squares(jnp.asarray(DRAWS + 5.0)))
    rho = np.array(RHOS) ** 2
    np.testing.assert_allclose(size, DRAWS[..., 0].size * (1 - rho) / (1 + rho), rtol=0.15)


def test_alternating_chains_have_more_than_their_number():
    anti = jnp.asarray(autoregressive(-0.5))
    assert ess.effective_sample_size(anti) > 0.9 * anti.size


def test_a_chain_that_never_moved_is_worth_nothing():
    stuck = DRAWS.copy()
    stuck[3, :, 1] = 0.7
    size = np.asarray(ess.ess_per_dimension(jnp.asarray(stuck)))
    assert size[1] == 0.0 and size[0] > 0 and size[2] > 0
    np.testing.assert_array_equal(ess.ess_per_dimension(jnp.ones_like(DRAWS)), 0.0)


def test_chains_that_disagree_are_worth_little():
    """Variance between chains counts: each chain mixes at once, but somewhere else."""
    apart = DRAWS[..., :1] + 10.0 * np.arange(NUM_CHAINS)[:, None, None]
    apart = np.concatenate([apart, DRAWS[..., :2]], axis=-1)
    size = np.asarray(ess.ess_per_dimension(jnp.asarray(apart)))
    assert size[0] < 100 < size[1]


def test_one_chain_is_enough():
    size = ess.effective_sample_size(jnp.asarray(DRAWS[:1, :, 1]))
    np.testing.assert_allclose(size, NUM_DRAWS / 3, rtol=0.3)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_units_and_origin_do_not_matter(scale):
    moved = jnp.asarray(scale * (DRAWS - 0.5))
    np.testing.assert_allclose(
        ess.ess_per_dimension(moved), ess.ess_per_dimension(jnp.asarray(DRAWS)), rtol=1e-6
    )
    np.testing.assert_allclose(ess.split_rhat(moved), ess.split_rhat(jnp.asarray(DRAWS)), rtol=1e-6)


def test_rhat_is_near_one_for_chains_that_agree():
    rhat = np.asarray(ess.split_rhat(jnp.asarray(DRAWS)))
    assert np.all(rhat > 0.999) and np.all(rhat < 1.02)
    np.testing.assert_allclose(rhat[0], 1.0, atol=1e-3)


def test_rhat_matches_its_formula():
    half = DRAWS.reshape(2 * NUM_CHAINS, NUM_DRAWS // 2, -1)
    within = half.var(axis=1, ddof=1).mean(axis=0)
    between = half.mean(axis=1).var(axis=0, ddof=1)
    n = NUM_DRAWS // 2
    expected = np.sqrt((n - 1) / n + between / within)
    np.testing.assert_allclose(ess.split_rhat(jnp.asarray(DRAWS)), expected)


def test_rhat_is_large_for_chains_that_are_shifted_or_drift():
    shifted = DRAWS.copy()
    shifted[3:, :, 0] += 3.0
    shifted[:, :, 1] += np.linspace(0.0, 6.0, NUM_DRAWS)  # every chain alike: halves tell
    rhat = np.asarray(ess.split_rhat(jnp.asarray(shifted)))
    assert rhat[0] > 1.2 and rhat[1] > 1.2 and rhat[2] < 1.02

"""Moments of named values over all chains and draws."""

import jax.numpy as jnp
import numpy as np
from helpers import standard_normal

from snaper import Target
from snaper.diagnostics import pooled


def test_more_values_than_int32_can_count():
    """16384 chains of 131072 draws, of mean 3 and variance 4, and one draw more, of mean 5."""
    target = Target(standard_normal, jnp.zeros(()))
    draws, chains = 2**17, 2**14
    seen = pooled.Pooled(
        jnp.asarray(draws, jnp.int32), {"x": jnp.asarray(3.0)}, {"x": jnp.asarray(4.0 * draws)}
    )
    rows = jnp.full((2, chains, 1), 5.0)
    seen = pooled.update(target, seen, rows, np.int32(1))
    mean, sd = pooled.mean_and_sd(seen)["x"]
    np.testing.assert_allclose(mean, 3.0 + 2.0 / (draws + 1))
    share = draws / (draws + 1)
    np.testing.assert_allclose(sd**2, 4.0 * share + 4.0 * share / (draws + 1))


def test_no_draws_have_no_moments():
    mean, sd = pooled.mean_and_sd(pooled.init(Target(standard_normal, jnp.zeros(()))))["x"]
    assert np.isnan(mean) and np.isnan(sd)

"""Effective sample size and R-hat of draws that are kept."""

from pathlib import Path

import autoregressive
import jax.numpy as jnp
import numpy as np
import pytest

from snaper.diagnostics.ess import (
    effective_sample_size,
    ess_of_squares,
    ess_per_dimension,
    nested_rhat,
    split_rhat,
)

# Draws, and what tfp.mcmc.effective_sample_size(draws.T, cross_chain_dims=1) says of them (TFP
# 0.26.0-dev20261027 on JAX, float64).
TFP = np.load(Path(__file__).with_name("tfp_ess.npz"))
CASES = [name.removeprefix("draws_") for name in TFP if name.startswith("draws_")]


@pytest.mark.parametrize("case", CASES)
def test_the_paper_s_estimator_is_tfp_s(case):
    size = float(effective_sample_size(TFP[f"draws_{case}"], np))
    assert size == pytest.approx(float(TFP[f"ess_{case}"]), rel=1e-4)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_it_is_the_same(case, dtype):
    """Of squares too, whose mean is then known: draws and their mirror image have mean zero."""
    draws = TFP[f"draws_{case}"]
    size = ess_per_dimension(jnp.asarray(draws[..., None], dtype))
    assert size[0] == pytest.approx(float(TFP[f"ess_{case}"]), rel=1e-4)
    mirrored = np.concatenate([draws, -draws])
    squares = ess_of_squares(jnp.asarray(mirrored[..., None], dtype))
    assert squares[0] == pytest.approx(float(effective_sample_size(mirrored**2, np)), rel=1e-4)


def test_constant_chain_has_no_effective_draws():
    draws = autoregressive.chains(0.5, 8, 40)
    draws[3] = 0.25
    assert effective_sample_size(draws, np) == 0.0


SUPERCHAINS, SIZE = 16, 64


@pytest.mark.parametrize("num_draws", [5, 10, 20, 50])
def test_nested_rhat_passes_stationary_chains_however_short(num_draws):
    """Correlated 0.9 from draw to draw, so that split R-hat would need hundreds of draws. Of
    300 seeds, 9 % fail at five draws, 2 % at ten, 0.3 % at twenty and none at fifty: chains shorter
    than their memory count as one draw each, and a superchain's mean is one of 64 draws.
    """
    draws = autoregressive.chains(0.9, SUPERCHAINS * SIZE, num_draws)[..., None]
    assert nested_rhat(draws, SUPERCHAINS, np)[0] < 1.01
    assert split_rhat(draws, xp=np)[0] > 1.2


def test_nested_rhat_fails_until_starts_are_forgotten():
    """Superchains that began three standard deviations off, each on its own side."""
    rng = np.random.default_rng(1)
    starts = np.repeat(3.0 * rng.choice([-1.0, 1.0], SUPERCHAINS), SIZE)
    draws = autoregressive.chains(0.9, SUPERCHAINS * SIZE, 65, start=starts)[..., None]
    seen = [nested_rhat(draws[:, burn : burn + 5], SUPERCHAINS, np)[0] for burn in (0, 10, 20, 60)]
    assert seen[0] > 1.5 and seen[1] > 1.05 and seen[2] > 1.01 and seen[3] < 1.01
    assert seen == sorted(seen, reverse=True)


def test_nested_rhat_is_arviz_s():
    array_stats = pytest.importorskip("arviz_stats.base.array").array_stats
    draws = autoregressive.chains(0.7, 24, 30)
    ids = np.repeat(np.arange(6), 4)
    expected = array_stats.rhat_nested(
        draws, superchain_ids=ids, method="identity", chain_axis=0, draw_axis=1
    )
    assert nested_rhat(draws[..., None], 6, np)[0] == pytest.approx(float(expected))


def test_nested_rhat_of_one_draw():
    draws = autoregressive.chains(0.5, 1024, 1)[..., None]
    assert 1.0 < nested_rhat(draws, 16, np)[0] < 1.02


def test_nothing_varies_where_nothing_is_told():
    draws = np.ones((8, 10, 1))
    assert np.isnan(split_rhat(draws, xp=np)[0]) and np.isnan(nested_rhat(draws, 4, np)[0])

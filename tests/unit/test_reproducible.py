"""Draws depend on the seed, and on nothing that is only convenience."""

import jax
import numpy as np
import pytest
from helpers import NUM_CHAINS, normal_model

import snaper

SIZES = {"chains": NUM_CHAINS, "warmup": 60, "draws": 50, "seed": 3}


def sample(**changes):
    return snaper.sample(normal_model(), **{**SIZES, "progress": False, **changes})


@pytest.fixture(scope="module")
def plain():
    return sample()


def same(run, other, thin=1):
    np.testing.assert_array_equal(run.unconstrained, other.unconstrained[:, ::thin])
    for name, values in run.stats.items():
        np.testing.assert_array_equal(values, other.stats[name][:, ::thin], err_msg=name)
    for name, values in run.warmup_stats.items():
        np.testing.assert_array_equal(values, other.warmup_stats[name], err_msg=name)
    for name in run.tuning.keys():
        np.testing.assert_array_equal(run.tuning[name], other.tuning[name], err_msg=name)
    assert run.num_gradients == other.num_gradients
    assert run.findings == other.findings


@pytest.mark.parametrize("chunk", [1, 7, 100])
def test_chunks_change_no_bit(plain, chunk):
    same(sample(chunk=chunk), plain)


@pytest.mark.parametrize("kind", ["rbg", pytest.param("unsafe_rbg", marks=pytest.mark.slow)])
def test_chunks_change_no_bit_with_another_generator(kind):
    """Whose numbers depend on the keys that are used beside them."""
    seed = jax.random.key(3, impl=kind)
    same(sample(seed=seed, chunk=7), sample(seed=seed, chunk=100))


def test_progress_changes_no_bit(plain, capsys):
    same(sample(progress=True, chunk=20), plain)
    assert "sampling 110/110" in capsys.readouterr().err


def test_same_seed_same_bits_other_seed_others(plain):
    same(sample(), plain)
    assert not np.isin(sample(seed=4).unconstrained, plain.unconstrained).any()


@pytest.mark.parametrize(("thin", "chunk"), [(10, None), (10, 7), (3, 1), (49, 20), (200, 7)])
def test_thinning_keeps_every_so_manieth_draw(plain, thin, chunk):
    run = sample(thin=thin, chunk=chunk)
    assert run.unconstrained.shape[1] == -(-50 // thin)
    same(run, plain, thin)


def test_more_draws_begin_with_the_same(plain):
    longer = sample(draws=80)
    np.testing.assert_array_equal(longer.unconstrained[:, :50], plain.unconstrained)

"""Adaptive NUTS: the package's learners around another library's trees."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import snaper
from snaper import hmc, metric

WARMUP, DRAWS = 300, 500
SD = np.array([1.0, 10.0, 0.1])


def log_density(x, sd):
    return -0.5 * jnp.sum((x / sd) ** 2)


@pytest.fixture(scope="module")
def run():
    target = snaper.Target(log_density, jnp.zeros(3), jnp.asarray(SD))
    return snaper.sample(
        target, preset=snaper.nuts.adaptive(), chains=16, warmup=WARMUP, draws=DRAWS, progress=False
    )


def test_moments_are_right(run):
    """Of 16 chains, whose means and mean squares are independent: one in 1e5 is beyond 6 errors."""
    x = run.unconstrained / SD
    for power, expected in ((1, 0.0), (2, 1.0)):
        means = np.mean(x**power, axis=1)
        error = means.std(axis=0, ddof=1) / np.sqrt(len(means))
        assert np.all(np.abs(means.mean(axis=0) - expected) < 6 * error)


def test_it_begins_with_single_leapfrog_steps_and_then_grows_trees(run):
    held = WARMUP // 5
    steps = run.warmup_stats["n_steps"]
    assert np.all(steps[:, :held] == 1) and steps[:, held:].max() > 1
    sizes = np.unique(run.stats["n_steps"])
    assert len(sizes) > 1 and sizes.max() <= 1023


def test_every_chain_has_its_own_tree_and_all_wait_for_the_longest(run):
    steps = run.stats["n_steps"]
    assert np.any(steps != steps[0])
    assert run.num_gradients[1] == steps.max(axis=0).sum()
    np.testing.assert_allclose(
        run.stats["trajectory_length"], steps * run.stats["step_size"], rtol=1e-6
    )


def test_step_size_and_metric_are_learnt(run):
    """Acceptance is that of whole trees; the harmonic mean over chains is aimed at 0.8."""
    accepted = run.stats["acceptance_rate"]
    assert np.mean(1.0 / np.mean(1.0 / accepted, axis=0)) == pytest.approx(0.8, abs=0.1)
    scale = run.tuning.metric
    np.testing.assert_allclose(scale / scale.max(), SD / SD.max(), rtol=0.2)


def test_float32_and_a_cap_on_doublings():
    with jax.enable_x64(False):
        target = snaper.Target(log_density, jnp.zeros(3), jnp.asarray(SD, jnp.float32))
        run = snaper.sample(
            target,
            preset=snaper.nuts.adaptive(max_doublings=2),
            chains=8,
            warmup=50,
            draws=20,
            progress=False,
        )
    assert run.unconstrained.dtype == np.float32
    assert run.stats["n_steps"].max() <= 3


@pytest.mark.parametrize("doublings", [0, 30, 2.5])
def test_doublings_are_a_small_whole_number(doublings):
    with pytest.raises(ValueError, match="max_doublings must be a whole number from 1 to 20"):
        snaper.nuts.adaptive(max_doublings=doublings)


def test_without_blackjax_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "blackjax", None)
    with pytest.raises(ImportError, match=r"snaper\[nuts\]"):
        snaper.nuts.adaptive()


def test_a_tree_costs_no_more_where_seeds_are_mapped_over():
    """Both branches of a condition run there: the one of a single step must not take more."""
    evaluated = []

    def counted(x):
        jax.debug.callback(lambda _: evaluated.append(1), x)
        return -0.5 * jnp.sum(x**2)

    def move(key, x):
        chains = hmc.init(counted, x)
        cap = jnp.where(jnp.sum(x) < 1e9, 1023, 1)  # mapped over, too
        one, none = jnp.asarray(1.0), jnp.asarray(0.0)
        tree = snaper.nuts.Tree(max_doublings=2)
        return tree(key, counted, chains, one, metric.identity(x[0]), cap, none)[1]

    seen = jax.vmap(move)(jax.random.split(jax.random.key(0), 2), jnp.ones((2, 1, 3)))
    jax.effects_barrier()
    assert np.all(seen.num_leapfrog <= 3)
    assert 2 * 3 < len(evaluated) < 100

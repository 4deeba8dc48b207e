"""Ways in which ensemble samplers are known to fail; each test fails on the defect."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import errors_off, gaussian

import snaper
from snaper import chunk, config, cores, hmc, sampler, targets
from snaper.jitter import QuasiRandom

pytestmark = pytest.mark.statistical
SCALES = np.array([1.0, 10.0])


def upright(x, scale):
    return -0.5 * jnp.sum((x / scale) ** 2)


def walled(x, data):
    """The Gaussian, with nothing beyond a wall in x[0]."""
    scale, wall = data
    return jnp.where(x[0] > wall, -jnp.inf, upright(x, scale))


def behind_a_wall(scale=SCALES, wall=6.0):
    return snaper.Target(walled, np.zeros(2), (scale, np.asarray(wall)))


def nan_everywhere(params):
    return jnp.nan * params["mu"] + jnp.sum(params["theta"])


@pytest.fixture(scope="module")
def clean():
    return snaper.sample(behind_a_wall(), seed=1, progress=False)


@pytest.mark.parametrize("bad", [np.nan, 1e6, np.inf])
def test_one_bad_start_freezes_nobody(clean, bad):
    starts = np.random.default_rng(0).normal(size=(64, 2))
    starts[7] = bad
    run = snaper.sample(behind_a_wall(), init=starts, seed=1, progress=False)
    assert run.tuning.step_size == pytest.approx(clean.tuning.step_size, rel=0.5)
    assert run.unconstrained.std(axis=1).min() > 0.3
    assert errors_off(run.unconstrained**2, SCALES**2) < 5.0


def test_a_quarter_of_starts_outside_the_support(clean):
    starts = np.random.default_rng(0).normal(size=(64, 2))
    starts[:16, 0], starts[16], starts[17] = 8.0, np.nan, 1e6 * np.array([-1.0, 1.0])
    run = snaper.sample(behind_a_wall(), init=starts, seed=1, progress=False)
    assert run.tuning.step_size == pytest.approx(clean.tuning.step_size, rel=0.5)
    assert errors_off(run.unconstrained**2, SCALES**2) < 5.0  # false alarm: one seed in 1e5
    (said,) = [finding for finding in run.findings if finding.topic == "starts"]
    assert "17 of 64" in str(said)


def test_a_density_that_is_nowhere_finite_is_an_error_before_anything_long(compilations):
    target = snaper.Target(nan_everywhere, {"mu": 0.0, "theta": np.zeros(3)})
    compilations()
    with pytest.raises(snaper.InitializationError, match="mu"):
        snaper.sample(target, progress=False)
    assert not any("advance" in name for name in compilations())


def test_everyone_rejecting_at_first_recovers():
    """All chains at one point of a target ten thousand times narrower than the first step."""
    target = behind_a_wall(SCALES * 1e-8, np.inf)  # none, that is
    run = snaper.sample(target, init=np.zeros(2), progress=False)
    np.testing.assert_allclose(run.unconstrained.std(axis=(0, 1)), SCALES * 1e-8, rtol=0.1)


def test_a_far_start_does_not_inflate_the_learned_widths():
    scale = np.geomspace(0.1, 10.0, 10)
    target = snaper.Target(gaussian, np.zeros(10), np.diag(1.0 / scale))
    run = snaper.sample(target, warmup=600, draws=0, init=np.full(10, 50.0), progress=False)
    widths = run.tuning.metric / run.tuning.metric.max()
    np.testing.assert_allclose(widths, scale / scale.max(), rtol=0.2)
    assert run.num_gradients[0] < 5000


@pytest.fixture
def one_core(monkeypatch):
    """For draws, too: on several they are compiled once more, for a part of the chains."""
    monkeypatch.setattr(cores, "_cores", lambda: 1)


@pytest.mark.usefixtures("one_core")
def test_stochastic_volatility_samples_from_cold_in_single_precision():
    """The log density is -2e7 at the start, where its last digit is worth two.

    At rest it has mean -9205 and standard deviation 35: the median of 64 chains is within 30 of it.
    """
    with jax.enable_x64(False):
        benchmark = targets.benchmark("stochastic-volatility")
        start = benchmark.prior_mean(jax.random.key(3))
        assert start.dtype == np.float32 and benchmark.target.logp(start) < -1e7
        run = snaper.sample(benchmark.target, init=start, warmup=600, draws=50, progress=False)
    assert [finding for finding in run.findings if finding.severity == "trouble"] == []
    assert abs(np.median(run.stats["lp"]) + 9205) < 30
    assert run.tuning.step_size > 0.05


@pytest.mark.usefixtures("one_core")
@pytest.mark.parametrize("seed", [1, 12])
def test_rounding_of_many_terms_does_not_keep_chains_away(seed):
    """Seeds in which one refusal in a transition or two made the step size fall for good."""
    with jax.enable_x64(False):
        benchmark = targets.benchmark("stochastic-volatility")
        start = benchmark.prior_mean(jax.random.key(3))
        sizes = {"warmup": 100, "draws": 1, "seed": seed}
        run = snaper.sample(benchmark.target, init=start, **sizes, progress=False)
    assert run.stats["lp"].min() > -2e4


@pytest.mark.parametrize("seed", [66, 71])
def test_chains_that_come_in_apart_do_not_widen_one_coordinate(seed):
    """Seeds in which some chains came in while others were rejected. Where chains come in at once,
    the widest coordinate is about twice as wide as the median one after 100 transitions; with the
    way between chains taken for the target's width it was 32 and 52 times as wide.
    """
    with jax.enable_x64(False):
        benchmark, chosen = targets.benchmark("stochastic-volatility"), config.default()
        start = jnp.tile(benchmark.prior_mean(jax.random.key(3)), (64, 1))
        state = sampler.init(jax.random.key(seed), benchmark.target, chosen, start, 500)
        slots = chunk.capacity(*start.shape, start.dtype.itemsize)  # as those of `sample`
        record = chunk.empty(benchmark.target, chosen, state, slots)
        state, _, _ = chunk.advance(benchmark.target, chosen, state, record, 0, 100, 100)
    widths = np.sqrt(state.adapt.moments.variance)
    assert np.max(widths) < 6.0 * np.median(widths)


def test_jitter_neither_repeats_nor_vanishes():
    jitter = QuasiRandom()
    steps = jnp.arange(100_000)
    values = np.asarray(jax.vmap(lambda s: jitter(jax.random.key(0), s, jnp.float32))(steps))
    assert values.min() > 0.0 and values.max() < 2.0
    assert len(np.unique(values)) > 99_000


@pytest.mark.parametrize("max_leapfrog", [pytest.param(5, marks=pytest.mark.slow), 20])
def test_the_cap_holds_always_and_reaching_it_is_reported(max_leapfrog):
    """Widths of 1 and 0.001 under the identity: a good trajectory has a thousand steps."""
    target = snaper.Target(upright, np.zeros(2), np.array([1.0, 0.001]))
    run = snaper.sample(
        target, warmup=500, draws=200, metric="identity", max_leapfrog=max_leapfrog, progress=False
    )
    assert run.warmup_stats["n_steps"].max() <= max_leapfrog
    assert run.stats["n_steps"].max() == max_leapfrog
    assert "leapfrog-cap" in [finding.topic for finding in run.findings]


def test_longer_trajectories_are_asked_for_from_below_and_shorter_from_above():
    """Started at a tenth of the best length and at three times it, the length moves towards it."""
    target = snaper.Target(upright, np.zeros(2), np.ones(2))
    chosen = config.preset("default", "snaper", "identity")
    x = jax.random.normal(jax.random.key(0), (256, 2))
    step = jax.jit(sampler.step, static_argnums=1)
    for length, sign in ((0.2, 1), (2.7, -1)):
        given = sampler.Hyperparams(
            jnp.asarray(0.1),
            jnp.asarray(length),
            snaper.metric.Diagonal(jnp.ones(2)),
            jnp.zeros(2),
            jnp.asarray([1.0, 0.0]),
            jnp.asarray(1.0),
        )
        state = sampler.init(jax.random.key(1), target, chosen, x, 1000, given)
        for _ in range(50):
            state, _ = step(target, chosen, state)
        learned = float(jnp.exp(state.adapt.trajectory.log_length))
        assert sign * (learned - length) > 0.2 * length


def test_velocity_is_not_flipped():
    """The end-point moves along the velocity that a transition reports."""
    x = jax.random.normal(jax.random.key(0), (8, 2))
    chains = hmc.init(lambda x: -0.5 * jnp.sum(x**2), x)
    identity = snaper.metric.identity(x[0])
    ends = [
        hmc.step(
            hmc.noise(jax.random.key(1), x),
            lambda x: -0.5 * jnp.sum(x**2),
            chains,
            jnp.asarray(0.001),
            identity,
            jnp.asarray(steps),
            jnp.asarray(0.0),
        )[1]
        for steps in (500, 501)
    ]
    moved = (ends[1].proposal - ends[0].proposal) / 0.001
    np.testing.assert_allclose(moved, ends[0].velocity, rtol=0.02, atol=0.002)

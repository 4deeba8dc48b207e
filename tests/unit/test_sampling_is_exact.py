"""After warm-up nothing is forgiven, moved or learnt, whether kicks alternate or not."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import snaper
from snaper import arguments, chunk, hmc, sampler, stretch
from snaper.adapt import StepSize
from snaper.clock import Integrated
from snaper.keep import Draws
from snaper.record import Recorder


def normal(x, constant):
    return -0.5 * jnp.sum(x**2) + constant


def coarse(x):
    return normal(x, 3e6)


# With no digits to spare in single precision; and another, that shares what is compiled.
TARGET = snaper.Target(normal, np.zeros(3, np.float32), np.float32(3e6))
FINE = snaper.Target(normal, np.zeros(3, np.float32), np.float32(0.0))
SLOTS = chunk.capacity(64, 3, 4)  # as those of `sample`
DEFAULT = snaper.Config()
LEAPFROG = replace(DEFAULT, clock=Integrated(), adapt=replace(DEFAULT.adapt, step_size=StepSize()))
KINDS = {"leapfrog": (LEAPFROG, 0.0), "even": (DEFAULT, 0.0), "alternating": (DEFAULT, 0.153)}
STEP = jax.jit(sampler.step, static_argnums=1)
MOVE = jax.jit(hmc.step, static_argnums=1)


def begin(config, alternation):
    x = jax.random.normal(jax.random.key(0), (64, 3), jnp.float32)
    ones = np.ones(3)
    given = snaper.Tuning(1.2, 2.0, ones, np.zeros(3), ones, alternation=alternation)
    given = given.hyperparams(np.float32)
    return sampler.init(jax.random.key(1), TARGET, config, x, 10, given)


@pytest.fixture(params=KINDS)
def kind(request):
    """A configuration, by which kicks are even or alternate, and a state of it."""
    config, alternation = KINDS[request.param]
    return config, begin(config, alternation)


def accept_prob(config, state, rounding, alternation=None):
    """Of the transition that follows, with so many units in the last place forgiven; with the kicks
    that were given, or others.
    """
    _, key_steps = jax.random.split(state.key)
    key, _ = jax.random.split(jax.random.fold_in(key_steps, state.step))
    hyper = config.adapt.value(state.adapt, state.step < state.num_warmup)
    info = STEP(TARGET, config, state)[1]
    unit = config.clock.unit(hyper.alternation)
    longest = config.clock.longest(hyper.trajectory_length, unit)
    return MOVE(
        hmc.noise(key, state.chains.x),
        coarse,
        state.chains,
        jnp.minimum(hyper.step_size, longest),
        hyper.metric,
        info.n_steps,
        jnp.asarray(rounding, jnp.float32),
        jnp.asarray(hyper.alternation if alternation is None else alternation, jnp.float32),
    )[1].accept_prob


def test_rounding_is_forgiven_in_warm_up_only(kind):
    config, state = kind
    sampling = state._replace(step=state.num_warmup)
    for now, rounding in ((state, config.rounding), (sampling, 0.0)):
        found = STEP(TARGET, config, now)[1].acceptance_rate
        np.testing.assert_allclose(found, accept_prob(config, now, rounding), rtol=1e-5)
    exact, forgiving = (accept_prob(config, sampling, units) for units in (0.0, config.rounding))
    assert not np.allclose(exact, forgiving)


def test_kicks_alternate_in_draws_if_they_are_said_to():
    """Transitions are those of the kicks that were given, and would be others with even ones."""
    state = begin(DEFAULT, 0.153)
    sampling = state._replace(step=state.num_warmup)
    info = STEP(TARGET, DEFAULT, sampling)[1]
    same, other = (accept_prob(DEFAULT, sampling, 0.0, each) for each in (0.153, 0.0))
    np.testing.assert_allclose(info.acceptance_rate, same, rtol=1e-5)
    assert not np.allclose(info.acceptance_rate, other, rtol=0.01)
    assert info.n_steps % 2 == 0


def test_no_chain_is_moved_in_sampling(kind):
    config, state = kind
    far = state.chains.x.at[3].set(1e4)
    chains = sampler.evaluate(TARGET, far)
    strikes = state.adapt.quarantine.strikes.at[3].set(99)
    adapt = state.adapt._replace(quarantine=state.adapt.quarantine._replace(strikes=strikes))
    for step, moved in ((0, True), (state.num_warmup, False)):
        now = state._replace(step=jnp.asarray(step, jnp.int32), chains=chains, adapt=adapt)
        after, _ = STEP(TARGET, config, now)
        assert bool(jnp.max(jnp.abs(after.chains.x[3])) < 100) == moved


def test_nothing_is_learnt_in_sampling(kind):
    """Not even when a metric would be due."""
    config, state = kind
    now = state._replace(step=state.num_warmup + 1)
    assert config.adapt.due(3, now.step, now.step + 1 - now.began)
    after, _ = STEP(TARGET, config, now)
    for before, later in zip(jax.tree.leaves(now.adapt), jax.tree.leaves(after.adapt), strict=True):
        np.testing.assert_array_equal(before, later)


def test_one_bad_chain_of_the_bare_algorithm_harms_nobody():
    """init does not screen: a chain at NaN is left out, and moved when its time is up."""
    x = begin(DEFAULT, 0.0).chains.x.at[7].set(jnp.nan)
    now = sampler.init(jax.random.key(2), FINE, DEFAULT, x, 400)
    for _ in range(300):
        now, _ = STEP(FINE, DEFAULT, now)
    assert np.isfinite(now.chains.x).all()
    assert np.exp(now.adapt.step_size.rivals.log_step).min() > 0.3
    np.testing.assert_allclose(now.adapt.moments.variance, 1.0, rtol=0.5)


def test_given_tuning_is_not_unlearnt():
    tuned = snaper.Tuning(0.05, 0.9, np.ones(3), np.zeros(3), np.array([1.0, 0, 0]))
    result = snaper.sample(FINE, tuning=tuned, warmup=20, draws=5, progress=False)
    assert result.warmup_stats["mean_trajectory_length"].min() > 0.3
    assert result.tuning.step_size > 0.04


@pytest.mark.compiler
@pytest.mark.parametrize("size", [1, 7, 99])
@pytest.mark.parametrize("thin", [1, 3, 10])
def test_thinned_draws_are_the_same_however_small_the_buffer(size, thin):
    """Few slots: a stretch that does not divide by `thin` must not overwrite what is kept."""
    state = begin(DEFAULT, 0.153)
    every = _positions(state, 1, 120, longest=120, slots=SLOTS)
    np.testing.assert_array_equal(_positions(state, thin, 120, size, 6), every[:, ::thin])


def _positions(state, thin, total, longest, slots):
    recorder = Recorder(64, total, thin, Draws(64, 3, np.float32, total))
    buffer, done = stretch.Buffer(slots), 0
    while done < total:
        size = min(longest, total - done)
        state = stretch.advance(TARGET, DEFAULT, state, recorder, size, buffer)
        done += size
    return recorder.kept.x


@pytest.mark.parametrize("seed", [2**32, 2**40, -1])
def test_large_seeds_are_seeds_of_their_own(seed):
    keys = [jax.random.key_data(arguments.random_key(value)) for value in (0, 1, seed)]
    assert len({tuple(np.asarray(key).tolist()) for key in keys}) == 3

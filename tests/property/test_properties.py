"""What holds for any target, start and order of chains."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import snaper
from snaper import Target, criteria, hmc
from snaper.adapt import HeldMoments, Moments, Principal, Quarantine, StepSize
from snaper.metric import Diagonal

NUM_CHAINS, DIM = 16, 2
few = settings(max_examples=8, deadline=None, derandomize=True)
some = settings(max_examples=25, deadline=None, derandomize=True)


def finite(low, high):
    return st.floats(low, high, allow_nan=False, allow_subnormal=False)


def curved_log_density(x, data):
    """Correlated, skewed and light-tailed about `shift`; beyond the edges of a box, `outside`."""
    shift, low, high, outside = data
    z = x - shift
    quadratic = -0.5 * jnp.sum(z**2) - 0.4 * z[0] * z[1]
    density = quadratic - 0.1 * jnp.sum(z**4) - jnp.logaddexp(0.0, z[0])
    return jnp.where(jnp.all((low < x) & (x < high)), outside, density)


def curved(shift=(0.0, 0.0), low=(1.0, 1.0), high=(0.0, 0.0), outside=-np.inf):
    """One log density and equal shapes: whatever the numbers, compiled once."""
    data = tuple(np.asarray(array, float) for array in (shift, low, high, outside))
    return Target(curved_log_density, jnp.zeros(DIM), data)


def sample(target, init, seed=0):
    sizes = {"chains": NUM_CHAINS, "warmup": 60, "draws": 20, "progress": False}
    return snaper.sample(target, **sizes, init=init, seed=seed)


START = np.random.default_rng(0).uniform(-2.0, 2.0, (NUM_CHAINS, DIM))


@few
@given(shift=arrays(float, DIM, elements=finite(-100.0, 100.0)))
def test_translating_the_target_translates_the_draws(shift):
    here, there = sample(curved(), START), sample(curved(shift), START + shift)
    np.testing.assert_allclose(there.unconstrained - shift, here.unconstrained, atol=1e-6)
    np.testing.assert_allclose(there.tuning.mean - shift, here.tuning.mean, atol=1e-6)
    for name in ("step_size", "trajectory_length", "metric", "direction"):
        np.testing.assert_allclose(there.tuning[name], here.tuning[name], rtol=1e-5)


@few
@given(
    centre=arrays(float, DIM, elements=finite(-1.5, 1.5)),
    width=finite(0.1, 1.0),
    outside=st.sampled_from([np.nan, -np.inf, np.inf]),
    seed=st.integers(0, 2**31),
)
def test_a_region_without_density_never_leaks(centre, width, outside, seed):
    """Chains go around it; nothing that is learnt or recorded is anything but finite."""
    low, high = centre - width, centre + width
    run = sample(curved(np.zeros(DIM), low, high, outside), None, seed)
    inside = np.all((low < run.unconstrained) & (run.unconstrained < high), axis=-1)
    assert not inside.any()
    learnt = [np.asarray(run.tuning[name]) for name in {*run.tuning.keys()} - {"choice", "bend"}]
    recorded = [run.stats[name] for name in {*run.stats} - {"criterion"}]  # climbed in warm-up only
    for array in (run.unconstrained, *recorded, *run.warmup_stats.values(), *learnt):
        assert np.isfinite(array).all()


X = st.builds(lambda seed: np.random.default_rng(seed).normal(size=(8, DIM)), st.integers(0, 999))
ORDER = st.permutations(range(8)).map(np.array)
WEIGHT = arrays(float, 8, elements=st.one_of(st.just(0.0), finite(1e-3, 1.0)))


@partial(jax.jit, static_argnums=0)
def value_and_slope(criterion, x, proposal, velocity, weight, direction):
    ones = jnp.ones(len(x))
    transition = hmc.Transition(x, proposal, velocity, ones, ones > 0, ones < 0, ones, 1)
    mean, mean_new = jnp.mean(x, axis=0), jnp.mean(proposal, axis=0)
    statistics = {"weight": weight, "mean": mean, "mean_new": mean_new, "direction": direction}
    return criteria.value_and_slope(criterion, transition, jnp.asarray(0.7), **statistics)


@some
@given(x=X, proposal=X, velocity=X, weight=WEIGHT, order=ORDER)
@pytest.mark.parametrize("name", criteria.FORMULAS)
def test_criteria_ignore_the_order_of_chains(name, x, proposal, velocity, weight, order):
    if not weight.any():
        weight[0] = 1.0
    direction = np.array([0.6, 0.8])
    one = value_and_slope(criteria.get(name), x, proposal, velocity, weight, direction)
    permuted = (array[order] for array in (x, proposal, velocity, weight))
    other = value_and_slope(criteria.get(name), *permuted, direction)
    np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-12)


@jax.jit
def learn(x, accept_prob, weight):
    step, running = jnp.asarray(5, jnp.int32), HeldMoments((1.0, 1.0), (1.0, 1.0)).init(x, x)
    step_size, direction = StepSize().init(x.dtype), jnp.array([0.6, 0.8])
    chains = hmc.init(lambda x: -0.5 * jnp.sum(x**2), x)
    return (
        StepSize().update(step_size, accept_prob, weight, step).log_step,
        *Moments().update(running, x, chains.grad, weight, step),
        *Moments().init(chains.x, chains.grad),
        Principal().update(direction, x, weight, running, step),
    ), Quarantine().weight(chains)


@some
@given(x=X, accept_prob=WEIGHT, weight=WEIGHT, order=ORDER)
def test_learners_ignore_the_order_of_chains(x, accept_prob, weight, order):
    learnt, counted = learn(x, accept_prob, weight)
    permuted, counted_permuted = learn(x[order], accept_prob[order], weight[order])
    for one, other in zip(learnt, permuted, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(counted_permuted, counted[order])


@jax.jit
def there_and_back(x, v, step_size, num_steps, alternation):
    metric, logp = Diagonal(jnp.array([0.5, 1.0])), lambda x: -0.5 * jnp.sum(x**2 + 0.1 * x**4)
    way = (step_size, metric, num_steps, alternation)
    end, v1, _ = hmc.leapfrog(logp, hmc.init(logp, x), v, *way)
    start, v0, _ = hmc.leapfrog(logp, end, -v1, *way)
    return start.x, -v0


@some
@given(
    x=X,
    v=X,
    step_size=finite(1e-3, 0.5),
    num_steps=st.integers(1, 20),
    alternation=finite(0.0, 0.3),
)
def test_leapfrog_reverses(x, v, step_size, num_steps, alternation):
    """However kicks alternate."""
    again, v_again = there_and_back(x, v, step_size, num_steps, alternation)
    np.testing.assert_allclose(again, x, atol=1e-9)
    np.testing.assert_allclose(v_again, v, atol=1e-9)

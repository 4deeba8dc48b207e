"""The preset `paper` against a plain restatement of the paper, number by number."""

import dataclasses
import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sga_hmc

from snaper import Target, config, criteria, sampler

NUM_CHAINS, DIM = 6, 3
ONE_STEP, WARMUP, DRAWS = 30, 200, 20

FIRST_STEP = 0.35  # so large that some chains are all but certain to reject
PRECISION = np.array([[20.0, 18.0, 0.2], [18.0, 17.0, 0.3], [0.2, 0.3, 0.4]])
SLOPE = np.array([1.5, -1.0, 0.5])


def log_density(x, data):
    precision, slope = data
    quadratic = -0.5 * x @ precision @ x
    return quadratic - 0.05 * jnp.sum(x**4) - jnp.logaddexp(0.0, slope @ x)


def density(x):
    """The same by hand, with its gradient."""
    u = float(SLOPE @ x)
    logp = -0.5 * float(x @ PRECISION @ x) - 0.05 * float(np.sum(x**4)) - np.logaddexp(0.0, u)
    return logp, -PRECISION @ x - 0.2 * x**3 - SLOPE / (1.0 + math.exp(-u))


@jax.jit
def random_numbers(key, steps):
    """Every random number of a run: momenta, uniforms and jitter of each step."""
    key_jitter, key_steps = jax.random.split(key)

    def of_step(step):
        key_move, _ = jax.random.split(jax.random.fold_in(key_steps, step))
        key_momentum, key_accept = jax.random.split(key_move)
        return (
            jax.random.normal(key_momentum, (NUM_CHAINS, DIM)),
            jax.random.uniform(key_accept, (NUM_CHAINS,)),
            jax.random.uniform(jax.random.fold_in(key_jitter, step), (), float, 1e-7, 2.0),
        )

    return jax.lax.map(of_step, steps)


@partial(jax.jit, static_argnums=1)
def package_run(target, chosen, state):
    def step(state, _):
        new, info = sampler.step(target, chosen, state)
        return new, (new.chains.x, new.adapt, info)

    return jax.lax.scan(step, state, length=WARMUP + DRAWS)


def paper(name):
    """The preset, with a shorter phase of single steps and another step size to begin with."""
    preset = config.paper(criteria.get(name))
    step_size = dataclasses.replace(preset.adapt.step_size, initial=FIRST_STEP)
    adapt = dataclasses.replace(preset.adapt, step_size=step_size)
    return dataclasses.replace(preset, adapt=adapt, one_step=ONE_STEP)


@pytest.mark.parametrize("name", ["snaper", "chees", "chees_rate", "esjd"])
def test_every_number_of_a_run_is_the_papers(name):
    """Positions and all that is learnt, over both phases of warm-up and into sampling."""
    target = Target(log_density, jnp.zeros(DIM), (jnp.asarray(PRECISION), jnp.asarray(SLOPE)))
    chosen = paper(name)
    key = jax.random.key(7)
    x = np.random.default_rng(3).uniform(-1.5, 1.5, (NUM_CHAINS, DIM))
    start = sampler.init(key, target, chosen, jnp.asarray(x), WARMUP)
    _, history = package_run(target, chosen, start)
    positions, adapt, info = jax.tree.map(np.asarray, history)
    momenta, uniforms, jitter = map(np.asarray, random_numbers(key, jnp.arange(WARMUP + DRAWS)))

    expected = sga_hmc.Learner(
        x=x,
        mean=x.mean(axis=0),
        variance=np.asarray(start.adapt.moments.variance),  # the paper says nothing of the first
        direction=np.asarray(start.adapt.direction),
        log_step=math.log(FIRST_STEP),
        log_length=0.0,
        length_rate=0.025 if name == "chees" else 0.05,
    )
    close = partial(np.testing.assert_allclose, rtol=1e-8, atol=1e-8)
    leapfrogs, accept_prob = [], []
    for t in range(WARMUP):
        move, value = sga_hmc.iterate(
            expected, density, name, momenta[t], uniforms[t], jitter[t], t, ONE_STEP
        )
        where = f"transition {t}"
        close(info.acceptance_rate[t], move.accept_prob, err_msg=where)
        close(positions[t], expected.x, err_msg=where)
        close(info.criterion[t], value, err_msg=where)
        close(adapt.step_size.log_step[t], expected.log_step, err_msg=where)
        close(adapt.step_size.log_average[t], expected.log_step_average, err_msg=where)
        close(adapt.trajectory.log_length[t], expected.log_length, err_msg=where)
        close(adapt.trajectory.log_average[t], expected.log_length_average, err_msg=where)
        close(adapt.moments.mean[t], expected.mean, err_msg=where)
        close(adapt.moments.variance[t], expected.variance, err_msg=where)
        close(adapt.direction[t], expected.direction, err_msg=where)
        assert info.n_steps[t] == move.num_leapfrog, where
        leapfrogs.append(move.num_leapfrog)
        accept_prob.append(move.accept_prob)
    for t in range(WARMUP, WARMUP + DRAWS):
        move = sga_hmc.sample(expected, density, momenta[t], uniforms[t], jitter[t])
        close(positions[t], expected.x, err_msg=f"draw {t - WARMUP}")
        close(adapt.moments.mean[t], expected.mean)
        assert info.n_steps[t] == move.num_leapfrog

    # The comparison covers what it claims: held and free trajectories, chains left out, rejections.
    assert set(leapfrogs[:ONE_STEP]) == {1} and max(leapfrogs[ONE_STEP:]) > 1
    assert 0.0 < np.min(accept_prob) < 1e-5 and np.mean(accept_prob) < 0.95
    assert expected.adam_length.count == WARMUP - ONE_STEP

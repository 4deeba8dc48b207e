r"""A random walk observed with noise, except for its middle third.

    a   ~ LogNormal(0, 2)                                   scale of the steps
    b   ~ LogNormal(0, 2)                                   scale of the observation noise
    x_1 ~ Normal(0, a),   x_t ~ Normal(x_{t-1}, a)          t = 2..30
    y_t ~ Normal(x_t, b)                                    t = 1..10 and 21..30

Both scales are the softplus of their unconstrained values.
"""

from functools import cache

import jax
import jax.numpy as jnp

from ..target import Target
from ._benchmark import Benchmark, Moments
from ._brownian_quadrature import moments
from ._data import load

THIRD = 10
NUM_STEPS = 3 * THIRD
DIM = NUM_STEPS + 2
SUMMARY = "Random walk of unknown scales, unobserved in the middle"
SOURCE = "Inference Gym BrownianMotionUnknownScalesMissingMiddleObservations"


def log_density(params, data):
    step_scale = params["innovation_noise_scale"]
    noise_scale = params["observation_noise_scale"]
    locs = params["locs"]
    steps = jnp.sum((locs - jnp.pad(locs[:-1], (1, 0))) ** 2)
    errors = jnp.sum((data["early"] - locs[:THIRD]) ** 2)
    errors += jnp.sum((data["late"] - locs[-THIRD:]) ** 2)
    return (
        _log_normal_terms(steps, NUM_STEPS, step_scale)
        + _log_normal_terms(errors, 2 * THIRD, noise_scale)
        + _log_scale_prior(step_scale)
        + _log_scale_prior(noise_scale)
    )


def _log_normal_terms(sum_of_squares, count, scale):
    """Log density of `count` normal deviates of one scale, up to a constant."""
    return -sum_of_squares / (2 * scale**2) - count * jnp.log(scale)


def _log_scale_prior(scale):
    """LogNormal(0, 2), up to a constant."""
    log_scale = jnp.log(scale)
    return -log_scale - log_scale**2 / 8


def sample_prior(key):
    for_scales, for_walk = jax.random.split(key)
    step_scale, noise_scale = jnp.exp(2 * jax.random.normal(for_scales, (2,)))
    steps = jax.random.normal(for_walk, (NUM_STEPS,))
    return {
        "innovation_noise_scale": step_scale,
        "observation_noise_scale": noise_scale,
        "locs": step_scale * jnp.cumsum(steps),
    }


def benchmark() -> Benchmark:
    from numpyro.distributions.constraints import softplus_positive

    like = {
        "innovation_noise_scale": jnp.ones(()),
        "observation_noise_scale": jnp.ones(()),
        "locs": jnp.zeros(NUM_STEPS),
    }
    constraints = {
        "innovation_noise_scale": softplus_positive,
        "observation_noise_scale": softplus_positive,
    }
    values = load("brownian_bridge")["values"]
    data = {
        "early": jnp.asarray(values[:THIRD], dtype=float),
        "late": jnp.asarray(values[-THIRD:], dtype=float),
    }
    target = Target(log_density, like, data, constraints, sample_prior=sample_prior)
    return Benchmark(target, sample_prior, _exact_moments())


@cache
def _exact_moments() -> Moments:
    shipped = load("brownian_bridge")
    return moments(shipped["observed"], shipped["values"])

r"""Eight schools: the effect of coaching, estimated in each with a known error.

    mu      ~ Normal(0, 10)                                 average effect
    t       ~ Normal(5, 1)                                  log of the spread between schools
    theta_i ~ Normal(mu, exp t)                             i = 1..8, effect in a school
    y_i     ~ Normal(theta_i, s_i)

The data are Rubin's (1981): y = 28, 8, -3, 7, -1, 1, 18, 12 and s = 15, 10, 16, 11, 9, 11, 10, 18.
"""

import jax
import jax.numpy as jnp

from ..target import Target
from ._benchmark import Benchmark, shipped_moments

EFFECTS = (28, 8, -3, 7, -1, 1, 18, 12)
ERRORS = (15, 10, 16, 11, 9, 11, 10, 18)
NUM_SCHOOLS = 8
DIM = NUM_SCHOOLS + 2
SUMMARY = "Effect of coaching in eight schools"
SOURCE = "Inference Gym EightSchools"


def log_density(params, data):
    average, log_spread = params["avg_effect"], params["log_stddev"]
    schools = params["school_effects"]
    squares = (
        jnp.sum(((data["effects"] - schools) / data["errors"]) ** 2)
        + jnp.sum((schools - average) ** 2) * jnp.exp(-2 * log_spread)
        + (average / 10) ** 2
        + (log_spread - 5) ** 2
    )
    return -squares / 2 - NUM_SCHOOLS * log_spread


def sample_prior(key):
    for_average, for_spread, for_schools = jax.random.split(key, 3)
    average, log_spread = 10 * jax.random.normal(for_average), 5 + jax.random.normal(for_spread)
    deviations = jnp.exp(log_spread) * jax.random.normal(for_schools, (NUM_SCHOOLS,))
    return {
        "avg_effect": average,
        "log_stddev": log_spread,
        "school_effects": average + deviations,
    }


def benchmark() -> Benchmark:
    like = {
        "avg_effect": jnp.zeros(()),
        "log_stddev": jnp.zeros(()),
        "school_effects": jnp.zeros(NUM_SCHOOLS),
    }
    data = {
        "effects": jnp.asarray(EFFECTS, dtype=float),
        "errors": jnp.asarray(ERRORS, dtype=float),
    }
    target = Target(log_density, like, data, sample_prior=sample_prior)
    return Benchmark(target, sample_prior, shipped_moments("eight-schools"))

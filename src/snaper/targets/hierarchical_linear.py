r"""Radon in the houses of Indiana: a linear regression whose intercept varies by county.

    mu    ~ Normal(0, 1),  tau ~ Uniform(0, 100)            mean and scale of the county effects
    c_j   ~ Normal(mu, tau)                                 j = 1..91, county effect
    w_i   ~ Normal(0, 1)                                    i = 1..3
    sigma ~ Uniform(0, 100)
    y_k   ~ Normal(w_1 u_j + w_2 f_k + w_3 F_j + c_j, sigma)       house k = 1..1851, in county j

y is the log radon activity, f the floor of the measurement (0 or 1), u the log uranium of the
county's soil and F the mean of f in the county. Both scales are 100 sigmoid of their unconstrained
values.

The likelihood is Gaussian and only f varies within a county, so that the houses enter through
sums of squares. With n_j houses of mean log radon Y_j in county j, and sums over houses of
deviations from their county's means,

    sum_k (y_k - ...)^2 = R + S (w_2 - b)^2 + sum_j n_j (Y_j - w_1 u_j - (w_2 + w_3) F_j - c_j)^2,
    S = sum_k (f_k - F_j)^2,  b = sum_k (f_k - F_j) (y_k - Y_j) / S,
    R = sum_k (y_k - Y_j - b (f_k - F_j))^2.

Every term is a square, so nothing cancels in single precision.
"""

import jax
import jax.numpy as jnp
import numpy as np

from ..target import Target
from ._benchmark import Benchmark, shipped_moments
from ._data import load

NUM_HOUSES = 1851
NUM_COUNTIES = 91
DIM = NUM_COUNTIES + 6
SUMMARY = "Radon in 1851 houses of 91 counties of Indiana, with a county effect"
SOURCE = "Inference Gym RadonContextualEffectsIndiana"


def log_density(params, stats):
    mean, scale = params["county_effect_mean"], params["county_effect_scale"]
    effect, weight = params["county_effect"], params["weight"]
    noise = params["log_radon_scale"]
    regression = weight[0] * stats["log_uranium"] + (weight[1] + weight[2]) * stats["mean_floor"]
    squared_errors = (
        stats["residual"]
        + stats["floor_squares"] * (weight[1] - stats["floor_slope"]) ** 2
        + jnp.sum(stats["houses"] * (stats["mean_log_radon"] - regression - effect) ** 2)
    )
    squared_effects = jnp.sum((effect - mean) ** 2)
    return (
        -squared_errors / (2 * noise**2)
        - NUM_HOUSES * jnp.log(noise)
        - squared_effects / (2 * scale**2)
        - NUM_COUNTIES * jnp.log(scale)
        - (mean**2 + jnp.sum(weight**2)) / 2
    )


def sample_prior(key):
    for_mean, for_scales, for_effect, for_weight = jax.random.split(key, 4)
    mean = jax.random.normal(for_mean)
    scale, noise = jax.random.uniform(for_scales, (2,), maxval=100.0)
    return {
        "county_effect_mean": mean,
        "county_effect_scale": scale,
        "county_effect": mean + scale * jax.random.normal(for_effect, (NUM_COUNTIES,)),
        "weight": jax.random.normal(for_weight, (3,)),
        "log_radon_scale": noise,
    }


def sufficient_statistics() -> dict[str, jax.Array]:
    """R, S and b of the docstring, and n, Y, u and F of every county."""
    raw = load("radon_indiana")
    county, floor = raw["county"], raw["floor"].astype(np.float64)
    log_radon = np.log(np.where(raw["activity"] <= 0, 0.1, raw["activity"]))
    houses = np.bincount(county).astype(np.float64)

    def county_mean(values):
        return np.bincount(county, weights=values) / houses

    mean_floor, mean_log_radon = county_mean(floor), county_mean(log_radon)
    floor_deviation = floor - mean_floor[county]
    radon_deviation = log_radon - mean_log_radon[county]
    floor_squares = np.sum(floor_deviation**2)
    floor_slope = np.sum(floor_deviation * radon_deviation) / floor_squares
    statistics = {
        "residual": np.sum((radon_deviation - floor_slope * floor_deviation) ** 2),
        "floor_squares": floor_squares,
        "floor_slope": floor_slope,
        "houses": houses,
        "mean_log_radon": mean_log_radon,
        "log_uranium": county_mean(np.log(raw["uranium"])),
        "mean_floor": mean_floor,
    }
    return {name: jnp.asarray(value, dtype=float) for name, value in statistics.items()}


def benchmark() -> Benchmark:
    from numpyro.distributions.constraints import interval

    like = {
        "county_effect_mean": jnp.zeros(()),
        "county_effect_scale": jnp.ones(()),
        "county_effect": jnp.zeros(NUM_COUNTIES),
        "weight": jnp.zeros(3),
        "log_radon_scale": jnp.ones(()),
    }
    between = interval(0.0, 100.0)
    constraints = {"county_effect_scale": between, "log_radon_scale": between}
    target = Target(
        log_density, like, sufficient_statistics(), constraints, sample_prior=sample_prior
    )
    return Benchmark(target, sample_prior, shipped_moments("hierarchical-linear"))

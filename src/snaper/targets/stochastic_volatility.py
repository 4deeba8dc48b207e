r"""Stochastic volatility of the S&P 500 over ten years of trading days.

    (1 + phi) / 2 ~ Beta(20, 3/2)                           persistence of volatility
    mu    ~ Cauchy(0, 5)                                    mean log volatility
    sigma ~ HalfCauchy(2)                                   scale of the shocks
    z_t   ~ Normal(0, 1)                                    t = 1..2516, standardised shocks
    h_1   = sigma z_1 / sqrt(1 - phi^2),   h_t = phi h_{t-1} + sigma z_t
    y_t   ~ Normal(0, exp((mu + h_t) / 2))

y are the daily changes of the closing price less their mean. The parameters sampled are phi, mu,
sigma and z; phi is 2 sigmoid - 1 and sigma the softplus of its unconstrained value.
"""

import jax
import jax.numpy as jnp
import numpy as np

from ..target import Target
from ._ar1 import autoregress
from ._benchmark import Benchmark, shipped_moments
from ._data import load

NUM_DAYS = 2516
DIM = NUM_DAYS + 3
SUMMARY = "Volatility of 2516 daily returns of the S&P 500"
SOURCE = "Inference Gym VectorizedStochasticVolatilitySP500"


def log_density(params, squared_returns):
    persistence = params["persistence_of_volatility"]
    scale = params["white_noise_shock_scale"]
    level = params["mean_log_volatility"]
    shocks = params["std_log_volatility"]
    log_variance = level + scale * _unit_volatility(persistence, shocks)
    log_likelihood = -jnp.sum(log_variance + squared_returns * jnp.exp(-log_variance)) / 2
    log_prior = (
        19 * jnp.log1p(persistence)
        + jnp.log1p(-persistence) / 2
        - jnp.log1p((level / 5) ** 2)
        - jnp.log1p((scale / 2) ** 2)
        - jnp.sum(shocks**2) / 2
    )
    return log_likelihood + log_prior


def _unit_volatility(persistence, shocks):
    """h / sigma: an autoregressive process started from its stationary distribution."""
    first = shocks[0] / jnp.sqrt((1 - persistence) * (1 + persistence))
    return autoregress(persistence, shocks.at[0].set(first))


def log_volatility(params):
    """The parameters with mu + h in the place of z."""
    unit = _unit_volatility(params["persistence_of_volatility"], params["std_log_volatility"])
    volatility = params["mean_log_volatility"] + params["white_noise_shock_scale"] * unit
    kept = {name: value for name, value in params.items() if name != "std_log_volatility"}
    return {**kept, "log_volatility": volatility}


def sample_prior(key):
    for_persistence, for_level, for_scale, for_shocks = jax.random.split(key, 4)
    return {
        "persistence_of_volatility": 2 * jax.random.beta(for_persistence, 20.0, 1.5) - 1,
        "mean_log_volatility": 5 * jax.random.cauchy(for_level),
        "white_noise_shock_scale": 2 * jnp.abs(jax.random.cauchy(for_scale)),
        "std_log_volatility": jax.random.normal(for_shocks, (NUM_DAYS,)),
    }


def centred_returns() -> np.ndarray:
    returns = np.diff(load("sp500")["closing_price"])
    return returns - returns.mean()


def benchmark() -> Benchmark:
    from numpyro.distributions.constraints import interval, softplus_positive

    like = {
        "persistence_of_volatility": jnp.zeros(()),
        "mean_log_volatility": jnp.zeros(()),
        "white_noise_shock_scale": jnp.ones(()),
        "std_log_volatility": jnp.zeros(NUM_DAYS),
    }
    constraints = {
        "persistence_of_volatility": interval(-1.0, 1.0),
        "white_noise_shock_scale": softplus_positive,
    }
    data = jnp.asarray(centred_returns() ** 2, dtype=float)
    target = Target(log_density, like, data, constraints, sample_prior=sample_prior)
    moments = shipped_moments("stochastic-volatility")
    return Benchmark(target, sample_prior, moments, log_volatility)

r"""Bayesian logistic regression on the German Credit data.

    w_i ~ Normal(0, 1)                                      i = 1..25
    y_n ~ Bernoulli(sigmoid(x_n . w))                       n = 1..1000

The 24 numeric features are standardised and a constant of one is appended. With s_n = 2 y_n - 1,

    log p(w | y) = sum_n log sigmoid(s_n x_n . w) - |w|^2 / 2 + const.
"""

import jax
import jax.numpy as jnp

from ..target import Target
from ._benchmark import Benchmark, shipped_moments
from ._german_credit import NUM_WEIGHTS, log_likelihood, signed_features

DIM = NUM_WEIGHTS
SUMMARY = "Logistic regression, 1000 loans and 25 weights"
SOURCE = "Inference Gym GermanCreditNumericLogisticRegression"


def log_density(params, signed_features):
    weights = params["weights"]
    return log_likelihood(weights, signed_features) - jnp.sum(weights**2) / 2


def sample_prior(key):
    return {"weights": jax.random.normal(key, (NUM_WEIGHTS,))}


def benchmark() -> Benchmark:
    like = {"weights": jnp.zeros(NUM_WEIGHTS)}
    target = Target(log_density, like, signed_features(), sample_prior=sample_prior)
    return Benchmark(target, sample_prior, shipped_moments("logistic-regression"))

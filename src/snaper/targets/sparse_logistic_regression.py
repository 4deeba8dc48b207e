r"""Logistic regression on the German Credit data with a prior that shrinks most weights to zero.

    z_i ~ Normal(0, 1)                                      i = 1..25, unscaled weights
    l_i ~ Gamma(1/2, 1/2)                                   i = 1..25, local scales
    g   ~ Gamma(1/2, 1/2)                                   global scale
    y_n ~ Bernoulli(sigmoid(x_n . (z * l * g)))             n = 1..1000

The scales are the softplus of their unconstrained values. Gamma(1/2, 1/2) has the log density
-(log s + s) / 2 + const.
"""

import jax
import jax.numpy as jnp

from ..target import Target
from ._benchmark import Benchmark, shipped_moments
from ._german_credit import NUM_WEIGHTS, log_likelihood, signed_features

DIM = 2 * NUM_WEIGHTS + 1
SUMMARY = "Logistic regression with sparse weights, 25 local scales and a global one"
SOURCE = "Inference Gym GermanCreditNumericSparseLogisticRegression (softplus)"


def log_density(params, signed_features):
    unscaled, local, overall = (
        params["unscaled_weights"],
        params["local_scales"],
        params["global_scale"],
    )
    log_prior = _log_gamma(overall) + jnp.sum(_log_gamma(local)) - jnp.sum(unscaled**2) / 2
    return log_likelihood(unscaled * local * overall, signed_features) + log_prior


def _log_gamma(scale):
    """Gamma(1/2, 1/2), up to a constant."""
    return -(jnp.log(scale) + scale) / 2


def sample_prior(key):
    for_weights, for_local, for_global = jax.random.split(key, 3)
    return {
        "unscaled_weights": jax.random.normal(for_weights, (NUM_WEIGHTS,)),
        "local_scales": 2 * jax.random.gamma(for_local, 0.5, (NUM_WEIGHTS,)),
        "global_scale": 2 * jax.random.gamma(for_global, 0.5),
    }


def benchmark() -> Benchmark:
    from numpyro.distributions.constraints import softplus_positive

    like = {
        "unscaled_weights": jnp.zeros(NUM_WEIGHTS),
        "local_scales": jnp.ones(NUM_WEIGHTS),
        "global_scale": jnp.ones(()),
    }
    constraints = {"local_scales": softplus_positive, "global_scale": softplus_positive}
    target = Target(log_density, like, signed_features(), constraints, sample_prior=sample_prior)
    return Benchmark(target, sample_prior, shipped_moments("sparse-logistic-regression"))

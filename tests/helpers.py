"""Small targets shared by many tests, so that what is compiled for one serves the others."""

import jax.numpy as jnp
import numpy as np
from numpyro.distributions import constraints

from snaper import Target

NUM_CHAINS = 16
OBSERVED = np.random.default_rng(0).normal([1.0, -2.0], [0.5, 0.7], size=(10, 2))


def normal_log_density(params, observed):
    """Normal observations with unknown means and one unknown scale."""
    mean, scale = params["mean"], params["scale"]
    misfit = jnp.sum(((observed - mean) / scale) ** 2)
    prior = -0.5 * jnp.sum(mean**2) / 100.0 - scale
    return prior - 0.5 * misfit - observed.size * jnp.log(scale)


def normal_model(observed=OBSERVED, dtype=None, log_density=normal_log_density):
    """Three unconstrained dimensions: mean[0], mean[1], log scale."""
    like = {"mean": jnp.zeros(2, dtype), "scale": jnp.ones((), dtype)}
    return Target(log_density, like, observed, {"scale": constraints.positive})


def quartic(x):
    """Log density of one point: correlated, with light tails."""
    return -0.5 * jnp.sum(x**2) - 0.3 * x[0] * x[1] - 0.1 * jnp.sum(x**4)


def standard_normal(x):
    return -0.5 * jnp.sum(x**2)


def gaussian(x, root):
    """With the precision matrix root^T root."""
    return -0.5 * jnp.sum((root @ x) ** 2)


def one_sentence(message):
    """What an error should say."""
    return message.endswith(".") and "\n" not in message and len(message) < 300


def errors_off(values, truth):
    """Standard errors between the mean of values [chain, draw, ...] and the truth, the largest over
    what else there is; by how chains differ, so that nothing is assumed of their correlation.
    """
    means = np.mean(values, axis=1, dtype=np.float64)
    error = means.std(axis=0, ddof=1) / np.sqrt(len(means))
    return float(np.max(np.abs(means.mean(axis=0) - truth) / error))


def quadrature(dim):
    """Points (x, v) and weights that integrate polynomials against a standard normal exactly."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(5)
    axes = np.meshgrid(*[nodes] * (2 * dim), indexing="ij")
    z = np.stack([axis.ravel() for axis in axes], axis=1)
    weight = np.prod(np.meshgrid(*[weights] * (2 * dim), indexing="ij"), axis=0).ravel()
    return z[:, :dim], z[:, dim:], weight / weight.sum()

r"""Neal's funnel: a scale that varies by orders of magnitude, and what it scales.

    v   ~ Normal(0, 3)                                      log variance
    x_i ~ Normal(0, exp(v / 2))                             i = 1..dim - 1

The mean of exp(v) is exp(9 / 2), so x_i has the standard deviation exp(9 / 4).
"""

import jax
import jax.numpy as jnp
import numpy as np

from ..target import Target
from ._benchmark import Benchmark, Moments
from ._options import whole

DIM = 10
SUMMARY = "Neal's funnel: normals whose log variance is normal"
SOURCE = "exact"


def log_density(params):
    v, x = params["log_variance"], params["x"]
    return -(v**2) / 18 - (jnp.sum(x**2) * jnp.exp(-v) + x.size * v) / 2


def benchmark(dim: int = DIM) -> Benchmark:
    whole("dim", dim, least=2)

    def sample(key):
        for_variance, for_x = jax.random.split(key)
        v = 3 * jax.random.normal(for_variance)
        return {"log_variance": v, "x": jnp.exp(v / 2) * jax.random.normal(for_x, (dim - 1,))}

    target = Target(log_density, {"log_variance": jnp.zeros(()), "x": jnp.zeros(dim - 1)})
    mean = {"log_variance": np.zeros(()), "x": np.zeros(dim - 1)}
    sd = {"log_variance": np.asarray(3.0), "x": np.full(dim - 1, np.exp(9 / 4))}
    return Benchmark(target, sample, Moments(mean, sd, 0.0))

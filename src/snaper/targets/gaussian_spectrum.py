r"""A Gaussian with one wide direction among many narrow ones.

    x_0 ~ Normal(0, 1),   x_i ~ Normal(0, sigma_r)          i = 1..repeats

The longest trajectory that still helps is set by x_0 alone, however many dimensions the others are.
"""

import jax
import jax.numpy as jnp
import numpy as np

from ..target import Target
from ._benchmark import Benchmark, Moments
from ._options import positive, whole

SIGMA_R = 0.1
REPEATS = 300
DIM = 1 + REPEATS
SUMMARY = f"Gaussian of variances 1 and {REPEATS} times {SIGMA_R}^2"
SOURCE = "exact"


def log_density(params, sd):
    return -jnp.sum((params["x"] / sd) ** 2) / 2


def benchmark(sigma_r: float = SIGMA_R, repeats: int = REPEATS) -> Benchmark:
    positive("sigma_r", sigma_r)
    whole("repeats", repeats, least=1)
    sd = np.array([1.0] + [sigma_r] * repeats)

    def sample(key):
        return {"x": jax.random.normal(key, sd.shape) * jnp.asarray(sd, dtype=float)}

    target = Target(log_density, {"x": jnp.zeros(len(sd))}, jnp.asarray(sd, dtype=float))
    return Benchmark(target, sample, Moments({"x": np.zeros_like(sd)}, {"x": sd}, 0.0))

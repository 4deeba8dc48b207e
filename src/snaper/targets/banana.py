r"""A banana: a wide normal coordinate that bends a narrow one.

    x_0 ~ Normal(0, 10)
    x_1 ~ Normal(curvature (x_0^2 - 100), 1)
    x_i ~ Normal(0, 1)                                      i = 2..dim - 1

x_0^2 has mean 100 and variance 2 10^4, so x_1 has mean 0 and variance 1 + 2 10^4 curvature^2.
"""

import jax
import jax.numpy as jnp
import numpy as np

from ..target import Target
from ._benchmark import Benchmark, Moments
from ._options import whole

DIM = 2
CURVATURE = 0.03
SUMMARY = "A normal bent along a parabola"
SOURCE = "exact"


def log_density(params, curvature):
    wide, bent, rest = params["x"][0], params["x"][1], params["x"][2:]
    narrow = bent - _bend(wide, curvature)
    return -((wide / 10) ** 2 + narrow**2 + jnp.sum(rest**2)) / 2


def _bend(wide, curvature):
    return curvature * (wide**2 - 100)


def benchmark(dim: int = DIM, curvature: float = CURVATURE) -> Benchmark:
    whole("dim", dim, least=2)

    def sample(key):
        straight = jax.random.normal(key, (dim,)).at[0].multiply(10.0)
        return {"x": straight.at[1].add(_bend(straight[0], curvature))}

    target = Target(log_density, {"x": jnp.zeros(dim)}, jnp.asarray(curvature, dtype=float))
    sd = np.ones(dim)
    sd[:2] = 10, np.sqrt(1 + 2e4 * curvature**2)
    return Benchmark(target, sample, Moments({"x": np.zeros(dim)}, {"x": sd}, 0.0))

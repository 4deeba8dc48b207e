r"""A Gaussian whose scales span orders of magnitude, along the axes or turned away from them.

    x ~ Normal(0, Q diag(v) Q^T)

The variances v fall from 1 to 1 / condition in equal ratios. Q is the identity, or, if rotated, an
orthogonal matrix drawn once with a fixed seed: then no diagonal metric helps much.
"""

import jax
import jax.numpy as jnp
import numpy as np

from ..target import Target
from ._benchmark import Benchmark, Moments
from ._options import positive, whole

DIM = 100
CONDITION = 1000.0
SUMMARY = f"Gaussian whose variances span a factor of {CONDITION:g}, rotated on request"
SOURCE = "exact"


def log_density_along_axes(params, sd):
    return -jnp.sum((params["x"] / sd) ** 2) / 2


def log_density_rotated(params, whiten):
    return -jnp.sum(jnp.matmul(whiten, params["x"], precision="highest") ** 2) / 2


def benchmark(dim: int = DIM, condition: float = CONDITION, rotated: bool = False) -> Benchmark:
    whole("dim", dim, least=2)
    positive("condition", condition)
    scales = np.sqrt(np.geomspace(1.0, 1.0 / condition, dim))
    axes = _random_rotation(dim) if rotated else np.eye(dim)
    sd = np.sqrt(np.sum((axes * scales) ** 2, axis=1))

    def sample(key):
        along = jax.random.normal(key, (dim,)) * jnp.asarray(scales, dtype=float)
        turn = jnp.asarray(axes, dtype=float)
        return {"x": jnp.matmul(turn, along, precision="highest") if rotated else along}

    log_density = log_density_rotated if rotated else log_density_along_axes
    data = jnp.asarray((axes / scales).T if rotated else scales, dtype=float)
    target = Target(log_density, {"x": jnp.zeros(dim)}, data)
    return Benchmark(target, sample, Moments({"x": np.zeros(dim)}, {"x": sd}, 0.0))


def _random_rotation(dim: int) -> np.ndarray:
    """Columns are the axes: uniform over the orthogonal matrices, and always the same."""
    q, r = np.linalg.qr(np.random.default_rng(0).standard_normal((dim, dim)))
    return q * np.sign(np.diag(r))

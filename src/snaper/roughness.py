"""How far a target is from any Gaussian, by points and gradients: see docs/theory.md."""

import jax.numpy as jnp
import numpy as np

from ._types import Positions, Scalar
from .metric import product

ROUGH = 0.2  # below which there is nothing to gain


def roughness(z: Positions, score: Positions) -> Scalar:
    r"""$\log(\mathrm{tr}(\mathrm{Cov}[z]\,\mathrm{E}[s s^T]) / d)$ of points, with gradients s of
    their log density: zero for a Gaussian, more for all else, in whatever units.
    """
    z = z - jnp.mean(z, axis=0)
    count, dim = z.shape
    return jnp.log(jnp.sum(product(z.T, z) / count * product(score.T, score) / count) / dim)


def plain_roughness(x: np.ndarray, grad: np.ndarray) -> float:
    """The same to more digits, on the host; NaN where a number is not finite."""
    x, grad = (np.asarray(each, float) for each in (x, grad))
    count, dim = x.shape
    with np.errstate(over="ignore", invalid="ignore"):
        x = x - x.mean(axis=0)
        total = float(np.sum((x.T @ x / count) * (grad.T @ grad / count)))
        return -np.inf if total <= 0 else float(np.log(total / dim))  # where nothing pulls


def is_rough(x: np.ndarray, grad: np.ndarray) -> bool:
    """More than is worth nothing, and than so few points of a Gaussian are; not so for NaN."""
    count, dim = x.shape
    return plain_roughness(x, grad) > ROUGH + np.log1p(dim / count)

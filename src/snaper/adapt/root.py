"""The square root inside of a geometric mean, cut in halves."""

import jax
import jax.numpy as jnp

from ..metric import product


def halves(points: jax.Array, lower: jax.Array) -> tuple[jax.Array, jax.Array]:
    r"""F with $F F^T = (C^T X C)^{1/2}$ and its inverse, for a covariance X and a triangle C, by
    what is fastest where it is computed: on a CPU that is by eigenvectors, elsewhere, where many
    small steps take long, by products of matrices.
    """
    return jax.lax.platform_dependent(points, lower, cpu=by_eigenvectors, default=by_products)


def by_eigenvectors(points: jax.Array, lower: jax.Array) -> tuple[jax.Array, jax.Array]:
    values, vectors = jnp.linalg.eigh(product(product(lower.T, points), lower))
    lengths = jnp.maximum(values, 1e-12) ** 0.25
    return vectors * lengths, (vectors / lengths).T


def by_products(points: jax.Array, lower: jax.Array) -> tuple[jax.Array, jax.Array]:
    """With X = K K^T, the root is the positive factor of B = C^T K = root U. Newton's iteration
    finds U, each turn scaled for the smallest singular value that may be left.
    """
    whole = product(lower.T, jnp.linalg.cholesky(points))

    def turn(x, scale):
        return scale * (1.5 * x - 0.5 * scale**2 * product(x, product(x.T, x))), None

    smallest = float(jnp.finfo(points.dtype).eps) ** 0.75
    scales = jnp.asarray(_scales(smallest), points.dtype)
    turned, _ = jax.lax.scan(turn, whole / jnp.linalg.norm(whole), scales)
    root = product(whole, turned.T)
    half = jnp.linalg.cholesky((root + root.T) / 2)
    identity = jnp.eye(len(half), dtype=half.dtype)
    return half, jax.scipy.linalg.solve_triangular(half, identity, lower=True)


def _scales(smallest: float) -> list[float]:
    """Of the turns until all singular values between `smallest` and one are one: with them, either
    end of that interval is brought as near to one as the other.
    """
    scales = []
    while smallest < 1.0 - 1e-7:
        scales.append((3.0 / (1.0 + smallest + smallest**2)) ** 0.5)
        smallest *= scales[-1] * (1.5 - 0.5 * (scales[-1] * smallest) ** 2)
    return scales

"""The square root inside of a geometric mean, cut in halves."""

from functools import reduce

import jax
import jax.numpy as jnp

from ..metric import product

_LARGEST = 1.6  # scale of a turn: with sqrt(3), nothing but rounding is left of a value of one
_LEFT = 1e-2  # how far from orthogonal a factor may be


def halves(points: jax.Array, lower: jax.Array) -> tuple[jax.Array, jax.Array]:
    r"""F with $F F^T = (C^T X C)^{1/2}$ and its inverse, for a covariance X and a triangle C, by
    what is fastest where it is computed: on a CPU that is by eigenvectors, elsewhere, where many
    small steps take long, by products of matrices.
    """
    return jax.lax.platform_dependent(points, lower, cpu=by_eigenvectors, default=by_products)


def by_eigenvectors(points: jax.Array, lower: jax.Array) -> tuple[jax.Array, jax.Array]:
    """F = Q D^(1/4), where the matrix under the root is Q D Q^T."""
    values, vectors = jnp.linalg.eigh(product(product(lower.T, points), lower))
    lengths = jnp.maximum(values, 1e-12) ** 0.25
    return vectors * lengths, (vectors / lengths).T


def by_products(points: jax.Array, lower: jax.Array) -> tuple[jax.Array, jax.Array]:
    """With X = K K^T, the root is the positive factor of B = C^T K = root U. Newton's iteration
    finds U, each turn scaled for the smallest singular value that may be left. Where one is smaller
    still, and U is not orthogonal, there is no root: nothing is finite.
    """
    whole = product(lower.T, jnp.linalg.cholesky(points))

    def turn(x, scale):
        return scale * (1.5 * x - 0.5 * scale**2 * product(x, product(x.T, x)))

    scales = _scales(float(jnp.finfo(points.dtype).eps))
    turned = reduce(turn, scales, whole / jnp.linalg.norm(whole))  # no loop: one command buffer
    identity = jnp.eye(len(whole), dtype=whole.dtype)
    left = jnp.max(jnp.abs(product(turned, turned.T) - identity))
    root = product(whole, turned.T)
    half = jnp.linalg.cholesky((root + root.T) / 2)
    half = jnp.where(left < _LEFT, half, jnp.nan)
    return half, jax.scipy.linalg.solve_triangular(half, identity, lower=True)


def _scales(eps: float) -> list[float]:
    """Of the turns that bring all singular values from eps to one, to one but for rounding: the
    interval that they lie in shrinks, and its ends come as near to one as each other.
    """
    smallest, scales = eps, []
    while smallest < 1.0 - eps**0.5:
        scale = min((3.0 / (1.0 + smallest + smallest**2)) ** 0.5, _LARGEST)
        scales.append(scale)
        smallest = min(_turned(smallest, scale), _turned(1.0, scale))
    return [*scales, 1.0]


def _turned(value: float, scale: float) -> float:
    """What becomes of a singular value."""
    return scale * value * (1.5 - 0.5 * (scale * value) ** 2)

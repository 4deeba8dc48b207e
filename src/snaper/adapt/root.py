"""The square root of a covariance, cut in halves."""

import jax
import jax.numpy as jnp

from ..metric import product


def halves(matrix: jax.Array) -> tuple[jax.Array, jax.Array]:
    r"""F with $F F^T = A^{1/2}$, and its inverse, by what is fastest where it is computed: on a CPU
    that are eigenvectors, elsewhere, where many small steps take long, matrix products.
    """
    return jax.lax.platform_dependent(matrix, cpu=by_eigenvectors, default=by_products)


def by_eigenvectors(matrix: jax.Array) -> tuple[jax.Array, jax.Array]:
    values, vectors = jnp.linalg.eigh(matrix)
    lengths = jnp.maximum(values, 1e-12) ** 0.25
    return vectors * lengths, (vectors / lengths).T


def by_products(matrix: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Newton's iteration for root and inverse root together, each turn scaled for the smallest
    eigenvalue that may be left. Eigenvalues are told from rounding with a ridge of its size.
    """
    identity = jnp.eye(len(matrix), dtype=matrix.dtype)
    eps = float(jnp.finfo(matrix.dtype).eps)
    size = jnp.linalg.norm(matrix)

    def turn(pair, scale):
        root, inverse = pair
        closer = scale * (1.5 * identity - 0.5 * scale**2 * product(inverse, root))
        root, inverse = product(root, closer), product(closer, inverse)
        return ((root + root.T) / 2, (inverse + inverse.T) / 2), None

    start = (matrix / size + eps * identity, identity)
    scales = jnp.asarray(_scales(eps**0.5), matrix.dtype)
    (root, _), _ = jax.lax.scan(turn, start, scales)
    half = jnp.linalg.cholesky(root) * jnp.sqrt(jnp.sqrt(size))
    return half, jax.scipy.linalg.solve_triangular(half, identity, lower=True)


def _scales(smallest: float) -> list[float]:
    """Of the turns until roots between `smallest` and one are one: with them, either end of that
    interval is brought as near to one as the other.
    """
    scales = []
    while smallest < 1.0 - 1e-6:
        scales.append((3.0 / (1.0 + smallest + smallest**2)) ** 0.5)
        smallest *= scales[-1] * (1.5 - 0.5 * (scales[-1] * smallest) ** 2)
    return scales

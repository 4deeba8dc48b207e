"""The preconditioner: a linear map x = L y into coordinates where momenta are standard normal.

The sampler needs only `forward` (L v, for velocities) and `inverse_mass` (L L^T g, for gradients).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ._types import Positions, Scalar, Vector


class Diagonal(NamedTuple):
    """L = diag(scale)."""

    scale: Vector

    def forward(self, v: Positions) -> Positions:
        return v * self.scale

    def inverse_mass(self, grad: Positions) -> Positions:
        return grad * self.scale * self.scale  # the square may underflow

    def array(self) -> np.ndarray:
        """L as plain numbers: its diagonal [dim]."""
        return np.asarray(self.scale)

    def variance(self, width: jax.Array) -> Vector:
        """Of each coordinate, if the widest has this standard deviation."""
        return (width * self.scale) ** 2

    def size(self) -> Scalar:
        """How far a unit of time goes, in the coordinate that it goes farthest in."""
        return jnp.max(self.scale)


class Dense(NamedTuple):
    """L = any square matrix, kept with its square, as each is needed many times."""

    factor: jax.Array
    square: jax.Array  # L L^T

    def forward(self, v: Positions) -> Positions:
        return product(v, self.factor.T)

    def inverse_mass(self, grad: Positions) -> Positions:
        return product(grad, self.square)

    def array(self) -> np.ndarray:
        """L as plain numbers: its diagonal [dim] where there is nothing else, or [dim, dim]."""
        factor = np.asarray(self.factor)
        diagonal = np.diag(factor)
        return diagonal if np.count_nonzero(factor) == np.count_nonzero(diagonal) else factor

    def variance(self, width: jax.Array) -> Vector:
        """Of each coordinate, if L whitens but for the width."""
        return width**2 * jnp.diag(self.square)

    def rounding(self) -> float:
        """By how much L L^T and its square as rounded differ, of the variance in a direction."""
        inverse = np.linalg.inv(np.asarray(self.factor, float))
        same = inverse @ np.asarray(self.square, float) @ inverse.T
        return float(np.linalg.norm(same - np.eye(len(same)), ord=2))

    def size(self) -> Scalar:
        """How far a unit of time goes, in the coordinate that it goes farthest in."""
        return jnp.sqrt(jnp.max(jnp.diag(self.square)))


class LowRank(NamedTuple):
    """L = diag(scale) (I + A (diag(lengths) - I) A^T), with orthonormal columns of A, the axes:
    else `inverse_mass` is not L L^T, and draws are wrong.
    """

    scale: Vector
    axes: jax.Array  # [dim, rank]
    lengths: Vector  # along these; one along all other directions

    def forward(self, v: Positions) -> Positions:
        return self._stretch(v, self.lengths) * self.scale

    def inverse_mass(self, grad: Positions) -> Positions:
        return self._stretch(grad * self.scale, self.lengths**2) * self.scale

    def _stretch(self, v: Positions, lengths: Vector) -> Positions:
        along = product(v, self.axes)
        return v + product(along * (lengths - 1.0), self.axes.T)

    def array(self) -> np.ndarray:
        """L as plain numbers: the scale, then every axis at its length, [dim, 1 + rank]."""
        return np.column_stack([self.scale, self.axes * self.lengths])

    def variance(self, width: jax.Array) -> Vector:
        """Of each coordinate, if L whitens but for the width."""
        unit = 1.0 + jnp.sum((self.lengths**2 - 1.0) * self.axes**2, axis=1)
        return (width * self.scale) ** 2 * unit

    def size(self) -> Scalar:
        """How far a unit of time goes, in the coordinate that it goes farthest in."""
        return jnp.sqrt(jnp.max(self.variance(jnp.ones_like(self.scale[0]))))


Metric = Diagonal | Dense | LowRank


def dense(factor: jax.Array) -> Dense:
    """L as given."""
    return Dense(factor, product(factor, factor.T))


def from_array(array: jax.Array) -> Metric:
    """What `array()` of a metric gave, as that metric again."""
    if array.ndim == 1:
        return Diagonal(array)
    if array.shape[0] == array.shape[1]:
        return dense(array)
    lengths = jnp.linalg.norm(array[:, 1:], axis=0)
    return LowRank(array[:, 0], array[:, 1:] / lengths, lengths)


def from_variance(variance: Vector) -> Diagonal:
    """diag(sigma / max sigma): the widest coordinate is left as it is, so time has its units."""
    return Diagonal(jnp.sqrt(variance / jnp.max(variance)))


def identity(like: jax.Array) -> Diagonal:
    """L = I, for vectors like the one given."""
    return Diagonal(jnp.ones_like(like))


def product(a: jax.Array, b: jax.Array) -> jax.Array:
    """Of matrices, with all digits: by default GPUs keep ten bits."""
    return jnp.matmul(a, b, precision="highest")

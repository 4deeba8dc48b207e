"""The preconditioner: a linear map x = L y into coordinates where momenta are standard normal.

The sampler needs only `forward` (L v, for velocities) and `transpose` (L^T g, for gradients).
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

    def transpose(self, grad: Positions) -> Positions:
        return grad * self.scale

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
    """L = any square matrix."""

    factor: jax.Array

    def forward(self, v: Positions) -> Positions:
        return jnp.matmul(v, self.factor.T, precision="highest")

    def transpose(self, grad: Positions) -> Positions:
        return jnp.matmul(grad, self.factor, precision="highest")

    def array(self) -> np.ndarray:
        """L as plain numbers: its diagonal [dim] where there is nothing else, or [dim, dim]."""
        factor = np.asarray(self.factor)
        diagonal = np.diag(factor)
        return diagonal if np.count_nonzero(factor) == np.count_nonzero(diagonal) else factor

    def variance(self, width: jax.Array) -> Vector:
        """Of each coordinate, if L whitens but for the width."""
        return width**2 * jnp.sum(self.factor**2, axis=1)

    def size(self) -> Scalar:
        """How far a unit of time goes, in the coordinate that it goes farthest in."""
        return jnp.sqrt(jnp.max(jnp.sum(self.factor**2, axis=1)))


class LowRank(NamedTuple):
    """L = diag(scale) (I + A (diag(lengths) - I) A^T), with orthonormal columns of A, the axes."""

    scale: Vector
    axes: jax.Array  # [dim, rank]
    lengths: Vector  # along these; one along all other directions

    def forward(self, v: Positions) -> Positions:
        return self._stretch(v) * self.scale

    def transpose(self, grad: Positions) -> Positions:
        return self._stretch(grad * self.scale)

    def _stretch(self, v: Positions) -> Positions:
        along = jnp.matmul(v, self.axes, precision="highest")
        return v + jnp.matmul(along * (self.lengths - 1.0), self.axes.T, precision="highest")

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


def from_array(array: jax.Array) -> Metric:
    """What `array()` of a metric gave, as that metric again."""
    if array.ndim == 1:
        return Diagonal(array)
    if array.shape[0] == array.shape[1]:
        return Dense(array)
    lengths = jnp.linalg.norm(array[:, 1:], axis=0)
    return LowRank(array[:, 0], array[:, 1:] / lengths, lengths)


def from_variance(variance: Vector) -> Diagonal:
    """diag(sigma / max sigma): the widest coordinate is left as it is, so time has its units."""
    return Diagonal(jnp.sqrt(variance / jnp.max(variance)))


def identity(like: jax.Array) -> Diagonal:
    """L = I, for vectors like the one given."""
    return Diagonal(jnp.ones_like(like))

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


Metric = Diagonal | Dense


def from_variance(variance: Vector) -> Diagonal:
    """diag(sigma / max sigma): the widest coordinate is left as it is, so time has its units."""
    return Diagonal(jnp.sqrt(variance / jnp.max(variance)))


def identity(like: jax.Array) -> Diagonal:
    """L = I, for vectors like the one given."""
    return Diagonal(jnp.ones_like(like))

"""Coordinates in units of widths that follow others, as those of effects follow their scale."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from snaper import Target
from snaper.metric import product

from .paper.problems import Problem


class Bend(NamedTuple):
    r"""$x = c + w z \exp(E z_p)$, of points [..., dim]: z are in units of widths that follow the
    pivots p, whose own widths follow nothing: their rows of E are zero.
    """

    centre: jax.Array  # c
    width: jax.Array  # w, where pivots are at their centres
    pivots: jax.Array  # places in x
    exponents: jax.Array  # E, [dim, pivot]

    def bent(self, z: jax.Array) -> jax.Array:
        """x where z is known."""
        return self.centre + self.width * z * jnp.exp(self._follow(z))

    def straight(self, x: jax.Array) -> jax.Array:
        """z where x is known."""
        z = (x - self.centre) / self.width
        return z * jnp.exp(-self._follow(z))

    def log_det(self, z: jax.Array) -> jax.Array:
        """Of dx / dz, which is triangular, with pivots before all others."""
        return jnp.sum(jnp.log(self.width) + self._follow(z), axis=-1)

    def score(self, z: jax.Array, grad: jax.Array) -> jax.Array:
        """The gradient of the log density of z, where that of x is known."""
        moved = grad * self.width * jnp.exp(self._follow(z))
        return moved.at[..., self.pivots].add(product(1.0 + z * moved, self.exponents))

    def _follow(self, z: jax.Array) -> jax.Array:
        """How wide points are, as logarithms."""
        return product(jnp.take(z, self.pivots, axis=-1), self.exponents.T)


def log_density(z: jax.Array, data: tuple[Target, Bend]) -> jax.Array:
    target, bend = data
    return target.logp(bend.bent(z)) + bend.log_det(z)


def straightened(plain: Problem, bend: Bend) -> Problem:
    """The same posterior from the same points, sampled as z."""
    target = Target(log_density, jnp.zeros_like(plain.start[0]), (plain.target, bend))
    return Problem(target, bend.straight(plain.start), bend.bent)

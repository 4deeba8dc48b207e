"""Coordinates in units of widths that follow others, as those of effects follow their scale."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from ._types import Key, Scalar
from .metric import product
from .target import Model, Target


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


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Straightened:
    """A model whose unconstrained space has such coordinates; its parameters are as they were."""

    model: Model
    bend: Bend

    @property
    def data(self) -> Any:
        return {"model": self.model.data, "bend": self.bend._asdict()}

    @property
    def named_data(self) -> dict[str, Any]:
        return self.model.named_data

    def log_density(self, free: list[jax.Array]) -> Scalar:
        z, shaped = ravel_pytree(free)
        return self.model.log_density(shaped(self.bend.bent(z))) + self.bend.log_det(z)

    def constrain(self, free: list[jax.Array]) -> dict[str, jax.Array]:
        z, shaped = ravel_pytree(free)
        return self.model.constrain(shaped(self.bend.bent(z)))

    def unconstrain(self, values: list[jax.Array]) -> list[jax.Array]:
        x, shaped = ravel_pytree(self.model.unconstrain(values))
        return shaped(self.bend.straight(x))

    def sample_prior(self, key: Key, num_draws: int) -> Any:
        return self.model.sample_prior(key, num_draws)


def bent_by(target: Target, bend: Bend) -> Target:
    """The same target, sampled as z."""
    (model, observed), static = target.tree_flatten()
    return Target.tree_unflatten(static, (Straightened(model, bend), observed))

"""Coordinates in which a target is easier, level by level of a model: see docs/theory.md."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ._types import Key, Scalar
from .level import Level
from .target import Model, Target


class Bend(NamedTuple):
    """x of points [..., dim] where z is known, and back: coordinates of the first level are the
    target's, those of each other are what the one before it makes straight, and z is what the last
    does.
    """

    levels: tuple[Level, ...]

    @property
    def pivots(self) -> np.ndarray:
        """Places of coordinates that widths of others follow, at any level."""
        return self._places(lambda level: level.exponents)

    @property
    def anchors(self) -> np.ndarray:
        """Places of those that centres of others move with."""
        return self._places(lambda level: level.moves)

    def _places(self, of: Callable[[Level], jax.Array | None]) -> np.ndarray:
        found = [
            np.asarray(level.pivots)[np.any(np.reshape(by, (-1, len(level.pivots))), axis=0)]
            for level in self.levels
            if (by := of(level)) is not None
        ]
        return np.unique(np.concatenate([np.empty(0, int), *found]))

    def bent(self, z: jax.Array) -> jax.Array:
        """x where z is known."""
        return self.bent_with_log_det(z)[0]

    def bent_with_log_det(self, z: jax.Array) -> tuple[jax.Array, jax.Array]:
        """And the log determinant of dx / dz."""
        x, total = z, jnp.zeros(z.shape[:-1], z.dtype)
        for level in reversed(self.levels):
            x, log_det = level.bent_with_log_det(x)
            total = total + log_det
        return x, total

    def straight(self, x: jax.Array) -> jax.Array:
        """z where x is known."""
        for level in self.levels:
            x = level.straight(x)
        return x

    def straight_with_score(self, x: jax.Array, grad: jax.Array) -> tuple[jax.Array, jax.Array]:
        """z where x is known, and the gradient of its log density where that of x is."""
        for level in self.levels:
            x, grad = level.straight_with_score(x, grad)
        return x, grad


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Straightened:
    """A model whose unconstrained space has such coordinates; its parameters are as they were."""

    model: Model
    bend: Bend

    @property
    def data(self) -> Any:
        return {"model": self.model.data, "bend": self.bend}

    @property
    def named_data(self) -> dict[str, Any]:
        return self.model.named_data

    def log_density(self, free: list[jax.Array]) -> Scalar:
        z, shaped = ravel_pytree(free)
        x, log_det = self.bend.bent_with_log_det(z)
        return self.model.log_density(shaped(x)) + log_det

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


bent, straight = jax.jit(Bend.bent), jax.jit(Bend.straight)  # for where nothing else is compiled


@jax.jit
def reported(target: Target, x: jax.Array, logp: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Points [..., dim] of a target that may be bent, and log densities there, as they are in the
    coordinates of the plain one.
    """
    _, bend = plain(target)
    if bend is None:
        return x, logp
    x, log_det = bend.bent_with_log_det(x)
    return x, logp - log_det


def plain(target: Target) -> tuple[Target, Bend | None]:
    """The target that was bent, and by what; a target that was not is as it is."""
    (model, observed), static = target.tree_flatten()
    if not isinstance(model, Straightened):
        return target, None
    return Target.tree_unflatten(static, (model.model, observed)), model.bend

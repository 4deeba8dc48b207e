"""The principal direction: where the target is longest."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from .. import ensemble
from .._types import Key, PerChain, Positions, Scalar, Vector
from . import moments


@dataclass(frozen=True)
class Principal:
    r"""First principal component w of the target's covariance, by Oja's rule over the chains.

    $w' = Cw / |Cw|$ with C the covariance across chains, never formed; then $w + \eta w'$, made a
    unit vector, is the new w, with $\eta$ = `rate` / step, at most one. C is centred on the batch;
    the batch's drift from the running mean joins it up to `drift_limit` times its size at rest,
    which gives a lone chain a covariance.
    """

    rate: float = 8.0
    drift_limit: float = 3.0

    def init(self, key: Key, like: Vector, given: Vector | None = None) -> Vector:
        return _unit(jax.random.normal(key, like.shape, like.dtype) if given is None else given)

    def update(
        self,
        direction: Vector,
        x: Positions,
        weight: PerChain,
        running: moments.MomentsState,
        step: Scalar,
    ) -> Vector:
        centre = ensemble.mean(x, weight)
        moved = moments.limited(centre - running.mean, running.variance, weight, self.drift_limit)
        image = ensemble.scatter(x, centre, weight, direction) + moved * jnp.sum(moved * direction)
        rate = jnp.minimum(self.rate / jnp.maximum(step.astype(x.dtype), 1.0), 1.0)
        return _unit(direction + rate * _unit(image))


def _unit(vector: Vector) -> Vector:
    """The vector at length one; zero stays zero. Scaled first, so that no square overflows or
    vanishes.
    """
    largest = jnp.max(jnp.abs(vector))
    scaled = vector / jnp.where(largest > 0, largest, 1.0)
    return scaled / jnp.maximum(jnp.linalg.norm(scaled), 1e-20)

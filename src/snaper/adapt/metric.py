"""The metric: which linear map, given the target's running moments."""

from dataclasses import dataclass

import jax.numpy as jnp

from .. import metric
from .._types import Scalar, Vector
from .moments import MomentsState, of_gaussian


class OfMoments:
    """A metric that is a function of the running moments, and learns nothing else."""

    chosen = "diagonal, as asked for"

    def init(self, moments: MomentsState, given: metric.Metric | None = None) -> None:
        return None

    def update(self, state: None, *_) -> None:
        return None

    def due(self, dim: int, step: Scalar, age: Scalar) -> Scalar:
        """Never: there is nothing to renew."""
        return jnp.zeros((), bool)

    def renew(self, state: None, moments: MomentsState, age: Scalar) -> None:
        return None

    def describe(self, state: None) -> str:
        """What was chosen, and why."""
        return self.chosen

    def width(self, moments: MomentsState) -> Scalar:
        """Of the target where the metric has length one: its widest coordinate."""
        return jnp.sqrt(jnp.max(moments.variance))


@dataclass(frozen=True)
class DiagonalMetric(OfMoments):
    r"""Standard deviations over the largest of them, also while chains are still spreading.

    The width $\sqrt{Var[x] / Var[g]}$, with g the gradient, is right for a Gaussian however little
    of it the chains have seen, and never more than Var[x] at rest (integration by parts gives
    $Var[x] Var[g] \ge 1$). So the larger of the two holds on the way, and the variance at rest.
    """

    def value(self, state: None, moments: MomentsState) -> metric.Diagonal:
        return metric.from_variance(squared_width(moments))


def squared_width(moments: MomentsState) -> Vector:
    """Of every coordinate on its own, also while chains are still spreading."""
    at_rest = of_gaussian(moments.variance, moments.grad_variance)
    return jnp.maximum(moments.variance, at_rest)


@dataclass(frozen=True)
class VarianceMetric(OfMoments):
    """Standard deviations over the largest of them, as the chains show them."""

    def value(self, state: None, moments: MomentsState) -> metric.Diagonal:
        return metric.from_variance(moments.variance)


@dataclass(frozen=True)
class IdentityMetric(OfMoments):
    """Held at the identity."""

    chosen = "identity, as asked for"

    def value(self, state: None, moments: MomentsState) -> metric.Diagonal:
        return metric.identity(moments.variance)

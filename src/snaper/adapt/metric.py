"""The metric: which linear map, given the target's running moments."""

from dataclasses import dataclass

import jax.numpy as jnp

from .. import metric
from .moments import MomentsState


@dataclass(frozen=True)
class DiagonalMetric:
    r"""Standard deviations over the largest of them, also while chains are still spreading.

    The width $\sqrt{Var[x] / Var[g]}$, with g the gradient, is right for a Gaussian however little
    of it the chains have seen, and never more than Var[x] at rest (integration by parts gives
    $Var[x] Var[g] \ge 1$). So the larger of the two holds on the way, and the variance at rest.
    """

    def value(self, moments: MomentsState) -> metric.Diagonal:
        width = jnp.sqrt(moments.variance / moments.grad_variance)
        return metric.from_variance(jnp.maximum(moments.variance, width))


@dataclass(frozen=True)
class VarianceMetric:
    """Standard deviations over the largest of them, as the chains show them."""

    def value(self, moments: MomentsState) -> metric.Diagonal:
        return metric.from_variance(moments.variance)


@dataclass(frozen=True)
class IdentityMetric:
    """Held at the identity."""

    def value(self, moments: MomentsState) -> metric.Diagonal:
        return metric.identity(moments.variance)

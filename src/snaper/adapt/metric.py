"""The metric: which linear map, given the target's running moments."""

from dataclasses import dataclass

from .. import metric
from .moments import MomentsState


@dataclass(frozen=True)
class DiagonalMetric:
    """Standard deviations over the largest of them."""

    def value(self, moments: MomentsState) -> metric.Diagonal:
        return metric.from_variance(moments.variance)


@dataclass(frozen=True)
class IdentityMetric:
    """Held at the identity."""

    def value(self, moments: MomentsState) -> metric.Diagonal:
        return metric.identity(moments.variance)

"""The metric that suits the dimension."""

from dataclasses import dataclass, field
from typing import Any

from .. import metric
from .dense import DenseMetric, DenseState
from .metric import DiagonalMetric
from .moments import MomentsState


@dataclass(frozen=True)
class AutoMetric:
    """Dense up to `largest` dimensions, where correlations promise to pay; diagonal otherwise."""

    dense: DenseMetric = field(default=DenseMetric())
    diagonal: DiagonalMetric = field(default=DiagonalMetric())
    largest: int = 512

    def init(self, moments: MomentsState, given: metric.Metric | None = None) -> Any:
        return self._learner(moments).init(moments, given)

    def update(self, state, x, grad, weight, moments: MomentsState, step) -> Any:
        return self._learner(moments).update(state, x, grad, weight, moments, step)

    def describe(self, state: Any) -> str:
        """What was chosen, and why."""
        if isinstance(state, DenseState):
            return self.dense.describe(state)
        return f"diagonal: dense metrics are for at most {self.largest} dimensions"

    def width(self, moments: MomentsState) -> Any:
        return self._learner(moments).width(moments)

    def value(self, state: Any, moments: MomentsState) -> metric.Metric:
        return self._learner(moments).value(state, moments)

    def _learner(self, moments: MomentsState) -> Any:
        return self.dense if moments.mean.size <= self.largest else self.diagonal

"""The metric that suits the dimension."""

from dataclasses import dataclass, field
from typing import Any

from .. import metric
from .dense import DenseMetric
from .low_rank import LowRankMetric, LowRankState
from .moments import MomentsState


@dataclass(frozen=True)
class AutoMetric:
    """Dense up to `largest` dimensions, diagonal with a few directions put right beyond; either
    is diagonal where correlations do not promise to pay.
    """

    dense: DenseMetric = field(default=DenseMetric())
    low_rank: LowRankMetric = field(default=LowRankMetric())
    largest: int = 512

    def init(self, moments: MomentsState, given: metric.Metric | None = None) -> Any:
        return self.learner(moments.mean.size).init(moments, given)

    def update(self, state, x, grad, weight, moments: MomentsState, step, age) -> Any:
        return self.learner(moments.mean.size).update(state, x, grad, weight, moments, step, age)

    def due(self, dim: int, step, age) -> Any:
        return self.learner(dim).due(dim, step, age)

    def renew(self, state: Any, moments: MomentsState, age) -> Any:
        return self.learner(moments.mean.size).renew(state, moments, age)

    def describe(self, state: Any) -> str:
        """What was chosen, and why."""
        if isinstance(state, LowRankState):
            return self.low_rank.describe(state)
        return self.dense.describe(state)

    def width(self, moments: MomentsState) -> Any:
        return self.learner(moments.mean.size).width(moments)

    def value(self, state: Any, moments: MomentsState) -> metric.Metric:
        return self.learner(moments.mean.size).value(state, moments)

    def learner(self, dim: int) -> Any:
        """The one that is used in so many dimensions."""
        return self.dense if dim <= self.largest else self.low_rank

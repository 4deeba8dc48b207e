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

    def update(self, state, x, grad, weight, moments: MomentsState, step) -> Any:
        return self.learner(moments.mean.size).update(state, x, grad, weight, moments, step)

    def due(self, state: Any, step) -> Any:
        return self._of(state).due(state, step)

    def renew(self, state: Any, moments: MomentsState) -> Any:
        return self._of(state).renew(state, moments)

    def describe(self, state: Any) -> str:
        """What was chosen, and why."""
        return self._of(state).describe(state)

    def _of(self, state: Any) -> Any:
        return self.low_rank if isinstance(state, LowRankState) else self.dense

    def width(self, moments: MomentsState) -> Any:
        return self.learner(moments.mean.size).width(moments)

    def value(self, state: Any, moments: MomentsState) -> metric.Metric:
        return self.learner(moments.mean.size).value(state, moments)

    def learner(self, dim: int) -> Any:
        """The one that is used in so many dimensions."""
        return self.dense if dim <= self.largest else self.low_rank

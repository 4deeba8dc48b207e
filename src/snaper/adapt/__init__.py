"""The learners bundled: one state, one value, one update."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax.numpy as jnp

from .._types import Key, PerChain, Scalar, Vector
from ..hmc import Chains, Transition
from ..metric import Metric
from ..when import Tree, when
from .auto import AutoMetric
from .dense import DenseMetric, fisher, plain
from .held import Held, HeldDirection, HeldMetric, HeldMoments
from .kicks import Kicks
from .low_rank import LowRankMetric
from .metric import DiagonalMetric, IdentityMetric, VarianceMetric
from .moments import Moments, MomentsState
from .principal import Principal
from .quarantine import Quarantine, QuarantineState, Trust
from .step_size import StepSize
from .trajectory import TrajectoryLength

__all__ = [
    "AdaptState",
    "Adaptation",
    "AutoMetric",
    "DenseMetric",
    "DiagonalMetric",
    "Held",
    "HeldDirection",
    "HeldMetric",
    "HeldMoments",
    "Hyperparams",
    "IdentityMetric",
    "Kicks",
    "LowRankMetric",
    "MetricLearner",
    "Moments",
    "Principal",
    "Quarantine",
    "Resting",
    "StepSize",
    "TrajectoryLength",
    "Trust",
    "VarianceMetric",
    "fisher",
    "plain",
]


MetricLearner = (
    AutoMetric
    | DenseMetric
    | LowRankMetric
    | DiagonalMetric
    | VarianceMetric
    | IdentityMetric
    | HeldMetric
)


class Hyperparams(NamedTuple):
    """What one transition runs with."""

    step_size: Scalar
    trajectory_length: Scalar
    metric: Metric
    mean: Vector
    direction: Vector  # the difficult one
    width: Scalar  # of the target where the metric has length one
    alternation: Scalar | float = 0.0  # of kicks, in trajectories of an even number


class AdaptState(NamedTuple):
    step_size: Any  # of whatever learner has the place
    trajectory: Any
    moments: MomentsState
    metric: Any
    direction: Vector  # the principal component
    quarantine: QuarantineState
    memory: Any  # of a criterion that has one


class Statistics(NamedTuple):
    """What a criterion may ask for by name."""

    weight: PerChain
    healthy: PerChain
    mean: Vector
    mean_new: Vector
    direction: Vector


@dataclass(frozen=True)
class Adaptation:
    """One learner for each thing learnt. No learner sees another: each is handed plain arrays."""

    step_size: StepSize | Kicks | Held = field(default=StepSize())
    trajectory: TrajectoryLength | Held = field(default=TrajectoryLength())
    metric: MetricLearner = field(default=DiagonalMetric())
    moments: Moments | HeldMoments = field(default=Moments())
    principal: Principal | HeldDirection = field(default=Principal())
    quarantine: Quarantine | Trust = field(default=Quarantine())

    def init(
        self, key: Key, chains: Chains, given: Hyperparams | None = None, memory: Any = None
    ) -> AdaptState:
        """Learners before their first transition; `given` are values to begin with, times in units
        of their own metric.
        """
        dtype = chains.x.dtype
        moments = None
        if given is not None:
            variance = given.metric.variance(given.width)
            moments = MomentsState(given.mean, variance, 1.0 / variance)
        running = self.moments.init(chains.x, chains.grad, moments, self.quarantine.weight(chains))
        learner: Any = self.metric.init(running, None if given is None else given.metric)
        step_size, length, direction, alternation = None, None, None, 0.0
        if given is not None:
            unit = given.metric.size() / self.metric.value(learner, running).size()
            step_size, length = given.step_size * unit, given.trajectory_length * unit
            direction, alternation = given.direction, given.alternation
        return AdaptState(
            self.step_size.init(dtype, step_size, alternation),
            self.trajectory.init(dtype, length),
            running,
            learner,
            self.principal.init(key, chains.x[0], direction),
            self.quarantine.init(chains),
            memory,
        )

    def value(self, state: AdaptState, warming: Scalar) -> Hyperparams:
        """The latest values while warming, the averaged ones after."""
        return Hyperparams(
            self.step_size.value(state.step_size, warming),
            self.trajectory.value(state.trajectory, warming),
            self.metric.value(state.metric, state.moments),
            state.moments.mean,
            state.direction if state.memory is None else state.memory.direction,
            self.metric.width(state.moments),
            self.step_size.alternates(state.step_size, warming),
        )

    def learn(self, warming: Scalar, learnt: Callable[..., Tree], before: Tree, *seen: Any) -> Tree:
        """`learnt(before, *seen)` while warming: draws are not slowed down by learners that have
        nothing left to learn.
        """
        return when(warming, learnt, before, *seen)

    def statistics(self, state: AdaptState, transition: Transition, chains: Chains, step: Scalar):
        """What a criterion may ask for: acceptance as weights, centres, the principal direction."""
        healthy = self.quarantine.weight(chains)
        accept_prob = transition.accept_prob * healthy
        weight = jnp.where(accept_prob > 1e-4, accept_prob, 0.0)
        mean = self.moments.centre(state.moments, transition.start, healthy, step)
        mean_new = self.moments.centre(state.moments, transition.proposal, weight, step)
        return Statistics(weight, healthy, mean, mean_new, state.direction)

    def update(
        self,
        key: Key,
        state: AdaptState,
        transition: Transition,
        chains: Chains,
        climb: tuple[Scalar, Scalar],
        memory: Any,
        one_step: Scalar,
        longest: Scalar,
        cap: Scalar,
        step: Scalar,
        age: Scalar,
    ) -> tuple[AdaptState, Chains]:
        """Learn from one transition; chains found lost are moved. `climb` is C and dC / d log tau-
        bar, `memory` what the criterion remembers, `age` how many transitions this run has had.
        """
        healthy = self.quarantine.weight(chains)
        step_size: Any = self.step_size.update(
            state.step_size, transition.accept_prob, healthy, step, longest, one_step, age
        )
        trajectory = self.trajectory.update(
            state.trajectory, *climb, self.step_size.latest(step_size), one_step, cap, step
        )
        moments = self.moments.update(state.moments, chains.x, chains.grad, healthy, step)
        metric: Any = self.metric.update(
            state.metric, chains.x, chains.grad, healthy, state.moments, step, age
        )
        direction = self.principal.update(state.direction, chains.x, healthy, state.moments, step)
        quarantine, chains = self.quarantine.update(
            key, state.quarantine, chains, transition.accepted
        )
        old = self.metric.value(state.metric, state.moments)
        unit = old.size() / self.metric.value(metric, moments).size()  # steps go as far as they did
        step_size = self.step_size.rescale(step_size, unit)
        trajectory = self.trajectory.rescale(trajectory, unit)
        learnt = (step_size, trajectory, moments, metric, direction, quarantine, memory)
        return AdaptState(*learnt), chains

    def due(self, dim: int, step: Scalar, age: Scalar) -> Scalar:
        """Whether it is time to `renew` after transition number `step`."""
        return self.metric.due(dim, step, age)

    def renew(self, state: AdaptState, age: Scalar) -> AdaptState:
        """Another metric, where that takes long, of what is known after a transition; steps go as
        far as they did.
        """
        metric: Any = self.metric.renew(state.metric, state.moments, age)
        old, new = (self.metric.value(each, state.moments) for each in (state.metric, metric))
        unit = old.size() / new.size()
        return state._replace(
            metric=metric,
            step_size=self.step_size.rescale(state.step_size, unit),
            trajectory=self.trajectory.rescale(state.trajectory, unit),
        )


class Resting(Adaptation):
    """No learner, after warm-up: its state is what was learnt."""

    def value(self, state: Any, warming: Scalar) -> Any:
        return state

    def learn(self, warming: Scalar, learnt: Callable[..., Tree], before: Tree, *seen: Any) -> Tree:
        return before

    def due(self, dim: int, step: Scalar, age: Scalar) -> Scalar:
        return jnp.zeros((), bool)

    def renew(self, state: Any, age: Scalar) -> Any:
        return state

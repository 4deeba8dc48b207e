"""Which kicks take the longest steps: even ones, as of leapfrog, or alternating ones."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp

from .._types import PerChain, Scalar
from . import ema
from .due import due
from .step_size import StepSize, StepSizeState


class KicksState(NamedTuple):
    rivals: StepSizeState  # of even and of alternating kicks, each entry [2]
    best: Scalar  # which of them takes longer steps: 0 or 1
    used: Scalar  # which the next transition of warm-up has


@dataclass(frozen=True)
class Kicks:
    """A step size for each of two rivals: even kicks, and kicks that weigh 1 + `alternation` and
    1 - `alternation` in turn. These are used where their steps are `least_gain` times as long or
    more; the rival that is not used is tried in one transition of `every` in warm-up. After
    `settled` transitions of a run, where steps are off that by more than a factor `clear`, it is
    tried `per_doubling` times while their number doubles.

    What is learnt of the one in use is mostly about the target, and the other follows; what is
    learnt on trial is about the difference. They differ in trajectories of several steps alone:
    while transitions have one, both learn.
    """

    learner: StepSize = field(default=StepSize())
    alternation: float = 0.153  # b = 0.2118 of Blanes, Casas & Sanz-Serna (2014)
    least_gain: float = 1.15
    every: int = 7  # odd, or trials would have trajectories of the same length
    settled: int = 512  # before, the metric changes, and with it who is best
    clear: float = 1.2
    per_doubling: float = 8.0
    haste: float = 2.0  # how many times as far a step on trial changes, as there are few

    @property
    def target(self) -> float:
        """The acceptance aimed at."""
        return self.learner.target

    def aiming_at(self, target: float) -> "Kicks":
        """The same for another acceptance."""
        return replace(self, learner=self.learner.aiming_at(target))

    def init(self, dtype, given=None, alternation: Scalar | float = 0.0) -> KicksState:
        """Any `alternation` that is given stands for this one."""
        both = self.learner.init(dtype, given, alternation), self.learner.init(dtype, given)
        rivals = jax.tree.map(lambda even, alternating: jnp.stack([even, alternating]), *both)
        best = jnp.asarray(alternation > 0, jnp.int32)
        return KicksState(rivals, best, best)

    def value(self, state: KicksState, warming: Scalar) -> Scalar:
        return self.learner.value(_one(state.rivals, _now(state, warming)), warming)

    def latest(self, state: KicksState) -> Scalar:
        """Of the one that is used, not of one on trial."""
        return self.learner.latest(_one(state.rivals, state.best))

    def alternates(self, state: KicksState, warming: Scalar) -> Scalar:
        """By how much kicks do."""
        dtype = state.rivals.log_step.dtype
        return jnp.where(_now(state, warming) > 0, self.alternation, 0.0).astype(dtype)

    def rescale(self, state: KicksState, unit: Scalar) -> KicksState:
        """The same in other units of time."""
        return state._replace(rivals=self.learner.rescale(state.rivals, unit))

    def update(
        self,
        state: KicksState,
        accept_prob: PerChain,
        weight: PerChain,
        step: Scalar,
        longest: Scalar,
        one_step: Scalar,
        age: Scalar,
    ) -> KicksState:
        """`age` is how many transitions this run has had."""
        old = _one(state.rivals, state.used)
        new = self.learner.update(old, accept_prob, weight, step, longest, one_step)
        own = (jnp.arange(2, dtype=jnp.int32) == state.used) | one_step
        rivals = jax.tree.map(lambda old, new: jnp.where(own, new, old), state.rivals, new)
        was_trial = (state.used != state.best) & ~one_step
        steady = new.heading == 2  # not searching: by factors of two it is quick enough
        change = jnp.where(was_trial & steady, self.haste, 1.0) * (new.log_step - old.log_step)
        log_step = state.rivals.log_step + jnp.where(own | ~was_trial, change, 0.0)
        trajectory = longest * jnp.where(state.used > 0, 2.0, 1.0)  # alternating kicks have pairs
        longest_each = trajectory / jnp.asarray([1.0, 2.0], change.dtype)
        log_step = jnp.minimum(log_step, jnp.log(self.learner.beyond * longest_each))
        share = ema.weight(step, self.learner.memory, log_step.dtype)
        log_average = ema.blend(state.rivals.log_average, log_step, share)
        even, alternating = log_average
        ahead = alternating - even - jnp.log(self.least_gain)
        best = (ahead >= 0).astype(jnp.int32)
        often, seldom = (step + 1) % self.every == 0, due(age - 1, self.per_doubling)
        sure = (jnp.abs(ahead) > jnp.log(self.clear)) & (age > self.settled)
        will_be_trial = jnp.where(sure, seldom, often)
        used = jnp.where(will_be_trial, 1 - best, best)
        return KicksState(rivals._replace(log_step=log_step, log_average=log_average), best, used)


def _now(state: KicksState, warming: Scalar) -> Scalar:
    return jnp.where(warming, state.used, state.best)


def _one(rivals: StepSizeState, which: Scalar) -> StepSizeState:
    return jax.tree.map(lambda leaf: leaf[which], rivals)

"""The step size: acceptance, pooled over chains, held at its target."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from .. import ensemble
from .._types import PerChain, Scalar
from . import ema

SHORTER = 1.3  # times, are steps taken to be with even kicks than with alternating ones


class StepSizeState(NamedTuple):
    log_step: Scalar
    log_average: Scalar
    adam: optax.OptState
    heading: Scalar  # of the search: up 1, down -1, not begun 0


@dataclass(frozen=True)
class StepSize:
    r"""Adam on $\log\epsilon$, driven by `target` minus the harmonic mean of acceptance over
    chains.

    Before that, a search: the step is multiplied or divided by `search` at every transition until
    acceptance first crosses the target, for at most `max_search` transitions. `search = 1` leaves
    the search out. Iterates are averaged over the last step / `memory` transitions for sampling.
    A step that would be accepted too often but is not taken so long, since trajectories are not,
    stops at `beyond` times the longest that is.
    """

    initial: float = 0.01
    target: float = 0.8
    rate: float = 0.05
    memory: float = 16.0
    search: float = 2.0
    max_search: int = 60
    beyond: float = 1.5

    def aiming_at(self, target: float) -> "StepSize":
        """The same for another acceptance."""
        return replace(self, target=target)

    def init(self, dtype, given=None, alternation: Scalar | float = 0.0) -> StepSizeState:
        """A step size `given` for alternating kicks is too long for these."""
        if given is not None:
            given = given / jnp.where(alternation > 0, SHORTER, 1.0)
        log_step = jnp.log(jnp.asarray(self.initial if given is None else given, dtype))
        searching = given is None and self.search > 1.0
        heading = jnp.asarray(0 if searching else 2, jnp.int32)
        return StepSizeState(log_step, log_step, _adam().init(log_step), heading)

    def value(self, state: StepSizeState, warming: Scalar) -> Scalar:
        return jnp.exp(jnp.where(warming, state.log_step, state.log_average))

    def rescale(self, state: StepSizeState, unit: Scalar) -> StepSizeState:
        """The same in other units of time."""
        shift = jnp.log(unit)
        return state._replace(
            log_step=state.log_step + shift, log_average=state.log_average + shift
        )

    def latest(self, state: StepSizeState) -> Scalar:
        """The newest value."""
        return jnp.exp(state.log_step)

    def alternates(self, state: StepSizeState, warming: Scalar) -> float:
        """Kicks are even."""
        return 0.0

    def update(
        self,
        state: StepSizeState,
        accept_prob: PerChain,
        weight: PerChain,
        step: Scalar,
        longest: Scalar | float = float("inf"),
        one_step: Scalar | bool = False,
        age: Scalar | int = 0,
    ) -> StepSizeState:
        """`longest` is the longest step that is taken, however long this one is; that transitions
        may have `one_step`, and how many there were, makes no difference.
        """
        shortfall = self.target - ensemble.harmonic_mean(accept_prob, weight)
        direction, adam = _adam().update(shortfall, state.adam)
        log_adam = state.log_step - self.rate * jnp.asarray(direction)

        sign = jnp.where(shortfall > 0, -1, 1)
        unfinished = (state.heading == 0) | (state.heading == sign)
        searching = unfinished & (step < self.max_search)
        log_search = state.log_step + sign * jnp.log(jnp.asarray(self.search, log_adam.dtype))
        adam = jax.tree.map(lambda old, new: jnp.where(searching, old, new), state.adam, adam)

        log_step = jnp.where(searching, log_search, log_adam)
        log_step = jnp.minimum(log_step, jnp.log(self.beyond * longest))
        heading = jnp.where(searching, sign, 2)
        dtype = log_step.dtype
        log_average = ema.blend(state.log_average, log_step, ema.weight(step, self.memory, dtype))
        return StepSizeState(log_step, log_average, adam, heading)


def _adam() -> optax.GradientTransformation:
    return optax.scale_by_adam()

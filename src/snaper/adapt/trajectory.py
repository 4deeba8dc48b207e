"""The mean trajectory length: stochastic ascent of a criterion."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from .._types import Scalar
from . import ema


class TrajectoryState(NamedTuple):
    log_length: Scalar
    log_average: Scalar
    adam: optax.OptState
    log_magnitude: Scalar  # running mean of the criterion's logarithm


@dataclass(frozen=True)
class TrajectoryLength:
    r"""Adam on $\log\bar\tau$, ascending a criterion C, at a rate that falls as the root of the
    step once there were `settle` of them.

    With `unit_free`, the slope is divided by a geometric mean of C over `window` transitions, so
    that what climbs is log C: the units of the target, to whatever power C carries them, cancel. A
    transition has C at most `surge` times that mean, or Adam would remember nothing else for long.
    The length is at least `shortest` leapfrog steps and at most `longest` times their cap. While
    transitions are held at one leapfrog step it equals `held` of them. Iterates are averaged over
    the last step / `memory` transitions for sampling; over `window` while the average is more than
    a factor `stale` off, as on the way in.
    """

    rate: float = 0.05
    second_moment_decay: float = 0.95
    memory: float = 8.0
    unit_free: bool = True
    shortest: float = 1.0
    longest: float = 1.0
    window: float = 20.0
    stale: float = 2.0
    surge: float = 100.0
    settle: float = float("inf")
    held: float = 1.0

    def init(self, dtype, given=None) -> TrajectoryState:
        log_length = jnp.log(jnp.asarray(1.0 if given is None else given, dtype))
        zero = jnp.zeros((), dtype)
        return TrajectoryState(log_length, log_length, self._adam().init(log_length), zero)

    def value(self, state: TrajectoryState, warming: Scalar) -> Scalar:
        return jnp.exp(jnp.where(warming, state.log_length, state.log_average))

    def rescale(self, state: TrajectoryState, unit: Scalar) -> TrajectoryState:
        """The same in other units of time."""
        shift = jnp.log(unit)
        return state._replace(
            log_length=state.log_length + shift, log_average=state.log_average + shift
        )

    def update(
        self,
        state: TrajectoryState,
        criterion: Scalar,
        log_slope: Scalar,
        step_size: Scalar,
        one_step: Scalar,
        cap: Scalar,
        step: Scalar,
    ) -> TrajectoryState:
        """`log_slope` is dC / d log tau-bar; `one_step`, whether the transition was held at one
        step; `cap`, how many steps it might have taken.
        """
        dtype = log_slope.dtype
        size = jnp.abs(criterion)
        usable = jnp.isfinite(size) & jnp.isfinite(log_slope)  # powers of x may overflow
        log_slope = jnp.where(usable, log_slope, 0.0)
        share = jnp.maximum(ema.weight(step, self.memory, dtype), 1.0 / self.window)
        share = jnp.where(one_step, 1.0, share)
        log_size = jnp.where(usable & (size > 0), jnp.log(size), state.log_magnitude)
        log_magnitude = ema.blend(state.log_magnitude, log_size, share)
        if self.unit_free:
            known = jnp.maximum(log_magnitude, log_size - jnp.log(self.surge))
            log_slope = log_slope * jnp.exp(-known)

        direction, adam = self._adam().update(-log_slope, state.adam)
        log_step = jnp.log(step_size)
        settled = jnp.minimum(1.0, self.settle / (step + 1).astype(dtype))
        rate = self.rate * jnp.sqrt(settled)
        log_length = jnp.clip(
            state.log_length - rate * jnp.asarray(direction),
            log_step + jnp.log(jnp.asarray(self.shortest, dtype)),
            log_step + jnp.log(self.longest * cap.astype(dtype)),
        )
        log_length = jnp.where(one_step, log_step + jnp.log(self.held), log_length)
        adam = jax.tree.map(lambda old, new: jnp.where(one_step, old, new), state.adam, adam)
        off = jnp.abs(state.log_average - log_length) > jnp.log(self.stale)
        share = ema.weight(step, self.memory, dtype)
        share = jnp.where(off, jnp.maximum(share, 1.0 / self.window), share)
        log_average = ema.blend(state.log_average, log_length, share)
        return TrajectoryState(log_length, log_average, adam, log_magnitude)

    def _adam(self) -> optax.GradientTransformation:
        return optax.scale_by_adam(b1=0.0, b2=self.second_moment_decay)

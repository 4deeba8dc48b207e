"""Learners that do not learn: each holds what it is given, in the place of one that would."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from .. import metric
from .moments import MomentsState


@dataclass(frozen=True)
class Held:
    """A step size or a trajectory length."""

    held: float
    target: None = None  # no acceptance is aimed at

    def init(self, dtype, given=None) -> Any:
        return jnp.asarray(self.held, dtype)

    def value(self, state: Any, warming) -> Any:
        return state

    def update(self, state: Any, *_) -> Any:
        return state


@dataclass(frozen=True)
class HeldMetric:
    """A diagonal metric, by the diagonal of L."""

    scale: tuple[float, ...]

    def value(self, moments: MomentsState) -> metric.Diagonal:
        return metric.Diagonal(jnp.asarray(self.scale, moments.mean.dtype))


@dataclass(frozen=True)
class HeldMoments:
    """Mean and variance of the target."""

    mean: tuple[float, ...]
    variance: tuple[float, ...]

    def init(self, x, grad, given=None) -> MomentsState:
        variance = jnp.asarray(self.variance, x.dtype)
        return MomentsState(jnp.asarray(self.mean, x.dtype), variance, 1.0 / variance)

    def update(self, state, *_) -> MomentsState:
        return state

    def centre(self, state, *_):
        return state.mean


@dataclass(frozen=True)
class HeldDirection:
    """The direction that criteria are told is the principal one."""

    direction: tuple[float, ...]

    def init(self, key, like, given=None):
        return jnp.asarray(self.direction, like.dtype)

    def update(self, direction, *_):
        return direction

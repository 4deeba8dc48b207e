"""Learners that do not learn: each holds what it is given, in the place of one that would."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from .. import metric
from .metric import OfMoments
from .moments import MomentsState


@dataclass(frozen=True)
class Held:
    """A step size or a trajectory length."""

    held: float
    target: None = None  # no acceptance is aimed at

    def __post_init__(self):
        if not 0.0 < self.held < float("inf"):
            raise ValueError(f"A held step size or length must be positive, not {self.held}.")

    def init(self, dtype, given=None, alternation: Any = 0.0) -> Any:
        return jnp.asarray(self.held, dtype)

    def aiming_at(self, target: float) -> "Held":
        """The same: no acceptance is."""
        return self

    def latest(self, state: Any) -> Any:
        return state

    def alternates(self, state: Any, warming) -> float:
        """Kicks are even."""
        return 0.0

    def value(self, state: Any, warming) -> Any:
        return state

    def rescale(self, state: Any, unit) -> Any:
        return state

    def update(self, state: Any, *_) -> Any:
        return state


@dataclass(frozen=True)
class HeldMetric(OfMoments):
    """A metric by L, as `Metric.array` gives it."""

    chosen = "as given"

    scale: tuple[float, ...] | tuple[tuple[float, ...], ...]

    def __post_init__(self):
        dense = np.ndim(self.scale) == 2
        object.__setattr__(
            self, "scale", tuple(map(_floats, self.scale)) if dense else _floats(self.scale)
        )

    def value(self, state: None, moments: MomentsState) -> metric.Metric:
        scale = jnp.asarray(self.scale, moments.mean.dtype)
        return metric.from_array(scale)


@dataclass(frozen=True)
class HeldMoments:
    """Mean and variance of the target."""

    mean: tuple[float, ...]
    variance: tuple[float, ...]

    def __post_init__(self):
        object.__setattr__(self, "mean", _floats(self.mean))
        object.__setattr__(self, "variance", _floats(self.variance))

    def init(self, x, grad, given=None, weight=None) -> MomentsState:
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

    def __post_init__(self):
        values = np.asarray(_floats(self.direction))
        object.__setattr__(self, "direction", _floats(values / np.linalg.norm(values)))

    def init(self, key, like, given=None):
        return jnp.asarray(self.direction, like.dtype)

    def update(self, direction, *_):
        return direction


def _floats(values) -> tuple[float, ...]:
    """Plain numbers, so that what holds them can be hashed."""
    return tuple(float(value) for value in np.ravel(values))

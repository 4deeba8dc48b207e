"""Everything that is chosen before a run, and the presets."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, Protocol

import jax.numpy as jnp
import numpy as np

from . import criteria, hmc
from ._types import Key, Positions, Scalar
from .adapt import (
    Adaptation,
    AutoMetric,
    DenseMetric,
    DiagonalMetric,
    IdentityMetric,
    Kicks,
    LowRankMetric,
    MetricLearner,
    Moments,
    Principal,
    StepSize,
    TrajectoryLength,
    Trust,
    VarianceMetric,
    plain,
)
from .clock import Drawn, Integrated, Paired
from .criteria import Criterion
from .jitter import QuasiRandom, Uniform
from .slowest import Slowest

_AUTO = AutoMetric()
_DIAGONAL = DiagonalMetric()
_VARIANCE = VarianceMetric()
_IDENTITY = IdentityMetric()
_FEW_SPEAK = TrajectoryLength(settle=250.0)  # for all, in `Slowest`: its slopes are rougher
_OF_A_PAIR = replace(_FEW_SPEAK, held=2.0)
_PAIRED = Paired()
_KICKS = Kicks()
_WHITEN = (AutoMetric, DenseMetric, LowRankMetric)


class Move(Protocol):
    """A transition of all chains."""

    def noise(self, key: Key, x: Positions, first: Scalar | int = 0) -> Any:
        """What chance decides of it, for chains from number `first` on."""
        ...

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[hmc.Chains, hmc.Transition]:
        """With its noise in the place of the first argument of `hmc.step`, and the others."""
        ...


@dataclass(frozen=True)
class Config:
    """The sampler, complete but for target, seed and sizes. Frozen and hashable, so static when
    compiled.
    """

    criterion: Criterion | Slowest = field(default=Slowest())
    jitter: Callable[[Key, Scalar, jnp.dtype], Scalar] = field(default=QuasiRandom())
    clock: Integrated | Paired | Drawn = field(default=_PAIRED)
    adapt: Adaptation = field(default=Adaptation(_KICKS, _OF_A_PAIR, _AUTO))
    move: Move = field(default=hmc.Move())
    max_leapfrog: int = 1000
    first_cap: float = 2.0  # on leapfrog steps, after the transitions held at one step,
    cap_growth: float = 0.15  # and its growth per transition of warm-up, until it is max_leapfrog:
    cap_doubling: float = 800.0  # twice that after so many, on average, and with their square
    one_step: int = 100  # transitions held at one leapfrog step at the start of warm-up,
    one_step_share: float = 0.2  # and at most this share of it
    rounding: float = 8.0  # units in the last place of log p forgiven in warm-up: see `hmc.step`

    def cap(self, step: Scalar, num_one_step: Scalar, warming: Scalar) -> Scalar:
        """The most leapfrog steps of a transition; it grows with warm-up, so that early mistakes
        are cheap.
        """
        beyond = jnp.maximum(step - num_one_step, 0).astype(jnp.float32)
        faster = 1.0 + (beyond / self.cap_doubling) ** 2
        grown = self.first_cap + self.cap_growth * beyond * faster
        early = jnp.clip(grown, 1.0, self.max_leapfrog).astype(jnp.int32)
        return jnp.where(warming, early, self.max_leapfrog)

    def __post_init__(self):
        if not isinstance(self.max_leapfrog, int | np.integer) or self.max_leapfrog < 1:
            raise ValueError(
                f"max_leapfrog must be a whole number of at least 1, not {self.max_leapfrog!r}."
            )
        object.__setattr__(self, "max_leapfrog", int(self.max_leapfrog))


def default(criterion: Criterion | Slowest | None = None, metric: MetricLearner = _AUTO) -> Config:
    """The paper's algorithm, hardened, with a metric and a criterion beyond it: see docs/theory.md
    for what differs and why.
    """
    criterion = Slowest() if criterion is None else criterion
    few_speak = isinstance(criterion, Slowest)
    # Trajectories of one pair are all equally long, and turn round what is narrower than known.
    if few_speak and isinstance(metric, _WHITEN):
        return Config(criterion, adapt=Adaptation(_KICKS, _OF_A_PAIR, metric))
    trajectory = _FEW_SPEAK if few_speak else TrajectoryLength(rate=_rate(criterion))
    adapt = Adaptation(trajectory=trajectory, metric=metric)
    return Config(criterion, clock=Integrated(), adapt=adapt)


def paper(
    criterion: Criterion | Slowest | None = None, metric: MetricLearner = _VARIANCE
) -> Config:
    """Algorithms 1 and 2 of Sountsov & Hoffman (2021) as printed."""
    criterion = criteria.snaper if criterion is None else criterion
    return Config(
        criterion,
        jitter=Uniform(),
        clock=Drawn(),
        adapt=Adaptation(
            StepSize(search=1.0),
            TrajectoryLength(
                _rate(criterion),
                memory=16.0,
                unit_free=False,
                shortest=1e-3,
                longest=1e3,
                stale=float("inf"),
            ),
            metric,
            Moments(drift_limit=float("inf"), way_in=0, pseudo=0.0, renews=False),
            Principal(drift_limit=0.0),
            Trust(),
        ),
        first_cap=1e9,
        one_step_share=1.0,
        rounding=0.0,
    )


PRESETS = {"default": default, "paper": paper}
METRICS = {
    "default": {
        "auto": _AUTO,
        "dense": DenseMetric(least_gain=0.0),
        "covariance": DenseMetric(least_gain=0.0, combine=plain),
        "low-rank": LowRankMetric(least_gain=0.0),
        "diagonal": _DIAGONAL,
        "identity": _IDENTITY,
    },
    "paper": {"auto": _VARIANCE, "diagonal": _VARIANCE, "identity": _IDENTITY},
}


def preset(
    name: str,
    criterion: str | Criterion | Slowest = "auto",
    metric: str = "auto",
    target_accept: float = 0.8,
    max_leapfrog: int = 1000,
) -> Config:
    """A preset by name, for a criterion and a metric."""
    if not isinstance(name, str) or name not in PRESETS:
        raise ValueError(f"preset {name!r} is unknown: choose one of {', '.join(PRESETS)}.")
    if not isinstance(metric, str) or metric not in METRICS[name]:
        known = ", ".join(METRICS[name])
        raise ValueError(f"metric {metric!r} is unknown to preset {name!r}: choose one of {known}.")
    if not isinstance(target_accept, Real) or not 0.0 < float(target_accept) < 1.0:
        raise ValueError(f"target_accept must lie between 0 and 1, not {target_accept!r}.")
    climbed = None if isinstance(criterion, str) and criterion == "auto" else criterion
    climbed = None if climbed is None else criteria.get(climbed)
    chosen = PRESETS[name](climbed, METRICS[name][metric])
    step_size = chosen.adapt.step_size.aiming_at(float(target_accept))
    return replace(
        chosen, adapt=replace(chosen.adapt, step_size=step_size), max_leapfrog=max_leapfrog
    )


def _rate(criterion: Criterion | Slowest) -> float:
    """Plain ChEES does not fall off for long trajectories, and overshoots at the others' rate."""
    return 0.025 if criterion is criteria.chees else 0.05

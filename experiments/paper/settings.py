"""What is compared: criteria, rates and fixed trajectory lengths, under a preset.

The numbers of a setting are arguments of the compiled program, so that all settings of a preset
share one.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from snaper import criteria, nuts
from snaper.adapt import StepSize, TrajectoryLength, ema
from snaper.config import Config, preset


class Numbers(NamedTuple):
    """A setting as the compiled program sees it."""

    criterion: jax.Array  # 0: SNAPER, 1: ChEES, 2: ChEESR
    rate: jax.Array
    second_moment_decay: jax.Array
    leapfrogs: jax.Array  # mean per transition; zero where it is learnt


@dataclass(frozen=True)
class Setting:
    """A column of a table, or a point of a sweep."""

    name: str
    preset: str = "default"  # or "paper", "nuts", "beyond", "careful"
    criterion: int = 0
    rate: float = 0.05
    leapfrogs: float = 0.0

    def numbers(self, short: bool) -> Numbers:
        """The paper's preset has another decay for short runs."""
        decay = 0.5 if short and self.preset == "paper" else 0.95
        values = (self.rate, decay, self.leapfrogs)
        return Numbers(jnp.asarray(self.criterion), *(jnp.asarray(v, jnp.float32) for v in values))


LEARNT = (
    Setting("snaper"),
    Setting("chees", criterion=1, rate=0.025),
    Setting("chees-fast", criterion=1),
    Setting("chees-rate", criterion=2),
)
PAPER = tuple(replace(each, name=f"paper-{each.name}", preset="paper") for each in LEARNT)
NUTS = Setting("nuts", preset="nuts")
BEYOND = Setting("beyond", preset="beyond")
CAREFUL = Setting("careful", preset="careful")


def fixed(leapfrogs: int) -> Setting:
    """A point of the sweep over mean leapfrog steps."""
    return Setting(f"grid-{leapfrogs}", leapfrogs=float(leapfrogs))


def base(name: str) -> Config:
    """The preset itself, for what does not depend on a setting's numbers."""
    if name == "nuts":
        chosen = nuts.adaptive()
    elif name == "beyond":
        chosen = preset("default")
    elif name == "careful":
        chosen = preset("default", target_accept=0.95)
    else:
        chosen = preset(name, "snaper", "diagonal")
    return replace(chosen, jitter=Shared(chosen.jitter))


def config(name: str, numbers: Numbers) -> Config:
    """The preset with a setting's numbers in it, inside a compiled function."""
    chosen = base(name)
    if name not in ("default", "paper"):
        return chosen
    learner = chosen.adapt.trajectory
    assert isinstance(learner, TrajectoryLength)
    learner = replace(learner, rate=numbers.rate, second_moment_decay=numbers.second_moment_decay)
    adapt = replace(chosen.adapt, trajectory=MaybeFixed(learner, numbers.leapfrogs))
    return replace(chosen, criterion=_one_of(numbers.criterion), adapt=adapt)


def _one_of(which: jax.Array):
    def criterion(x, x_new, t, *, weight, mean, mean_new, direction):
        centred = {"weight": weight, "mean": mean, "mean_new": mean_new}
        values = (
            criteria.snaper(x, x_new, t, **centred, direction=direction),
            criteria.chees(x, x_new, t, **centred),
            criteria.chees_rate(x, x_new, t, **centred),
        )
        return jnp.stack(values)[which]

    return criterion


@dataclass(frozen=True)
class MaybeFixed:
    """A learner of the trajectory length, or a given mean number of leapfrog steps."""

    learner: TrajectoryLength
    leapfrogs: Any

    def init(self, dtype, given=None):
        return self.learner.init(dtype, given)

    def value(self, state, warming):
        return self.learner.value(state, warming)

    def rescale(self, state, unit):
        return self.learner.rescale(state, unit)

    def update(self, state, criterion, log_slope, step_size, one_step, cap, step):
        learnt = self.learner.update(state, criterion, log_slope, step_size, one_step, cap, step)
        length = jnp.log(step_size * jnp.maximum(self.leapfrogs, 1.0)).astype(log_slope.dtype)
        # Averaged as the step size is, so that their ratio is kept.
        share = ema.weight(step, StepSize().memory, length.dtype)
        average = ema.blend(state.log_average, length, share)
        given = (self.leapfrogs > 0) & ~one_step
        return learnt._replace(
            log_length=jnp.where(given, length, learnt.log_length),
            log_average=jnp.where(given, average, learnt.log_average),
        )


@dataclass(frozen=True)
class Shared:
    """The same multipliers for all seeds: trajectories of a batch then end at about the same time,
    and a batch takes half as long.
    """

    jitter: Any

    def __call__(self, key, step, dtype):
        return self.jitter(jax.random.key(0), step, dtype)

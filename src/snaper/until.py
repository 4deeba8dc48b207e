"""When to stop sampling."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .diagnostics.stream import Look

FIRST_LOOK = 20


class Progress(NamedTuple):
    """How far sampling has come."""

    draws: int
    gradients: int
    seconds: float


@dataclass(frozen=True)
class Stopped:
    """Why sampling ended, and what it took."""

    rule: str  # "draws", "converged", "max_draws", "max_gradients", "max_seconds" or "interrupted"
    draws: int
    gradients: int
    seconds: float


@dataclass(frozen=True)
class Until:
    """Sample until every coordinate has converged, or a limit is reached.

    Looks are at draw numbers that depend on nothing but the arguments, so that the same seed stops
    at the same draw on any machine, unless `max_seconds` ends it. The first look is after `draws`
    of `snaper.sample` (20 unless given), the next ones each after a tenth more.

    Args:
        rhat: the largest R-hat of a coordinate that counts as converged: nested R-hat where
            superchains are declared, else split R-hat. None for no such condition.
        ess: effective draws, of all chains together, that every coordinate and its squared distance
            from the mean must have, measured by the variance between chains; 16 chains tell it
            within a third or so, 64 within a sixth. None for no such condition.
        max_draws: stop after so many draws in any case.
        max_gradients: stop at the first look after so many gradients of sampling.
        max_seconds: stop after so many seconds of sampling, compilation included.
        every: look every so many draws instead.
    """

    rhat: float | None = 1.01
    ess: float | None = None
    max_draws: int = 10_000
    max_gradients: int | None = None
    max_seconds: float | None = None
    every: int | None = None

    def __post_init__(self):
        if self.rhat is not None and not self.rhat > 1.0:
            raise ValueError(f"rhat must be above 1, not {self.rhat}.")
        for name in ("ess", "max_draws", "max_gradients", "max_seconds", "every"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} must be positive, not {value}.")

        for name in ("max_draws", "every"):
            value = getattr(self, name)
            if value is not None and value != int(value):
                raise ValueError(f"{name} must be a whole number, not {value}.")
            object.__setattr__(self, name, None if value is None else int(value))

    def next_look(self, done: int, first: int) -> int:
        """The draw after which to look again."""
        if done < first:
            return min(first, self.max_draws)
        return min(done + (self.every or max(done // 10, 1)), self.max_draws)

    def out_of_time(self, now: Progress) -> bool:
        """Whether to stop even between looks."""
        return now.seconds >= (self.max_seconds or math.inf)

    def rule(self, now: Progress, look: Look) -> str | None:
        """The rule that ends sampling at this look, if one does."""
        if self._converged(look):
            return "converged"
        if now.draws >= self.max_draws:
            return "max_draws"
        return "max_gradients" if now.gradients >= (self.max_gradients or math.inf) else None

    def _converged(self, look: Look) -> bool:
        if self.rhat is None and self.ess is None:
            return False
        rhat = look.rhat if look.nested_rhat is None else look.nested_rhat
        # Written so that NaN, of a coordinate that never changed, is not converged.
        mixed = self.rhat is None or bool(np.all(rhat < self.rhat))
        sizes = np.minimum(look.ess, look.ess_squares)
        moved = not np.any(look.constant)  # one still chain among many hardly shows in R-hat
        return moved and mixed and (self.ess is None or bool(np.all(sizes >= self.ess)))


@dataclass(frozen=True)
class Count:
    """So many draws, whatever they are like."""

    draws: int

    @property
    def max_draws(self) -> int:
        return self.draws

    def next_look(self, done: int, first: int) -> int:
        return self.draws

    def out_of_time(self, now: Progress) -> bool:
        return False

    def rule(self, now: Progress, look: Look) -> str | None:
        return "draws" if now.draws >= self.draws else None

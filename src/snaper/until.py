"""When to stop sampling."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .diagnostics.judged import Judged

FIRST_LOOK = 20
LONGEST = 32  # draws between looks, and so in a compiled stretch, unless asked for


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
    of `snaper.sample` (unless given, what it takes to keep 20), the next ones each after a tenth
    more, but never more than 32. From the first look on every compiled stretch ends at a look, so
    that sampling ends with the stretch in which the condition came to hold.

    Both conditions are told by how chains differ, which takes two of them, and fewer than 16 may
    agree by chance: of four chains correlated 0.5 from draw to draw, R-hat of one number falls
    below 1.01 after some 70 draws, where 64 chains take 215.

    Args:
        rhat: the largest R-hat of a coordinate that counts as converged: nested R-hat where
            superchains are declared, else split R-hat. None for no such condition.
        ess: effective draws, of all chains together, that every coordinate and its squared distance
            from the mean must have, measured by the variance between chains; 16 chains tell it
            within a third or so, 64 within a sixth. None for no such condition.
        max_draws: stop after so many draws in any case.
        max_gradients: stop at the first look after so many gradients of sampling.
        max_seconds: stop after so many seconds of sampling, compilation included; stretches are
            then cut to about half a second.
        every: look every so many draws instead; None takes `chunk` of `snaper.sample` if that is
            given. Fewer than 32 let Ctrl-C act sooner where a draw takes seconds.
        of: what the conditions are of, instead of all unconstrained coordinates and their squares:
            names of parameters, or a function of one draw's parameters (a dict by name, as the log
            density sees them) that returns a number, an array, or a dict of these, such as
            `lambda p: {"ratio": p["a"] / p["b"]}`.
    """

    rhat: float | None = 1.01
    ess: float | None = None
    max_draws: int = 10_000
    max_gradients: int | None = None
    max_seconds: float | None = None
    every: int | None = None
    of: Sequence[str] | Callable[[dict[str, Any]], Any] | None = None

    def __post_init__(self):
        for name in ("rhat", "ess", "max_draws", "max_gradients", "max_seconds", "every"):
            value = getattr(self, name)
            if value is None and name != "max_draws":
                continue
            number = _number(name, value)
            if name == "rhat" and not number > 1:
                raise ValueError(f"rhat must be above 1, not {value}.")
            if not number > 0:
                raise ValueError(f"{name} must be positive, not {value}.")
            if name in ("max_draws", "every") and not number.is_integer():
                raise ValueError(f"{name} must be a whole number, not {value}.")
            object.__setattr__(self, name, int(number) if number.is_integer() else number)

        if isinstance(self.of, list):  # may not be part of what is compared and hashed
            object.__setattr__(self, "of", tuple(self.of))

    def next_look(self, done: int, first: int) -> int:
        """The draw after which to look again."""
        if done < first:
            return min(first, self.max_draws)
        return min(done + (self.every or min(max(done // 10, 1), LONGEST)), self.max_draws)

    def out_of_time(self, now: Progress) -> bool:
        """Whether to stop even between looks."""
        return now.seconds >= (self.max_seconds or math.inf)

    def rule(self, now: Progress, judged: Judged) -> str | None:
        """The rule that ends sampling at this look, if one does."""
        if self._converged(judged):
            return "converged"
        if now.draws >= self.max_draws:
            return "max_draws"
        return "max_gradients" if now.gradients >= (self.max_gradients or math.inf) else None

    def _converged(self, judged: Judged) -> bool:
        if self.rhat is None and self.ess is None:
            return False
        # Written so that NaN, of what never changed, is not converged.
        mixed = self.rhat is None or bool(np.all(judged.rhat < self.rhat))
        moved = not np.any(judged.constant)  # one still chain among many hardly shows in R-hat
        return moved and mixed and (self.ess is None or bool(np.all(judged.ess >= self.ess)))


def _number(name: str, value: Any) -> float:
    if not isinstance(value, str):
        try:
            return float(value)
        except (TypeError, ValueError):
            pass
    raise TypeError(f"{name} must be a number, not {value!r}.")


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

    def rule(self, now: Progress, judged: Judged) -> str | None:
        return "draws" if now.draws >= self.draws else None

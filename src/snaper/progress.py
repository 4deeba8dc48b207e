"""What a person sees while a run goes on: a bar in a terminal or notebook, a few lines in a log."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

from tqdm.std import tqdm

_LOG_LINES = 16
_SECONDS = 0.1  # between two looks of a bar
_ENDLESS = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}, {rate_fmt}{postfix}]"


@dataclass(frozen=True)
class Snapshot:
    """Where a run stands."""

    phase: str
    done: int
    step_size: float
    leapfrogs: float
    acceptance: float
    divergences: int
    rhat: float | None = None  # of the worst coordinate; None while nothing is sampled
    nested: bool = False  # whether it is the nested R-hat

    def __str__(self) -> str:
        mixing = ""
        if self.rhat is not None and self.rhat == self.rhat:  # not NaN
            mixing = f", worst {'nested ' if self.nested else ''}R-hat {self.rhat:.3f}"
        return (
            f"step size {self.step_size:.3g}, {self.leapfrogs:.1f} leapfrogs/draw, accept "
            f"{self.acceptance:.2f}, {self.divergences} divergences{mixing}"
        )


Tell = Callable[[], Snapshot]
"""Makes a snapshot; asked only when it is shown, since it takes a look at the device."""


class Silent:
    """Shows nothing."""

    def show(self, done: int, tell: Tell) -> None:
        pass

    def close(self) -> None:
        pass


class Bar:
    """One line that is redrawn a few times a second, for a terminal or a notebook."""

    def __init__(self, total: int, stream: TextIO, certain: bool):
        self._bar = tqdm(
            total=total,
            file=stream,
            unit=" draws",
            dynamic_ncols=True,
            leave=True,
            bar_format=None if certain else _ENDLESS,
        )
        self._next = 0.0
        self._unsaid: Tell | None = None

    def show(self, done: int, tell: Tell) -> None:
        self._unsaid = tell
        if time.monotonic() >= self._next:
            self._say()

    def _say(self) -> None:
        if self._unsaid is None:
            return
        snapshot, self._unsaid = self._unsaid(), None
        self._bar.set_description(snapshot.phase, refresh=False)
        self._bar.set_postfix_str(str(snapshot), refresh=False)
        self._bar.update(snapshot.done - self._bar.n)
        self._bar.refresh()
        self._next = time.monotonic() + _SECONDS

    def close(self) -> None:
        self._say()
        self._bar.close()


@dataclass
class Log:
    """A line now and then, never more than about twenty, for a file.

    The rate counts from the first line on: what is before it is compilation.
    """

    total: int
    stream: TextIO
    certain: bool = True  # that all of it will be done
    next_line: float = 0.0
    first: tuple[float, int] | None = None
    unsaid: Tell | None = None

    def show(self, done: int, tell: Tell) -> None:
        if done < min(self.next_line, self.total):
            self.unsaid = tell
        else:
            self._say(tell())

    def _say(self, snapshot: Snapshot) -> None:
        self.unsaid = None
        self.next_line = snapshot.done + self.total / _LOG_LINES
        now = time.monotonic()
        since, before = self.first = self.first or (now, snapshot.done)
        pace = ""
        if snapshot.done > before:
            rate = (snapshot.done - before) / max(now - since, 1e-9)
            left = f"{(self.total - snapshot.done) / rate:.0f} s left"
            pace = f", {rate:.0f} draws/s, {'' if self.certain else 'at most '}{left}"
        line = f"{snapshot.phase} {snapshot.done}/{self.total}{pace}, {snapshot}"
        print(line, file=self.stream, flush=True)

    def close(self) -> None:
        if self.unsaid is not None:  # a run that ended before its total
            self._say(self.unsaid())


Display = Silent | Bar | Log


def start(total: int, wanted: bool, certain: bool = True) -> Display:
    """The display that fits where standard error goes; `certain` if all of it will be done, where
    else some rule may end it earlier.
    """
    if not wanted or total == 0:
        return Silent()
    if sys.stderr.isatty() or "ipykernel" in sys.modules:
        return Bar(total, sys.stderr, certain)
    return Log(total, sys.stderr, certain)

"""What a person sees while a run goes on: a bar in a terminal or notebook, a few lines in a log."""

import sys
import time
from dataclasses import dataclass
from typing import TextIO

from tqdm.std import tqdm

_LOG_LINES = 16


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


class Silent:
    """Shows nothing."""

    def show(self, snapshot: Snapshot) -> None:
        pass

    def close(self) -> None:
        pass


class Bar:
    """One line that is redrawn, for a terminal or a notebook."""

    def __init__(self, total: int, stream: TextIO):
        self._bar = tqdm(total=total, file=stream, unit=" draws", dynamic_ncols=True, leave=True)

    def show(self, snapshot: Snapshot) -> None:
        self._bar.set_description(snapshot.phase, refresh=False)
        self._bar.set_postfix_str(str(snapshot), refresh=False)
        self._bar.update(snapshot.done - self._bar.n)
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


@dataclass
class Log:
    """A line now and then, never more than about twenty, for a file.

    The rate counts from the first line on: what is before it is compilation.
    """

    total: int
    stream: TextIO
    next_line: float = 0.0
    first: tuple[float, int] | None = None
    unsaid: Snapshot | None = None

    def show(self, snapshot: Snapshot) -> None:
        if snapshot.done < min(self.next_line, self.total):
            self.unsaid = snapshot
        else:
            self._say(snapshot)

    def _say(self, snapshot: Snapshot) -> None:
        self.unsaid = None
        self.next_line = snapshot.done + self.total / _LOG_LINES
        now = time.monotonic()
        since, before = self.first = self.first or (now, snapshot.done)
        pace = ""
        if snapshot.done > before:
            rate = (snapshot.done - before) / max(now - since, 1e-9)
            pace = f", {rate:.0f} draws/s, {(self.total - snapshot.done) / rate:.0f} s left"
        line = f"{snapshot.phase} {snapshot.done}/{self.total}{pace}, {snapshot}"
        print(line, file=self.stream, flush=True)

    def close(self) -> None:
        if self.unsaid is not None:  # a run that ended before its total
            self._say(self.unsaid)


Display = Silent | Bar | Log


def start(total: int, wanted: bool) -> Display:
    """The display that fits where standard error goes."""
    if not wanted or total == 0:
        return Silent()
    in_notebook = "ipykernel" in sys.modules
    return Bar(total, sys.stderr) if sys.stderr.isatty() or in_notebook else Log(total, sys.stderr)

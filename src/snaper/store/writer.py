"""The commit protocol: rows, then the checkpoint, then descriptions for other readers."""

import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from ..arviz import attributes_of
from ..course import Course
from ..interrupt import Interrupt
from ..record import num_kept
from ..result import Run
from . import files, layout, snapshot
from .arrays import Arrays
from .files import STATE, StoreError
from .tree import pack

CHECKPOINT = f"{STATE}/checkpoint"
SECONDS = 1.0  # between two checkpoints, at least,
SHARE = 0.1  # and the largest share of a run's time that they may take
_ABSENT: list[int | None] = [None]  # what the sum of a file may be that was never written


class Writer:
    """Keeps a run on disk as it goes on.

    Args:
        root: the folder, which nobody else writes.
        arrays: what is there of the run's draws and statistics.
        header: what does not change, as JSON, and `starts`, as arrays.
        on_disk: sums of other files as they may be there.
        interrupt: how to stop a run that cannot be kept.
    """

    def __init__(
        self,
        root: Path,
        arrays: Arrays,
        header: dict[str, Any],
        starts: dict[str, np.ndarray],
        on_disk: dict[str, list[int | None]],
        interrupt: Interrupt,
    ):
        self._root, self._arrays = root, arrays
        self._header, self._starts, self._on_disk = header, starts, on_disk
        self._interrupt = interrupt
        self._error: StoreError | None = None
        self._next = 0.0

    def begin(self, course: Course) -> None:
        """A first checkpoint, so that there is something to go on from at any time."""
        self._commit(course, None)

    def after_stretch(self, course: Course) -> None:
        if self._error is None and time.monotonic() >= self._next:
            try:
                self._commit(course, None)
            except StoreError as error:
                self._error = error
                self._interrupt.requested = True  # the run ends here, and is returned with it

    def finish(self, course: Course, run: Run) -> None:
        """The last checkpoint. Whatever could not be written is told now, with the run."""
        try:
            if self._error is not None:
                raise self._error
            self._commit(course, run)
        except StoreError as error:
            error.run = run
            raise

    def _commit(self, course: Course, run: Run | None) -> None:
        began = time.monotonic()
        self._append(course)
        others = self._arrays.describe(self._attributes(run))
        if run is None:
            others = {name: data for name, data in others.items() if not self._can_wait(name)}
        sums = {name: zlib.crc32(data) for name, data in others.items()}
        before = {name: self._on_disk.get(name, _ABSENT) for name in others}
        maybe = {
            name: [new, *(old for old in before[name] if old != new)] for name, new in sums.items()
        }
        description, arrays = snapshot.take(course)
        description |= self._header | {
            "lengths": self._arrays.lengths,
            "sums": self._arrays.sums,
            "files": self._on_disk | maybe,
            "findings": None if run is None else [[*vars(f).values()] for f in run.findings],
        }
        files.write(self._root, CHECKPOINT, pack(description, {**arrays, **self._starts}))
        for name, data in others.items():
            if before[name] != [sums[name]]:
                files.write(self._root, name, data)
        self._on_disk |= {name: [each] for name, each in sums.items()}
        now = time.monotonic()
        self._next = now + max(SECONDS, (now - began) / SHARE)

    def _can_wait(self, name: str) -> bool:
        """Whether it is an array's own description, of which its group's has a copy, and there."""
        there = None not in self._on_disk.get(name, _ABSENT)
        return there and name.count("/") == 2

    def _append(self, course: Course) -> None:
        """What was kept since the last checkpoint."""
        begin = self._arrays.lengths[f"{layout.WARMUP}/draw"]
        count = course.warming.done - begin
        if count:
            rows = course.warming.kept.newest(count)
            self._put(layout.warmup_rows(rows, begin, course.state.chains.logp.size))
        if course.keep == "draws":
            begin = self._arrays.lengths[f"{layout.NAMED}/draw"]
            count = num_kept(course.sampling.done, course.sampling.thin) - begin
            if count:
                rows = course.sampling.kept.newest(count)
                self._put(layout.draw_rows(course.target, rows, begin))

    def _put(self, rows: dict[str, np.ndarray]) -> None:
        for path, values in rows.items():
            self._arrays.append(path, values)

    def _attributes(self, run: Run | None) -> dict[str, Any]:
        if run is None:
            return self._header["attributes"]
        return attributes_of(run) | {
            "findings": "\n".join(map(str, run.findings)),
            "step_size": run.tuning.step_size,
            "trajectory_length": run.tuning.trajectory_length,
            "metric": run.tuning.choice,
        }

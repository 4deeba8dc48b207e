"""A place for a new run."""

from pathlib import Path
from typing import Any

from .. import sampler
from ..bend import bent
from ..course import Course
from ..interrupt import Interrupt
from ..plan import Plan
from . import files, header, layout
from .arrays import Arrays, require_zarr
from .files import STATE, Lock, StoreError
from .writer import CHECKPOINT, Writer


class Claim:
    """A folder for a new run, and the right to write it until the end of a `with`."""

    def __init__(self, path: Any):
        require_zarr()
        self._root = files.folder(path)
        _refuse_existing(self._root)
        self._lock = Lock(self._root)

    def __enter__(self) -> "Claim":
        return self

    def __exit__(self, *_: Any) -> None:
        self._lock.release()

    def keeper(self, course: Course, plan: Plan, interrupt: Interrupt) -> Writer:
        """Whatever keeps a run that has not begun, with its first checkpoint written."""
        _refuse_existing(self._root)  # it may have been written before it was locked
        target, config, state = course.target, course.config, course.state
        chosen = layout.Layout.of(target, config, state, plan.keep)
        arrays = Arrays(self._root, chosen.specs)
        for path, values in layout.fixed(target, chosen.specs).items():
            arrays.fill(path, values)
        told = header.of(target, config, plan, chosen)
        chains = state.chains
        if course.bend is not None:
            chains = sampler.evaluate(target, bent(course.bend, chains.x))
        starts = header.starts(target, chains)
        writer = Writer(self._root, arrays, told, starts, {}, interrupt)
        writer.begin(course)
        return writer


def _refuse_existing(root: Path) -> None:
    """An empty folder may be there, and even a claim on it that came to nothing."""
    try:
        empty = not root.exists() or {path.name for path in root.iterdir()} <= {STATE}
        empty = empty and not (root / CHECKPOINT).exists()
    except OSError as error:
        raise files.cannot("write", root, error) from error
    if not empty:
        raise StoreError(
            f"{root} exists already: go on with it by snaper.resume, or give store= another path."
        )

"""What is on disk of a run, checked before it is believed."""

import zlib
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..config import Config
from ..course import Course
from ..diagnostics.findings import Finding
from ..hmc import Chains
from ..plan import Plan
from ..sampler import State
from . import files, layout, plain, snapshot
from .arrays import Arrays, Spec, require_zarr, stays_inside
from .header import FORMAT
from .tree import unpack
from .writer import CHECKPOINT

_TRIES = 5


def refuse_missing(root: Path) -> None:
    if not (root / CHECKPOINT).is_file():
        raise files.StoreError(
            f"{root} holds no run: give the path that sample had as store=, or sample into it."
        )


class Reader:
    """A store as of its last checkpoint."""

    def __init__(self, path: Any):
        require_zarr()
        self.root = files.folder(path)
        refuse_missing(self.root)
        for tries in range(_TRIES):
            seen = files.read(self.root, CHECKPOINT)
            try:
                self._open(seen)
                return
            except files.StoreError:
                # A writer may have gone on meanwhile; nothing else changes a checkpoint.
                if tries == _TRIES - 1 or files.read(self.root, CHECKPOINT) == seen:
                    raise

    def _open(self, seen: bytes) -> None:
        try:
            self.description, self.saved = told, _ = unpack(seen)
            self._refuse_unreadable(told["format"], told["around"]["snaper"])
            self.config: Config = plain.decode(told["config"])
            self.plan: Plan = plain.decode(told["plan"])
            self.specs = [
                Spec(path, tuple(dims), tuple(shape), dtype, chunk)
                for path, dims, shape, dtype, chunk in told["specs"]
            ]
            self.arrays = Arrays(self.root, self.specs)
            self._stage()
            self.rows = {
                path: self.arrays.read(path, length, told["sums"][path])
                for path, length in told["lengths"].items()
            }
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise files.damaged(self.root / CHECKPOINT) from error

    def _refuse_unreadable(self, format: int, version: str) -> None:
        if format != FORMAT:
            raise files.StoreError(
                f"{self.root} has format {format} of snaper {version}, and format {FORMAT} is read "
                "here: use that version."
            )
        is_double = self.description["target"]["dtype"] == "float64"
        if is_double and jnp.result_type(float) != np.float64:
            raise files.StoreError(
                f"{self.root} was drawn in float64: switch jax_enable_x64 on to use it."
            )

    def _stage(self) -> None:
        """Check the files that hold no draws; those of arrays that do not grow are kept."""
        fixed = tuple(f"{spec.path}/c" for spec in self.specs if not spec.grows)
        for name, sums in self.description["files"].items():
            if not stays_inside(name):
                raise ValueError(f"{name!r} cannot be the name of a file")
            path = self.root / name
            if None in sums and not path.exists():
                continue
            data = files.read(self.root, name)
            if zlib.crc32(data) not in sums:
                raise files.damaged(path)
            if name.startswith(fixed):
                self.arrays.stage(name, data)

    def fixed(self, group: str) -> dict[str, np.ndarray]:
        """Arrays of a group of data, by name."""
        return {
            spec.path.partition("/")[2]: self.arrays.values(spec.path)
            for spec in self.specs
            if spec.path.startswith(f"{group}/") and spec.dims != (spec.path.partition("/")[2],)
        }

    def draws(self) -> dict[str, np.ndarray]:
        """Parameters by name, [chain, draw, ...], as the log density sees them."""
        return {
            name: np.swapaxes(self.rows[layout.path_of(name)], 0, 1)
            for name in self.description["named"]
        }

    @property
    def starts(self) -> tuple[Chains, Chains]:
        """Where chains began, and other points at which the log density is known."""

        def chains(place: int) -> Chains:
            names = (f"starts[{place}].{name}" for name in Chains._fields)
            return Chains(*(jnp.asarray(self.saved[name]) for name in names))

        return chains(0), chains(1)

    @property
    def findings(self) -> list[Finding] | None:
        """Of the last time that the run ended."""
        told = self.description["findings"]
        return None if told is None else [Finding(*each) for each in told]

    def state(self, config: Config) -> State:
        dtype = np.dtype(self.description["target"]["dtype"])
        try:
            return snapshot.state(config, self.description, self.saved, dtype)
        except (KeyError, ValueError) as error:
            raise self._strange(error) from None

    def restore(self, course: Course, ended: bool) -> None:
        """Give the run's past back to it."""
        told = self.description
        try:
            snapshot.restore(course, told, self.saved, ended)
            course.began = course.began._replace(chains=self.starts[0])
        except (KeyError, ValueError) as error:
            raise self._strange(error) from None
        course.warming.kept.restore(layout.warmup_kept(self.rows, told["shared"]))
        if course.keep == "draws":
            kept = layout.draws_kept(course.target, self.rows, told["shared"])
            course.sampling.kept.restore(kept)

    def _strange(self, error: Exception) -> files.StoreError:
        """What was saved is whole, but not what is asked for here."""
        version = self.description["around"]["snaper"]
        return files.StoreError(
            f"{self.root} holds another kind of run ({error}): use snaper {version}, and give "
            "functions as they were, or open the folder by xarray."
        )

    def forget(self) -> None:
        """Rows that are held elsewhere."""
        self.rows.clear()

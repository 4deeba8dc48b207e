"""Arrays that grow along their draws: encoded by Zarr in memory, put on disk as whole files.

Zarr's own writing would show a reader rows that do not count yet, and arrays of different lengths;
here data come first, then the checkpoint, and descriptions of new lengths last.
"""

import math
import re
import warnings
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import files

_CHUNK_BYTES = 2**22
_MAX_CHUNK = 1000  # draws
_KINDS = frozenset("biufc")  # of dtypes
_NAME = re.compile(r"(?!\.\.?$)[^/\\\0]+")  # what can be that of a file, and leads nowhere else
_DESCRIPTION = "zarr.json"
TEXT = "text"  # in the place of a dtype


class Spec(NamedTuple):
    """An array of the store. One that has no draws is written once."""

    path: str  # group/name
    dims: tuple[str, ...]
    shape: tuple[int, ...]  # zero draws
    dtype: str
    chunk: int  # draws in a file, or rows of an array that has none

    @classmethod
    def of(cls, path: str, dims: tuple[str, ...], shape: tuple[int, ...], dtype: str) -> "Spec":
        """With files of a few megabytes."""
        whole = cls(path, dims, shape, dtype, 1)
        others = math.prod(size for axis, size in enumerate(shape) if axis != whole.axis)
        row = others * (16 if dtype == TEXT else np.dtype(dtype).itemsize)
        return whole._replace(chunk=min(max(_CHUNK_BYTES // max(row, 1), 1), _MAX_CHUNK))

    @property
    def grows(self) -> bool:
        return "draw" in self.dims

    @property
    def axis(self) -> int:
        """Along which it grows, or else is cut into files."""
        return self.dims.index("draw") if self.grows else 0

    @property
    def chunks(self) -> tuple[int, ...]:
        return tuple(
            self.chunk if axis == self.axis else max(size, 1)
            for axis, size in enumerate(self.shape)
        )

    def key(self, number: int) -> str:
        """The file of a chunk."""
        places = (str(number) if axis == self.axis else "0" for axis in range(len(self.shape)))
        return "/".join([self.path, "c", *places])


class Arrays:
    """All arrays of a store, and the sums by which their files are checked."""

    def __init__(self, root: Path, specs: list[Spec]):
        self._zarr = zarr = require_zarr()
        self._root, self._specs = root, {spec.path: spec for spec in specs}
        self._staged: dict[str, Any] = {}  # what Zarr makes of it, by the name of the file
        self._store = zarr.storage.MemoryStore(self._staged)
        self._groups = ["", *sorted({spec.path.split("/")[0] for spec in specs})]
        for group in self._groups:
            zarr.create_group(self._store, path=group)
        self._arrays = {spec.path: self._create(spec) for spec in specs}
        self.lengths = {spec.path: 0 for spec in specs if spec.grows}
        self.sums: dict[str, list[int]] = {path: [] for path in self.lengths}

    def _create(self, spec: Spec) -> Any:
        if spec.dtype != TEXT and np.dtype(spec.dtype).kind not in _KINDS:
            raise ValueError(f"{spec.path} must hold numbers, not {spec.dtype}")
        if not stays_inside(spec.path):
            raise ValueError(f"{spec.path!r} cannot be the name of an array")
        return self._zarr.create_array(
            self._store,
            name=spec.path,
            shape=spec.shape,
            chunks=spec.chunks,
            dtype=str if spec.dtype == TEXT else spec.dtype,
            dimension_names=spec.dims,
            config={"write_empty_chunks": True},
        )

    def fill(self, path: str, values: np.ndarray) -> None:
        """The values of an array that does not grow; `describe` has its files."""
        self._arrays[path][...] = values

    def stage(self, name: str, data: bytes) -> None:
        """A file of such an array as it is on disk."""
        self._staged[name] = self._buffer(data)

    def values(self, path: str) -> np.ndarray:
        """Of such an array."""
        return np.asarray(self._arrays[path][...])

    def append(self, path: str, rows: np.ndarray) -> None:
        """Put rows [draw, ...] on disk. They count when a checkpoint says so."""
        spec, array = self._specs[path], self._arrays[path]
        begin, end = self.lengths[path], self.lengths[path] + len(rows)
        rows = np.ascontiguousarray(rows, spec.dtype)
        self._resize(path, end)
        array[self._place(spec, begin, end)] = np.moveaxis(rows, 0, spec.axis)
        for number in range(begin // spec.chunk, -(-end // spec.chunk)):
            first, last = number * spec.chunk, min((number + 1) * spec.chunk, end)
            new = rows[max(first - begin, 0) : last - begin]
            self._add(path, number, new)
            if not new.size:
                continue  # Zarr has no files for what is empty
            files.write(self._root, spec.key(number), self._staged[spec.key(number)].to_bytes())
            if last == (number + 1) * spec.chunk:
                del self._staged[spec.key(number)]  # will not be touched again
        self.lengths[path] = end

    def read(self, path: str, length: int, sums: list[int]) -> np.ndarray:
        """The first rows [draw, ...], checked; the array can then be appended to."""
        spec, array = self._specs[path], self._arrays[path]
        self._resize(path, length)
        rows = np.empty((length, *np.delete(spec.shape, spec.axis)), spec.dtype)
        for number in range(-(-length // spec.chunk)):
            first, last = number * spec.chunk, min((number + 1) * spec.chunk, length)
            if not rows.size:
                self._add(path, number, rows[first:last])
                continue
            key = spec.key(number)
            self._staged[key] = self._buffer(files.read(self._root, key))
            try:
                part = np.asarray(array[self._place(spec, first, last)])
            except Exception as error:  # whatever a codec makes of what it was not given
                raise files.damaged(self._root / key) from error
            rows[first:last] = np.moveaxis(part, spec.axis, 0)
            self._add(path, number, rows[first:last])
            if self.sums[path][number] != sums[number]:
                raise files.damaged(self._root / key)
            if last == (number + 1) * spec.chunk:
                del self._staged[key]
        self.lengths[path] = length
        return rows

    def describe(self, attributes: dict[str, Any]) -> dict[str, bytes]:
        """Every other file of the store, by name: descriptions of what is there now, and arrays
        that do not grow.
        """
        for group in self._groups:
            opened = self._zarr.open_group(self._store, path=group, use_consolidated=False)
            opened.attrs.put(attributes)
        with warnings.catch_warnings():
            # Other readers than Zarr's own may not know them, and read each array's instead.
            warnings.filterwarnings("ignore", "Consolidated metadata")
            for group in reversed(self._groups):
                self._zarr.consolidate_metadata(self._store, path=group)
        growing = tuple(f"{path}/c/" for path in self.lengths)
        return {
            key: value.to_bytes()
            for key, value in self._staged.items()
            if not key.startswith(growing)
        }

    def _add(self, path: str, number: int, rows: np.ndarray) -> None:
        """Rows of a chunk to its sum, by draws, so that the sum goes on as they are appended."""
        sums = self.sums[path]
        if number == len(sums):
            sums.append(0)
        sums[number] = zlib.crc32(rows.tobytes(), sums[number])

    def _resize(self, path: str, length: int) -> None:
        spec = self._specs[path]
        self._arrays[path].resize(
            tuple(length if axis == spec.axis else size for axis, size in enumerate(spec.shape))
        )

    def _place(self, spec: Spec, begin: int, end: int) -> tuple[slice, ...]:
        return tuple(
            slice(begin, end) if axis == spec.axis else slice(None)
            for axis in range(len(spec.shape))
        )

    def _buffer(self, data: bytes) -> Any:
        return self._zarr.core.buffer.default_buffer_prototype().buffer.from_bytes(data)


def stays_inside(path: str) -> bool:
    """Whether it leads nowhere but into the store."""
    return all(_NAME.fullmatch(part) for part in path.split("/"))


def can_be_called(name: str) -> bool:
    """Whether an array can, beside what else is in its folder."""
    return name != _DESCRIPTION and _NAME.fullmatch(name) is not None


def require_zarr() -> Any:
    try:
        import zarr
    except ImportError:
        raise ImportError(
            "A store needs Zarr 3, which is not installed: pip install 'snaper[store]'."
        ) from None
    if int(zarr.__version__.split(".")[0]) < 3:
        raise ImportError(
            f"A store needs Zarr 3, but Zarr {zarr.__version__} is installed: pip install "
            "'snaper[store]'."
        )
    import zarr.core.buffer
    import zarr.storage

    return zarr

"""Reads the data files shipped beside this module; nothing is ever downloaded."""

import functools
import hashlib
import io
from importlib.resources import files
from importlib.resources.abc import Traversable

import numpy as np


class DataError(RuntimeError):
    """A shipped data file is missing or is not the file that was shipped."""


@functools.cache
def load(name: str) -> dict[str, np.ndarray]:
    """The arrays of one shipped file, by name."""
    return read(files("snaper.targets") / "data", name)


def read(folder: Traversable, name: str) -> dict[str, np.ndarray]:
    """The arrays of `folder/name.npz`, whose hash and values are checked."""
    file = f"{name}.npz"
    content = _content(folder, file)
    expected = _expected_sha256(folder, file)
    if hashlib.sha256(content).hexdigest() != expected:
        raise DataError(f"Data file {file} is damaged: its sha256 is not the one in SHA256SUMS.")
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        arrays = dict(archive)
    for key, array in arrays.items():
        if not np.all(np.isfinite(array)):
            raise DataError(f"Data file {file} has a value that is not finite in its array {key}.")
    return arrays


def _content(folder: Traversable, file: str) -> bytes:
    try:
        return (folder / file).read_bytes()
    except FileNotFoundError:
        raise DataError(f"Data file {file} is missing from the installed package.") from None


def _expected_sha256(folder: Traversable, file: str) -> str:
    for line in _content(folder, "SHA256SUMS").decode().splitlines():
        sha256, listed = line.split()
        if listed == file:
            return sha256
    raise DataError(f"Data file {file} is not listed in SHA256SUMS.")

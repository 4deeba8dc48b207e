"""LAPACK and matrix products on a CPU with one thread.

There JAX calls SciPy's OpenBLAS, and NumPy has its own; their threads wait for each other busily.
For matrices as small as a metric that is slower than one thread alone; where cores have other work
too, a hundred times.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

_SUFFIXES = ("", "64_")  # of functions, by the size of the library's integers


class Threads(NamedTuple):
    """A library's own functions that tell and set how many there are."""

    get: Callable[[], int]
    put: Callable[[int], None]


@contextmanager
def one_thread() -> Iterator[None]:
    """Within, and then as before. Where NumPy or SciPy has another LAPACK, that is left alone."""
    libraries = _libraries()
    before = [each.get() for each in libraries]
    for each in libraries:
        each.put(1)
    try:
        yield
    finally:
        for each, number in zip(libraries, before, strict=True):
            each.put(number)


@cache
def _libraries() -> tuple[Threads, ...]:
    """OpenBLAS, of NumPy and of SciPy."""
    return tuple(found for package in ("numpy", "scipy") for found in _of(package))


def _of(package: str) -> Iterator[Threads]:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return
    home = Path(spec.origin).parent
    for path in [
        *(home.parent / f"{package}.libs").glob("*openblas*"),
        *home.glob(".dylibs/*openblas*"),
    ]:
        for suffix in _SUFFIXES:
            try:
                library = ctypes.CDLL(str(path))
                names = (f"scipy_openblas_{what}_num_threads{suffix}" for what in ("get", "set"))
                yield Threads(*(getattr(library, name) for name in names))
            except (OSError, AttributeError):
                continue

"""LAPACK on a CPU with one thread.

There JAX calls SciPy's OpenBLAS, whose threads wait for each other busily. For matrices as small as
a metric that is slower than one thread alone; where cores have other work too, a hundred times.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path


@contextmanager
def one_thread() -> Iterator[None]:
    """Within, and then as before. Where SciPy has another LAPACK, nothing is done."""
    calls = _calls()
    if calls is None:
        yield
        return
    get, put = calls
    before = get()
    put(1)
    try:
        yield
    finally:
        put(before)


@cache
def _calls() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """OpenBLAS's own functions that tell and set the number of threads."""
    found = find_spec("scipy")
    if found is None or found.origin is None:
        return None
    home = Path(found.origin).parent
    for path in [
        *(home.parent / "scipy.libs").glob("*openblas*"),
        *home.glob(".dylibs/*openblas*"),
    ]:
        try:
            library = ctypes.CDLL(str(path))
            return library.scipy_openblas_get_num_threads, library.scipy_openblas_set_num_threads
        except (OSError, AttributeError):
            continue
    return None

"""Compiled code kept on disk from one process to the next."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import jax
from jax.experimental.compilation_cache import compilation_cache

_ALL = {
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}


@contextmanager
def kept_in(directory: str | os.PathLike[str] | None) -> Iterator[None]:
    """Within, what is compiled is looked for in a directory and left there; None changes nothing.

    JAX's settings are as they were afterwards.
    """
    if directory is None:
        yield
        return
    chosen = {"jax_compilation_cache_dir": os.fspath(directory), **_ALL}
    before = {name: getattr(jax.config, name) for name in chosen}
    _set(chosen)
    try:
        yield
    finally:
        _set(before)


def _set(values: dict) -> None:
    for name, value in values.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()  # it looks at its directory only once

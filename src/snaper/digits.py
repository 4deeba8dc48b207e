"""Data as JAX holds them, where its numbers have room for them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

ROUNDED = 0.01  # of the standard deviation of data: more would be another data set
_WIDER = "or switch JAX to 64 bits (jax_enable_x64)"


def kept(leaf: Any, name: str = "") -> jax.Array:
    """A leaf of the data on the device, if its numbers stay what they are."""
    if isinstance(leaf, jax.Array):
        return leaf
    given = np.asarray(leaf)
    if given.dtype.kind not in "iuf" or not given.size:
        return jnp.asarray(leaf)
    became = jax.dtypes.canonicalize_dtype(given.dtype)
    if became != given.dtype:
        check = _whole if given.dtype.kind in "iu" else _real
        check(given, became, f"data {name}" if name else "an array of data")
    return jnp.asarray(leaf)


def _whole(given: np.ndarray, dtype: np.dtype, what: str) -> None:
    room = np.iinfo(dtype)
    outside = given[(given > room.max) | (given < room.min)]
    if outside.size:
        raise ValueError(
            f"{what} has {outside[0]}, for which {dtype} has no room: give it as floats, in larger "
            f"units, {_WIDER}."
        )


def _real(given: np.ndarray, dtype: np.dtype, what: str) -> None:
    finite = given[np.isfinite(given)]
    if not finite.size:
        return
    with np.errstate(over="ignore"):
        off = np.abs(finite.astype(dtype) - finite)
        worst, spread = off.max(), finite.std()
    if not np.isfinite(worst):
        raise ValueError(
            f"{what} has {finite[np.argmax(off)]:g}, for which {dtype} has no room: give it in "
            f"larger units, {_WIDER}."
        )
    if worst > ROUNDED * spread > 0:
        raise ValueError(
            f"{what}, of standard deviation {spread:.2g}, is rounded by up to {worst:.2g} in "
            f"{dtype}: subtract an offset, {_WIDER}."
        )

"""`jax.random.normal` and `uniform`, number for number, with Threefry's rounds written out (Salmon
et al. 2011): on a CPU JAX makes them a loop, which takes four times as long.
"""

import jax
import jax.numpy as jnp
import numpy as np

from ._types import Key, Scalar

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)


def normal(key: Key, shape: tuple[int, ...], dtype, first: Scalar | int = 0) -> jax.Array:
    """Standard normal numbers; with `first`, those that a larger array has from that row on."""
    if not written_out(key):
        return jax.random.normal(key, shape, dtype)  # of all rows: see `cores`
    least = np.nextafter(np.array(-1.0, dtype), np.array(0.0, dtype))
    unit = _unit(key, shape, dtype, first) * (1.0 - least) + least
    return jax.lax.erf_inv(jnp.maximum(unit, least)) * np.array(np.sqrt(2), dtype)


def uniform(key: Key, shape: tuple[int, ...], dtype, first: Scalar | int = 0) -> jax.Array:
    """Numbers from [0, 1); with `first`, those that a larger array has from that row on."""
    if not written_out(key):
        return jax.random.uniform(key, shape, dtype)
    return _unit(key, shape, dtype, first)


def written_out(key: Key) -> bool:
    """Whether JAX would count as is done here."""
    partitionable = getattr(jax.config, "jax_threefry_partitionable", True)
    return partitionable and jax.random.key_impl(key) == "threefry2x32"


def _unit(key: Key, shape: tuple[int, ...], dtype, first: Scalar | int) -> jax.Array:
    """Random mantissas of numbers from [1, 2), less one."""
    kind = np.dtype(dtype)
    word = np.uint32 if kind.itemsize == 4 else np.uint64
    width, mantissa = 8 * kind.itemsize, jnp.finfo(kind).nmant
    bits = _bits(jax.random.key_data(key), shape, word, first) >> word(width - mantissa)
    one = np.array(1.0, kind).view(word)
    return jax.lax.bitcast_convert_type(bits | one, kind) - np.array(1.0, kind)


def _bits(key: jax.Array, shape: tuple[int, ...], word: type, first: Scalar | int) -> jax.Array:
    count = int(np.prod(shape))
    if count >= 2**32:
        raise ValueError(f"{count} numbers at once are more than Threefry is asked for here.")
    before = jnp.asarray(first).astype(jnp.uint32) * np.uint32(np.prod(shape[1:]))
    place = jax.lax.iota(jnp.uint32, count).reshape(shape) + before
    high, low = _mix(key[0], key[1], jnp.zeros_like(place), place)
    if word is np.uint32:
        return high ^ low
    return (high.astype(word) << word(32)) | low.astype(word)


def _mix(key0, key1, x0, x1) -> tuple[jax.Array, jax.Array]:
    """Threefry-2x32, of 20 rounds."""
    keys = (key0, key1, key0 ^ key1 ^ _PARITY)
    x0, x1 = x0 + keys[0], x1 + keys[1]
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = x0 ^ ((x1 << np.uint32(rotation)) | (x1 >> np.uint32(32 - rotation)))
        x0 = x0 + keys[(group + 1) % 3]
        x1 = x1 + keys[(group + 2) % 3] + np.uint32(group + 1)
    return x0, x1

"""Pytrees of arrays as plain arrays by path, and arrays with a description as bytes.

Nothing is pickled: what is read can be no more than numbers and text.
"""

import hashlib
import io
import json
import zipfile
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

_DIGEST = hashlib.sha256().digest_size
_TEXT = "description"


def flatten(tree: Any, name: str) -> dict[str, np.ndarray]:
    """Leaves by path, each path beginning with the name; random keys as their bits."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {
        name + jax.tree_util.keystr(path): np.asarray(
            jax.random.key_data(leaf) if _is_key(leaf) else leaf
        )
        for path, leaf in leaves
    }


def rebuild(like: Any, arrays: dict[str, np.ndarray], name: str, keys: str | None = None) -> Any:
    """The tree that was flattened, given one of the same structure, shapes and dtypes, and of which
    kind random keys are.
    """

    def leaf(path: Any, example: Any) -> jax.Array:
        where = name + jax.tree_util.keystr(path)
        if where not in arrays:
            raise ValueError(f"its state has no {where}")
        stored = jnp.asarray(arrays[where])
        if _is_key(example):
            stored = jax.random.wrap_key_data(stored, impl=keys)
        if stored.shape != example.shape or stored.dtype != example.dtype:
            raise ValueError(
                f"its {where} is {stored.dtype} {stored.shape} instead of {example.dtype} "
                f"{example.shape}"
            )
        return stored

    return jax.tree_util.tree_map_with_path(leaf, like)


def pack(description: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """As bytes that begin with a digest of the rest."""
    text = np.frombuffer(json.dumps(description).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **{_TEXT: text, **arrays})
    packed = buffer.getvalue()
    return hashlib.sha256(packed).digest() + packed


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What was packed; ValueError if a single byte differs."""
    digest, packed = data[:_DIGEST], data[_DIGEST:]
    if hashlib.sha256(packed).digest() != digest:
        raise ValueError("the digest does not fit")
    try:
        with np.load(io.BytesIO(packed), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (zipfile.BadZipFile, OSError, EOFError) as error:
        raise ValueError(str(error)) from error
    return json.loads(arrays.pop(_TEXT).tobytes()), arrays


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)

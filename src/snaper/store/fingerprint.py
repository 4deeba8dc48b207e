"""What tells one target from another: names, shapes, data, and its log density at some points."""

import hashlib
from collections.abc import Iterable
from importlib import metadata
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .. import sampler
from ..hmc import Chains
from ..target import Target, dotted

_PACKAGES = ("snaper", "jax", "jaxlib")  # another version of these may draw other numbers
_FLAGS = ("jax_threefry_partitionable", "jax_default_matmul_precision")
_CLOSE = 1000  # units in the last place by which one log density differs from machine to machine


def of(target: Target) -> dict[str, Any]:
    """As JSON."""
    return {
        "parameters": [[p.name, [*p.shape], [*p.unconstrained_shape]] for p in target.parameters],
        "dtype": str(target.dtype),
        "data": _digests(target),
    }


def surroundings() -> dict[str, str]:
    """Versions and devices that draws depend on."""
    versions = {name: _version(name) for name in _PACKAGES}
    flags = {name: str(getattr(jax.config, name, None)) for name in _FLAGS}
    return {**versions, "backend": jax.default_backend(), **flags}


def compare(path: Any, stored: dict[str, Any], target: Target) -> None:
    """Refuse another target than the stored one, as far as that can be told without computing."""
    given, same = of(target), "pass the same target"
    both = zip(stored["parameters"], given["parameters"], strict=False)
    for (name, *old), (new_name, *new) in both:
        _refuse(path, "a parameter called", name, new_name, same)
        _refuse(path, f"{name} of shape", tuple(old[0]), tuple(new[0]), same)
        _refuse(path, f"{name} of unconstrained shape", tuple(old[1]), tuple(new[1]), same)
    count, given_count = len(stored["parameters"]), len(given["parameters"])
    _refuse(path, "a number of parameters of", count, given_count, same)
    remedy = "set jax_enable_x64 as it was then"
    _refuse(path, "dtype", stored["dtype"], given["dtype"], remedy)
    for name in sorted({*stored["data"], *given["data"]}):
        if stored["data"].get(name) != given["data"].get(name):
            raise ValueError(f"{path} was drawn with another {name} than is given: {same}.")


def compare_surroundings(path: Any, stored: dict[str, str]) -> None:
    """Refuse to draw other numbers than would have been drawn then."""
    for name, new in surroundings().items():
        remedy = f"use {stored[name]}, or sample anew with tuning= of snaper.load"
        _refuse(path, name, stored[name], new, remedy)


def _refuse(path: Any, what: str, old: Any, new: Any, remedy: str) -> None:
    if old != new:
        raise ValueError(f"{path} was drawn with {what} {old}, not {new}: {remedy}.")


def elsewhere(target: Target, count: int) -> Chains:
    """Points that have nothing to do with a run, and the log density there."""
    return sampler.evaluate(target, target.disperse(jax.random.key(0), count))


def compare_density(path: Any, known: Iterable[Chains], target: Target) -> None:
    """Refuse a target whose log density or gradient is another where these are known."""
    for then in known:
        now = sampler.evaluate(target, then.x)
        for what, old, new in (
            ("log density", then.logp[:, None], now.logp[:, None]),
            ("gradient", then.grad, now.grad),
        ):
            gap = _gap(np.asarray(old), np.asarray(new))
            if not gap <= _CLOSE * float(np.finfo(target.dtype).eps):
                raise ValueError(
                    f"{path} was drawn from another log density, whose {what} differs by "
                    f"{gap:.1e} of its size at points that are stored: pass the same target."
                )


def _gap(old: np.ndarray, new: np.ndarray) -> float:
    """The largest difference [point, ...], in units of the point's size; NaN is equal to NaN."""
    size = np.max(np.abs(old), axis=1, where=np.isfinite(old), initial=1.0, keepdims=True)
    with np.errstate(invalid="ignore"):
        differences = np.abs(new - old) / size
    same = (old == new) | (np.isnan(old) & np.isnan(new))
    return float(np.max(np.where(same, 0.0, differences)))


def _digests(target: Target) -> dict[str, str]:
    """Of all data, by name."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(target.data)
    named = {f"data {dotted(path)}".strip(): leaf for path, leaf in leaves}
    named |= {f"observed {name}": value for name, value in target.observed.items()}
    return {name: _digest(value) for name, value in named.items()}


def _digest(value: Any) -> str:
    if hasattr(value, "dtype") and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    array = np.ascontiguousarray(value)
    digest = hashlib.sha256(array.tobytes()).hexdigest()
    return f"{array.dtype} {array.shape} {digest}"


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:  # run from its source
        return "unknown"

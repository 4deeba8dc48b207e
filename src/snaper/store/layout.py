"""Which arrays a run has on disk, by ArviZ' names, and its draws and statistics as such."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import jax
import numpy as np

from .. import sampler
from ..arviz import named_axes, plain, sample_dims
from ..config import Config
from ..keep import TRACES
from ..result import constrain
from ..sampler import Info, State
from ..target import Target
from .arrays import TEXT, Spec, can_be_called

Rows = dict[str, np.ndarray]
"""By name, [draw, ...]."""

WARMUP, STATS, FREE, NAMED = (
    "warmup_sample_stats",
    "sample_stats",
    "unconstrained_posterior",
    "posterior",
)
SCALAR = "criterion_scalar"  # as a statistic


class Layout(NamedTuple):
    """Of the arrays of a run."""

    specs: list[Spec]
    shared: list[str]  # statistics with one value for all chains
    named: dict[str, list[int]]  # shapes of what draws consist of, as the log density sees it

    @classmethod
    def of(cls, target: Target, config: Config, state: State, keep: str) -> "Layout":
        """Nothing is computed for it."""
        _, info = jax.eval_shape(lambda state: sampler.step(target, config, state), state)
        point = jax.ShapeDtypeStruct((target.dim,), target.dtype)
        named = jax.eval_shape(target.constrain, point)
        return cls(
            _specs(target, state.chains.logp.size, info, named, keep),
            [name for name, value in info._asdict().items() if not value.shape],
            {name: [*value.shape] for name, value in named.items()},
        )


def _specs(target: Target, chains: int, info: Info, named: Any, keep: str) -> list[Spec]:
    def per_draw(arrays: dict[str, Any]) -> dict[str, Any]:
        _refuse_names(arrays, taken=("draw",))
        return {
            plain(name): jax.ShapeDtypeStruct((chains, 0, *shape), dtype)
            for name, (shape, dtype) in arrays.items()
        }

    stats = {name: ((), value.dtype) for name, value in info._asdict().items()}
    if keep != "draws":
        groups = {WARMUP: {name: stats[name] for name in TRACES}}
    else:
        free = {p.name: (p.unconstrained_shape, target.dtype) for p in target.parameters}
        groups = {
            WARMUP: stats,
            STATS: {**stats, SCALAR: ((), target.dtype)},
            FREE: free,
            NAMED: {name: (value.shape, value.dtype) for name, value in named.items()},
        }
    specs = []
    for group, arrays in groups.items():
        specs += _group(target, group, per_draw(arrays))
    for group, values in (("observed_data", target.observed), ("constant_data", target.constants)):
        if values:
            _refuse_names(values)
            specs += _group(target, group, {plain(name): each for name, each in values.items()})
    return specs


def _refuse_names(arrays: Iterable[str], taken: tuple[str, ...] = ()) -> None:
    """Those that would be written over each other, or over numbers of draws."""
    seen = {*taken}
    for name in arrays:
        if plain(name) in seen or not can_be_called(plain(name)):
            raise ValueError(
                f"store= cannot hold {name!r}, since an array there cannot be called "
                f"{plain(name)!r}, or another one is: rename it."
            )
        seen.add(plain(name))


def _group(target: Target, group: str, arrays: dict[str, Any]) -> list[Spec]:
    """Arrays with the axes that ArviZ gives them, and the labels along these."""
    dims = {plain(name): [*map(plain, axes)] for name, axes in target.dims.items()}
    labels = _labels(target)
    told = named_axes(dims, labels, group, arrays)
    specs, sizes = [], {}
    for name, array in arrays.items():
        own = [f"{name}_dim_{axis}" for axis in range(len(array.shape))]
        leading = sample_dims(group)
        axes = told.get(name, [])
        axes = (*leading, *axes, *own[len(axes) :])[: len(array.shape)]
        specs.append(
            Spec.of(f"{group}/{name}", axes, tuple(array.shape), str(np.dtype(array.dtype)))
        )
        sizes |= dict(zip(axes, array.shape, strict=True))
    for axis, size in sizes.items():
        values = labels[axis] if axis in labels else np.arange(size)
        if axis not in arrays and len(values) == size:
            dtype = str(values.dtype) if values.dtype.kind in "iuf" else TEXT
            specs.append(Spec.of(f"{group}/{axis}", (axis,), (size,), dtype))
    return specs


def fixed(target: Target, specs: list[Spec]) -> Rows:
    """Values of the arrays that do not grow, by path."""
    data = {
        "observed_data": {plain(name): value for name, value in target.observed.items()},
        "constant_data": {plain(name): value for name, value in target.constants.items()},
    }
    labels, values = _labels(target), {}
    for spec in specs:
        if not spec.grows:
            group, name = spec.path.split("/")
            value = data.get(group, {}).get(name)
            if value is None:
                value = labels[name] if name in labels else np.arange(*spec.shape)
            values[spec.path] = value.astype(str) if spec.dtype == TEXT else value
    return values


def _labels(target: Target) -> dict[str, np.ndarray]:
    return {plain(axis): values for axis, values in target.coords.items()}


def path_of(name: str) -> str:
    """The array of what draws consist of, as the log density sees it."""
    return f"{NAMED}/{plain(name)}"


def warmup_rows(rows: Rows, begin: int, chains: int) -> Rows:
    """Statistics of warm-up from transition number `begin` on, by path."""
    return _numbered(WARMUP, _per_chain(rows, chains), begin)


def draw_rows(target: Target, rows: Rows, begin: int) -> Rows:
    """Draws and their statistics from number `begin` on, by path."""
    rows = dict(rows)
    x, scalar = rows.pop("x"), rows.pop("scalar")
    count, chains, dim = x.shape
    ends = np.cumsum([parameter.size for parameter in target.parameters])[:-1]
    free = {
        parameter.name: part.reshape(count, chains, *parameter.unconstrained_shape)
        for parameter, part in zip(target.parameters, np.split(x, ends, axis=-1), strict=True)
    }
    named = {
        name: values.reshape(count, chains, *values.shape[1:])
        for name, values in constrain(target, x.reshape(-1, dim)).items()
    }
    return {
        **_numbered(STATS, {**_per_chain(rows, chains), SCALAR: scalar}, begin),
        **_numbered(FREE, free, begin),
        **_numbered(NAMED, named, begin),
    }


def warmup_kept(stored: Rows, shared: list[str]) -> Rows:
    """The inverse of `warmup_rows`."""
    return {name: _shared(name, rows, shared) for name, rows in _in_group(stored, WARMUP).items()}


def draws_kept(target: Target, stored: Rows, shared: list[str]) -> Rows:
    """The inverse of `draw_rows`."""
    stats = {name: _shared(name, rows, shared) for name, rows in _in_group(stored, STATS).items()}
    parts = {p: stored[f"{FREE}/{plain(p.name)}"] for p in target.parameters}
    flat = [part.reshape(*part.shape[:2], p.size) for p, part in parts.items()]
    return {"x": np.concatenate(flat, axis=-1), "scalar": stats.pop(SCALAR), **stats}


def _numbered(group: str, rows: Rows, begin: int) -> Rows:
    count = len(next(iter(rows.values())))
    paths = {f"{group}/{plain(name)}": values for name, values in rows.items()}
    return {**paths, f"{group}/draw": np.arange(begin, begin + count)}


def _per_chain(rows: Rows, chains: int) -> Rows:
    """What all chains share is repeated."""
    return {
        name: np.repeat(values[:, None], chains, axis=1) if values.ndim == 1 else values
        for name, values in rows.items()
    }


def _shared(name: str, rows: np.ndarray, shared: list[str]) -> np.ndarray:
    return rows[:, 0] if name in shared else rows


def _in_group(stored: Rows, group: str) -> Rows:
    split = ((path.partition("/"), rows) for path, rows in stored.items())
    return {name: rows for (found, _, name), rows in split if found == group and name != "draw"}

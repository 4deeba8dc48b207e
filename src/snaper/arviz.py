"""A run as ArviZ has it: InferenceData under ArviZ 0.x, a DataTree since 1.0.

Everything is copied from the run; the log density is not called.
"""

import datetime
import warnings
from importlib import metadata
from typing import Any

import numpy as np

Groups = dict[str, dict[str, np.ndarray]]


def convert(run: Any, warmup: bool, unconstrained: bool) -> Any:
    """A `snaper.Run` in the form of the ArviZ that is installed."""
    try:
        import arviz
    except ImportError:
        raise ImportError(
            "to_arviz needs ArviZ, which is not installed: pip install 'snaper[arviz]'."
        ) from None
    is_tree = int(arviz.__version__.split(".")[0]) >= 1
    attributes = attributes_of(run)
    dims = {plain(name): [*map(plain, axes)] for name, axes in run.target.dims.items()}
    coords = {plain(axis): values for axis, values in run.target.coords.items()}
    with warnings.catch_warnings():
        # To ArviZ more chains than draws look like transposed arrays; here they are usual.
        warnings.filterwarnings("ignore", "More chains|Found chain dimension", UserWarning)
        datasets: dict[str, Any] = {
            group: arviz.dict_to_dataset(
                arrays,
                attrs=attributes,
                dims=named_axes(dims, coords, group, arrays),
                coords=coords,
                **{"sample_dims" if is_tree else "default_dims": sample_dims(group)},
            )
            for group, arrays in _groups(run, warmup, unconstrained).items()
        }
    if not is_tree:
        return arviz.InferenceData(**datasets)
    from xarray import DataTree

    tree = DataTree.from_dict(datasets)
    tree.attrs.update(attributes)
    return tree


def _groups(run: Any, warmup: bool, unconstrained: bool) -> Groups:
    """Arrays by group and name; groups without arrays are left out."""
    groups = {
        "posterior": run.draws,
        "unconstrained_posterior": _unconstrained(run) if unconstrained else {},
        "sample_stats": run.stats,
        "warmup_sample_stats": run.warmup_stats if warmup and _num_warmup(run) else {},
        "observed_data": run.target.observed,
        "constant_data": run.target.constants,
    }
    return {
        group: {plain(name): array for name, array in arrays.items()}
        for group, arrays in groups.items()
        if arrays
    }


def plain(name: str) -> str:
    """A name without slashes, of which NumPyro's scopes are full: DataTree and netCDF take them for
    paths.
    """
    return name.replace("/", ".")


def _unconstrained(run: Any) -> dict[str, np.ndarray]:
    """The flat vectors cut into parameters."""
    parameters = run.target.parameters
    ends = np.cumsum([parameter.size for parameter in parameters])[:-1]
    parts = np.split(run.unconstrained, ends, axis=-1)
    return {
        parameter.name: part.reshape(*part.shape[:2], *parameter.unconstrained_shape)
        for parameter, part in zip(parameters, parts, strict=True)
    }


def sample_dims(group: str) -> list[str]:
    return [] if group.endswith("_data") else ["chain", "draw"]


def named_axes(
    dims: dict[str, list[str]],
    coords: dict[str, np.ndarray],
    group: str,
    arrays: dict[str, np.ndarray],
) -> dict[str, list[str]]:
    """Names of axes, by the array's name. What is unconstrained or constant may share its name with
    a parameter of another shape, whose axes it then has not.
    """
    dims = {name: axes for name, axes in dims.items() if name in arrays}
    if group not in ("unconstrained_posterior", "constant_data"):
        return dims
    skipped = len(sample_dims(group))
    return {
        name: axes
        for name, axes in dims.items()
        if _fits(arrays[name].shape[skipped:], axes, coords)
    }


def _fits(shape: tuple[int, ...], axes: list[str], coords: dict[str, np.ndarray]) -> bool:
    return len(shape) == len(axes) and all(
        axis not in coords or len(coords[axis]) == size
        for size, axis in zip(shape, axes, strict=True)
    )


def _num_warmup(run: Any) -> int:
    return run.warmup_stats["step_size"].shape[1]


def attributes_of(run: Any) -> dict[str, Any]:
    """By the schema's names."""
    attributes = {
        "created_at": datetime.datetime.now(datetime.UTC).isoformat(),
        "inference_library": "snaper",
        "inference_library_version": _version(),
        "sampling_time": float(sum(run.seconds)),
        "tuning_steps": _num_warmup(run),
    }
    if run.superchains is not None:
        attributes["superchains"] = int(run.superchains)
    return attributes


def _version() -> str:
    try:
        return metadata.version("snaper")
    except metadata.PackageNotFoundError:  # run from its source
        return "unknown"

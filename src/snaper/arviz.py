"""A run as ArviZ has it: InferenceData under ArviZ 0.x, a DataTree since 1.0.

Everything is copied from the run; the log density is not called.
"""

import datetime
from collections.abc import Iterator
from importlib import metadata
from typing import Any

import numpy as np

Groups = dict[str, dict[str, np.ndarray]]


def convert(run: Any) -> Any:
    """A `snaper.Run` in the form of the ArviZ that is installed."""
    try:
        import arviz
    except ImportError:
        raise ImportError(
            "to_arviz needs ArviZ, which is not installed: pip install 'snaper[arviz]'."
        ) from None
    groups = _groups(run)
    labels = {
        "dims": {name: [*axes] for name, axes in getattr(run.target, "dims", {}).items()},
        "coords": getattr(run.target, "coords", {}),
    }
    if int(arviz.__version__.split(".")[0]) >= 1:
        tree: Any = arviz.from_dict(groups, **labels, save_warmup=True)
        datasets = [tree, *tree.children.values()]
    else:
        tree = arviz.from_dict(**groups, **labels, save_warmup=True)
        datasets = [getattr(tree, group) for group in groups]
    for data in datasets:
        data.attrs.update(_attributes(run))
    return tree


def _groups(run: Any) -> Groups:
    """Arrays by group and name; groups without arrays are left out."""
    observed = getattr(run.target, "observed", {})
    groups = {
        "posterior": run.draws,
        "sample_stats": run.stats,
        "warmup_sample_stats": run.warmup_stats if run.warmup_stats["lp"].size else {},
        "observed_data": {name: np.asarray(value) for name, value in observed.items()},
        "constant_data": dict(_constants(run.target, observed)),
    }
    return {name: arrays for name, arrays in groups.items() if arrays}


def _constants(target: Any, observed: dict[str, Any]) -> Iterator[tuple[str, np.ndarray]]:
    """The data of the log density that have names and are not observed."""
    data = getattr(target, "data", None)
    if isinstance(data, dict):
        for name, value in data.items():
            if name not in observed and hasattr(value, "shape") and not hasattr(value, "items"):
                yield str(name), np.asarray(value)


def _attributes(run: Any) -> dict[str, Any]:
    """By the schema's names."""
    attributes = {
        "created_at": datetime.datetime.now(datetime.UTC).isoformat(),
        "inference_library": "snaper",
        "inference_library_version": _version(),
        "sampling_time": float(sum(run.seconds)),
        "tuning_steps": int(run.warmup_stats["lp"].shape[1]),
    }
    if run.superchains is not None:
        attributes["superchains"] = int(run.superchains)
    return attributes


def _version() -> str:
    try:
        return metadata.version("snaper")
    except metadata.PackageNotFoundError:  # run from its source
        return "unknown"

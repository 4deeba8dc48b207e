"""What a store says about its run once and for all."""

import datetime
from typing import Any

import numpy as np

from ..config import Config
from ..hmc import Chains
from ..plan import Plan
from ..target import Target
from . import fingerprint
from .layout import Layout
from .plain import encode
from .tree import flatten

FORMAT = 8
_NAMES = "format around target dims coords config specs shared named attributes".split()


def of(target: Target, config: Config, plan: Plan, arrays: Layout) -> dict[str, Any]:
    """As JSON."""
    around = fingerprint.surroundings()
    return {
        "format": FORMAT,
        "around": around,
        "target": fingerprint.of(target),
        "dims": {name: [*axes] for name, axes in target.dims.items()},
        "coords": {axis: _list(values) for axis, values in target.coords.items()},
        "config": encode(config, "preset"),
        "plan": encode(plan),
        "specs": [[*spec] for spec in arrays.specs],
        "shared": arrays.shared,
        "named": arrays.named,
        "attributes": {
            "created_at": datetime.datetime.now(datetime.UTC).isoformat(),
            "inference_library": "snaper",
            "inference_library_version": around["snaper"],
        },
    }


def onward(told: dict[str, Any], plan: Plan) -> dict[str, Any]:
    """That of a run that goes on, by what its checkpoint tells."""
    return {name: told[name] for name in _NAMES} | {"plan": encode(plan)}


def starts(target: Target, chains: Chains) -> dict[str, np.ndarray]:
    """Points at which the log density is compared, and what it is there: where chains begin, and as
    many others, since all may begin at one point, or at a mode, where many densities are alike.
    """
    return flatten((chains, fingerprint.elsewhere(target, chains.logp.size)), "starts")


def _list(values: np.ndarray) -> list[Any]:
    return (values if values.dtype.kind in "iufb" else values.astype(str)).tolist()

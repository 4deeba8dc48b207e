"""Measured cells as JSON files: one number per seed in each column, and what it took."""

import hashlib
import json
import os
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

import jax
import numpy as np

import snaper

RESULTS = Path(__file__).parents[2] / "docs" / "results" / "paper"
_DIGITS = 6


@dataclass(frozen=True)
class Cell:
    """One experiment on one problem with one setting, warmed up for so long."""

    experiment: str  # "long", "grid" or "short"
    problem: str
    setting: str
    warmup: int

    def path(self, results: Path) -> Path:
        return results / self.experiment / self.problem / f"{self.setting}-{self.warmup}.json"


def read(cell: Cell, results: Path = RESULTS) -> dict:
    """What there is of a cell: no seeds if nothing."""
    path = cell.path(results)
    if not path.exists():
        return {**vars(cell), "seeds": [], "columns": {}, "blocks": []}
    return json.loads(path.read_text(encoding="utf-8"))


def append(
    cell: Cell,
    seeds: range,
    found: dict,
    seconds: float,
    results: Path = RESULTS,
    about: dict[str, str] | None = None,
) -> None:
    """Add a block of seeds to a cell, at once and whole, and what else there is to say of it."""
    whole = read(cell, results)
    columns = plain(found)
    whole["seeds"] += list(seeds)
    whole["columns"] = {n: whole["columns"].get(n, []) + column for n, column in columns.items()}
    took = {"seeds": len(seeds), "seconds": round(seconds, 1)}
    whole["blocks"].append({**took, **machine(), **(about or {})})
    path = cell.path(results)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".part")
    partial.write_text(json.dumps(whole) + "\n", encoding="utf-8")
    os.replace(partial, path)


ALGORITHM = (
    *(f"{name}.py" for name in ("clock", "config", "criteria", "ensemble", "hmc", "jitter")),
    *(
        f"{name}.py"
        for name in ("metric", "nuts", "sampler", "slowest", "target", "threefry", "when")
    ),
    "adapt/*.py",
    "targets/*.py",
)


def plain(found: dict) -> dict[str, list]:
    """Columns as JSON has them."""
    return {name: [*map(_number, np.asarray(column))] for name, column in found.items()}


def _number(value) -> int | float | None:
    """Plain, short, and null where it is not finite."""
    if isinstance(value, np.integer):
        return int(value)
    return float(f"{value:.{_DIGITS}g}") if np.isfinite(value) else None


def machine() -> dict[str, str]:
    versions = {"jax": jax.__version__, "snaper": _version("snaper"), "source": source()}
    return {"device": jax.devices()[0].device_kind, **versions}


@cache
def source(names: tuple[str, ...] = ALGORITHM) -> str:
    """A fingerprint of code, by which cells of an older one are known: of what decides draws, or of
    other files of the package.
    """
    package = Path(snaper.__file__).parent
    files = [path for name in names for path in sorted(package.glob(name))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


def is_of_this_source(cell: Cell, results: Path = RESULTS) -> bool:
    """Whether all that there is of a cell was measured with the code as it is now."""
    return all(block.get("source") == source() for block in read(cell, results)["blocks"])


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # run from its source
        return snaper.__version__

"""What has been measured, as arrays; None where a cell is missing."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import cells, plan
from .cells import Cell

PRINTED = json.loads(Path(__file__).with_name("printed.json").read_text(encoding="utf-8"))
"""The paper's numbers, by table, problem and column."""

COLUMNS = {
    "grid": "Grid",
    "chees": "ChEES",
    "chees-fast": "ChEES fast",
    "snaper": "SNAPER",
    "chees-rate": "ChEESR",
    "nuts": "NUTS",
}
CRITERIA = ("chees", "chees-fast", "snaper", "chees-rate")
ESTIMATORS = {
    "min_ess_z2": "with the variance between chains",
    "mean_of_chains_ess_z2": "mean of the chains' own",
    "harmonic_of_chains_ess_z2": "harmonic mean of the chains' own",
}


@dataclass(frozen=True)
class Columns:
    """The columns of a cell, one number per seed."""

    values: dict[str, np.ndarray]
    code: str  # fingerprints of the code that it was measured with

    def __getitem__(self, name: str) -> np.ndarray:
        return self.values[name]

    @property
    def seeds(self) -> int:
        return len(next(iter(self.values.values())))

    def efficiency(self, size: str = "min_ess_z2", gradients: str = "gradients") -> np.ndarray:
        """Effective sample size per gradient; zero where it is not a number."""
        return np.nan_to_num(self[size] / self[gradients], nan=0.0)

    def rhat(self) -> np.ndarray:
        """Infinite where it is not a number."""
        return np.nan_to_num(self["rhat_classic"], nan=np.inf)

    def sampling(self, rule: str) -> np.ndarray:
        """Gradients from the end of warm-up until R-hat was below; infinite if it never was."""
        counts = self[f"gradients_{rule}"]
        return np.where(counts < 0, np.inf, counts)

    def total(self, rule: str) -> np.ndarray:
        return self["warmup_gradients"] + self.sampling(rule)


@dataclass(frozen=True)
class Results:
    """A directory of cells."""

    root: Path = cells.RESULTS

    def long(self, problem: str, setting: str) -> Columns | None:
        return self._columns(Cell("long", problem, setting, plan.LONG_WARMUP))

    def short(self, problem: str, setting: str, warmup: int) -> Columns | None:
        return self._columns(Cell("short", problem, setting, warmup))

    def grid(self, problem: str) -> dict[int, Columns]:
        """The sweep, by mean leapfrog steps."""
        names = {n: f"grid-{n}" for n in plan.GRID[problem]}
        found = {n: self._columns(plan.grid_cell(problem, name)) for n, name in names.items()}
        return {n: columns for n, columns in found.items() if columns is not None}

    def tails(self) -> list[dict]:
        """What runs saw of the tails; nothing if it was not measured."""
        path = self.root / "tails.json"
        return json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else []

    def cells(self) -> Iterator[dict]:
        """Every cell, with what it took."""
        for path in sorted(self.root.glob("*/*/*.json")):
            yield json.loads(path.read_text(encoding="utf-8"))

    def _columns(self, cell: Cell) -> Columns | None:
        whole = cells.read(cell, self.root)
        if not whole["seeds"]:
            return None
        values = {n: np.array(column, float) for n, column in whole["columns"].items()}
        blocks = whole["blocks"]
        states = [block["source"][:6] if "source" in block else "unknown" for block in blocks]
        states += [block["learning"][:6] for block in blocks if "learning" in block]
        return Columns(values, ", ".join(dict.fromkeys(states)))

"""What the measurements took, and on what."""

import numpy as np

from .markdown import DASH, table
from .problems import PROBLEMS
from .results import Results

EXPERIMENTS = ("long", "grid", "short")


def machines(results: Results) -> str:
    """Devices and versions, from the cells themselves."""
    found: dict[tuple[str, str, str], int] = {}
    for cell in results.cells():
        for block in cell["blocks"]:
            kind = (block["device"], block["jax"], block["snaper"])
            found[kind] = found.get(kind, 0) + block["seeds"]
    said = [
        f"{device} with JAX {jax} and snaper {snaper} ({seeds} runs)"
        for (device, jax, snaper), seeds in sorted(found.items())
    ]
    return "; ".join(said) if said else "nothing measured yet"


def table_of_cost(results: Results) -> str:
    """Seconds with compilation, by experiment."""
    heads = ["", *(f"{e}: {what}" for e in EXPERIMENTS for what in ("cells", "runs", "s per cell"))]
    heads.append("total, min")
    rows = []
    every = [*results.cells()]
    for problem, name in PROBLEMS.items():
        row, total = [name], 0.0
        for experiment in EXPERIMENTS:
            mine = [c for c in every if (c["problem"], c["experiment"]) == (problem, experiment)]
            if not mine:
                row += [DASH] * 3
                continue
            seconds = [sum(block["seconds"] for block in cell["blocks"]) for cell in mine]
            runs = sum(len(cell["seeds"]) for cell in mine)
            row += [str(len(mine)), str(runs), f"{np.median(seconds):.0f}"]
            total += sum(seconds)
        rows.append([*row, f"{total / 60:.1f}"])
    return table(heads, rows)

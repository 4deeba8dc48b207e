"""Whether seeds with the least effective sample size were tuned otherwise than the others."""

from collections import Counter

import numpy as np

from snaper import targets

from .markdown import share, table
from .percentiles import percentile
from .problems import PROBLEMS
from .results import Columns, Results
from .seen import correlation

LEARNT = {
    "step_size": "step size",
    "trajectory_length": "trajectory length",
    "acceptance": "acceptance",
    "gradients": "gradients",
}
ALIKE = 0.05  # by how much medians may differ where seeds are called tuned alike
SETTING = "snaper"


def section(results: Results) -> str:
    found = {problem: results.long(problem, SETTING) for problem in PROBLEMS}
    there = {problem: cell for problem, cell in found.items() if cell is not None}
    if not there:
        return ""
    return "\n\n".join(
        [
            "### Seeds with the least ESS",
            "A third possible cause is what was learnt. Below, for SNAPER in the default preset:"
            " the coordinate whose square is worst, in how many of the tenth of seeds with the"
            " least ESS it is, and in how many of all; medians of that tenth over medians of all"
            " seeds, of what was learnt and of two numbers of the worst square: the bound on its"
            " ESS that its correlation from draw to draw gives, and its ESS; and, in brackets, the"
            " rank correlation with the ESS per gradient over all seeds.",
            _table(there),
            "\n".join(_said(problem, cell) for problem, cell in there.items()),
        ]
    )


def _table(there: dict[str, Columns]) -> str:
    numbers = {**LEARNT, "ess_max_worst": "bound on the worst", "ess_worst": "worst"}
    heads = ["", "worst", "of the tenth", "of all", *numbers.values()]
    rows = []
    for problem, cell in there.items():
        low, size = lowest(cell), cell.efficiency()
        place, count = Counter(cell["worst"][low].astype(int)).most_common(1)[0]
        row = [PROBLEMS[problem], f"`{targets.get(problem).coordinate_name(place)}`"]
        row += [
            share(count, int(np.sum(low))),
            share(int(np.sum(cell["worst"] == place)), len(low)),
        ]
        row += [f"{_apart(cell, n):.3f} ({correlation(size, cell[n]):.2f})" for n in numbers]
        rows.append(row)
    return table(heads, rows, words=2)


def _said(problem: str, cell: Columns) -> str:
    apart = {name: _apart(cell, name) for name in LEARNT}
    other = [LEARNT[n] for n, times in apart.items() if abs(times - 1.0) > ALIKE]
    name = f"- **{PROBLEMS[problem]}**"
    if other:
        return f"{name}: they differ in {', '.join(other)}."
    return (
        f"{name}: tuned alike, all within {100 * ALIKE:.0f} % of the others, for"
        f" {_apart(cell, 'ess_worst'):.2f} times the ESS."
    )


def lowest(cell: Columns) -> np.ndarray:
    """Which seeds are of the tenth with the least."""
    size = cell.efficiency()
    return size <= percentile(size, 10)


def _apart(cell: Columns, name: str) -> float:
    """The median of that tenth over that of all."""
    return float(np.median(cell[name][lowest(cell)]) / np.median(cell[name]))

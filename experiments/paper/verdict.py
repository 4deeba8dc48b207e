"""Whether the default does what the paper reports, problem by problem."""

import numpy as np

from . import plan
from .markdown import DASH, number, table
from .percentiles import interval, percentile
from .problems import PROBLEMS
from .results import PRINTED, Results

SETTING = "snaper"


def verdicts(results: Results) -> str:
    heads = ["", "Table 1: at or above?"]
    heads += [f"Table 2, {warmup}: at or below?" for warmup in plan.SHORT_WARMUPS]
    rows = []
    for problem, name in PROBLEMS.items():
        row = [name, _efficiency(results, problem)]
        row += [_gradients(results, problem, warmup) for warmup in plan.SHORT_WARMUPS]
        rows.append(row)
    return table(heads, rows, words=len(heads))


def _efficiency(results: Results, problem: str) -> str:
    found = results.long(problem, SETTING)
    if found is None:
        return DASH
    values = found.efficiency()
    return _judge(values, 10, PRINTED["efficiency"][problem][SETTING], found.seeds, more=True)


def _gradients(results: Results, problem: str, warmup: int) -> str:
    found = results.short(problem, SETTING, warmup)
    if found is None:
        return DASH
    printed = PRINTED["gradients"][problem][SETTING][str(warmup)]
    return _judge(found.total("classic"), 90, printed, found.seeds, more=False)


def _judge(values, q: float, printed: float, seeds: int, more: bool) -> str:
    ours = float(percentile(values, q))
    low, high = interval(values, q)
    digits = 3 if more else 2
    good = ours >= printed if more else ours <= printed
    sure = not low <= printed <= high
    word = "yes" if good else "**no**"
    if not sure:
        word += ", within noise"
    change = 100 * (ours / printed - 1)
    by = f" ({change:+.1f} %)" if np.isfinite(change) else ""
    return f"{word}: {number(ours)} against {number(printed, digits)}{by}; {seeds} seeds"

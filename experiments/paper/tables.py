"""The paper's tables, ours beside the printed numbers."""

import numpy as np

from . import plan
from .markdown import DASH, between, number, ratio, share, table
from .percentiles import interval, percentile
from .problems import PROBLEMS
from .results import COLUMNS, CRITERIA, PRINTED, Columns, Results
from .settings import BEYOND
from .short_run import ENOUGH, MAX_DRAWS, RULES

PRESETS = {"default": "", "paper": "paper-"}
SPREAD = (10, 50, 90)
STRAIGHT = "straight"
"""The setting of cells in which runs learn their coordinates; where they learn none, there are none
of it, and those with coordinates as given are the same.
"""
OURS = {BEYOND.name: "default, coordinates as given", STRAIGHT: "default of `sample`"}
"""Beside the paper's columns."""


def default_long(results: Results, problem: str) -> Columns | None:
    return results.long(problem, STRAIGHT) or results.long(problem, BEYOND.name)


def default_short(results: Results, problem: str, warmup: int) -> Columns | None:
    found = results.short(problem, STRAIGHT, warmup)
    return found or results.short(problem, BEYOND.name, warmup)


def best_of_grid(
    results: Results, problem: str, size: str = "min_ess_z2"
) -> tuple[int, Columns] | None:
    """The point of the sweep with the largest 10th percentile."""
    sweep = results.grid(problem)
    if not sweep:
        return None
    best = max(sweep, key=lambda n: float(percentile(sweep[n].efficiency(size), 10)))
    return best, sweep[best]


def long_columns(results: Results, problem: str, column: str, preset: str) -> Columns | None:
    """The cell behind a number of the first table."""
    if column == "grid":
        best = best_of_grid(results, problem) if preset == "default" else None
        return best[1] if best else None
    if column == STRAIGHT:
        return default_long(results, problem) if preset == "default" else None
    if column in ("nuts", *OURS):
        return results.long(problem, column) if preset == "default" else None
    return results.long(problem, PRESETS[preset] + column)


def _lines_of_table_one(results: Results, problem: str, preset: str):
    """Label, column of the paper, cell, and which gradients are counted."""
    for column, label in {**COLUMNS, **OURS}.items():
        found = long_columns(results, problem, column, preset)
        if column == "grid" and (best := best_of_grid(results, problem)):
            label = f"{label} ({best[0]} steps)"
        if column == "nuts":
            yield f"{label}, each chain", column, found, "gradients_per_chain"
            yield f"{label}, lock-step", column, found, "gradients"
        else:
            yield label, column, found, "gradients"


def table_one(results: Results, preset: str) -> str:
    heads = ["", "", "10th", "95 % interval", "median", "90th", "seeds", "printed", "ours/printed"]
    rows = []
    for problem, name in PROBLEMS.items():
        for label, column, found, counted in _lines_of_table_one(results, problem, preset):
            if preset == "paper" and column in ("grid", "nuts", *OURS):
                continue
            printed = PRINTED["efficiency"][problem].get(column)
            if found is None:
                ours = [DASH] * 5
                quotient = DASH
            else:
                values = found.efficiency(gradients=counted)
                low, middle, high = (float(percentile(values, q)) for q in SPREAD)
                ends = between(interval(values, 10))
                ours = [number(low), ends, number(middle), number(high), str(found.seeds)]
                quotient = ratio(low, printed) if printed else DASH
            rows.append([name, label, *ours, number(printed) if printed else DASH, quotient])
            name = ""
    return table(heads, rows, words=2)


def table_of_rhat(results: Results) -> str:
    heads = ["", "", "preset", "10th", "median", "90th", "seeds", "printed"]
    rows = []
    for problem, name in PROBLEMS.items():
        for column, label in {**COLUMNS, **OURS}.items():
            for preset in PRESETS:
                if preset == "paper" and column in ("grid", "nuts", *OURS):
                    continue
                found = long_columns(results, problem, column, preset)
                ours = [DASH] * 4
                if found is not None:
                    spread = (float(percentile(found.rhat(), q)) for q in SPREAD)
                    ours = [*(f"{value:.3f}" for value in spread), str(found.seeds)]
                printed = PRINTED["rhat"][problem].get(column)
                printed = f"{printed:.3f}" if printed else DASH
                rows.append([name, label, preset, *ours, printed])
                name = label = ""
    return table(heads, rows, words=3)


def sentence_of_rhat(results: Results) -> str:
    """Where the printed R-hat lies among ours, over the cells of the default preset."""
    below, inside, above = [], [], []
    for problem, name in PROBLEMS.items():
        for column, label in COLUMNS.items():
            found = long_columns(results, problem, column, "default")
            if found is None:
                continue
            printed = PRINTED["rhat"][problem][column]
            low, high = (float(percentile(found.rhat(), q)) for q in (10, 90))
            # Printed to three decimals.
            side = below if printed < low - 5e-4 else above if printed > high + 5e-4 else inside
            side.append(f"{name} {label}")
    return (
        f"Of {len(below) + len(inside) + len(above)} cells of the default preset, the printed"
        f" number lies between our 10th and 90th percentiles in {len(inside)}, below in"
        f" {len(below)} ({', '.join(below) or 'none'}) and above in {len(above)}"
        f" ({', '.join(above) or 'none'})."
    )


def table_two(results: Results, preset: str) -> str:
    """Gradients until R-hat is below its threshold."""
    heads = ["", "", "warm-up", "seeds", "printed"]
    for rule in RULES:
        heads += [f"total, {rule}", "95 % interval", "sampling alone", "reached"]
    heads += ["classic/printed", "code"]
    columns = CRITERIA if preset == "paper" else (*CRITERIA, "nuts", *OURS)
    labels = {**COLUMNS, **OURS}
    rows = []
    for problem, name in PROBLEMS.items():
        for column in columns:
            label = labels[column]
            for warmup in plan.SHORT_WARMUPS:
                found = results.short(problem, PRESETS[preset] + column, warmup)
                if column == STRAIGHT:
                    found = default_short(results, problem, warmup)
                printed = PRINTED["gradients"][problem].get(column, {}).get(str(warmup))
                row = [name, label, str(warmup), DASH if found is None else str(found.seeds)]
                row.append(number(printed, 2) if printed else DASH)
                for rule in RULES:
                    row += [DASH] * 4 if found is None else _until(found, rule)
                total = None if found is None else float(percentile(found.total("classic"), 90))
                row.append(ratio(total, printed) if printed else DASH)
                row.append(DASH if found is None else found.code)
                rows.append(row)
                name = label = ""
    return table(heads, rows, words=2)


def _until(found: Columns, rule: str) -> list[str]:
    total, sampling = found.total(rule), found.sampling(rule)
    return [
        number(float(percentile(total, 90))),
        between(interval(total, 90)),
        number(float(percentile(sampling, 90))),
        share(int(np.sum(np.isfinite(total))), found.seeds),
    ]


def cut_short(results: Results) -> str:
    """Which batches ended before the rule that the page states, having been given fewer draws."""
    said = []
    for cell in results.cells():
        if cell["experiment"] != "short":
            continue
        draws = np.array([cell["columns"][f"draws_{rule}"] for rule in RULES])
        if np.all(np.mean(draws > 0, axis=1) >= ENOUGH) or np.max(draws) > MAX_DRAWS // 2:
            continue
        name = f"{PROBLEMS[cell['problem']]} {cell['setting']} {cell['warmup']}"
        said.append(f"{name} ({np.max(draws)})")
    if not said:
        return ""
    return (
        "Some batches were given fewer draws and ended before so many seeds were there; with the"
        " largest number of draws that a seed of theirs took to get there: " + "; ".join(said) + "."
    )

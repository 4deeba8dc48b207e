"""Which reading of min ESS agrees with the printed numbers: computed, in tables and sentences."""

import numpy as np

from .markdown import DASH, number, ratio, table
from .percentiles import percentile, rank
from .problems import PROBLEMS
from .results import COLUMNS, ESTIMATORS, PRINTED, Columns, Results
from .tables import best_of_grid

NEAR = 1.25  # a factor: what is called agreement


def behind(results: Results, problem: str, column: str, size: str) -> Columns | None:
    """The cell behind a number; the sweep's best is chosen by the same estimator."""
    if column == "grid":
        best = best_of_grid(results, problem, size)
        return best[1] if best else None
    return results.long(problem, column)


def tenth(results: Results, problem: str, column: str, size: str) -> float | None:
    """Our 10th percentile by one estimator."""
    found = behind(results, problem, column, size)
    counted = "gradients_per_chain" if column == "nuts" else "gradients"
    return float(percentile(found.efficiency(size, counted), 10)) if found else None


def table_of_estimators(results: Results) -> str:
    heads = ["", "", "seeds", "printed"]
    for words in ESTIMATORS.values():
        heads += [words, "ours/printed"]
    rows = []
    for problem, name in PROBLEMS.items():
        for column, label in COLUMNS.items():
            printed = PRINTED["efficiency"][problem][column]
            cells = [behind(results, problem, column, size) for size in ESTIMATORS]
            seeds = {str(found.seeds) for found in cells if found is not None}
            row = [name, label, " / ".join(sorted(seeds)) or DASH, number(printed)]
            for size in ESTIMATORS:
                ours = tenth(results, problem, column, size)
                row += [number(ours), ratio(ours, printed)]
            rows.append(row)
            name = ""
    return table(heads, rows, words=2)


def table_of_agreement(results: Results) -> str:
    """Per problem: the factor by which each estimator is off, over the columns measured."""
    heads = ["", "columns", *(f"off by, {words}" for words in ESTIMATORS.values()), "nearest"]
    rows = []
    for problem, name in PROBLEMS.items():
        off = _off(results, problem)
        count = len(_logs(results, [problem])["min_ess_z2"])
        if not off:
            rows.append([name, "0", *[DASH] * 4])
            continue
        nearest = min(off, key=lambda size: off[size])
        rows.append([name, str(count), *(f"{o:.2f}" for o in off.values()), ESTIMATORS[nearest]])
    return table(heads, rows, words=1)


def _logs(results: Results, problems) -> dict[str, np.ndarray]:
    """Logarithms of ours over printed, of the cells that there are."""
    found: dict[str, list[float]] = {size: [] for size in ESTIMATORS}
    for problem in problems:
        for column in COLUMNS:
            for size in ESTIMATORS:
                ours = tenth(results, problem, column, size)
                if ours is not None and ours > 0:
                    found[size].append(np.log(ours / PRINTED["efficiency"][problem][column]))
    return {size: np.array(each) for size, each in found.items()}


def sentences(results: Results) -> str:
    """What the numbers say, problem by problem."""
    said = []
    for problem, name in PROBLEMS.items():
        found = results.long(problem, "snaper")
        if found is None:
            continue
        printed = PRINTED["efficiency"][problem]["snaper"]
        values = found.efficiency()
        ours = float(percentile(values, 10))
        median = float(percentile(values, 50))
        inside = {
            size: float(np.median(found[size]) / np.median(found["min_ess_z2"]))
            for size in ESTIMATORS
            if size != "min_ess_z2"
        }
        reached = "is reached" if ours >= printed else "is not reached"
        said.append(
            f"- **{name}**: the printed 10th percentile of SNAPER, {number(printed)}, {reached} by"
            f" ours, {number(ours)} ({found.seeds} seeds). {_place(values, printed)} Our median is"
            f" {median / printed:.2f} times the printed number. Without the variance between"
            f" chains the same draws give {inside['harmonic_of_chains_ess_z2']:.2f} (harmonic mean)"
            f" and {inside['mean_of_chains_ess_z2']:.2f} (mean) times as much, in the median."
        )
    return "\n".join(said)


def _place(values: np.ndarray, printed: float) -> str:
    below = rank(values, printed)
    if below == 0:
        return "All our seeds lie above the printed number."
    if below == 100:
        return "All our seeds lie below the printed number."
    return f"Of our seeds {below:.0f} % lie below the printed number."


def conclusion(results: Results) -> str:
    """The paper had one measure for all problems: how many of them each estimator explains."""
    measured = {name: _off(results, p) for p, name in PROBLEMS.items() if _off(results, p)}
    if not measured:
        return ""
    said = []
    for size, words in ESTIMATORS.items():
        near = [name for name, off in measured.items() if off[size] <= NEAR]
        far = [name for name in measured if name not in near]
        said.append(
            f"- {words}: {len(near)} of {len(measured)} problems ({', '.join(near) or 'none'});"
            f" not {', '.join(far) or 'any other'}."
        )
    every = _logs(results, PROBLEMS)
    means = "; ".join(
        f"{words} {np.exp(np.mean(every[size])):.2f}" for size, words in ESTIMATORS.items()
    )
    whole = [words for size, words in ESTIMATORS.items() if _all_near(measured, size)]
    verdict = (
        f"One estimator explains them all: {whole[0]}."
        if len(whole) == 1
        else "No one of the three explains them all, and the riddle stays."
        if not whole
        else f"More than one explains them all: {', '.join(whole)}."
    )
    return (
        f"A table has one measure for all its rows, so an estimator that fits one problem explains"
        f" little unless it fits the others. Within a factor of {NEAR}:\n\n"
        + "\n".join(said)
        + f"\n\n{verdict} Geometric mean of ours/printed over the {len(every['min_ess_z2'])}"
        f" cells measured: {means}."
    )


def _off(results: Results, problem: str) -> dict[str, float]:
    """The factor by which each estimator is off; empty where nothing is measured."""
    logs = _logs(results, [problem])
    if not len(logs["min_ess_z2"]):
        return {}
    return {size: float(np.exp(np.sqrt(np.mean(each**2)))) for size, each in logs.items()}


def _all_near(measured: dict[str, dict[str, float]], size: str) -> bool:
    return all(off[size] <= NEAR for off in measured.values())

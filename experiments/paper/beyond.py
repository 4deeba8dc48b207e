"""What the dense metric and the criterion of the slowest function give, beside SNAPER."""

import json
from pathlib import Path

import numpy as np

from . import plan
from .markdown import DASH, between, number, ratio, share, table
from .percentiles import interval, percentile
from .problems import PROBLEMS
from .results import PRINTED, Results
from .tables import SPREAD, STRAIGHT, default_long, default_short

GOALS = json.loads(Path(__file__).with_name("goals.json").read_text(encoding="utf-8"))
"""Efficiency wanted and aimed at; gradients wanted after the first of the short warm-ups."""
_FIRST = plan.SHORT_WARMUPS[0]


def section(results: Results) -> str:
    """Nothing where nothing was measured."""
    if all(default_long(results, problem) is None for problem in PROBLEMS):
        return ""
    return f"""## Beyond the paper

The default of `snaper.sample`: the metric from points and gradients, dense where correlations pay,
trajectories tuned for the function that mixes worst, and coordinates that are learnt where widths
follow others. {_learns(results)} Least ESS of squares per gradient, and
total gradients to a classic R-hat below its threshold, beside the SNAPER of the paper and what was
wanted of it before it was written. Fingerprints of the code are as above. {_missed(results)}

{_efficiency(results)}

{_gradients(results)}

{_lost(results)}"""


def _efficiency(results: Results) -> str:
    rows = []
    for problem, name in PROBLEMS.items():
        printed = PRINTED["efficiency"][problem]["snaper"]
        found = default_long(results, problem)
        ours, rest = [DASH] * 5, [DASH] * 2
        if found is not None:
            values = found.efficiency()
            low, middle, high = (float(percentile(values, q)) for q in SPREAD)
            ends = between(interval(values, 10))
            ours = [number(low), ends, number(middle), number(high), str(found.seeds)]
            rest = [ratio(low, printed), found.code]
        goals = [number(goal, 2) for goal in GOALS["efficiency"][problem]]
        rows.append([name, *ours, *goals, number(printed), *rest])
    heads = ["", "10th", "95 % interval", "median", "90th", "seeds", "wanted", "aim"]
    return table([*heads, "printed SNAPER", "ours/printed", "code"], rows, words=1)


def _gradients(results: Results) -> str:
    rows = []
    for problem, name in PROBLEMS.items():
        for warmup in plan.SHORT_WARMUPS:
            found = default_short(results, problem, warmup)
            printed = PRINTED["gradients"][problem]["snaper"].get(str(warmup))
            ours = [DASH] * 5
            if found is not None:
                total = found.total("classic")
                reached = share(int(np.sum(np.isfinite(total))), found.seeds)
                high = number(float(percentile(total, 90)))
                middle = number(float(percentile(total, 50)))
                ours = [middle, high, between(interval(total, 90)), reached, found.code]
            printed = number(printed, 2) if printed else DASH
            goal = number(GOALS["gradients"][problem], 2) if warmup == _FIRST else DASH
            rows.append([name, str(warmup), *ours[:4], goal, printed, ours[4]])
            name = ""
    heads = ["", "warm-up", "median", "90th", "95 % interval", "reached", "wanted"]
    return table([*heads, "printed SNAPER", "code"], rows, words=1)


def _lost(results: Results) -> str:
    """Runs that did not get there, and whether their warm-up was already odd."""
    said, odd = [], False
    for problem, name in PROBLEMS.items():
        for warmup in plan.SHORT_WARMUPS:
            found = default_short(results, problem, warmup)
            if found is None:
                continue
            steps = found["warmup_gradients"]
            there = np.isfinite(found.total("classic"))
            each = [f"{seed} ({steps[seed]:.0f})" for seed in np.flatnonzero(~there)]
            if each and np.any(there):
                least, most = (edge(steps[there]) for edge in (np.min, np.max))
                ends = f"the others {least:.0f} to {most:.0f}"
                said.append(f"{name}, {warmup}: {', '.join(each)}; {ends}")
                odd |= bool(np.any(steps < 0.5 * least))
    if not said:
        return ""
    told = f"Seeds that did not get there, with the gradients of their warm-up: {'. '.join(said)}."
    remark = " One with far fewer than the others had short trajectories throughout its warm-up."
    return told + remark * odd


def _learns(results: Results) -> str:
    """Where they are, and what the other rows are of."""
    names = [name for problem, name in PROBLEMS.items() if results.long(problem, STRAIGHT)]
    if not names:
        return "Rows here have coordinates as given."
    return (
        f"That is so on {' and '.join(names)}, whose rows are of calls of `sample`, one for each"
        " seed; on the others nothing is learnt, so that draws are those of coordinates as given,"
        " and rows of batches."
    )


def _missed(results: Results) -> str:
    """Where it falls short of what was wanted, and where nobody can tell."""
    short, unsure, there = [], [], 0
    for name, values, q, goal in _judged(results):
        found, ends = float(percentile(values, q)), interval(values, q)
        sign = 1.0 if q < 50 else -1.0  # more efficiency is better, more gradients are worse
        ahead, *margins = (sign * (each - goal) for each in (found, *ends))
        there += ahead >= 0
        if ahead < 0:
            short.append(f"{name} ({found / goal:.2g} times that)")
        elif min(margins) < 0:
            unsure.append(name)
    noise = f", though perhaps by chance for {'; '.join(unsure)}" if unsure else ""
    return (
        f"Of these, {there} are as wanted{noise}; short of it: {'; '.join(short) or 'none'}. "
        "What was tried for those: [metrics.md](metrics.md)."
    )


def _judged(results: Results):
    """What is measured of all that was wanted: its name, numbers, percentile and goal."""
    for problem, name in PROBLEMS.items():
        if long := default_long(results, problem):
            yield f"{name}, efficiency", long.efficiency(), 10, GOALS["efficiency"][problem][0]
        if brief := default_short(results, problem, _FIRST):
            yield f"{name}, gradients", brief.total("classic"), 90, GOALS["gradients"][problem]

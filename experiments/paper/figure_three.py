"""The long run: what each criterion sees of trajectory lengths, and what is learnt."""

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from . import plan
from .drawing import COLOURS, STYLE, logarithmic, note, scatter, sheet
from .long_run import DRAWS
from .problems import PROBLEMS
from .results import COLUMNS, CRITERIA, Columns, Results

REPRESENTATIVE = ("brownian-bridge", "item-response", "sparse-logistic-regression")
SCALARS = {
    "snaper": r"$f_{\mathrm{SNAPER}}$",
    "chees": r"$f_{\mathrm{ChEES}}$",
    "worst": r"$z^2$ of the worst coordinate",
}
LINES = {"ess": "ESS", "ess_max": "ESS max", "nu_esjd": r"$\nu$ ESJD"}
SHADES = {"ess": "black", "ess_max": "#777777", "nu_esjd": "#bbbbbb"}


def draw(results: Results, problems=REPRESENTATIVE) -> Figure:
    with matplotlib.rc_context(STYLE):
        figure = sheet(9.0, 2.4 * len(problems))
        every = figure.subplots(
            2 * len(problems),
            len(SCALARS),
            squeeze=False,
            sharex=False,
            gridspec_kw={"height_ratios": [3, 1] * len(problems)},
        )
        for row, problem in enumerate(problems):
            sweep = results.grid(problem)
            learnt = {name: results.long(problem, name) for name in CRITERIA}
            for column, scalar in enumerate(SCALARS):
                lines, strip = every[2 * row, column], every[2 * row + 1, column]
                strip.sharex(lines)
                _lines(lines, problem, sweep, scalar)
                _strip(strip, learnt)
                if row == 0:
                    lines.set_title(SCALARS[scalar])
                if column == 0:
                    lines.set_ylabel(f"{PROBLEMS[problem]}\nper gradient", fontsize=7)
        shown = [Line2D([], [], color=SHADES[kind]) for kind in LINES]
        figure.legend(shown, [*LINES.values()], loc="outside lower center", ncols=len(LINES))
        for axes in every[-1]:
            axes.set_xlabel("mean leapfrog steps")
    return figure


def _lines(axes: Axes, problem: str, sweep: dict[int, Columns], scalar: str) -> None:
    logarithmic(axes.xaxis)
    axes.set_xlim(0.8 * min(plan.GRID[problem]), 1.25 * max(plan.GRID[problem]))
    axes.tick_params(labelbottom=False)
    if not sweep:
        note(axes, "sweep not measured")
        return
    for kind, label in LINES.items():
        value = [np.median(f[f"{kind}_{scalar}"] / f["gradients"]) for f in sweep.values()]
        axes.plot([*sweep], value, ".-", color=SHADES[kind], label=label)
    axes.set_ylim(bottom=0)


def _strip(axes: Axes, learnt: dict[str, Columns | None]) -> None:
    """The mean leapfrog steps that runs ended with."""
    names = [f"{COLUMNS[n]}, {f.seeds if f else 0}" for n, f in learnt.items()]
    for at, (name, found) in enumerate(learnt.items()):
        if found is not None:
            scatter(axes, found["gradients"] / DRAWS, -at, COLOURS[name])
        if found is not None and np.max(found["gradients"]) / DRAWS > axes.get_xlim()[1]:
            axes.set_xlim(right=1.25 * np.max(found["gradients"]) / DRAWS)
    axes.set_yticks([-at for at in range(len(names))], names, fontsize=5)
    axes.set_ylim(0.6 - len(names), 0.6)
    for tick, name in zip(axes.get_yticklabels(), learnt, strict=True):
        tick.set_color(COLOURS[name])

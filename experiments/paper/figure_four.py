"""The short run: gradients until R-hat is below its threshold, by length of warm-up."""

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from . import plan
from .drawing import COLOURS, STYLE, logarithmic, note, scatter, sheet
from .percentiles import percentile
from .problems import PROBLEMS
from .results import COLUMNS, CRITERIA, Results

REPRESENTATIVE = ("brownian-bridge", "hierarchical-linear", "item-response")
RULE = "classic"
COUNTS = {"total": "warm-up and sampling", "sampling": "sampling alone"}


def draw(results: Results, problems=REPRESENTATIVE) -> Figure:
    with matplotlib.rc_context(STYLE):
        figure = sheet(7.5, 2.2 * len(problems))
        every = figure.subplots(len(problems), len(COUNTS), squeeze=False, sharex=True)
        for row, problem in enumerate(problems):
            for axes, count in zip(every[row], COUNTS, strict=True):
                _panel(axes, results, problem, count)
            every[row, 0].set_ylabel(f"{PROBLEMS[problem]}\ngradients", fontsize=7)
        for axes, title in zip(every[0], COUNTS.values(), strict=True):
            axes.set_title(title)
        for axes in every[-1]:
            axes.set_xlabel("transitions of warm-up")
        shown = [Line2D([], [], marker=".", linestyle="", color=COLOURS[n]) for n in CRITERIA]
        names = [COLUMNS[n] for n in CRITERIA]
        figure.legend(shown, names, loc="outside lower center", ncols=len(names))
    return figure


def _panel(axes: Axes, results: Results, problem: str, count: str) -> None:
    """Points are seeds, bars 90th percentiles, triangles at the top seeds that never got there."""
    logarithmic(axes.yaxis)
    nothing = True
    for group, warmup in enumerate(plan.FIGURE_WARMUPS):
        for place, name in enumerate(CRITERIA):
            found = results.short(problem, name, warmup)
            if found is None:
                continue
            nothing = False
            values = getattr(found, count)(RULE)
            at = 5 * group + place
            there = values[np.isfinite(values)]
            scatter(axes, there, at, COLOURS[name], upright=True)
            high = float(percentile(values, 90))
            if np.isfinite(high):
                axes.plot([at - 0.4, at + 0.4], [high, high], color=COLOURS[name])
            if len(there) < len(values):
                top = axes.get_xaxis_transform()
                place = {"transform": top, "clip_on": False}
                axes.plot(at, 0.99, "^", color=COLOURS[name], markersize=4, **place)
    if nothing:
        note(axes, "not measured")
    middles = [5 * group + 1.5 for group in range(len(plan.FIGURE_WARMUPS))]
    axes.set_xticks(middles, [str(w) for w in plan.FIGURE_WARMUPS])

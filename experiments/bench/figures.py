"""Plots of the tables."""

import numpy as np
from matplotlib.figure import Figure

from experiments.paper.drawing import FAINT, logarithmic, save, sheet

from .problems import PROBLEMS

__all__ = ["FIGURES", "save"]
COLOURS = {"warm-up": "#d1751b", "sampling": "#1f6fb4"}


def overhead(cells: list[dict]) -> Figure:
    """Bars from zero to one, which is the limit: of the default."""
    cells = [cell for cell in cells if cell["sampler"] == "default"]
    chains = sorted({cell["chains"] for cell in cells})
    figure = sheet(7.0, 0.6 + 2.0 * len(chains))
    rows = figure.subplots(len(chains), 1, squeeze=False)[:, 0]
    for axes, number in zip(rows, chains, strict=True):
        here = {cell["problem"]: cell for cell in cells if cell["chains"] == number}
        names = [name for name in PROBLEMS if name in here]
        for offset, (phase, colour) in zip((0.2, -0.2), COLOURS.items(), strict=True):
            at = np.arange(len(names))[::-1] + offset
            ratios = [np.median(here[name][phase]["ratios"]) for name in names]
            axes.barh(at, ratios, height=0.36, color=colour, label=phase)
        axes.axvline(1.0, color=FAINT, linewidth=0.8)
        axes.set_yticks(np.arange(len(names))[::-1], [PROBLEMS[name] for name in names])
        axes.set(
            xlim=(0.0, 1.05), xlabel="time of gradients alone / time", title=f"{number} chains"
        )
        axes.legend(loc="lower right")
    return figure


def scale(cells: list[dict]) -> Figure:
    """Time of a transition, by chains and by dimension."""
    figure = sheet(7.0, 2.6)
    for axes, key, other, value in zip(
        figure.subplots(1, 2), ("chains", "dim"), ("dim", "chains"), (100, 64), strict=True
    ):
        here = sorted((c[key], 1e6 * c["transition_seconds"]) for c in cells if c[other] == value)
        axes.plot(*zip(*here, strict=True), "o-", color=COLOURS["sampling"], markersize=3)
        axes.set(xlabel="chains" if key == "chains" else "dimension", ylabel="transition, us")
        logarithmic(axes.xaxis)
        logarithmic(axes.yaxis)
    return figure


def peers(cells: list[dict]) -> Figure:
    """Effective draws per second of every package: points are calls, the larger ones medians."""
    cells = [cell for cell in cells if "later" in cell]
    names = [name for name in PROBLEMS if any(cell["problem"] == name for cell in cells)]
    samplers = sorted({cell["sampler"] for cell in cells})
    figure = sheet(7.0, 0.8 + 0.7 * len(names))
    axes = figure.subplots()
    for cell in cells:
        number = samplers.index(cell["sampler"])
        at = (
            len(names)
            - 1
            - names.index(cell["problem"])
            + 0.3
            - 0.6 * number / max(len(samplers) - 1, 1)
        )
        rates = [call["min_ess_z2_per_second"] for call in cell["later"]]
        axes.plot(rates, [at] * len(rates), ".", color=f"C{number}", markersize=3)
        axes.plot(np.median(rates), at, "o", color=f"C{number}", markersize=6)
    for number, sampler in enumerate(samplers):
        axes.plot([], [], "o", color=f"C{number}", label=sampler)
    axes.set_yticks(np.arange(len(names))[::-1], [PROBLEMS[name] for name in names])
    axes.set(xlabel="min ESS of squares per second, after the first call")
    logarithmic(axes.xaxis)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


FIGURES = {"overhead": overhead, "scale": scale, "peers": peers}

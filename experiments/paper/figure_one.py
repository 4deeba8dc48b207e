"""Shortcomings of ChEES: long trajectories cost it nothing, and narrow directions mislead it."""

import json

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .drawing import COLOURS, FAINT, STYLE, logarithmic, note, scatter, sheet
from .long_run import DRAWS
from .results import COLUMNS, Results
from .spectrum import best_alone

PROBLEM = "brownian-bridge"
LEARNT = "chees-fast"


def draw(results: Results) -> Figure:
    with matplotlib.rc_context(STYLE):
        figure = sheet(9.0, 2.8)
        left, middle, right = figure.subplots(1, 3)
        _criterion(left, results)
        path = results.root / "spectrum.json"
        if path.exists():
            rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
            _size(middle, rows)
            _length(right, rows)
        else:
            note(middle, "not measured")
            note(right, "not measured")
    return figure


def _criterion(axes: Axes, results: Results) -> None:
    """ChEES in units of its value for independent draws, and what was learnt."""
    logarithmic(axes.xaxis)
    axes.set(xlabel="mean leapfrog steps", ylabel="ChEES", title="Brownian Bridge")
    sweep = results.grid(PROBLEM)
    if sweep:
        value = [np.median(found["nu_esjd_chees"]) / DRAWS for found in sweep.values()]
        axes.plot([*sweep], value, ".-", color="black")
    else:
        note(axes, "sweep not measured")
    found = results.long(PROBLEM, LEARNT)
    bottom, top = axes.get_ylim()
    axes.set_ylim(bottom - 0.3 * (top - bottom), top)
    if found is not None:
        values = found["gradients"] / DRAWS
        strip = axes.inset_axes((0, 0, 1, 0.18), sharex=axes)
        strip.axis("off")
        scatter(strip, values, 0.0, COLOURS[LEARNT])
        strip.set_ylim(-0.6, 0.6)
        label = f"{found.seeds} runs of {COLUMNS[LEARNT]}"
        axes.text(0.02, 0.2, label, transform=axes.transAxes, color=COLOURS[LEARNT])


def _size(axes: Axes, rows: list[dict]) -> None:
    logarithmic(axes.xaxis)
    axes.set(xlabel=r"$\sigma_r / \sigma_0$", title="at the best length")
    axes.set_ylabel(f"min ESS of squares per {DRAWS} draws")
    for name, mine in _by_criterion(rows):
        x = [row["sigma_r"] for row in mine]
        y = [np.median(row["min_ess_z2"]) for row in mine]
        axes.plot(x, y, ".-", color=COLOURS[name], label=COLUMNS[name])
    axes.set_ylim(bottom=0)
    axes.legend()


def _length(axes: Axes, rows: list[dict]) -> None:
    logarithmic(axes.xaxis)
    axes.set(xlabel=r"$\sigma_r / \sigma_0$", title="best length, and learnt (dots)")
    axes.set_ylabel(r"$\bar\tau / \sigma_0$")
    axes.axhline(best_alone(), color=FAINT, linestyle="--")
    for name, mine in _by_criterion(rows):
        x = [row["sigma_r"] for row in mine]
        axes.plot(x, [row["best_length"] for row in mine], color=COLOURS[name])
        for row in mine:
            many = [row["sigma_r"]] * len(row["learnt_length"])
            axes.plot(many, row["learnt_length"], ".", color=COLOURS[name], alpha=0.5)
    axes.set_ylim(bottom=0)


def _by_criterion(rows: list[dict]):
    for name in ("chees", "snaper"):
        yield name, [row for row in rows if row["criterion"] == name]

"""What all figures share: colours, points spread by density, and files that come out the same."""

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

COLOURS = {
    "chees": "#d1751b",
    "chees-fast": "#b03a3a",
    "snaper": "#1f6fb4",
    "chees-rate": "#3a8f3a",
    "nuts": "#777777",
}
FAINT = "#999999"
STYLE = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "svg.hashsalt": "snaper",
    "svg.fonttype": "none",
    "savefig.dpi": 150,
}


def sheet(width: float, height: float) -> Figure:
    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, directory: Path, name: str) -> None:
    """As PNG and SVG, without dates and versions."""
    directory.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(STYLE):
        figure.savefig(directory / f"{name}.png", metadata={"Software": None})
        figure.savefig(directory / f"{name}.svg", metadata={"Date": None, "Creator": None})


def spread(values: np.ndarray) -> np.ndarray:
    """Offsets in (-1/2, 1/2), wide where values are dense, the same every time."""
    if len(values) < 2:
        return np.zeros(len(values))
    width = 1.06 * np.std(values) * len(values) ** -0.2 or 1.0
    gaps = (values[:, None] - values) / width
    density = np.mean(np.exp(-0.5 * gaps**2), axis=1)
    even = np.random.default_rng(0).permutation(len(values)) / (len(values) - 1) - 0.5
    return even * density / np.max(density)


def scatter(axes: Axes, values: np.ndarray, at: float, colour: str, upright: bool = False) -> None:
    """Points of positive numbers along a logarithmic axis, about `at` on the other."""
    aside = at + 0.8 * spread(np.log(values))
    place = (aside, values) if upright else (values, aside)
    marks = {"markersize": 3, "markeredgewidth": 0, "alpha": 0.6}
    axes.plot(*place, ".", color=colour, rasterized=True, **marks)  # an SVG of dots is large


def logarithmic(axis: Axis) -> None:
    """Labels at 1, 2 and 5 of every decade, in few characters."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    axis.set_major_formatter(FuncFormatter(_few_characters))
    axis.set_minor_formatter(NullFormatter())


def _few_characters(value: float, _) -> str:
    if 0.01 <= value < 1000:
        return f"{value:g}"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{float(mantissa):g}e{int(exponent)}"


def note(axes: Axes, text: str) -> None:
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=FAINT)

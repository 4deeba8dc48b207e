"""How one SNAPER run learns."""

import json

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from .drawing import COLOURS, FAINT, STYLE, sheet
from .results import Results

PANELS = {
    "step_size": "step size",
    "leapfrogs": "leapfrog steps",
    "trajectory_length": "trajectory length",
    "acceptance": "acceptance",
    "criterion": "SNAPER",
    "rhat": "R-hat - 1",
    "sine": "sine of the angle",
}
_WINDOW = 9  # points of a running median, over noise


def draw(results: Results) -> Figure:
    trace = json.loads((results.root / "traces.json").read_text(encoding="utf-8"))
    columns = {name: np.array(column) for name, column in trace["columns"].items()}
    x = columns["transition"] + 1
    with matplotlib.rc_context(STYLE):
        figure = sheet(7.0, 9.0)
        for axes, (name, label) in zip(
            figure.subplots(len(PANELS), 1, sharex=True), PANELS.items(), strict=True
        ):
            axes.set_ylabel(label, fontsize=7)
            for at in (trace["one_step"], trace["warmup"], trace["reached"]):
                if at is not None:
                    axes.axvline(at, color=FAINT, linewidth=0.8)
            if name == "rhat":
                value = np.array(trace["rhat"]["value"]) - 1
                axes.plot(trace["rhat"]["transition"], value, color=COLOURS["snaper"])
                axes.axhline(trace["threshold"] - 1, color=FAINT, linestyle="--")
            else:
                noisy = name in ("acceptance", "criterion")
                faint = {"alpha": 0.3, "linewidth": 0.6} if noisy else {}
                axes.plot(x, columns[name], color=COLOURS["snaper"], **faint)
                if noisy:
                    axes.plot(x, _running_median(columns[name]), color=COLOURS["snaper"])
            if name not in ("acceptance", "sine"):
                axes.set_yscale("log")
        axes.set_xlabel("transition")
    return figure


def _running_median(values: np.ndarray) -> np.ndarray:
    half = _WINDOW // 2
    padded = np.pad(values, half, mode="edge")
    return np.median(np.lib.stride_tricks.sliding_window_view(padded, _WINDOW), axis=1)

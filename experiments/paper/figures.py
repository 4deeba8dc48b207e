"""All figures, what they show, and where they are written."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from . import figure_four, figure_one, figure_three, figure_two, spectrum, traces
from .drawing import save
from .problems import PROBLEMS
from .results import Results


@dataclass(frozen=True)
class Drawn:
    name: str
    draw: Callable[[Results], Figure]
    caption: str
    needs: str = ""  # a file among the results

    def ready(self, results: Results) -> bool:
        return (results.root / self.needs).exists()


FIGURES = (
    Drawn(
        "figure-1",
        figure_one.draw,
        "Figure 1. Left: ChEES over mean leapfrog steps, in units of its value for independent"
        " draws (line: median over the seeds of the sweep), and the steps that runs of ChEES fast"
        " ended with (points, spread by density). Middle and right: a Gaussian with one wide"
        f" direction and {spectrum.REPEATS} narrow ones, identity metric: the least ESS of squares"
        " at the mean length that is best for each criterion under exact dynamics, and that"
        " length; dashed, the best for the wide direction alone; dots, what runs of each criterion"
        " learnt.",
    ),
    Drawn(
        "figure-2",
        figure_two.draw,
        "Figure 2. One SNAPER run on Sparse Logistic Regression: step size, mean leapfrog steps and"
        " trajectory length, harmonic mean of acceptance over chains, the criterion, R-hat, and the"
        " sine of the angle between the learnt direction and its projection on the eigenvectors of"
        f" the posterior covariance whose scales exceed {traces.WIDE} of the largest. Vertical"
        " lines: end of the phase of one leapfrog step, end of warm-up, classic R-hat below its"
        " threshold (dashed).",
        needs="traces.json",
    ),
    Drawn(
        "figure-3",
        figure_three.draw,
        "Figure 3. The long run: ESS, its bound ESS max and nu ESJD per gradient over mean leapfrog"
        " steps, of three functions (lines: medians over the seeds of the sweep), and the steps"
        " that runs of each criterion ended with (points, with the number of runs).",
    ),
    Drawn(
        "figure-3-all",
        lambda results: figure_three.draw(results, tuple(PROBLEMS)),
        "Figure 3 for all six problems.",
    ),
    Drawn(
        "figure-4",
        figure_four.draw,
        "Figure 4. The short run: gradients until the classic R-hat is below its threshold, after"
        " three lengths of warm-up. Points are seeds, bars 90th percentiles, triangles at the top"
        " stand for seeds that were not there when their batch ended.",
    ),
    Drawn(
        "figure-4-all",
        lambda results: figure_four.draw(results, tuple(PROBLEMS)),
        "Figure 4 for all six problems.",
    ),
)


def write(results: Results, directory: Path) -> None:
    """Those that can be drawn."""
    for each in FIGURES:
        if each.ready(results):
            save(each.draw(results), directory, each.name)

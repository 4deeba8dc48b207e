"""Which cells there are, and how many seeds of each."""

from collections.abc import Iterator
from dataclasses import dataclass

from .cells import Cell
from .problems import PROBLEMS
from .settings import BEYOND, LEARNT, NUTS, PAPER, Setting, fixed

LONG_WARMUP = 5000
GRID_WARMUP = 1000  # step size and metric alone are learnt,
SLOW_GRID_WARMUP = {"brownian-bridge": 5000}  # but short trajectories may come in slowly
SHORT_WARMUPS = (500, 750)  # of the tables;
FIGURE_WARMUPS = (*SHORT_WARMUPS, 1000)  # the figure shows where the default goes from there
GRID = {
    "brownian-bridge": (2, 4, 6, 9, 13, 19, 28, 41, 60, 90, 140),
    "hierarchical-linear": (6, 12, 20, 30, 42, 60, 85, 120, 170),
    "item-response": (3, 5, 8, 12, 18, 27, 40, 60, 90),
    "logistic-regression": (1, 2, 3, 4, 5, 7, 10, 14, 20),
    "sparse-logistic-regression": (5, 10, 16, 24, 34, 48, 68, 100, 150),
    "stochastic-volatility": (2, 3, 4, 6, 9, 13, 19, 28, 40),
}
AT_ONCE = {"item-response": 25, "stochastic-volatility": 25}  # seeds; the others fit together


@dataclass(frozen=True)
class Task:
    """A cell, and how many seeds it should have."""

    cell: Cell
    setting: Setting
    seeds: int


def grid_cell(problem: str, setting: str) -> Cell:
    """A point of the sweep over leapfrog steps."""
    return Cell("grid", problem, setting, SLOW_GRID_WARMUP.get(problem, GRID_WARMUP))


def tasks(seeds: int = 100, nuts_seeds: int = 10, grid_seeds: int = 100) -> Iterator[Task]:
    """All of the paper: the cheapest way to a first look at every table comes first."""
    learnt = (BEYOND, *LEARNT, *PAPER)
    for problem in PROBLEMS:
        for setting in learnt:
            yield Task(Cell("long", problem, setting.name, LONG_WARMUP), setting, seeds)
        for leapfrogs in GRID[problem]:
            setting = fixed(leapfrogs)
            yield Task(grid_cell(problem, setting.name), setting, grid_seeds)
        for warmup in FIGURE_WARMUPS:
            for setting in learnt if warmup in SHORT_WARMUPS else LEARNT:
                yield Task(Cell("short", problem, setting.name, warmup), setting, seeds)
        yield Task(Cell("long", problem, NUTS.name, LONG_WARMUP), NUTS, nuts_seeds)
        for warmup in SHORT_WARMUPS:
            yield Task(Cell("short", problem, NUTS.name, warmup), NUTS, nuts_seeds)


def quick_tasks(seeds: int = 2) -> Iterator[Task]:
    """The small problems with few seeds, on two cores."""
    presets = {"brownian-bridge": ("default",), "logistic-regression": ("default", "paper")}
    for task in tasks(seeds, 1, seeds):
        if task.setting.preset in presets.get(task.cell.problem, ()):
            yield task

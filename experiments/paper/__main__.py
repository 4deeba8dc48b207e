"""Measure what has not been measured yet."""

import argparse
import time
from pathlib import Path

from . import cells, fused, long_run, plan, short_run
from .plan import Task
from .problems import PROBLEMS, has_kernel

MEASURES = {"long": long_run.measure, "grid": long_run.measure, "short": short_run.measure}


def missing(task: Task, results: Path) -> range:
    """The seeds that a cell lacks."""
    return range(len(cells.read(task.cell, results)["seeds"]), task.seeds)


def blocks(task: Task, results: Path, at_once: int | None = None):
    """The missing seeds in as many as fit at once, or as are asked for."""
    todo = missing(task, results)
    size = at_once or plan.AT_ONCE.get(task.cell.problem, len(todo) or 1)
    return [todo[i : i + size] for i in range(0, len(todo), size)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small problems, few seeds")
    parser.add_argument("--problems", nargs="+", default=[*PROBLEMS], choices=[*PROBLEMS])
    parser.add_argument("--experiments", nargs="+", default=[*MEASURES], choices=[*MEASURES])
    parser.add_argument("--settings", nargs="+", help="by name, as in the files; all unless given")
    parser.add_argument("--warmups", nargs="+", type=int, help="transitions; all unless given")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--grid-seeds", type=int, default=100)
    parser.add_argument("--nuts-seeds", type=int, default=10)
    parser.add_argument("--at-once", type=int, help="seeds; few are better on a CPU")
    parser.add_argument("--results", type=Path, default=cells.RESULTS)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no cell after")
    parser.add_argument("--anew", action="store_true", help="drop cells of an older source first")
    chosen = parser.parse_args()
    every = (
        plan.quick_tasks()
        if chosen.quick
        else plan.tasks(chosen.seeds, chosen.nuts_seeds, chosen.grid_seeds)
    )
    wanted = [
        task
        for task in every
        if task.cell.problem in chosen.problems and task.cell.experiment in chosen.experiments
        if chosen.settings is None or task.setting.name in chosen.settings
        if chosen.warmups is None or task.cell.warmup in chosen.warmups
    ]
    if chosen.anew:
        for task in wanted:
            if not cells.is_of_this_source(task.cell, chosen.results):
                task.cell.path(chosen.results).unlink()
    at_once = chosen.at_once
    todo = [(task, seeds) for task in wanted for seeds in blocks(task, chosen.results, at_once)]
    began = time.monotonic()
    for number, (task, seeds) in enumerate(todo, 1):
        if time.monotonic() - began > chosen.seconds:
            break
        at = time.monotonic()
        cell = task.cell
        found = MEASURES[cell.experiment](cell.problem, task.setting, seeds, cell.warmup)
        took = time.monotonic() - at
        about = {"kernels": fused.fingerprint()} if has_kernel(cell.problem) else {}
        cells.append(cell, seeds, found, took, chosen.results, about)
        done = 30 * number // len(todo)
        bar = f"[{'#' * done}{'.' * (30 - done)}] {number}/{len(todo)}"
        name = f"{cell.experiment} {cell.problem} {cell.setting}, warm-up {cell.warmup}"
        print(f"{bar} {name}: {len(seeds)} seeds, {took:.1f} s", flush=True)


if __name__ == "__main__":
    main()

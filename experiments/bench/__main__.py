"""Measure, and save each table as JSON: what was measured before is kept unless it is named."""

import argparse
import json
import platform
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import jax

from . import loops, overhead, parts
from .problems import PROBLEMS

RESULTS = Path(__file__).parents[2] / "docs" / "results" / "bench"
TABLES = ("overhead", "loops", "parts")
MEAN_STEPS = (4, 16)


def tasks(
    table: str, problems: list[str], chains: list[int], budget: float
) -> Iterator[tuple[str, partial]]:
    """What to measure for a table: a name, and the call that does."""
    for problem in problems:
        for number in chains:
            if table == "overhead":
                yield f"{problem}-{number}", partial(overhead.measure, problem, number, budget)
            elif table == "parts":
                yield f"{problem}-{number}", partial(parts.measure, problem, number)
            elif table == "loops":
                for steps in MEAN_STEPS:
                    name = f"{problem}-{number}-{steps}"
                    yield name, partial(loops.measure, problem, number, steps)


def machine() -> dict[str, str]:
    device = jax.devices()[0]
    kind = device.device_kind if device.platform != "cpu" else platform.machine()
    return {"platform": device.platform, "device": kind, "jax": jax.__version__}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=["overhead"], choices=TABLES)
    parser.add_argument("--problems", nargs="+", default=[*PROBLEMS], choices=[*PROBLEMS])
    parser.add_argument("--chains", nargs="+", type=int, default=[64, 1024])
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin nothing after")
    parser.add_argument("--budget", type=float, default=4.0, help="seconds of a timed phase")
    chosen = parser.parse_args()
    began = time.monotonic()
    for table in chosen.tables:
        for name, measure in tasks(table, chosen.problems, chosen.chains, chosen.budget):
            if time.monotonic() - began > chosen.seconds:
                return
            at = time.monotonic()
            path = chosen.results / jax.default_backend() / table / f"{name}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            found = {**measure(), "machine": machine()}
            path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            print(f"{table} {name}: {time.monotonic() - at:.0f} s\n{path.read_text()}", flush=True)


if __name__ == "__main__":
    main()

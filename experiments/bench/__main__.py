"""Measure, and save every cell as JSON: `python -m experiments.bench overhead scale peers`.

Ratios are of things measured in turns, but the less else the machine does the better.
"""

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import jax

import snaper
from experiments.paper.cells import source

from . import buffers, learning, loops, overhead, parts, scale
from .peer import CALLS
from .problems import AUTOREGRESSION, TITLES

RESULTS = Path(__file__).parents[2] / "docs" / "results" / "bench"
SAMPLERS = ("snaper", "tfp", "blackjax", "numpyro")
MEAN_STEPS = (4, 16)  # of the table of loops
Cell = tuple[str, Callable[[], dict]]


def posteriors(chosen: argparse.Namespace) -> list[str]:
    """Those asked for that the paper has."""
    return [problem for problem in chosen.problems if problem != AUTOREGRESSION]


def of_problems(table: str, chosen: argparse.Namespace) -> Iterator[Cell]:
    for problem in chosen.problems if table == "learning" else posteriors(chosen):
        for chains in chosen.chains:
            name = f"{problem}-{chains}"
            if table == "overhead":
                for kind in overhead.SAMPLERS:
                    call = partial(overhead.measure, problem, chains, kind, chosen.budget)
                    yield f"{name}-{kind}", call
            elif table == "buffers":
                for kind in overhead.SAMPLERS:
                    yield f"{name}-{kind}", partial(buffers.measure, problem, chains, kind)
            elif table == "learning":
                yield name, partial(learning.measure, problem, chains)
            elif table == "parts":
                yield name, partial(parts.measure, problem, chains)
            else:
                for steps in MEAN_STEPS:
                    yield f"{name}-{steps}", partial(loops.measure, problem, chains, steps)


def of_scale(table: str, chosen: argparse.Namespace) -> Iterator[Cell]:
    sizes = [*((chains, 100) for chains in scale.CHAINS), *((64, dim) for dim in scale.DIMS)]
    for chains, dim in dict.fromkeys(sizes):
        yield f"{chains}-{dim}", partial(scale.measure, chains, dim)


def of_peers(table: str, chosen: argparse.Namespace) -> Iterator[Cell]:
    for problem in posteriors(chosen):
        for sampler in chosen.samplers:
            yield f"{problem}-{sampler}", partial(peer, sampler, problem, chosen)


def peer(sampler: str, problem: str, chosen: argparse.Namespace) -> dict:
    """In a process of its own, where nothing was compiled before."""
    sizes = ["--warmup", str(chosen.warmup), "--draws", str(chosen.draws)]
    sizes += ["--calls", str(chosen.calls)]
    command = [sys.executable, "-m", "experiments.bench.peer", sampler, problem, *sizes]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=chosen.patience)
    except subprocess.TimeoutExpired:
        return {"sampler": sampler, "problem": problem, "failed": f"{chosen.patience:g} s"}
    if done.returncode:
        words = done.stderr.strip().splitlines()[-1:] or ["no word"]
        return {"sampler": sampler, "problem": problem, "failed": words[0]}
    return json.loads(done.stdout.splitlines()[-1])


TABLES = {
    "overhead": of_problems,
    "learning": of_problems,
    "scale": of_scale,
    "peers": of_peers,
    "parts": of_problems,
    "loops": of_problems,
    "buffers": of_problems,
}


def machine() -> dict[str, str]:
    device = jax.devices()[0]
    kind = device.device_kind if device.platform != "cpu" else _processor()
    about = {"platform": device.platform, "device": kind, "jax": jax.__version__}
    return {**about, "snaper": snaper.__version__, "source": source()}


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return f"{models[0]}, {len(models)} cores" if models else platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    usual = ["overhead", "learning", "scale"]
    parser.add_argument("tables", nargs="*", default=usual, choices=[*TABLES])
    parser.add_argument("--problems", nargs="+", default=[*TITLES], choices=[*TITLES])
    parser.add_argument("--chains", nargs="+", type=int, default=[64, 1024])
    parser.add_argument("--samplers", nargs="+", default=[*SAMPLERS], choices=SAMPLERS)
    parser.add_argument("--warmup", type=int, default=1000, help="of peers")
    parser.add_argument("--draws", type=int, default=1000, help="of peers")
    parser.add_argument("--calls", type=int, default=CALLS, help="of a peer, after its first one")
    parser.add_argument("--patience", type=float, default=600.0, help="seconds for one peer")
    parser.add_argument("--budget", type=float, default=4.0, help="seconds of a timed phase")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin nothing after")
    parser.add_argument("--results", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    began = time.monotonic()
    for table in chosen.tables:
        for name, measure in TABLES[table](table, chosen):
            if time.monotonic() - began > chosen.seconds:
                return
            at = time.monotonic()
            found = {**measure(), "machine": machine()}
            path = chosen.results / jax.default_backend() / table / f"{name}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            print(f"{table} {name}: {time.monotonic() - at:.0f} s", flush=True)


if __name__ == "__main__":
    main()

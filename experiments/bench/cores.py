"""How much faster all cores are than one: `python -m experiments.bench.cores`, on a machine that
does nothing else. Processes with one core and with all take turns.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

PROBLEMS = ["item-response", "sparse-logistic-regression", "stochastic-volatility"]
ROUNDS = 3
DRAWS = 300
_CHILD = "--child"


def _child(problem: str, chains: int, only: str) -> None:
    if only == "one":
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import snaper  # only now: JAX counts cores when it begins
    from snaper import targets

    from .problems import start

    target, size = targets.get(problem), {"chains": chains, "progress": False}
    tuned = snaper.sample(target, warmup=300, draws=10, init=start(problem, chains), **size)
    given = {
        "warmup": 0,
        "draws": DRAWS,
        "tuning": tuned.tuning,
        "init": tuned.unconstrained[:, -1],
    }
    runs = [snaper.sample(target, seed=2, **given, **size) for _ in range(4)]
    print(json.dumps(min(run.seconds[1] / run.num_gradients[1] for run in runs[1:])))


def measure(problem: str, chains: int) -> dict:
    """Seconds per batch of gradients, by the cores that there are."""
    found: dict[str, list[float]] = {"one": [], "all": []}
    for _ in range(ROUNDS):
        for only, times in found.items():
            command = [sys.executable, "-m", "experiments.bench.cores", _CHILD, only]
            command += ["--problems", problem, "--chains", str(chains)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            times.append(json.loads(done.stdout.splitlines()[-1]))
    count = len(os.sched_getaffinity(0))
    speedup = min(found["one"]) / min(found["all"])
    return {"problem": problem, "chains": chains, "cores": count, "speedup": speedup, **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", nargs="+", default=PROBLEMS)
    parser.add_argument("--chains", type=int, default=64)
    parser.add_argument("--results", type=Path)
    parser.add_argument(_CHILD, choices=("one", "all"))
    chosen = parser.parse_args()
    if chosen.child:
        _child(*chosen.problems, chosen.chains, chosen.child)
        return
    from .__main__ import machine

    for problem in chosen.problems:
        text = json.dumps({**measure(problem, chosen.chains), "machine": machine()}, indent=1)
        print(text, flush=True)
        if chosen.results:
            path = chosen.results / "cpu" / "cores" / f"{problem}-{chosen.chains}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

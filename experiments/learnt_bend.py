"""What coordinates give that single runs teach, by `snaper.straighten`.

    python -m experiments.learnt_bend

writes docs/results/learnt_bend.jsonl: the default in coordinates that runs of it taught.
"""

import argparse
import json
from pathlib import Path

import jax
import numpy as np

import snaper
from snaper import straighten, targets
from snaper.bend import Bend, bent_by

from .paper import cells, long_run, tails
from .paper.problems import CHAINS, Problem
from .paper.settings import BEYOND

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "learnt_bend.jsonl"
NAMES = ("brownian-bridge", "eight-schools", "funnel")
WARMUP = 1000
LEARNING = ("bend.py", "probe.py", "straighten.py")  # what decides coordinates
TAUGHT = {"chains": CHAINS, "warmup": 500, "draws": 500, "progress": False}  # by such a run


def learn(target: snaper.Target, seed: int) -> tuple[Bend, dict]:
    """From the draws of one run, and what the run took."""
    run = snaper.sample(target, seed=seed, **TAUGHT)
    x = straighten.points(run)
    bend = straighten.learn(target, x, CHAINS)
    grad = jax.vmap(jax.grad(target.logp))(x)
    before, after = (float(straighten.roughness(b, x, grad)) for b in (straighten.flat(x), bend))
    pivots = [target.coordinate_name(int(place)) for place in bend.pivots]
    told = {"pivots": pivots, "roughness": [before, after], "gradients": sum(run.num_gradients)}
    return bend, told


def measure(name: str, runs: int, seeds: int) -> dict:
    """One number per seed of each run that taught, by name."""
    target = targets.get(name)
    start = target.disperse(jax.random.key(1), CHAINS)
    tail = narrowest if name == "brownian-bridge" else nothing
    taught, columns = [], {}
    for run in range(runs):
        bend, told = learn(target, 1000 + run)
        taught.append(told)
        problem = Problem(bent_by(target, bend), bend.straight(start), bend.bent)
        found = long_run.measure(problem, BEYOND, range(seeds), WARMUP, also=tail)
        kept = {"efficiency": found["min_ess_z2"] / found["gradients"]}
        kept |= {"tail": found["tail"]} if "tail" in found else {}
        for column, values in cells.plain(kept).items():
            columns.setdefault(column, []).extend(values)
    about = {"target": name, "warmup": WARMUP, "draws": long_run.DRAWS, "taught": taught}
    return {**about, **columns, **cells.machine(), "learning": cells.source(LEARNING)}


def narrowest(x: jax.Array) -> dict[str, np.ndarray]:
    """The part of draws in the narrowest hundredth of the Brownian bridge."""
    return {"tail": tails.narrow(x, 0.01)}


def nothing(x: jax.Array) -> dict[str, np.ndarray]:
    return {}


def main() -> None:
    parser = argparse.ArgumentParser(description="Coordinates learnt from runs: JSON lines.")
    parser.add_argument("--targets", nargs="+", default=[*NAMES], choices=NAMES)
    parser.add_argument("--runs", type=int, default=3, help="that teach")
    parser.add_argument("--seeds", type=int, default=20, help="of runs in what each taught")
    parser.add_argument("--output", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    there = chosen.output.read_text(encoding="utf-8").splitlines() if chosen.output.exists() else []
    rows = {row["target"]: row for row in map(json.loads, there)}
    for name in chosen.targets:
        rows[name] = row = measure(name, chosen.runs, chosen.seeds)
        chosen.output.write_text("".join(json.dumps(each) + "\n" for each in rows.values()))
        rate = np.quantile(row["efficiency"], [0.1, 0.5])
        print(name, *(f"{each:.3g}" for each in rate), row["taught"], flush=True)


if __name__ == "__main__":
    main()

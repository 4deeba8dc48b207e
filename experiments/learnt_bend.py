"""What coordinates give that single runs teach, by `snaper.straighten`.

    python -m experiments.learnt_bend

writes docs/results/learnt_bend.jsonl: the default in coordinates that runs of it taught, whether or
not they take away half of the roughness, as `snaper.straightened` asks of them.
"""

import argparse
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import snaper
from snaper import straighten, targets
from snaper.bend import Bend, bent_by

from .paper import cells, long_run, tails
from .paper.problems import CHAINS, Problem
from .paper.settings import BEYOND

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "learnt_bend.jsonl"
NAMES = ("brownian-bridge", "eight-schools", "funnel", "sparse-logistic-regression")
WARMUP = 1000
TAUGHT = {"chains": CHAINS, "warmup": 500, "draws": 500, "progress": False}  # by such a run


def learn(target: snaper.Target, seed: int, points: int = 8192) -> tuple[Bend, dict]:
    """From the draws of one run, and what the run took."""
    run = snaper.sample(target, seed=seed, **TAUGHT)
    x = run.unconstrained.reshape(-1, target.dim)
    x = jnp.asarray(x[:: max(1, len(x) // points)])
    grad = jax.vmap(jax.grad(target.logp))(x)
    bend = straighten.find(x, grad)
    before, after = (float(straighten.roughness(b, x, grad)) for b in (straighten.flat(x), bend))
    pivots = [target.coordinate_name(int(place)) for place in bend.pivots]
    told = {"pivots": pivots, "roughness": [before, after], "gradients": sum(run.num_gradients)}
    return bend, told


def measure(name: str, runs: int, seeds: int) -> dict:
    """One number per seed of each run that taught, by name."""
    target = targets.get(name)
    start = target.disperse(jax.random.key(1), CHAINS)
    taught, efficiency, tail = [], [], []
    for run in range(runs):
        bend, told = learn(target, 1000 + run)
        taught.append(told)
        problem = Problem(bent_by(target, bend), bend.straight(start), bend.bent)
        found = long_run.measure(problem, BEYOND, range(seeds), WARMUP, also=_seen)
        efficiency.extend(cells.plain({"": found["min_ess_z2"] / found["gradients"]})[""])
        tail.extend(cells.plain({"": found["tail"]})[""])
    about = {"target": name, "warmup": WARMUP, "draws": long_run.DRAWS, "taught": taught}
    seen = {"tail": tail} if name == "brownian-bridge" else {}
    return {**about, "efficiency": efficiency, **seen, **cells.machine()}


def _seen(x: jax.Array) -> dict[str, np.ndarray]:
    """Of the Brownian bridge: the part of draws in the narrowest hundredth."""
    is_bridge = x.shape[-1] == targets.get("brownian-bridge").dim
    return {"tail": tails.narrow(x, 0.01) if is_bridge else np.full(len(x), np.nan)}


def main() -> None:
    parser = argparse.ArgumentParser(description="Coordinates learnt from runs: JSON lines.")
    parser.add_argument("--targets", nargs="+", default=[*NAMES], choices=NAMES)
    parser.add_argument("--runs", type=int, default=3, help="that teach")
    parser.add_argument("--seeds", type=int, default=20, help="of runs in what each taught")
    parser.add_argument("--output", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    for name in chosen.targets:
        row = measure(name, chosen.runs, chosen.seeds)
        with open(chosen.output, "a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
        rate = np.quantile(row["efficiency"], [0.1, 0.5])
        print(name, *(f"{each:.3g}" for each in rate), row["taught"], flush=True)


if __name__ == "__main__":
    main()

"""What coordinates give that runs learn while they warm up: `sample` as it is, one call after the
other, by the protocols of the paper's tables.

    python -m experiments.coordinates

adds cells of the setting "straight" to docs/results/paper/ for posteriors of the paper in which
something is learnt, and for two others writes files in docs/results/coordinates/, beside the same
with coordinates as given; with --chains, for so many, into the latter.
"""

import argparse
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

import snaper
from snaper import targets

from .paper import cells, long_run, plan, problems, tails
from .paper.cells import Cell
from .paper.problems import CHAINS
from .paper.rhat import classic
from .paper.short_run import RULES, THRESHOLD
from .paper.tables import STRAIGHT

RESULTS = Path(__file__).parents[1] / "docs" / "results"
OTHERS = RESULTS / "coordinates"  # a file for each posterior and number of chains
PAPER = ("brownian-bridge", "sparse-logistic-regression")  # in the others nothing is learnt
DISPERSED = ("eight-schools", "funnel")  # which are not the paper's; these begin anywhere
WARMUP = 1000  # for them
EVERY = 10  # draws between looks at R-hat
ROOM = (1000, 8000, 30000)  # draws that are made, until there are enough
LEARNING = tuple(
    f"{part}.py" for part in "bend level pivots factors fits roughness straighten".split()
)  # what decides coordinates
KEPT = ("min_ess_z2", "worst", "rhat", "rhat_classic")
KEPT += ("mean_of_chains_ess_z2", "harmonic_of_chains_ess_z2")


def long(
    name: str, seed: int, warmup: int, coordinates: str = "auto", chains: int = CHAINS
) -> dict[str, float]:
    """Columns of a long run."""
    run = _sample(name, seed, warmup, long_run.DRAWS, coordinates, chains)
    x = np.swapaxes(run.unconstrained, 0, 1)
    sizes = long_run.of_one(jnp.asarray(x), jnp.asarray(run.tuning.direction))
    found = {column: float(sizes[column]) for column in KEPT}
    if name == "brownian-bridge":
        found["tail"] = float(tails.narrow(x[None], 0.01)[0])
    return {**found, "gradients": run.num_gradients[1], **_about(run)}


def short(name: str, seed: int, warmup: int) -> dict[str, float]:
    """Columns of a short run; -1 where R-hat was not below the threshold in the end."""
    found = {}
    for draws in ROOM:
        run = _sample(name, seed, warmup, draws)
        steps = np.cumsum(run.stats["n_steps"][0])
        enough = first_below(run.unconstrained, range(EVERY, draws + 1, EVERY))
        for rule, count in enough.items():
            found[f"draws_{rule}"] = count
            found[f"gradients_{rule}"] = -1 if count < 0 else int(steps[count - 1])
        if min(enough.values()) > 0:
            break
    return {**found, **_about(run)}


def first_below(x: np.ndarray, looks: Iterable[int]) -> dict[str, int]:
    """By rule, the first number of draws x [chain, draw, dim] with which R-hat of every coordinate
    is below the threshold; -1 where it never is.
    """
    x = x - x.mean(axis=(0, 1), dtype=float)
    zero = np.zeros_like(x[:, :1])
    sums, squares = (np.concatenate([zero, y.cumsum(axis=1)], axis=1) for y in (x, x**2))

    def piece(begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of each chain's draws from the one to the other."""
        count = end - begin
        mean = (sums[:, end] - sums[:, begin]) / count
        return mean, (squares[:, end] - squares[:, begin] - count * mean**2) / (count - 1)

    found = dict.fromkeys(RULES, -1)
    for count in looks:
        half = count // 2
        whole, parts = piece(0, count), zip(piece(0, half), piece(half, 2 * half), strict=True)
        halves = [np.concatenate(part) for part in parts]
        ratios = [mean.var(axis=0, ddof=1) / var.mean(axis=0) for mean, var in (whole, halves)]
        split = np.sqrt(1.0 - 1.0 / half + ratios[1])
        now = {"classic": np.asarray(classic(ratios[0], len(x), count)), "split": split}
        for rule, rhat in now.items():
            if found[rule] < 0 and np.max(rhat) < THRESHOLD:
                found[rule] = count
        if min(found.values()) > 0:
            break
    return found


def _sample(
    name: str,
    seed: int,
    warmup: int,
    draws: int,
    coordinates: str = "auto",
    chains: int = CHAINS,
) -> snaper.Run:
    at_prior_mean = name in PAPER and chains == CHAINS  # as in the paper's tables
    return snaper.sample(
        targets.get(name),
        chains=chains,
        warmup=warmup,
        draws=draws,
        seed=seed,
        init=problems.start(name) if at_prior_mean else None,
        coordinates=coordinates,
        progress=False,
    )


def _about(run: snaper.Run) -> dict[str, float]:
    bend = run.tuning.bend
    return {
        "pivots": 0 if bend is None else int(bend.pivots.size),
        "warmup_gradients": run.num_gradients[0],
        "seconds": round(sum(run.seconds), 2),
    }


def _of_paper(name: str, seeds: int, at_once: int, warmups: list[int]) -> None:
    """What is missing of its cells."""
    for warmup in warmups:
        experiment, measure = ("long", long) if warmup == plan.LONG_WARMUP else ("short", short)
        cell = Cell(experiment, name, STRAIGHT, warmup)
        for first in range(len(cells.read(cell)["seeds"]), seeds, at_once):
            began, block = time.monotonic(), range(first, min(first + at_once, seeds))
            rows = [measure(name, seed, warmup) for seed in block]
            columns = {column: np.array([row[column] for row in rows]) for column in rows[0]}
            about = {"learning": cells.source(LEARNING)}
            cells.append(cell, block, columns, time.monotonic() - began, about=about)
            print(experiment, name, warmup, len(block), flush=True)


def _of_others(name: str, seeds: int, chains: int) -> None:
    """Both choices, anew."""
    about = {"warmup": WARMUP, **cells.machine(), "learning": cells.source(LEARNING)}
    runs: dict[str, Any] = {"target": name, "chains": chains}
    for coordinates in ("auto", "given"):
        rows = [long(name, seed, WARMUP, coordinates, chains) for seed in range(seeds)]
        columns = {column: np.array([row[column] for row in rows]) for column in rows[0]}
        runs[coordinates] = {**about, "columns": cells.plain(columns)}
        print(name, chains, coordinates, seeds, flush=True)
    OTHERS.mkdir(exist_ok=True)
    path = OTHERS / f"{name}-{chains}.json"
    path.write_text(json.dumps(runs) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Runs that learn their coordinates.")
    parser.add_argument("--targets", nargs="+", default=[*PAPER, *DISPERSED])
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--at-once", type=int, default=10, help="seeds that are saved together")
    parser.add_argument(
        "--warmups", nargs="+", type=int, default=[plan.LONG_WARMUP, *plan.SHORT_WARMUPS]
    )
    parser.add_argument("--chains", type=int, default=CHAINS, help="others from dispersed starts")
    chosen = parser.parse_args()
    for name in chosen.targets:
        if name in DISPERSED or chosen.chains != CHAINS:
            _of_others(name, chosen.seeds, chosen.chains)
        else:
            _of_paper(name, chosen.seeds, chosen.at_once, chosen.warmups)


if __name__ == "__main__":
    main()

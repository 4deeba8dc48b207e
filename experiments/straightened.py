"""The Brownian bridge in coordinates in which its narrow place is as wide as the rest.

Where the noise of the observations is small, the observed locations are held close to what was
observed. With u the unconstrained noise, they are sampled as z, and all else as it is:

    location = centre + exp(exponent (u - middle)) z

What is measured is of the original coordinates, as in the paper's tables.

    python -m experiments.straightened

writes docs/results/straightened.json, what is missing of it.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from snaper import targets
from snaper.bend import Bend, bent_by
from snaper.level import ALONE, Level
from snaper.targets._data import load

from .paper import cells, long_run, plan, problems, short_run, tails
from .paper.problems import Problem
from .paper.settings import BEYOND

NAME = "brownian-bridge"
NOISE = -1  # the coordinate u: the first is the scale of the steps, and locations are between
RESULTS = Path(__file__).parents[1] / "docs" / "results" / "straightened.json"
PLAIN, OBSERVATIONS, MEANS = "", "observations", "posterior means"
FIRST = (OBSERVATIONS, 0.7)
OTHERS = ((PLAIN, 0.0), (OBSERVATIONS, 0.5), (OBSERVATIONS, 1.0), (MEANS, 0.7))
RUNS = (
    ("long", *FIRST, plan.LONG_WARMUP),
    *(("short", *FIRST, warmup) for warmup in plan.SHORT_WARMUPS),
    *(("long", *each, plan.LONG_WARMUP) for each in OTHERS),
)
"""Experiment, centres, exponent and warm-up; short runs in plain coordinates are the paper's."""
KEYS = ("experiment", "centres", "exponent", "warmup")
TAILS = {"tail_1": 0.01, "tail_5": 0.05}
LONG = ("warmup_gradients", "gradients", "min_ess_z2", "rhat_classic", "step_size")
SHORT = ("warmup_gradients", "gradients_classic", "draws_classic")


def bend(centres: str, exponent: float) -> Bend:
    """Around the observations, or around the posterior means of the observed locations."""
    data, moments = load("brownian_bridge"), targets.benchmark(NAME).moments
    assert moments is not None
    around = data["values"] if centres == OBSERVATIONS else moments.mean["locs"]
    observed = np.pad(data["observed"], 1)  # with both scales
    centre = np.where(observed, np.pad(np.where(data["observed"], around, 0.0), 1), 0.0)
    centre[NOISE] = tails.narrow_below(0.5)
    both = (2, centre.size)
    exponents = np.zeros((*both, 1))
    exponents[..., 0] = -2 * exponent * observed  # of precisions
    fields = (np.ones(centre.size), np.tile(centre, (2, 1)), np.zeros(both), np.full(both, ALONE))
    floats = (jnp.asarray(each, float) for each in (*fields, exponents))
    pivots, middle = jnp.asarray([centre.size + NOISE]), jnp.asarray(centre[[NOISE]], float)
    return Bend((Level(*floats, pivots, middle, jnp.asarray([False])),))


def problem(centres: str, exponent: float) -> str | Problem:
    """By name where coordinates are the posterior's own."""
    if centres == PLAIN:
        return NAME
    plain, way = problems.get(NAME), bend(centres, exponent)
    return Problem(bent_by(plain.target, way), way.straight(plain.start), way.bent)


def seen(x: jax.Array) -> dict[str, float]:
    """The part of draws in which the noise is as small as in these parts of the posterior."""
    return {name: float(tails.narrow(x[None], share)[0]) for name, share in TAILS.items()}


def measure(experiment: str, centres: str, exponent: float, warmup: int, seeds: range) -> dict:
    """One number per seed, by name."""
    return of_problem(problem(centres, exponent), experiment, warmup, seeds, seen, (*TAILS,))


def of_problem(
    chosen: str | Problem,
    experiment: str,
    warmup: int,
    seeds: range,
    also: Callable[[jax.Array], dict] = lambda x: {},
    named: tuple[str, ...] = (),
) -> dict[str, np.ndarray]:
    """Of the default, long or short runs, as in the paper's tables; `also` has more of long ones'
    draws, so named.
    """
    if experiment == "short":
        found = short_run.measure(chosen, BEYOND, seeds, warmup)
        return {name: found[name] for name in SHORT}
    found = long_run.measure(chosen, BEYOND, seeds, warmup, also=also)
    return {name: np.asarray(found[name]) for name in (*LONG, *named)}


def main() -> None:
    measure_missing(RUNS, KEYS, measure, RESULTS)


def measure_missing(wanted, keys, measure, results: Path) -> None:
    """Those of the wanted runs that are not among the results, each saved when it is finished."""
    parser = argparse.ArgumentParser(description=f"What is missing of {results.name}.")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--at-once", type=int, default=25, help="seeds; few are better on a CPU")
    parser.add_argument("--output", type=Path, default=results)
    chosen = parser.parse_args()
    runs = json.loads(chosen.output.read_text()) if chosen.output.exists() else []
    there = [tuple(run[key] for key in keys) for run in runs]
    for each in (each for each in wanted if each not in there):
        began, parts = time.monotonic(), []
        for first in range(0, chosen.seeds, chosen.at_once):
            seeds = range(first, min(first + chosen.at_once, chosen.seeds))
            parts.append(measure(*each, seeds))
        columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        seconds = round(time.monotonic() - began, 1)
        about = {"seeds": chosen.seeds, "seconds": seconds, **cells.machine()}
        run = dict(zip(keys, each, strict=True))
        runs.append({**run, **about, "columns": cells.plain(columns)})
        chosen.output.write_text(json.dumps(runs) + "\n", encoding="utf-8")
        print(*each, f"{seconds} s", flush=True)


if __name__ == "__main__":
    main()

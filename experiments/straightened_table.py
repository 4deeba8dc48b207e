"""What other coordinates give, as a section of a page: from what `straightened.py` wrote."""

import json
from pathlib import Path

import numpy as np

from .paper import plan, short_run
from .paper.beyond import GOALS
from .paper.markdown import DASH, between, number, share, table
from .paper.percentiles import interval, percentile
from .paper.results import Columns, Results
from .paper.settings import BEYOND
from .straightened import NAME, TAILS

SHARES = [f"{100 * part:.0f} %" for part in TAILS.values()]
TEXT = f"""## In other coordinates

Brownian Bridge has a narrow place: where the noise of the observations is small, the observed
locations are held close to what was observed. Here they are sampled as z, with

    location = centre + exp(exponent (u - middle)) z,

u the unconstrained noise and middle its median: `python -m experiments.straightened`. The sampler
is the default as it is, and what is measured is of the original coordinates, as in the paper's
tables: least ESS of squares per gradient in long runs, and total gradients to a classic R-hat below
{short_run.THRESHOLD} after short warm-ups. Tails are the parts of the draws in which the noise is
below what it is below in {" and in ".join(SHARES)} of the posterior, by quadrature, with standard
errors over seeds. These coordinates are written by hand, with the model in mind.
"""
LEARNT = """### Learnt from a run

Coordinates of this kind that a run's own draws and gradients teach: pivots, like the noise above,
are found among the coordinates, and the centres and exponents of all others are those that leave
least roughness, which is zero for a Gaussian and more for all else ([theory.md](../theory.md)).
Runs of the default in what single runs of it taught (`python -m experiments.learnt_bend`), beside
the default in plain coordinates from the first table; dispersed starts, least ESS of squares of the
original coordinates per gradient. The tail is the part of draws where the narrowest hundredth of
the posterior is. `snaper.straightened` gives such coordinates where they take away half of the
roughness or more, and else leaves a target as it is.
"""


def section(results: Path) -> str:
    """Short runs in the posterior's own coordinates are the paper's."""
    found = _columns(results / "straightened.json")
    paper = Results(results / "paper")
    plain = {warmup: paper.short(NAME, BEYOND.name, warmup) for warmup in plan.SHORT_WARMUPS}
    rows = []
    for (centres, exponent), runs in sorted(found.items()):
        short = runs if centres else plain
        numbers = [each for warmup in plan.SHORT_WARMUPS for each in _short(short.get(warmup))]
        name = f"{centres}, exponent {exponent}" if centres else "the posterior's own"
        long = runs[plan.LONG_WARMUP]
        rows.append([name, str(long.seeds), *_long(long), *numbers, long.code])
    heads = ["centres", "seeds", "10th", "95 % interval", "median"]
    heads += [f"{part} tail" for part in SHARES]
    for warmup in plan.SHORT_WARMUPS:
        heads += [f"gradients after {warmup}: median", "90th", "reached"]
    return f"{TEXT}\n{_about(plain)}\n\n{table([*heads, 'measured on'], rows)}\n"


def learnt(results: Path, plain: list[dict]) -> str:
    """`plain` are rows of the default in plain coordinates."""
    path = results / "learnt_bend.jsonl"
    there = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    efficiency = {row["target"]: np.array(row["efficiency"]) for row in plain}
    heads = ["target", "pivots", "roughness", "plain: seeds", "10th", "median", "learnt: seeds"]
    heads += ["10th", "median", "ratio of medians", "tail", "measured on"]
    rows = []
    for row in map(json.loads, there):
        before, after = np.mean([run["roughness"] for run in row["taught"]], axis=0)
        ours, theirs = np.array(row["efficiency"]), efficiency[row["target"]]
        pivots = dict.fromkeys(name for run in row["taught"] for name in run["pivots"])
        seeds = f"{len(row['taught'])} x {len(ours) // len(row['taught'])}"
        sizes = ([number(float(percentile(x, q))) for q in (10, 50)] for x in (theirs, ours))
        plainly, bent = sizes
        times = f"{np.median(ours) / np.median(theirs):.2f}"
        tail = _per_cent(np.array(row["tail"])) if "tail" in row else DASH
        where = f"{row['device']}, {row['source'][:6]}"
        told = [", ".join(pivots), f"{before:.2f} to {after:.2f}", str(len(theirs)), *plainly]
        rows.append([row["target"], *told, seeds, *bent, times, tail, where])
    return f"{LEARNT}\n{table(heads, rows)}\n"


def _columns(path: Path) -> dict[tuple[str, float], dict[int, Columns]]:
    """By centres and exponent, then by warm-up."""
    found: dict[tuple[str, float], dict[int, Columns]] = {}
    for run in json.loads(path.read_text(encoding="utf-8")):
        values = {name: np.array(column, float) for name, column in run["columns"].items()}
        columns = Columns(values, f"{run['device']}, {run['source'][:6]}")
        found.setdefault((run["centres"], run["exponent"]), {})[run["warmup"]] = columns
    return found


def _long(run: Columns) -> list[str]:
    size = run.efficiency()
    low, middle = (number(float(percentile(size, q))) for q in (10, 50))
    tails = (_per_cent(run[name]) for name in TAILS)
    return [low, between(interval(size, 10)), middle, *tails]


def _per_cent(shares: np.ndarray) -> str:
    error = np.std(shares, ddof=1) / np.sqrt(len(shares))
    return f"{100 * np.mean(shares):.2f} ± {100 * error:.2f} %"


def _short(run: Columns | None) -> list[str]:
    if run is None:
        return [DASH] * 3
    total = run.total("classic")
    middle, high = (number(float(percentile(total, q))) for q in (50, 90))
    return [middle, high, share(int(np.sum(np.isfinite(total))), run.seeds)]


def _about(plain: dict[int, Columns | None]) -> str:
    """What was wanted, and where gradients in the posterior's own coordinates are from."""
    efficiency, gradients = GOALS["efficiency"][NAME][0], GOALS["gradients"][NAME]
    code = ", ".join(dict.fromkeys(run.code for run in plain.values() if run))
    return (
        f"Wanted were a 10th percentile of {number(efficiency, 2)} and, after"
        f" {plan.SHORT_WARMUPS[0]} transitions of warm-up, a 90th percentile of"
        f" {number(gradients, 2)} gradients. Gradients in the posterior's own coordinates are those"
        f" of [paper.md](paper.md) (code {code})."
    )

"""What other coordinates give, as a section of a page: from what `straightened.py`, `squares.py`
and `learnt_bend.py` wrote.
"""

import json
from pathlib import Path

import numpy as np

from . import squares, straightened
from .paper import plan, short_run
from .paper.beyond import GOALS
from .paper.markdown import DASH, between, number, share, table
from .paper.percentiles import interval, percentile
from .paper.results import Columns, Results
from .paper.settings import BEYOND
from .straightened import TAILS

SIZES = ("seeds", "10th", "95 % interval", "median")
GRADIENTS = tuple(
    head
    for warmup in plan.SHORT_WARMUPS
    for head in (f"gradients after {warmup}: median", "90th", "reached")
)
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
SQUARES = """### Scales as squares

Gamma(1/2, 1/2), the prior of the scales of Sparse Logistic Regression, is the distribution of the
square of a standard normal. Here each scale is sampled as such a root, of either sign:
`python -m experiments.squares`. Where a scale is next to nothing its logarithm has a long tail,
from which trajectories come back slowly; its root has none, and passes through zero. Measured as
above, in the original coordinates.
"""
LEARNT = """### Learnt from a run

Coordinates of this kind that a run's own draws and gradients teach: pivots, like the noise above,
are found among the coordinates by the exponents of all others that leave least roughness, which is
zero for a Gaussian and more for all else; then centres are those of the narrow place, where the
target is asked for gradients, and exponents halfway to what would make it as wide as the rest
([theory.md](../theory.md)): that may leave more roughness where draws are.
Runs of the default in what single runs of it taught (`python -m experiments.learnt_bend`), beside
the default in plain coordinates from the first table; dispersed starts, least ESS of squares of the
original coordinates per gradient. The tail is the part of draws where the narrowest hundredth of
the posterior is. `snaper.straightened` gives such coordinates where those that leave least
roughness leave half of it or less, and else leaves a target as it is. The second fingerprint is of
the code that learns them.
"""


def section(results: Path) -> str:
    """Short runs in the posterior's own coordinates are the paper's."""
    found = _columns(results / "straightened.json")
    paper = Results(results / "paper")
    plain = _plain_short(paper, straightened.NAME)
    rows = []
    for (centres, exponent), runs in sorted(found.items()):
        short = runs if centres else plain
        numbers = [each for warmup in plan.SHORT_WARMUPS for each in _short(short.get(warmup))]
        name = f"{centres}, exponent {exponent}" if centres else "the posterior's own"
        long = runs[plan.LONG_WARMUP]
        rows.append([name, str(long.seeds), *_long(long), *numbers, long.code])
    heads = ["centres", *SIZES, *(f"{part} tail" for part in SHARES), *GRADIENTS, "measured on"]
    return f"{TEXT}\n{_about(straightened.NAME, plain)}\n\n{table(heads, rows)}\n"


def of_squares(results: Path) -> str:
    """All in the posterior's own coordinates are the paper's."""
    paper = Results(results / "paper")
    plain = _plain_short(paper, squares.NAME)
    plain[plan.LONG_WARMUP] = paper.long(squares.NAME, BEYOND.name)
    read = json.loads((results / "squares.json").read_text(encoding="utf-8"))
    rooted = {run["warmup"]: _of_run(run) for run in read}
    rows = []
    for name, runs in (("the posterior's own", plain), ("roots of scales", rooted)):
        long = runs[plan.LONG_WARMUP]
        numbers = [each for warmup in plan.SHORT_WARMUPS for each in _short(runs[warmup])]
        rows.append([name, str(long.seeds), *_sizes(long), *numbers, long.code])
    heads = ["coordinates", *SIZES, *GRADIENTS, "measured on"]
    return f"{SQUARES}\n{_about(squares.NAME, plain)}\n\n{table(heads, rows)}\n"


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
        where = f"{row['device']}, {row['source'][:6]}, {row['learning'][:6]}"
        told = [", ".join(pivots), f"{before:.2f} to {after:.2f}", str(len(theirs)), *plainly]
        rows.append([row["target"], *told, seeds, *bent, times, tail, where])
    return f"{LEARNT}\n{table(heads, rows)}\n"


def _columns(path: Path) -> dict[tuple[str, float], dict[int, Columns]]:
    """By centres and exponent, then by warm-up."""
    found: dict[tuple[str, float], dict[int, Columns]] = {}
    for run in json.loads(path.read_text(encoding="utf-8")):
        found.setdefault((run["centres"], run["exponent"]), {})[run["warmup"]] = _of_run(run)
    return found


def _of_run(run: dict) -> Columns:
    values = {name: np.array(column, float) for name, column in run["columns"].items()}
    return Columns(values, f"{run['device']}, {run['source'][:6]}")


def _plain_short(paper: Results, problem: str) -> dict[int, Columns | None]:
    return {warmup: paper.short(problem, BEYOND.name, warmup) for warmup in plan.SHORT_WARMUPS}


def _long(run: Columns) -> list[str]:
    return [*_sizes(run), *(_per_cent(run[name]) for name in TAILS)]


def _sizes(run: Columns) -> list[str]:
    size = run.efficiency()
    low, middle = (number(float(percentile(size, q))) for q in (10, 50))
    return [low, between(interval(size, 10)), middle]


def _per_cent(shares: np.ndarray) -> str:
    error = np.std(shares, ddof=1) / np.sqrt(len(shares))
    return f"{100 * np.mean(shares):.2f} ± {100 * error:.2f} %"


def _short(run: Columns | None) -> list[str]:
    if run is None:
        return [DASH] * 3
    total = run.total("classic")
    middle, high = (number(float(percentile(total, q))) for q in (50, 90))
    return [middle, high, share(int(np.sum(np.isfinite(total))), run.seeds)]


def _about(problem: str, plain: dict[int, Columns | None]) -> str:
    """What was wanted, and where numbers in the posterior's own coordinates are from."""
    efficiency, gradients = GOALS["efficiency"][problem][0], GOALS["gradients"][problem]
    code = ", ".join(dict.fromkeys(run.code for run in plain.values() if run))
    return (
        f"Wanted were a 10th percentile of {number(efficiency, 2)} and, after"
        f" {plan.SHORT_WARMUPS[0]} transitions of warm-up, a 90th percentile of"
        f" {number(gradients, 2)} gradients. What is not measured anew in the posterior's own"
        f" coordinates is from [paper.md](paper.md) (code {code})."
    )

"""What other coordinates give, as a section of a page: from what `straightened.py`, `squares.py`
and `coordinates.py` wrote.
"""

import json
from pathlib import Path

import numpy as np

from . import coordinates, hierarchies, squares, straightened
from .paper import plan, short_run
from .paper.beyond import GOALS
from .paper.markdown import DASH, between, number, share, table
from .paper.percentiles import interval, percentile
from .paper.problems import CHAINS
from .paper.results import Columns, Results
from .paper.settings import BEYOND
from .paper.tables import STRAIGHT
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
LEARNT = """### Learnt while warming up

What `sample` does by default: after 0.4, 0.55, 0.7 and 0.85 of warm-up it finds out, from where
chains were and from gradients there, which widths follow which coordinates, by what powers, and
which centres move with others, and goes on in units of these widths
([theory.md](../theory.md)): `python -m experiments.coordinates`. Beside it the same with
coordinates as given. 64 chains, but for rows that tell another number. Brownian
Bridge and Sparse Logistic Regression with 64 are by the paper's protocol, from the prior mean, with
5000 transitions of warm-up, and gradients to a classic R-hat below the threshold after short ones;
the other rows are from dispersed starts, with 1000. Least ESS of squares of the given coordinates
per gradient. The tail is the part of draws where the narrowest hundredth of the posterior is. The
last fingerprint is of the code that learns coordinates.
"""
HIERARCHIES = f"""### Models as people write them

Hierarchical models with effects around their mean, of Rubin's schools and of data that were made
up: `python -m experiments.hierarchies`. Coordinates are as given, as `sample` learns them, and
those of the same models rewritten by hand, with effects in units of their scale (NumPyro's
`LocScaleReparam`). 64 chains from dispersed starts, {hierarchies.WARMUP} transitions of warm-up,
{hierarchies.DRAWS} draws. Least ESS of squares per gradient, of effects as the model has them and
of logarithms of scales; the mean of the {100 * hierarchies.LOW:.0f} % quantile of the logarithm of
one scale, with a standard error over seeds; and how many runs had a finding of trouble. Where
chains do not reach the narrow place the quantile is too high, and the ESS is of what they do reach.
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


def learnt(results: Path) -> str:
    """Of the paper's posteriors and of others."""
    paper = Results(results / "paper")
    after = [f"gradients after {warmup}, 90th: given" for warmup in plan.SHORT_WARMUPS]
    heads = ["target", "pivots", "given: seeds", "10th", "median", "learnt: seeds", "10th"]
    heads += ["95 % interval", "median", "ratio of 10ths", "of medians", "tail"]
    heads += [head for given in after for head in (given, "learnt")] + ["measured on"]
    rows = []
    for name in coordinates.PAPER:
        pair = [paper.long(name, setting) for setting in (BEYOND.name, STRAIGHT)]
        if None not in pair:
            rows.append(_pair(name, *pair, _both_short(paper, name)))
    others = [
        json.loads(path.read_text(encoding="utf-8"))
        for path in (results / coordinates.OTHERS.name).glob("*.json")
    ]
    for runs in sorted(
        others, key=lambda runs: (runs["chains"] != CHAINS, runs["target"], runs["chains"])
    ):
        name, chains = runs["target"], runs["chains"]
        name = name if chains == CHAINS else f"{name}, {chains} chains"
        given, ours = (_of_run(runs[choice]) for choice in ("given", "auto"))
        rows.append(_pair(name, given, ours, [DASH] * 2 * len(plan.SHORT_WARMUPS)))
    return f"{LEARNT}\n{table(heads, rows)}\n"


def of_hierarchies(results: Path) -> str:
    """A row for each model and each way to write it."""
    rows = []
    for run in json.loads((results / "hierarchies.json").read_text(encoding="utf-8")):
        columns = _of_run(run)
        low, troubled = columns["low"], np.sum(columns["troubles"] > 0)
        error = np.std(low, ddof=1) / np.sqrt(len(low))
        tail = f"{np.mean(low):.2f} ± {error:.2f}"
        about = [tail, share(int(troubled), columns.seeds), columns.code]
        rows.append([run["model"], run["choice"], str(columns.seeds), *_sizes(columns), *about])
    heads = ["model", "coordinates", *SIZES, "low quantile", "troubled", "measured on"]
    return f"{HIERARCHIES}\n{table(heads, rows)}\n"


def _pair(name: str, given: Columns, ours: Columns, gradients: list[str]) -> list[str]:
    """One row: coordinates as given, and learnt."""
    low, middle = (
        [float(percentile(run.efficiency(), q)) for run in (given, ours)] for q in (10, 50)
    )
    pivots = f"{ours['pivots'].min():.0f} to {ours['pivots'].max():.0f}"
    tail = _per_cent(ours["tail"]) if "tail" in ours.values else DASH
    return [
        name,
        pivots,
        *(str(given.seeds), number(low[0]), number(middle[0])),
        *(str(ours.seeds), number(low[1]), between(interval(ours.efficiency(), 10))),
        *(number(middle[1]), f"{low[1] / low[0]:.1f}", f"{middle[1] / middle[0]:.1f}"),
        tail,
        *gradients,
        ours.code,
    ]


def _both_short(paper: Results, name: str) -> list[str]:
    found = [
        paper.short(name, setting, warmup)
        for warmup in plan.SHORT_WARMUPS
        for setting in (BEYOND.name, STRAIGHT)
    ]
    return [DASH if run is None else _short(run)[1] for run in found]


def _columns(path: Path) -> dict[tuple[str, float], dict[int, Columns]]:
    """By centres and exponent, then by warm-up."""
    found: dict[tuple[str, float], dict[int, Columns]] = {}
    for run in json.loads(path.read_text(encoding="utf-8")):
        found.setdefault((run["centres"], run["exponent"]), {})[run["warmup"]] = _of_run(run)
    return found


def _of_run(run: dict) -> Columns:
    values = {name: np.array(column, float) for name, column in run["columns"].items()}
    code = [run[name][:6] for name in ("source", "learning") if name in run]
    return Columns(values, ", ".join([run["device"], *code]))


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

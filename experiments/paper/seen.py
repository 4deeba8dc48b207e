"""What runs saw of the tails, as a table and in sentences."""

import numpy as np

from .markdown import number, table
from .percentiles import percentile
from .problems import PROBLEMS
from .results import Results
from .tails import NARROW

CLEAR = -0.5  # a rank correlation that is called one
NAMES = {
    "beyond": "default of `sample`",
    "snaper": "SNAPER, default preset",
    "careful": "default of `sample`, acceptance 0.95",
}


def section(results: Results) -> str:
    runs = results.tails()
    if not runs:
        return ""
    narrow = [each for each in runs if "narrow" in each]
    parts = [
        "### Who sees the tails looks worse",
        "Another possible cause is the target. Below, for long runs"
        f" ({runs[0]['warmup']} transitions of warm-up, {runs[0]['draws']} draws; measured on"
        f" {', '.join(sorted({each['device'] for each in runs}))}):"
        " the least ESS of squares per gradient of"
        " single seeds; that of all seeds' chains taken together, of the coordinate that is worst"
        " then, without seeds in which a chain never moved; the largest fourth moment of a"
        " coordinate, in units of its variance over all seeds (3 for a normal), in the median over"
        " seeds; its rank correlation, over seeds, with the ESS; and the part that one of the 64"
        " chains has in the variance between chains of the worst square, in the median over the"
        " tenth of seeds with the least ESS, with the share of moves that this chain accepted.",
        _table(runs),
        _who(runs),
        "\n".join(_narrow(each) for each in narrow),
        _misses_most(narrow),
    ]
    return "\n\n".join(part for part in parts if part)


def _who(runs: list[dict]) -> str:
    """Where the tails decide, and where not."""
    lists: dict[bool, list[str]] = {True: [], False: []}
    for each in runs:
        name = PROBLEMS[each["problem"]]
        decide = _tails_decide(each)
        if name not in lists[decide]:
            lists[decide].append(name)
    decided, free = (", ".join(lists[key]) or "none" for key in (True, False))
    return (
        f"Seeds that saw longer tails have less ESS, with a rank correlation of {CLEAR} or below,"
        f" on: {decided}. Not on: {free}. A chain that makes most of the variance between chains"
        " and accepts as many moves as others did not stick: it was far out for some draws, as"
        " chains have to be now and then, and fourth moments are what the ESS of a square is made"
        " of. The least of many such numbers, of one seed, can be far below what all seeds say"
        " together: its 10th percentile then tells of luck as much as of a sampler."
    )


def _tails_decide(run: dict) -> bool:
    size, fourth = np.array(run["efficiency"]), np.array(run["fourth_moment"])
    return correlation(size, fourth) <= CLEAR


def _misses_most(runs: list[dict]) -> str:
    """Whether the sampler and the seeds with the largest number are those that saw least."""
    if not runs:
        return ""
    largest = max(runs, key=lambda run: np.median(run["efficiency"]))
    least = min(runs, key=lambda run: np.mean(run["narrow"]))
    falls = all(correlation(np.array(r["efficiency"]), np.array(r["narrow"])) < 0 for r in runs)
    if largest is not least or not falls:
        return ""
    return (
        "The sampler that missed most of that place has the largest number, and so have, with each"
        " sampler, the seeds that missed most of it: the number cannot rank them."
    )


def _table(runs: list[dict]) -> str:
    heads = ["", "", "seeds", "10th", "median", "all seeds together", "fourth moment"]
    heads += ["rank correlation with ESS", "one chain's part", "its acceptance"]
    rows = []
    for problem, name in PROBLEMS.items():
        for each in runs:
            if each["problem"] != problem:
                continue
            size, fourth = np.array(each["efficiency"]), np.array(each["fourth_moment"])
            low = size <= percentile(size, 10)
            part, accepts = (np.array(each[f"loudest_{what}"]) for what in ("share", "accepts"))
            rows.append(
                [
                    name,
                    NAMES[each["setting"]],
                    str(each["seeds"]),
                    number(float(percentile(size, 10))),
                    number(float(percentile(size, 50))),
                    number(each["together"]),
                    f"{np.median(fourth):.1f}",
                    f"{correlation(size, fourth):.2f}",
                    f"{np.median(part[low]):.2f}",
                    f"{np.median(accepts[low]):.2f}",
                ]
            )
            name = ""
    return table(heads, rows, words=2)


def _narrow(run: dict) -> str:
    """How much of the place where the noise is small was seen, and the ESS of who saw it."""
    seen, size = np.array(run["narrow"]), np.array(run["efficiency"])
    more = seen > np.median(seen)
    return (
        f"- **{PROBLEMS[run['problem']]}, {NAMES[run['setting']]}**: in {100 * NARROW:.0f} % of the"
        f" posterior, by quadrature, the noise of the observations is below a bound; so it is in"
        f" {100 * np.mean(seen):.2f} % of all draws. The half of the"
        f" seeds that saw more of it ({100 * np.mean(seen[more]):.2f} %) has a median ESS per"
        f" gradient of {number(float(np.median(size[more])))}, the other half"
        f" ({100 * np.mean(seen[~more]):.2f} %) one of {number(float(np.median(size[~more])))}; the"
        f" rank correlation of the two is {correlation(size, seen):.2f}."
    )


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Of ranks, with equal values at their mean rank."""
    return float(np.corrcoef(_ranks(a), _ranks(b))[0, 1])


def _ranks(values: np.ndarray) -> np.ndarray:
    below = np.sum(values[:, None] > values, axis=1)
    return below + 0.5 * (np.sum(values[:, None] == values, axis=1) - 1)

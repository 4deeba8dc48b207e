"""What runs saw of the tails, as a table and in sentences."""

import numpy as np

from .markdown import number, table
from .percentiles import percentile
from .problems import CHAINS, PROBLEMS
from .results import Results
from .tails import NARROW

CLEAR = -0.4  # a rank correlation that is called one
NAMES = {
    "beyond": "default, coordinates as given",
    "snaper": "SNAPER, default preset",
    "careful": "the same, acceptance 0.95",
}


def section(results: Results) -> str:
    runs = results.tails()
    if not runs:
        return ""
    lengths = {f"{each['warmup']} transitions of warm-up, {each['draws']} draws" for each in runs}
    devices = {each["device"] for each in runs}
    narrow = [each for each in runs if "narrow" in each]
    parts = [
        "### Tails, and chains that stay there",
        "Another possible cause is the target. Below, for long runs"
        f" ({'; '.join(sorted(lengths))}; measured on {', '.join(sorted(devices))}), over seeds:"
        " the least ESS of squares per gradient; that of all seeds' chains taken together, of the"
        " coordinate that is worst then, without seeds in which a chain never moved; the largest"
        " fourth moment of a coordinate, in units of its variance over all seeds (3 for a normal),"
        " in the median; its rank correlation with the ESS; the largest part that one of the"
        f" {CHAINS} chains has in the variance between chains of the worst square, and the share of"
        " moves that this chain accepted, both in the median of the tenth of seeds with the least"
        " ESS and, in brackets, of all seeds; and a fingerprint of the code, as above.",
        _table(runs),
        _who(runs),
        "\n".join(_narrow(each) for each in narrow),
        _misses_most(narrow),
    ]
    return "\n\n".join(part for part in parts if part)


def _table(runs: list[dict]) -> str:
    heads = ["", "", "seeds", "10th", "median", "all seeds together", "fourth moment"]
    heads += ["rank correlation with ESS", "one chain's part", "its acceptance", "code"]
    rows = []
    for problem, name in PROBLEMS.items():
        for each in runs:
            if each["problem"] != problem:
                continue
            size, fourth = np.array(each["efficiency"]), np.array(each["fourth_moment"])
            low = size <= percentile(size, 10)
            loudest = (np.array(each[f"loudest_{what}"]) for what in ("share", "accepts"))
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
                    *(f"{np.median(part[low]):.2f} ({np.median(part):.2f})" for part in loudest),
                    each.get("source", "unknown")[:6],
                ]
            )
            name = ""
    return table(heads, rows, words=2)


def _who(runs: list[dict]) -> str:
    """Where the tails have to do with it, and where not."""
    lists: dict[bool, list[str]] = {True: [], False: []}
    for each in runs:
        size, fourth = np.array(each["efficiency"]), np.array(each["fourth_moment"])
        name = f"{PROBLEMS[each['problem']]} ({NAMES[each['setting']]})"
        lists[correlation(size, fourth) <= CLEAR].append(name)
    found, free = ("; ".join(lists[key]) or "none" for key in (True, False))
    return (
        f"Seeds that saw longer tails have less ESS, with a rank correlation of {CLEAR} or below:"
        f" {found}. Not so: {free}."
    )


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


def _misses_most(runs: list[dict]) -> str:
    """Whether the sampler and the seeds with the largest number are those that saw least."""
    if len(runs) < 2:
        return ""
    largest = max(runs, key=lambda run: np.median(run["efficiency"]))
    least = min(runs, key=lambda run: np.mean(run["narrow"]))
    falls = [correlation(np.array(run["efficiency"]), np.array(run["narrow"])) for run in runs]
    missed = np.mean(least["narrow"]) < NARROW
    if largest is not least or max(falls) > CLEAR or not missed:
        return ""
    return (
        f"The sampler that missed most of that place ({NAMES[least['setting']]}) has the largest"
        f" number, and with each sampler the seeds that missed more of it have larger ones (rank"
        f" correlations {min(falls):.2f} to {max(falls):.2f}): the number cannot rank samplers"
        " there."
    )


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Of ranks, with equal values at their mean rank."""
    return float(np.corrcoef(_ranks(a), _ranks(b))[0, 1])


def _ranks(values: np.ndarray) -> np.ndarray:
    below = np.sum(values[:, None] > values, axis=1)
    return below + 0.5 * (np.sum(values[:, None] == values, axis=1) - 1)

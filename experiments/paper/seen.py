"""What runs saw of the tails, as a table and in sentences."""

import numpy as np

from .markdown import number, table
from .percentiles import percentile
from .problems import PROBLEMS
from .results import Results
from .tails import NARROW

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
        "Another possible cause is the target. Below, for long runs: the least ESS of squares per"
        " gradient of single seeds; that of all seeds' chains taken together, of the coordinate"
        " that is worst then, without seeds in which a chain never moved; the largest fourth moment"
        " of a coordinate, in units of its variance over all seeds (3 for a normal), in the median"
        " over seeds; its rank correlation, over seeds, with the ESS; and the part that one of the"
        " 64 chains has in the variance between chains of the worst square, in the median over the"
        " tenth of seeds with the least ESS, with the share of moves that this chain accepted.",
        _table(runs),
        "The longer the tails that a seed has seen, the less its ESS. Where one chain makes most of"
        " the variance between chains and accepts as many moves as the others, it did not stick: it"
        " was far out for some draws, as it has to be now and then, and the fourth moment is what"
        " the ESS of a square is made of. The minimum over many such coordinates is then far below"
        " what all seeds together say, and its 10th percentile tells of luck more than of a"
        " sampler.",
        *(_narrow(each) for each in narrow),
    ]
    if narrow:
        parts.append(
            "So there the number that the tables ask for is larger for samplers, and seeds, that"
            " miss more of the posterior: it cannot rank them."
        )
    return "\n\n".join(parts)


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
    """How much of the place where the noise is small was seen, and what it did to the ESS."""
    seen, size = np.array(run["narrow"]), np.array(run["efficiency"])
    more = seen > np.median(seen)
    return (
        f"- **{PROBLEMS[run['problem']]}, {NAMES[run['setting']]}**: {100 * NARROW:.0f} % of the"
        f" posterior, by quadrature, has a noise of the observations so small that steps are too"
        f" long there. Of all draws {100 * np.mean(seen):.2f} % are in that place. The half of the"
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

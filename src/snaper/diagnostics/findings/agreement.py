"""Chains that do not agree, or parameters that never change in them."""

from collections.abc import Iterator

import numpy as np

from ..judged import Judged
from .facts import ENOUGH_TO_MOVE, Facts
from .finding import Finding
from .wording import chains, names, span

APART = 1.2  # the R-hat above which chains that had time enough disagree
TIME_ENOUGH = 100  # draws
DOUBTFUL = 1.05  # the R-hat above which there may be too few of them:
FEW = 200  # effective ones, whose mean errs by a fourteenth of a standard deviation


def constant(facts: Facts, mixing: Judged, stuck: np.ndarray) -> Iterator[Finding]:
    """Coordinates that never changed, or else functions that were asked for."""
    if facts.draws_done < ENOUGH_TO_MOVE:
        return
    found = _constant(mixing, stuck, "how the log density depends on it, and its scale")
    if found is None and facts.asked is not None:
        found = _constant(facts.asked, stuck, "of=, or ask for what changes more often")
    if found is not None:
        yield found


def _constant(judged: Judged, stuck: np.ndarray, check: str) -> Finding | None:
    """What never changed in a chain that moved."""
    constant = judged.constant & ~stuck[:, None]
    if judged.num_draws < 2 or not constant.any():
        return None
    return Finding(
        "constant",
        f"{names(judged, np.any(constant, axis=0))} never changed in "
        f"{chains(np.any(constant, axis=1))}, which leaves no effective draws: check {check}.",
    )


def not_mixed(facts: Facts, mixing: Judged) -> Iterator[Finding]:
    """Chains that had time enough and still differ, or overflowed, or moved so slowly that there is
    little to go by. Where a limit ended sampling, that says as much.
    """
    if facts.limit is not None or mixing.num_draws < TIME_ENOUGH:
        return
    rhat, worst = mixing.worst()
    if rhat > APART:
        yield Finding(
            "not-mixed",
            f"The {mixing.kind} of {worst} is {rhat:.3g} after {mixing.num_draws} draws, and "
            f"chains stand at {span(facts.ends, mixing.worst_index())}: look for separate modes, "
            "or a direction that the log density hardly depends on, or draw more.",
        )
    elif rhat > DOUBTFUL and mixing.least()[0] < FEW:
        size, where = mixing.least()
        yield Finding(
            "few-draws",
            f"The effective sample size of {where} is only {size:.0f}, and the {mixing.kind} of "
            f"{worst} is {rhat:.3g} after {mixing.num_draws} draws, so that means and quantiles "
            "are rough: draw more.",
        )
    elif np.isnan(rhat) and not mixing.worst_is_constant():
        yield Finding(
            "overflow",
            f"{worst} overflowed or was not finite, so that it has no {mixing.kind}, and chains "
            f"stand at {span(facts.ends, mixing.worst_index())}: check its scale, and give it a "
            "prior if it has none.",
        )

"""What ended a run before it was done."""

from collections.abc import Iterator

import numpy as np

from ..judged import Judged
from .facts import Facts
from .finding import Finding


def interrupted(facts: Facts) -> Iterator[Finding]:
    """By Ctrl-C."""
    if facts.interrupted:
        yield Finding(
            "interrupted",
            f"Interrupted after {facts.warmup_done} of {facts.warmup_wanted} warm-up transitions "
            f"and {facts.draws_done} of {facts.draws_wanted} draws: the results hold what was "
            "drawn until then.",
        )


def limit(facts: Facts, mixing: Judged) -> Iterator[Finding]:
    """Of draws, gradients or seconds, before chains had converged."""
    if facts.limit is not None:
        state = _state(facts.asked or mixing)
        yield Finding("limit", f"Sampling ran into {facts.limit}: {state}.")


def _state(judged: Judged) -> str:
    """Where a run stands that was to converge, and what to do."""
    rhat, worst = judged.worst()
    ess, least = judged.least()
    draws = f"{judged.num_draws} draw{'s' if judged.num_draws > 1 else ''}"
    if np.isnan(rhat) and judged.num_draws < 3:
        return f"R-hat cannot be told of {draws}; raise the limit, or lower thin="
    if np.isnan(rhat):
        never = "never changed" if judged.worst_is_constant() else "overflowed or was not finite"
        return (
            f"after {draws} {worst} has no {judged.kind}, since it {never}; check how it is "
            "computed, and its scale"
        )
    return (
        f"after {draws} the {judged.kind} of {worst} is {rhat:.3g} and the least effective sample "
        f"size, of {least}, is {ess:.0f}; look for separate modes, use a longer warmup=, or raise "
        "the limit"
    )

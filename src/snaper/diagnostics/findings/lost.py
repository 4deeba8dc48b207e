"""Chains that are not where the others are, or do not move."""

from collections.abc import Iterator

import numpy as np

from .facts import ENOUGH_TO_MOVE, Facts
from .finding import Finding
from .wording import chains

MANY = 0.25  # of the chains; of dispersed ones a few are often slow to arrive, without harm


def reseeded(facts: Facts) -> Iterator[Finding]:
    """Those that warm-up gave up."""
    moved = facts.reseeded > 0
    if moved.any():
        many = moved.mean() >= MANY
        yield Finding(
            "reseeded",
            f"{chains(moved)} were lost outside the bulk during warm-up and restarted from others: "
            f"{'' if many else 'if they were not merely slow to arrive, '}"
            "check for a second mode or a badly scaled start.",
            "trouble" if many else "note",
        )


def stuck_chains(facts: Facts) -> np.ndarray:
    """Which hardly moved while sampling."""
    return (facts.accepted < 0.01 * facts.draws_done) & (facts.draws_done >= ENOUGH_TO_MOVE)


def stuck(facts: Facts, which: np.ndarray) -> Iterator[Finding]:
    """Those, and where they are."""
    if which.any():
        yield Finding(
            "stuck",
            f"{chains(which)} hardly moved while sampling, where the log density is about "
            f"{np.median(facts.lp[which]):.3g}: do not use their draws, and look at the log "
            "density around them.",
        )


def outside(facts: Facts, stuck: np.ndarray) -> Iterator[Finding]:
    """Those that move, but not where the bulk is."""
    below = _far_below(facts.lp) & ~stuck
    if below.any():
        yield Finding(
            "outside",
            f"{chains(below)} stayed far below the others in log density: use a longer warmup=, or "
            "starts nearer to the bulk.",
        )


def _far_below(lp: np.ndarray) -> np.ndarray:
    """Chains whose mean log density is far below the median chain's."""
    lp = np.clip(lp.astype(float), -1e300, 1e300)  # a density without bound may overflow
    below = np.median(lp) - lp
    return below > 10.0 + 30.0 * np.median(np.abs(below))

"""A log density that holds nothing in place, or is too large for its digits."""

from collections.abc import Iterator

import numpy as np

from ..judged import Judged
from .facts import Facts
from .finding import Finding
from .wording import chains, names, span

UNHEARD_OF = 1e20  # a log density
OUTWARD = 0.85  # the share of chains pulled outward that no proper density comes near,
COARSE = 0.3  # of the distance between chains, by which single numbers may differ,
ENOUGH = 8  # chains that tell it
TOO_COARSE = 0.1  # the last digit of a log density
NOT_EXPLAINED = 0.3  # of a log density: errors that acceptance suffers from
ENOUGH_OUTWARD = 64  # among so many: once in 1e9, if each is as likely to be pulled inward


def flat(facts: Facts, mixing: Judged) -> Iterator[Finding]:
    """Coordinates that the log density leaves alone."""
    count = np.count_nonzero(facts.flat)
    if count:
        more = ", ..." if count > 3 else ""
        yield Finding(
            "flat",
            f"The gradient with respect to {names(mixing, facts.flat)}{more} is zero where "
            "chains began and where they ended, so nothing leads them there: check that the log "
            "density depends on it smoothly, and give it a prior.",
        )


def outward(facts: Facts, mixing: Judged) -> Iterator[Finding]:
    """Coordinates that it drives away."""
    if facts.num_chains >= ENOUGH_OUTWARD and np.any(facts.outward >= OUTWARD):
        worst = int(np.argmax(facts.outward))
        yield Finding(
            "unbounded",
            f"The log density grows outward along {mixing.name(worst)} in "
            f"{facts.outward[worst]:.0%} of chains, which stand at {span(facts.ends, worst)}: "
            "it may have no maximum, so check its sign, and the prior.",
        )


def coarse(facts: Facts, mixing: Judged) -> Iterator[Finding]:
    """Places so far from zero that numbers there are farther apart than moves should be."""
    if facts.num_chains < ENOUGH or not facts.ends.size:
        return
    with np.errstate(all="ignore"):  # of what is not finite, nothing is said here
        finest = np.spacing(np.median(np.abs(facts.ends), axis=0))
        apart = facts.ends.std(axis=0, dtype=float)
        share = np.where(np.ptp(facts.ends, axis=0) > 0, finest / apart, 0.0)
    worst = int(np.argmax(np.nan_to_num(share, posinf=0.0)))
    if share[worst] > COARSE:
        yield Finding(
            "precision",
            f"{mixing.name(worst)} stands at {span(facts.ends, worst)} where numbers of its type "
            f"are {finest[worst]:.2g} apart, too coarse for its moves: subtract an offset from it "
            "in the model, or switch JAX to float64 (jax_enable_x64).",
        )


def rounded(facts: Facts, mixing: Judged) -> Iterator[Finding]:
    """Chains where the log density does not change as its gradient says."""
    off = facts.unexplained > NOT_EXPLAINED
    told_else = facts.resolution > TOO_COARSE or facts.at_bounds
    if off.any() and not told_else:
        remedy = "look for large terms that cancel, and for jumps"
        if facts.ends.dtype == np.float32:
            remedy = f"switch JAX to float64 (jax_enable_x64), or {remedy}"
        yield Finding(
            "precision",
            f"In {chains(off)} the log density departs by up to {facts.unexplained.max():.2g} from "
            f"what its gradient says of a tiny move{_place(facts, mixing, off)}, as if digits were "
            f"lost: {remedy}.",
        )


def _place(facts: Facts, mixing: Judged, off: np.ndarray) -> str:
    """Where these chains are and no others, if there is such a place."""
    worst = int(np.argmax(facts.unexplained))
    with np.errstate(all="ignore"):
        away = np.abs(facts.ends - np.median(facts.ends, axis=0))
        beyond = away[worst] / np.max(away[~off], axis=0, initial=0.0)
    place = int(np.argmax(np.nan_to_num(beyond)))
    if off.all() or not beyond[place] > 1.0:
        return ""
    return f" from {mixing.name(place)} = {facts.ends[worst, place]:.3g} (unconstrained)"


def cut_short(facts: Facts) -> Iterator[Finding]:
    """Parameters whose last values before a bound are all one number."""
    if facts.at_bounds:
        name, share = max(facts.at_bounds.items(), key=lambda each: each[1])
        yield Finding(
            "precision",
            f"{name} is so close to a bound in {share:.1%} of draws that numbers of its type do "
            "not tell how close, which cuts this tail short: switch JAX to float64 "
            "(jax_enable_x64), or write the model for what has no bound.",
        )


def height(facts: Facts) -> Iterator[Finding]:
    """Values that grow without bound, or of which too few digits are left."""
    middle = float(np.median(facts.lp))
    if middle > UNHEARD_OF:
        yield Finding(
            "unbounded",
            f"The log density is about {middle:.2g} where chains are, so it seems to grow without "
            "bound: check its sign, and give every parameter a proper prior.",
        )
    elif facts.resolution > TOO_COARSE:
        yield Finding(
            "precision",
            f"The log density is so large that its last digit is worth {facts.resolution:.2g}, "
            "too coarse for acceptance: subtract a constant from it, or switch JAX to float64 "
            "(jax_enable_x64).",
        )

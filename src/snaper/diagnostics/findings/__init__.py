"""Sentences about what went wrong in a run, each with a next step. A good run has none.

One family of them per file, in it a function for each, and here the order in which they are told.
"""

from collections.abc import Iterator

import numpy as np

from ..judged import Judged
from . import agreement, density, ended, lost, narrow, starts, steps, warmup
from .facts import Facts
from .finding import Finding

__all__ = ["Facts", "Finding", "find"]


def find(facts: Facts) -> list[Finding]:
    """All findings of a run, most basic first."""
    return [*_until_sampling(facts), *(_sampling(facts) if facts.draws_done else ())]


def _until_sampling(facts: Facts) -> Iterator[Finding]:
    yield from ended.interrupted(facts)
    yield from starts.replaced(facts)
    yield from starts.few_chains(facts)
    yield from starts.one_start(facts)
    yield from lost.reseeded(facts)
    yield from warmup.learnt(facts)


def _sampling(facts: Facts) -> Iterator[Finding]:
    stuck = lost.stuck_chains(facts)
    yield from narrow.divergences(facts)
    yield from steps.leapfrog_cap(facts)
    yield from lost.stuck(facts, stuck)
    yield from lost.outside(facts, stuck)
    yield from steps.acceptance(facts, stuck)
    if facts.mixing is not None:
        yield from _mixing(facts, facts.mixing, stuck)
    yield from density.cut_short(facts)
    yield from density.height(facts)


def _mixing(facts: Facts, mixing: Judged, stuck: np.ndarray) -> Iterator[Finding]:
    yield from agreement.constant(facts, mixing, stuck)
    yield from density.flat(facts, mixing)
    yield from density.coarse(facts, mixing)
    yield from density.rounded(facts, mixing)
    yield from density.outward(facts, mixing)
    yield from ended.limit(facts, mixing)
    yield from agreement.not_mixed(facts, mixing)
    yield from narrow.energy(facts, mixing)
    yield from steps.loose_bound(facts)

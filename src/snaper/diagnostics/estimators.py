"""Which effective sizes and R-hat the table has: those of ArviZ-stats, or else this package's.

R-hat is split R-hat of the draws as they are, and nested R-hat that of whole chains, since stopping
rules and findings go by these: a run must not be judged by two measures of one name. (They split
chains near the middle, not quite there, which may show in the third digit.) Ranks would
not help where the usual R-hat fails: of 1024 chains at rest, 50 draws each and 0.9 correlated from
one to the next, it is 1.40 with ranks and without. For many short chains there is nested R-hat.
Ranks would take some forty times as long, too; time for them is spent on the effective sizes of
bulk and tails.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .ess import effective_sample_size, nested_rhat, split_rhat

Rows = np.ndarray  # [row, chain, draw]: one row of the table each
Column = np.ndarray  # [row]

_MAX_RANKED = 10_000_000  # numbers that are ranked within a second or two
_AXES = {"chain_axis": 1, "draw_axis": 2}


class Estimators(NamedTuple):
    """Functions from rows to columns. Rows are of eight draws or more, and not constant; nested
    R-hat is asked of four draws or more.
    """

    sizes: dict[str, Callable[[Rows], Column]]  # by the name of the column: mcse, ess, ess_tail
    rhat: Callable[[Rows], Column]
    nested: Callable[[Rows, int], Column]
    note: str | None  # what a reader should know of them


def choose(num_chains: int, num_numbers: int) -> Estimators:
    """The best that are installed and take no more than seconds for so many numbers."""
    try:
        from arviz_stats.base.array import array_stats
    except ImportError:
        return _own("ess is of the mean; that of bulk and tails takes the extra snaper[arviz].")
    if num_chains == 1:  # of which ArviZ has no R-hat
        return _own("ess is of the mean, and rhat of two halves, since there is but one chain.")
    return _arviz(array_stats, ranked=num_numbers <= _MAX_RANKED)


def _own(note: str) -> Estimators:
    def ess(x: Rows) -> Column:
        return np.array([effective_sample_size(row, np) for row in x], float)

    return Estimators(
        {"ess": ess},
        lambda x: split_rhat(_last(x), xp=np),
        lambda x, superchains: nested_rhat(_last(x), superchains, np),
        note,
    )


def _arviz(stats: Any, ranked: bool) -> Estimators:
    def mcse(x: Rows) -> Column:
        return stats.mcse(x, method="mean", **_AXES)

    def bulk(x: Rows) -> Column:
        return stats.ess(x, method="bulk", **_AXES)

    def tail(x: Rows) -> Column:
        return stats.ess(x, method="tail", prob=(0.05, 0.95), **_AXES)

    def mean(x: Rows) -> Column:
        return stats.ess(x, method="mean", **_AXES)

    def rhat(x: Rows) -> Column:
        return stats.rhat(x, method="split", **_AXES)

    def nested(x: Rows, superchains: int) -> Column:
        groups = np.repeat(np.arange(superchains), x.shape[1] // superchains)
        return stats.rhat_nested(x, superchain_ids=groups, method="identity", **_AXES)

    if ranked:
        return Estimators({"mcse": mcse, "ess": bulk, "ess_tail": tail}, rhat, nested, None)
    note = "ess is of the mean; arviz.summary(run.to_arviz()) has it for bulk and tails."
    return Estimators({"mcse": mcse, "ess": mean}, rhat, nested, note)


def _last(x: Rows) -> np.ndarray:
    """Draws with coordinates as their last axis."""
    return np.moveaxis(x, 0, -1)

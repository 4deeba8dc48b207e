"""A small table for people."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from .ess import effective_sample_size, nested_rhat, split_rhat
from .findings import Finding
from .moments import Moments

_MAX_ROWS = 60
_MIN_DRAWS = 8  # below this, autocorrelations mean nothing,
_MIN_EFFECTIVE = 2.0  # nor do they where a chain has fewer effective draws
_MAX_RANKED = 10_000_000  # numbers that are ranked within a second or two
_COUNTS = ("ess", "ess_tail")
_RATIOS = ("rhat", "nested")


@dataclass(frozen=True)
class Summary:
    """Rows by coordinate; prints as a table. `summary["rhat"]` is one column."""

    names: list[str]
    columns: tuple[str, ...]
    table: np.ndarray
    heading: str
    findings: list[Finding]
    notes: list[str] = field(default_factory=list)

    def __getitem__(self, column: str) -> np.ndarray:
        return self.table[:, self.columns.index(column)]

    def __str__(self) -> str:
        shown = self.names[:_MAX_ROWS]
        width = max([len(name) for name in shown], default=0)
        lines = [self.heading, " " * width + "".join(f"{column:>10}" for column in self.columns)]
        for name, row in zip(shown, self.table, strict=False):
            cells = map(_cell, self.columns, row)
            lines.append(f"{name:<{width}}{''.join(cells)}")
        if len(self.names) > len(shown):
            lines.append(f"... and {len(self.names) - len(shown)} more")
        notes = (*self.notes, *self.findings)
        return "\n".join([*lines, *(f"* {note}" for note in notes)])

    __repr__ = __str__


def summarise(
    draws: dict[str, np.ndarray],
    num_gradients: tuple[int, int],
    seconds: tuple[float, float],
    findings: list[Finding],
    superchains: int | None = None,
) -> Summary:
    """Moments, quantiles, ESS and R-hat of every coordinate of draws (chain, draw, ...).

    With ArviZ-stats installed, ESS is of the bulk and of the tails, and MCSE is of the mean.
    """
    num_chains, num_draws = next(iter(draws.values())).shape[:2]
    names = [each for name, x in draws.items() for each in _coordinates(name, x.shape[2:])]
    ranked = _ranked(num_chains, num_draws, len(names))
    columns = {name: [np.zeros(0)] for name in _columns(ranked, superchains)}
    for values in draws.values():
        size = int(np.prod(values.shape[2:], dtype=int))  # -1 cannot be told of no draws
        flat = values.reshape(num_chains, num_draws, size).astype(float)
        for name, column in _table(flat, ranked, superchains).items():
            columns[name].append(column)
    table = np.stack([np.concatenate(column) for column in columns.values()], axis=1)
    summary = Summary(
        names,
        tuple(columns),
        table,
        _heading(num_chains, num_draws, num_gradients, seconds),
        findings,
    )
    summary.notes.extend(_notes(summary, num_draws, ranked))
    return summary


def of_moments(
    moments: Moments,
    num_chains: int,
    num_gradients: tuple[int, int],
    seconds: tuple[float, float],
    findings: list[Finding],
) -> Summary:
    """What there is to tell of a run whose draws were not kept."""
    columns = {"mean": moments.mean, "sd": moments.sd, "ess": moments.ess, "rhat": moments.rhat}
    if moments.nested_rhat is not None:
        columns["nested"] = moments.nested_rhat
    return Summary(
        moments.coordinates,
        tuple(columns),
        np.stack([*columns.values()], axis=1).astype(float),
        _heading(num_chains, moments.num_draws, num_gradients, seconds) + "; unconstrained",
        findings,
    )


def _heading(num_chains, num_draws, num_gradients, seconds) -> str:
    return (
        f"{num_chains} chains x {num_draws} draws; gradients {num_gradients[0]} + "
        f"{num_gradients[1]}; {seconds[0]:.1f} + {seconds[1]:.1f} s (warm-up + sampling)"
    )


def _ranked(num_chains: int, num_draws: int, dim: int):
    """ArviZ-stats, if it is there and has something to do that takes no more than seconds."""
    enough = num_chains > 1 and num_draws >= _MIN_DRAWS
    if not enough or num_chains * num_draws * dim > _MAX_RANKED:
        return None
    try:
        from arviz_stats.base.array import array_stats
    except ImportError:
        return None
    return array_stats


def _columns(ranked, superchains: int | None) -> tuple[str, ...]:
    return (
        *(("mean", "sd", "mcse") if ranked else ("mean", "sd")),
        *("5%", "50%", "95%"),
        *_COUNTS[: 2 if ranked else 1],
        *_RATIOS[: 1 if superchains is None else 2],
    )


def _table(x: np.ndarray, ranked, superchains: int | None) -> dict[str, np.ndarray]:
    """Columns of the table for coordinates of x (chain, draw, dim)."""
    _, num_draws, dim = x.shape
    table = {name: np.full(dim, np.nan) for name in _columns(ranked, superchains)}
    if num_draws == 0 or dim == 0:
        return table
    pooled = x.reshape(-1, dim)
    table["mean"], table["sd"] = pooled.mean(axis=0), pooled.std(axis=0)
    table["5%"], table["50%"], table["95%"] = np.quantile(pooled, [0.05, 0.5, 0.95], axis=0)
    if superchains is not None:
        table["nested"] = nested_rhat(x, superchains, np)
    if num_draws < _MIN_DRAWS:
        return table
    table["rhat"] = split_rhat(x, xp=np)
    told = _has_effective_draws(x)
    if ranked:
        axes = {"chain_axis": 0, "draw_axis": 1}
        some = x[..., told]
        table["mcse"][told] = ranked.mcse(some, method="mean", **axes)
        table["ess"][told] = ranked.ess(some, method="bulk", **axes)
        table["ess_tail"][told] = ranked.ess(some, method="tail", prob=(0.05, 0.95), **axes)
    else:
        sizes = [float(effective_sample_size(x[..., i], np)) for i in np.flatnonzero(told)]
        table["ess"][told] = sizes
    stuck = np.any(np.ptp(x, axis=1) == 0, axis=0) & (table["sd"] > 0)
    for name in _COUNTS[: 2 if ranked else 1]:
        table[name][stuck] = 0.0
    return table


def _has_effective_draws(x: np.ndarray) -> np.ndarray:
    """Where chains are long enough for autocorrelations, judged by how much their means differ,
    which takes no autocorrelations.
    """
    variance = x.var(axis=(0, 1))
    if x.shape[0] == 1:
        return variance > 0
    return (variance > 0) & (variance >= _MIN_EFFECTIVE * x.mean(axis=1).var(axis=0, ddof=1))


def _notes(summary: Summary, num_draws: int, ranked) -> Iterator[str]:
    """What a reader of the table should know about it."""
    if num_draws == 0:
        return
    if num_draws < _MIN_DRAWS:
        yield f"{num_draws} draws are too few to tell an effective sample size: draw more."
        return
    missing = int(np.sum(np.isnan(summary["ess"]) & (summary["sd"] > 0)))
    if missing:
        yield (
            f"{missing} of {len(summary.names)} rows have fewer than two effective draws per chain,"
            " too few to tell an effective sample size: draw more."
        )
    if not ranked and summary.table.size:
        yield "ess is of the mean; arviz.summary(run.to_arviz()) has it for bulk and tails."


def _coordinates(name: str, shape: tuple[int, ...]) -> Iterator[str]:
    for place in np.ndindex(shape):
        yield f"{name}[{', '.join(map(str, place))}]" if place else name


def _cell(column: str, value: float) -> str:
    if np.isnan(value):
        return f"{'-':>10}"
    style = ".0f" if column in _COUNTS else ".3f" if column in _RATIOS else ".4g"
    return f"{value:>10{style}}"

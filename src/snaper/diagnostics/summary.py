"""A small table for people."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from .entries import entries
from .estimators import Estimators, Rows, choose
from .findings import Finding
from .moments import Moments

_MAX_ROWS = 60
_MIN_DRAWS = 8  # below this, autocorrelations mean nothing,
_MIN_EFFECTIVE = 2.0  # nor do they where a chain has fewer effective draws
_MIN_NESTED = 4  # as ArviZ-stats has it for nested R-hat
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
        width = max([len(name) for name in shown], default=0) + 1
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

    With ArviZ-stats installed, all but moments and quantiles are its: ESS of the bulk and of the
    tails, MCSE of the mean, split R-hat, and nested R-hat of whole chains. Neither R-hat is
    rank-normalised, and so they are what `Until` and findings call R-hat.
    """
    num_chains, num_draws = next(iter(draws.values())).shape[:2]
    names = [each for name, x in draws.items() for each in entries(name, x.shape[2:])]
    estimators = choose(num_chains, num_chains * num_draws * len(names))
    if num_draws < _MIN_DRAWS:
        estimators = estimators._replace(sizes={"ess": _untold})
    columns = {name: [np.zeros(0)] for name in _columns(estimators, superchains)}
    for values in draws.values():
        rows = _rows(values)
        with np.errstate(all="ignore"):  # numbers that overflowed have no estimates, and show it
            table = _table(rows, estimators, superchains)
        for name, column in table.items():
            columns[name].append(column)
    table = np.stack([np.concatenate(column) for column in columns.values()], axis=1)
    summary = Summary(
        names,
        tuple(columns),
        table,
        heading(num_chains, num_draws, num_gradients, seconds),
        findings,
    )
    summary.notes.extend(_notes(summary, num_draws, estimators.note))
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
        heading(num_chains, moments.num_draws, num_gradients, seconds) + "; unconstrained",
        findings,
    )


def heading(
    num_chains: int,
    num_draws: int,
    num_gradients: tuple[int, int],
    seconds: tuple[float, float],
) -> str:
    """What a run came to, in a line."""
    return (
        f"{num_chains} chains x {num_draws} draws; gradients {num_gradients[0]} + "
        f"{num_gradients[1]}; {seconds[0]:.1f} + {seconds[1]:.1f} s (warm-up + sampling)"
    )


def _rows(values: np.ndarray) -> Rows:
    """A parameter's draws (chain, draw, ...) by coordinate, each in one piece of memory."""
    size = int(np.prod(values.shape[2:], dtype=int))  # -1 cannot be told of no draws
    flat = values.reshape(*values.shape[:2], size)
    return np.ascontiguousarray(np.moveaxis(flat, -1, 0), dtype=float)


def _columns(estimators: Estimators, superchains: int | None) -> tuple[str, ...]:
    sizes = estimators.sizes
    return (
        *("mean", "sd", *(name for name in sizes if name not in _COUNTS)),
        *("5%", "50%", "95%"),
        *(name for name in _COUNTS if name in sizes),
        *_RATIOS[: 1 if superchains is None else 2],
    )


def _table(x: Rows, estimators: Estimators, superchains: int | None) -> dict[str, np.ndarray]:
    """Columns of the table; NaN where a number would mean nothing."""
    num_rows, _, num_draws = x.shape
    table = {name: np.full(num_rows, np.nan) for name in _columns(estimators, superchains)}
    if num_draws == 0 or num_rows == 0:
        return table

    def fill(column: str, where: np.ndarray, estimate: Callable[[Rows], np.ndarray]) -> None:
        if where.any():
            table[column][where] = estimate(x[where])

    pooled = x.reshape(num_rows, -1)
    varies = np.ptp(pooled, axis=1) != 0  # a variance is not: rounding leaves some of a constant
    table["mean"], table["sd"] = pooled.mean(axis=1), np.where(varies, pooled.std(axis=1), 0.0)
    table["5%"], table["50%"], table["95%"] = np.quantile(pooled, [0.05, 0.5, 0.95], axis=1)
    moved = np.ptp(x, axis=2) > 0  # of every chain
    judged = moved.any(axis=1) & np.isfinite(table["sd"])
    if superchains is not None and num_draws >= _MIN_NESTED:
        fill("nested", judged, lambda rows: _finite(estimators.nested(rows, superchains)))
    if num_draws < _MIN_DRAWS:
        return table
    fill("rhat", judged, lambda rows: _finite(estimators.rhat(rows)))
    told = judged & _has_effective_draws(x)
    for name, size in estimators.sizes.items():
        fill(name, told, size)
        table[name][varies & ~moved.all(axis=1)] = 0.0 if name in _COUNTS else np.nan
    return table


def _finite(ratio: np.ndarray) -> np.ndarray:
    """NaN where nothing varies within, but only between."""
    return np.where(np.isfinite(ratio), ratio, np.nan)


def _untold(x: Rows) -> np.ndarray:
    """The effective size of too few draws."""
    return np.full(len(x), np.nan)


def _has_effective_draws(x: Rows) -> np.ndarray:
    """Where chains are long enough for autocorrelations, judged by how much their means differ,
    which takes no autocorrelations.
    """
    if x.shape[1] == 1:
        return np.ones(len(x), bool)
    return x.var(axis=(1, 2)) >= _MIN_EFFECTIVE * x.mean(axis=2).var(axis=1, ddof=1)


def _notes(summary: Summary, num_draws: int, note: str | None) -> Iterator[str]:
    """What a reader of the table should know about it."""
    if num_draws == 0:
        return
    if num_draws < _MIN_DRAWS:
        yield f"{num_draws} draws are too few to tell an effective sample size: draw more."
    if num_draws < _MIN_NESTED and "nested" in summary.columns:
        yield f"{num_draws} draws are too few to tell nested R-hat: draw {_MIN_NESTED} or more."
    if num_draws < _MIN_DRAWS:
        return
    missing = int(np.sum(np.isnan(summary["ess"]) & (summary["sd"] > 0)))
    if missing:
        yield (
            f"{missing} of {len(summary.names)} rows have fewer than two effective draws per chain,"
            " too few to tell an effective sample size: draw more."
        )
    if note is not None and summary.table.size:
        yield note


def _cell(column: str, value: float) -> str:
    if np.isnan(value):
        return f"{'-':>10}"
    of_ratio = ".3f" if abs(value) < 1000 else ".3g"
    style = ".0f" if column in _COUNTS else of_ratio if column in _RATIOS else ".4g"
    return f" {value:>9{style}}"

"""A small table for people."""

from collections.abc import Iterator
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from .ess import ess_per_dimension, split_rhat
from .findings import Finding

_MAX_ROWS = 60
_MIN_DRAWS = 8  # below this, ESS and R-hat mean nothing
COLUMNS = ("mean", "sd", "5%", "50%", "95%", "ess", "rhat")


@dataclass(frozen=True)
class Summary:
    """Rows by coordinate, columns as in `COLUMNS`; prints as a table."""

    names: list[str]
    table: np.ndarray
    heading: str
    findings: list[Finding]

    def __getitem__(self, column: str) -> np.ndarray:
        return self.table[:, COLUMNS.index(column)]

    def __str__(self) -> str:
        shown = self.names[:_MAX_ROWS]
        width = max([len(name) for name in shown], default=0)
        lines = [self.heading, " " * width + "".join(f"{column:>10}" for column in COLUMNS)]
        for name, row in zip(shown, self.table, strict=False):
            *values, ess, rhat = row
            cells = "".join(f"{value:>10.4g}" for value in values)
            lines.append(f"{name:<{width}}{cells}{_or_dash(ess, '.0f')}{_or_dash(rhat, '.3f')}")
        if len(self.names) > len(shown):
            lines.append(f"... and {len(self.names) - len(shown)} more")
        return "\n".join([*lines, *(f"* {finding}" for finding in self.findings)])

    __repr__ = __str__


def summarise(
    draws: dict[str, np.ndarray],
    num_gradients: tuple[int, int],
    seconds: tuple[float, float],
    findings: list[Finding],
) -> Summary:
    """Moments, quantiles, ESS and split R-hat of every coordinate of draws (chain, draw, ...)."""
    names, tables = [], []
    num_chains, num_draws = next(iter(draws.values())).shape[:2]
    for name, values in draws.items():
        flat = values.reshape(num_chains, num_draws, int(np.prod(values.shape[2:], dtype=int)))
        names.extend(_coordinates(name, values.shape[2:]))
        tables.append(_rows(flat))
    heading = (
        f"{num_chains} chains x {num_draws} draws; gradients {num_gradients[0]} + "
        f"{num_gradients[1]}; {seconds[0]:.1f} + {seconds[1]:.1f} s (warm-up + sampling)"
    )
    return Summary(names, np.concatenate(tables), heading, findings)


def _rows(x: np.ndarray) -> np.ndarray:
    """One row of the table per coordinate of x (chain, draw, dim)."""
    dim = x.shape[-1]
    if x.shape[1] == 0 or dim == 0:
        return np.full((dim, len(COLUMNS)), np.nan)
    pooled = x.reshape(-1, dim)
    quantiles = np.quantile(pooled, [0.05, 0.5, 0.95], axis=0)
    ess = rhat = np.full(dim, np.nan)
    if x.shape[1] >= _MIN_DRAWS:
        ess, rhat = (
            np.asarray(ess_per_dimension(jnp.asarray(x))),
            np.asarray(split_rhat(jnp.asarray(x))),
        )
    columns = [
        pooled.mean(axis=0, dtype=float),
        pooled.std(axis=0, dtype=float),
        *quantiles,
        ess,
        rhat,
    ]
    return np.stack(columns, axis=1)


def _coordinates(name: str, shape: tuple[int, ...]) -> Iterator[str]:
    for place in np.ndindex(shape):
        yield f"{name}[{', '.join(map(str, place))}]" if place else name


def _or_dash(value: float, style: str) -> str:
    return f"{'-':>10}" if np.isnan(value) else f"{format(value, style):>10}"

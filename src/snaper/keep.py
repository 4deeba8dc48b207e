"""What is kept on the host of every recorded transition: all of it, some statistics, or nothing."""

from typing import Protocol

import jax
import numpy as np

from .host import brought
from .sampler import Info

TRACES = ("step_size", "mean_trajectory_length", "criterion")  # all that findings need of warm-up


class Kept(Protocol):
    def add(self, x: jax.Array, info: Info, scalar: jax.Array | None) -> None:
        """Take over the statistics of a stretch, and of x and the criterion's scalar as many rows
        as there are of these, copied: what NumPy is shown of an array on a CPU is the array itself.
        """
        ...

    def newest(self, count: int) -> dict[str, np.ndarray]:
        """What is kept of the last `count` rows, by name, [draw, ...]."""
        ...

    def restore(self, rows: dict[str, np.ndarray]) -> None:
        """Begin with rows that were `newest` of another."""
        ...


class ByName(dict[str, np.ndarray]):
    """Statistics by name; asked for one that is not there, it says why."""

    def __missing__(self, name: str):
        there = f", only {', '.join(self)}" if self else ""
        raise KeyError(f"No statistic {name!r} was kept{there}: keep='draws' keeps all.")


class Statistics:
    """Statistics of transitions: all of them, or those named."""

    def __init__(self, num_chains: int, names: tuple[str, ...] = Info._fields):
        self._num_chains = num_chains
        self._rows: dict[str, list[np.ndarray]] = {name: [] for name in names}

    def add(self, x: jax.Array, info: Info, scalar: jax.Array | None) -> None:
        for name, rows in self._rows.items():
            rows.append(getattr(info, name))

    def stats(self) -> dict[str, np.ndarray]:
        """By name, each [chain, draw]; what all chains share is repeated."""
        return ByName({name: self._per_chain(self.trace(name)) for name in self._rows})

    def _per_chain(self, rows: np.ndarray) -> np.ndarray:
        return np.broadcast_to(rows, (self._num_chains, len(rows))) if rows.ndim == 1 else rows.T

    def trace(self, name: str) -> np.ndarray:
        """One statistic, [draw, ...]."""
        return np.concatenate(self._rows[name] or [np.zeros(0)])

    def newest(self, count: int) -> dict[str, np.ndarray]:
        return {name: _tail(rows, count) for name, rows in self._rows.items()}

    def restore(self, rows: dict[str, np.ndarray]) -> None:
        self._rows = {name: [rows[name]] for name in self._rows}


class Draws:
    """Positions, statistics and the criterion's scalar of every recorded draw.

    `expected` draws are made room for at once, more as they come.
    """

    def __init__(self, num_chains: int, dim: int, dtype, expected: int):
        self._x = np.empty((num_chains, expected, dim), dtype)
        self._done = 0
        self._scalar = [np.zeros((0, num_chains))]
        self._statistics = Statistics(num_chains)

    def add(self, x: jax.Array, info: Info, scalar: jax.Array | None) -> None:
        count = len(info.step_size)
        self._make_room(self._done + count)
        rows = brought(x)[:count]
        self._x[:, self._done : self._done + count] = np.swapaxes(rows, 0, 1)
        self._done += count
        if scalar is not None:
            self._scalar.append(np.array(brought(scalar)[:count]))
        self._statistics.add(x, info, scalar)

    def _make_room(self, needed: int) -> None:
        """For twice what there was, at least: a run of unknown length is copied a few times."""
        num_chains, room, dim = self._x.shape
        if needed > room:
            grown = np.empty((num_chains, max(needed, 2 * room), dim), self._x.dtype)
            grown[:, :room] = self._x
            self._x = grown

    def newest(self, count: int) -> dict[str, np.ndarray]:
        """Positions `x`, the criterion's `scalar`, and statistics."""
        x = np.swapaxes(self._x[:, self._done - count : self._done], 0, 1)
        return {"x": x, "scalar": _tail(self._scalar, count), **self._statistics.newest(count)}

    def restore(self, rows: dict[str, np.ndarray]) -> None:
        x = rows["x"]
        self._make_room(len(x))
        self._x[:, : len(x)] = np.swapaxes(x, 0, 1)
        self._done = len(x)
        self._scalar.append(rows["scalar"])
        self._statistics.restore(rows)

    @property
    def x(self) -> np.ndarray:
        """Positions [chain, draw, dim]."""
        return self._x[:, : self._done]

    @property
    def scalar(self) -> np.ndarray | None:
        """[chain, draw]."""
        return np.concatenate(self._scalar).T

    def stats(self) -> dict[str, np.ndarray]:
        return self._statistics.stats()


class Nothing:
    """Stands in for draws where none are kept."""

    def __init__(self, num_chains: int, dim: int, dtype):
        self.x = np.empty((num_chains, 0, dim), dtype)
        self.scalar: np.ndarray | None = None

    def add(self, x: jax.Array, info: Info, scalar: jax.Array | None) -> None:
        pass

    def newest(self, count: int) -> dict[str, np.ndarray]:
        return {}

    def restore(self, rows: dict[str, np.ndarray]) -> None:
        pass

    def stats(self) -> dict[str, np.ndarray]:
        return ByName()


def _tail(pieces: list[np.ndarray], count: int) -> np.ndarray:
    """The last rows of pieces that follow each other, of which only the last are looked at."""
    first, found = len(pieces), 0
    while first and found < count:
        first -= 1
        found += len(pieces[first])
    return np.concatenate(pieces[first:])[found - count :]

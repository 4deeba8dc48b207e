"""Draws and statistics on their way from the device into NumPy arrays."""

from typing import NamedTuple

import numpy as np

from .chunk import Record, Tally
from .sampler import Info
from .watch import Watch


class Last(NamedTuple):
    """The newest stretch in three numbers."""

    step_size: float
    leapfrogs: float
    acceptance: float


class Recorder:
    """Collects one phase of a run: recorded transitions, and sums over all of them.

    `expected` draws are made room for at once, more as they come; None keeps no draws.
    """

    def __init__(
        self, num_chains: int, dim: int, dtype, wanted: int, thin: int, expected: int | None = None
    ):
        self.wanted, self.thin, self.done = wanted, thin, 0
        self.watch: Watch | None = None
        self._num_chains = num_chains
        self._x = np.empty((num_chains, _num_kept(expected or 0, thin), dim), dtype)
        self._keep_draws = expected is not None
        self._info: list[dict[str, np.ndarray]] = []
        self._scalar: list[np.ndarray] = []
        self.last = Last(float("nan"), 0.0, 0.0)
        self.gradients = self.capped = 0
        self.lp = np.zeros(num_chains)
        self.accept_prob = np.zeros(num_chains)
        self.accepted = np.zeros(num_chains, int)
        self.diverging = np.zeros(num_chains, int)

    def append(self, record: Record, tally: Tally, num_steps: int) -> None:
        """Take over a stretch of transitions that followed those seen so far."""
        start, stop = _num_kept(self.done, self.thin), _num_kept(self.done + num_steps, self.thin)
        if self._keep_draws:
            self._make_room(stop)
            self._x[:, start:stop] = np.swapaxes(np.asarray(record.x)[: stop - start], 0, 1)
        if self.watch is not None and stop > start:
            self._scalar.append(self.watch.add(record.x, stop - start))
        info = record.info._asdict()
        self._info.append({k: np.array(np.asarray(v)[: stop - start]) for k, v in info.items()})
        self.done += num_steps
        self.last = Last(
            float(self._info[-1]["step_size"][-1]) if stop > start else float("nan"),
            int(tally.gradients) / num_steps,
            float(np.mean(tally.accept_prob)) / num_steps,
        )
        self.gradients += int(tally.gradients)
        self.capped += int(tally.capped)
        self.lp += np.asarray(tally.lp)
        self.accept_prob += np.asarray(tally.accept_prob)
        self.accepted += np.asarray(tally.accepted)
        self.diverging += np.asarray(tally.diverging)

    def _make_room(self, needed: int) -> None:
        """For twice what there was, at least: a run of unknown length is copied a few times."""
        num_chains, room, dim = self._x.shape
        if needed > room:
            grown = np.empty((num_chains, max(needed, 2 * room), dim), self._x.dtype)
            grown[:, :room] = self._x
            self._x = grown

    @property
    def x(self) -> np.ndarray:
        """Recorded positions [chain, draw, dim]; no draws where they are not kept."""
        return self._x[:, : _num_kept(self.done, self.thin)]

    @property
    def scalar(self) -> np.ndarray:
        """The criterion's scalar of every recorded draw, [chain, draw]."""
        return np.concatenate([*self._scalar, np.zeros((0, self._num_chains))]).T

    def stats(self) -> dict[str, np.ndarray]:
        """Statistics by name, each [chain, draw]; what all chains share is repeated."""
        kept = _num_kept(self.done, self.thin)
        shape = (self._num_chains, kept)
        if not self._info:
            return {name: np.zeros(shape) for name in Info._fields}
        joined = {k: np.concatenate([info[k] for info in self._info]) for k in Info._fields}
        return {
            name: np.broadcast_to(rows, shape) if rows.ndim == 1 else rows.T
            for name, rows in joined.items()
        }

    def trace(self, name: str) -> np.ndarray:
        """One statistic that all chains share, [draw]."""
        return np.concatenate([info[name] for info in self._info] or [np.zeros(0)])


def _num_kept(num_steps: int, thin: int) -> int:
    """How many of transitions 0, 1, ... are multiples of `thin`."""
    return -(-num_steps // thin)

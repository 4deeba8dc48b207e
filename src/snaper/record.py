"""Sums over the transitions of a run, on the host; `keep` says what there is beside them."""

from dataclasses import replace
from functools import partial
from typing import Generic, NamedTuple, TypeVar

import jax
import numpy as np

from .chunk import Record, Tally
from .host import brought
from .keep import Kept
from .sampler import Info
from .watch import Watch

K = TypeVar("K", bound=Kept)
T = TypeVar("T")


class Last(NamedTuple):
    """The newest stretch in three numbers."""

    step_size: float
    leapfrogs: float
    acceptance: float


class Recorder(Generic[K]):
    """Follows one phase of a run: sums over all transitions, and what `kept` keeps of every
    `thin`-th.
    """

    def __init__(self, num_chains: int, wanted: int, thin: int, kept: K):
        self.wanted, self.thin, self.done, self.kept = wanted, thin, 0, kept
        self.watch: Watch | None = None
        self.last = Last(float("nan"), 0.0, 0.0)
        self.gradients = self.capped = 0
        self.lp = np.zeros(num_chains)
        self.accept_prob = np.zeros(num_chains)
        self.accepted = np.zeros(num_chains, int)
        self.diverging = np.zeros(num_chains, int)

    def append(self, record: Record, tally: Tally, num_steps: int) -> None:
        """Take over a stretch of transitions that followed those seen so far."""
        count = num_kept(self.done + num_steps, self.thin) - num_kept(self.done, self.thin)
        step_size = self.last.step_size
        if count:
            scalar = None if self.watch is None else self.watch.add(record.x, count)
            record, scalar = _used((record, scalar), count)
            info = _statistics(record, count)
            self.kept.add(record.x, info, scalar)
            step_size = float(info.step_size[-1])
        tally = jax.device_get(tally)
        self.done += num_steps
        self.last = Last(
            step_size,
            int(tally.gradients) / num_steps,
            float(np.mean(tally.accept_prob)) / num_steps,
        )
        self.gradients += int(tally.gradients)
        self.capped += int(tally.capped)
        self.lp += tally.lp
        self.accept_prob += tally.accept_prob
        self.accepted += tally.accepted
        self.diverging += tally.diverging


def _statistics(record: Record, count: int) -> Info:
    """Of the first rows, as NumPy arrays of their own."""
    shared, per_chain = (brought(a)[:count] for a in (record.shared, record.per_chain))
    return replace(record, shared=shared, per_chain=per_chain).info


def num_kept(num_steps: int, thin: int) -> int:
    """How many of transitions 0, 1, ... are multiples of `thin`."""
    return -(-num_steps // thin)


def _used(rows: T, count: int) -> T:
    """The first `count` rows of arrays and some more: what lies in another memory than the host's
    is not brought over for nothing. In few sizes, since each is compiled.
    """
    slots, device = next((a.shape[0], a.devices()) for a in jax.tree.leaves(rows))
    sizes = (slots // 64, slots // 8)
    size = next((size for size in sizes if size >= count), slots)
    if size == slots or {each.platform for each in device} == {"cpu"}:
        return rows
    return _first(rows, size)


@partial(jax.jit, static_argnums=1)
def _first(rows: T, size: int) -> T:
    return jax.tree.map(lambda leaf: leaf[:size], rows)

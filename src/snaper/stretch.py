"""Stretches of compiled transitions: how long they are, and their record."""

import time
from typing import Protocol

import numpy as np

from . import chunk
from .chunk import Record, Tally
from .config import Config
from .host import brought
from .interrupt import Interrupt
from .record import Recorder
from .sampler import State
from .target import Target

_SECONDS = 0.5
_FIRST = 8


class Pace:
    """Sizes stretches of transitions so that each takes about half a second, or as many as asked
    for.
    """

    def __init__(self, size: int | None):
        self._fixed = size
        self._size = size or _FIRST
        self._compiled = False

    def stretches(self, recorder: Recorder, wanted: int, interrupt: Interrupt):
        """Sizes of the stretches that remain, until the recorder has what is wanted or Ctrl-C."""
        while recorder.done < wanted and not interrupt.requested:
            size = min(self._size, wanted - recorder.done)
            began = time.monotonic()
            yield size
            self._learn(size, time.monotonic() - began)

    def _learn(self, size: int, seconds: float) -> None:
        if self._fixed is None and self._compiled:  # the first stretch's time is the compiler's
            ideal = size * _SECONDS / max(seconds, 1e-6)
            self._size = int(np.clip(ideal, 1, 8 * self._size))
        self._compiled = True


class Whole:
    """One stretch from look to look, so that a goal is judged at the end of every stretch."""

    def stretches(self, recorder: Recorder, wanted: int, interrupt: Interrupt):
        """The stretch that remains, unless there was Ctrl-C."""
        if recorder.done < wanted and not interrupt.requested:
            yield wanted - recorder.done


class Recording(Protocol):
    """Where stretches are recorded."""

    slots: int

    def advance(
        self, target: Target, config: Config, state: State, first: int, size: int, thin: int
    ) -> tuple[State, Record, Tally]:
        """As `chunk.advance`; the record is gone when this is called again."""
        ...


class Buffer:
    """Where the compiled function records transitions, over and over in one place; made when it is
    first needed.
    """

    def __init__(self, slots: int):
        self.slots = slots
        self._record: Record | None = None

    def take(self, target: Target, config: Config, state: State) -> Record:
        """What there is, which is then no longer here."""
        record, self._record = self._record, None
        return chunk.empty(target, config, state, self.slots) if record is None else record

    def advance(
        self, target: Target, config: Config, state: State, first: int, size: int, thin: int
    ) -> tuple[State, Record, Tally]:
        """As `chunk.advance`; the record is gone when this is called again."""
        record = self.take(target, config, state)
        compiled = chunk.compiled(state)
        state, record, tally = compiled(target, config, state, record, first, size, thin)
        self._record = record
        return state, record, tally


def buffer(num_chains: int, target: Target, longest: int | None) -> Buffer:
    """For stretches that are at most so long."""
    room = chunk.capacity(num_chains, target.dim, target.dtype.itemsize)
    return Buffer(room if longest is None else min(room, longest))


def survey(
    target: Target,
    config: Config,
    state: State,
    recorder: Recorder,
    num_steps: int,
    buffer: Recording,
) -> tuple[State, np.ndarray]:
    """A stretch of transitions, recorded, and where chains were, [step, chain, dim]."""
    rows, end = [], recorder.done + num_steps
    while recorder.done < end:
        size = min(end - recorder.done, buffer.slots)
        state, record, tally = buffer.advance(target, config, state, recorder.done, size, 1)
        rows.append(np.array(brought(record.x)[:size]))  # before it is written anew
        recorder.append(record, tally, size)
    return state, np.concatenate(rows)


def advance(
    target: Target,
    config: Config,
    state: State,
    recorder: Recorder,
    num_steps: int,
    buffer: Recording,
) -> State:
    """A stretch of transitions, recorded. Longer ones than the buffer holds are cut in pieces."""
    while num_steps > 0:
        first_slot = -(-recorder.done // recorder.thin)
        last = (first_slot + buffer.slots - 1) * recorder.thin  # the transition that fills it
        size = min(num_steps, last - recorder.done + 1)
        state, record, tally = buffer.advance(
            target, config, state, recorder.done, size, recorder.thin
        )
        recorder.append(record, tally, size)
        num_steps -= size
    return state

"""Stretches of compiled transitions, sized by wall time and recorded."""

import time

import numpy as np

from . import chunk
from .config import Config
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


def advance(
    target: Target, config: Config, state: State, recorder: Recorder, num_steps: int
) -> State:
    """A stretch of transitions, recorded. Longer ones than the buffer holds are cut in pieces."""
    num_chains, dim = state.chains.x.shape
    slots = chunk.capacity(num_chains, dim, state.chains.x.dtype.itemsize)
    while num_steps > 0:
        first_slot = -(-recorder.done // recorder.thin)
        last = (first_slot + slots - 1) * recorder.thin  # the transition that fills the buffer
        size = min(num_steps, last - recorder.done + 1)
        state, record, tally = chunk.advance(
            target, config, state, recorder.done, size, recorder.thin, slots=slots
        )
        recorder.append(record, tally, size)
        num_steps -= size
    return state

"""Draws on all cores of a CPU: chains in parts, each advanced by a thread of its own.

XLA spreads single operations over its threads, which does little for a batch of gradients. After
warm-up chains do not need each other, and a part of them can be followed alone. Noise does not
depend on the parts.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np

from . import chunk, hmc, threefry
from ._types import Scalar
from .adapt import Hyperparams, Resting
from .chunk import Record, Tally
from .config import Config
from .sampler import State, learnt
from .stretch import Buffer, Recording
from .target import Target

_SMALLEST = 16  # chains of a part
_WORTH = 4e7  # floating-point operations of a transition: less would not pay for compiling
_TRANSCENDENTAL = 30  # operations


def drawing(target: Target, config: Config, state: State, buffer: Recording) -> Recording:
    """Where to record draws with what was learnt: in the buffer that there is, or part by part
    where that is worth while.
    """
    num_parts = _num_parts(state.chains.logp.size)
    if num_parts == 1 or not isinstance(buffer, Buffer) or not _can_be_parted(config, state):
        return buffer
    hyper = learnt(config, state)
    steps = np.clip(float(hyper.trajectory_length / hyper.step_size), 1.0, config.max_leapfrog)
    worth = steps * _operations(target, state.chains.x) >= _WORTH  # not so where it is no number
    return Parts(buffer, num_parts) if worth else buffer


class Parts:
    """As the buffer, for draws; every part has a record of its own beside it."""

    def __init__(self, buffer: Buffer, num_parts: int):
        self.slots = buffer.slots
        self._buffer = buffer
        self._num_parts = num_parts
        self._whole: Record | None = None
        self._records: list[Record] = []
        self._compiled = False

    def advance(
        self, target: Target, config: Config, state: State, first: int, size: int, thin: int
    ) -> tuple[State, Record, Tally]:
        """As `chunk.advance`; the record is gone when this is called again."""
        hyper = learnt(config, state)
        resting = replace(config, adapt=Resting())
        parts = _cut(state, hyper, self._num_parts)
        if self._whole is None:
            self._whole = self._buffer.take(target, config, state)
            self._records = [chunk.empty(target, resting, part, self.slots) for part in parts]
        starts = np.arange(self._num_parts, dtype=np.int32) * parts[0].chains.logp.size

        def follow(part: State, record: Record, start: np.int32):
            done = chunk.advance(target, resting, part, record, first, size, thin, start)
            return jax.block_until_ready(done)

        given = [*zip(parts, self._records, starts, strict=True)]
        # The first alone, in this thread, where it is compiled: tracing is not for many at once.
        alone = [] if self._compiled else [follow(*given[0])]
        found = [*alone, *_at_once(follow, given[len(alone) :])]
        self._compiled = True
        self._records = [record for _, record, _ in found]
        rows = -(-(first + size) // thin) - -(-first // thin)
        record = self._whole = _together(self._whole, self._records, rows)
        chains = _joined([part.chains for part, _, _ in found])
        tallies = [tally for _, _, tally in found]
        tally = tallies[0]._replace(
            **{
                name: _joined([getattr(each, name) for each in tallies])
                for name in ("lp", "accept_prob", "accepted", "diverging")
            }
        )
        return state._replace(step=found[0][0].step, chains=chains), record, tally


def _num_parts(num_chains: int) -> int:
    """As many as there are cores, or fewer, so that all have as many chains."""
    most = min(_cores(), num_chains // _SMALLEST)
    return next((parts for parts in range(most, 1, -1) if num_chains % parts == 0), 1)


def _cores() -> int:
    """That this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _can_be_parted(config: Config, state: State) -> bool:
    """On a CPU, by HMC with all gradients at once, with noise that can be drawn for some chains;
    and where a thread computes as its parent does, whose settings of JAX may be its own.
    """
    on_cpu = {device.platform for device in state.chains.x.devices()} == {"cpu"}
    if not (on_cpu and config.move == hmc.Move() and threefry.written_out(state.key)):
        return False
    return _at_once(_settings, [()]) == [_settings()]


def _settings() -> dict[str, Any]:
    """All of JAX's, as this thread sees them."""
    return {name: getattr(jax.config, name, None) for name in jax.config.values}


def _at_once(call: Callable, given: list[tuple]) -> list:
    """A call for each of what is given, each in a thread, with the precision of this one. Ctrl-C
    does not wait for them.
    """
    wide = _wide()

    def there(args: tuple):
        with nullcontext() if _wide() == wide else _precision(wide):
            return call(*args)

    pool = ThreadPoolExecutor(max(len(given), 1))
    try:
        return list(pool.map(there, given))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _wide() -> bool:
    """Whether this thread computes with 64 bits."""
    return jnp.result_type(float) == jnp.float64


def _precision(wide: bool) -> AbstractContextManager[None]:
    """For this thread."""
    module = jax if hasattr(jax, "enable_x64") else jax.experimental  # as older versions have it
    return vars(module)["enable_x64"](wide)


def _operations(target: Target, x: jax.Array) -> float:
    """Of one gradient of all chains, as the compiler counts them before it begins: loops as if they
    had one turn, so that models with long ones may count as light.
    """
    leaves, structure = jax.tree.flatten((target, x))
    return _counted(structure, tuple(jax.ShapeDtypeStruct(np.shape(a), a.dtype) for a in leaves))


@lru_cache(maxsize=16)  # counting takes as long as hundreds of draws of a small model
def _counted(structure: Any, shapes: tuple[jax.ShapeDtypeStruct, ...]) -> float:
    cost = _gradients.lower(*jax.tree.unflatten(structure, shapes)).cost_analysis() or {}
    return cost.get("flops", 0.0) + _TRANSCENDENTAL * cost.get("transcendentals", 0.0)


@jax.jit
def _gradients(target: Target, x: jax.Array) -> jax.Array:
    return jax.vmap(jax.grad(target.logp))(x)


def _cut(state: State, hyper: Hyperparams, num_parts: int) -> list[State]:
    """States of parts, which hold what was learnt and learn nothing."""
    pieces = [jnp.split(leaf, num_parts) for leaf in state.chains]
    return [
        state._replace(chains=hmc.Chains(*part), adapt=hyper) for part in zip(*pieces, strict=True)
    ]


def _joined(parts: list) -> Any:
    """Arrays whose first axis counts chains."""
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *parts)


@partial(jax.jit, donate_argnames="whole")
def _together(whole: Record, parts: list[Record], rows: Scalar) -> Record:
    """The first rows of all parts' records, in the place of those of the whole."""

    def put(row: Scalar, whole: Record) -> Record:
        x = jnp.concatenate([part.x[row] for part in parts])
        per_chain = jnp.concatenate([part.per_chain[row] for part in parts], axis=-1)
        return replace(
            whole,
            x=whole.x.at[row].set(x),
            shared=whole.shared.at[row].set(parts[0].shared[row]),
            per_chain=whole.per_chain.at[row].set(per_chain),
        )

    return jax.lax.fori_loop(0, rows, put, whole)

"""Draws on all cores of a CPU: chains in parts, each advanced by a thread of its own.

XLA spreads single operations over its threads, which does little for a batch of gradients. After
warm-up chains do not need each other, and a part of them can be followed alone. Noise does not
depend on the parts.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import chunk, hmc, threefry
from .adapt import Hyperparams, Resting
from .chunk import Record, Tally
from .config import Config
from .sampler import State
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
    hyper = config.adapt.value(state.adapt, jnp.asarray(False))
    steps = max(float(hyper.trajectory_length / hyper.step_size), 1.0)
    if steps * _operations(target, state.chains.x) < _WORTH:
        return buffer
    return Parts(buffer, num_parts)


class Parts:
    """As the buffer, for draws; every part has a record of its own beside it."""

    def __init__(self, buffer: Buffer, num_parts: int):
        self.slots = buffer.slots
        self._buffer = buffer
        self._num_parts = num_parts
        self._whole: Record | None = None
        self._records: list[Record] = []

    def advance(
        self, target: Target, config: Config, state: State, first: int, size: int, thin: int
    ) -> tuple[State, Record, Tally]:
        """As `chunk.advance`; the record is gone when this is called again."""
        hyper = config.adapt.value(state.adapt, jnp.asarray(False))
        resting = replace(config, adapt=Resting())
        parts = _cut(state, hyper, self._num_parts)
        if self._whole is None:
            self._whole = self._buffer.take(target, config, state)
            self._records = [chunk.empty(target, resting, part, self.slots) for part in parts]
        starts = np.arange(self._num_parts, dtype=np.int32) * parts[0].chains.logp.size

        def follow(part: State, record: Record, start: np.int32):
            done = chunk.advance(target, resting, part, record, first, size, thin, start)
            return jax.block_until_ready(done)

        with ThreadPoolExecutor(self._num_parts) as pool:
            found = list(pool.map(follow, parts, self._records, starts))
        self._records = [record for _, record, _ in found]
        rows = -(-(first + size) // thin) - -(-first // thin)
        record = self._whole = _together(self._whole, self._records, _enough(rows, self.slots))
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
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_settings).result() == _settings()


def _settings() -> dict[str, Any]:
    """All of JAX's, as this thread sees them."""
    return {name: getattr(jax.config, name, None) for name in jax.config.values}


def _operations(target: Target, x: jax.Array) -> float:
    """Of one gradient of all chains, as the compiler counts them before it begins."""
    cost = _gradients.lower(target, jax.ShapeDtypeStruct(x.shape, x.dtype)).cost_analysis() or {}
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


def _enough(rows: int, slots: int) -> int:
    """So many rows of a record, or some more: in few sizes, since each is compiled."""
    return next((size for size in (slots // 64, slots // 8) if size >= rows), slots)


@partial(jax.jit, static_argnames="rows", donate_argnames="whole")
def _together(whole: Record, parts: list[Record], rows: int) -> Record:
    """The first rows of all parts' records, in the place of those of the whole."""

    def put(into: jax.Array, name: str, axis: int) -> jax.Array:
        joined = jnp.concatenate([getattr(part, name)[:rows] for part in parts], axis)
        return jax.lax.dynamic_update_slice(into, joined, (0,) * into.ndim)

    shared = jax.lax.dynamic_update_slice(whole.shared, parts[0].shared[:rows], (0, 0))
    return replace(
        whole, x=put(whole.x, "x", 1), shared=shared, per_chain=put(whole.per_chain, "per_chain", 2)
    )

"""Which chains count in pooled statistics, and what becomes of those that do not."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from .. import ensemble
from .._types import Key, PerChain
from ..hmc import Chains
from ..when import when


class QuarantineState(NamedTuple):
    strikes: PerChain  # transitions in a row spent outside the bulk or without moving
    reseeded: PerChain  # how often each chain was moved


@dataclass(frozen=True)
class Quarantine:
    """Leaves out chains far below the others in log density; moves those that stay there.

    A chain is outside the bulk if its log density lies below the ensemble's median by more than
    `margin` plus `spread` times the median distance from it. After `patience` transitions in a row
    outside the bulk, or without an accepted move, it takes the place of a chain inside, chosen at
    random.
    """

    margin: float = 10.0
    spread: float = 30.0
    patience: int = 100

    def init(self, chains: Chains) -> QuarantineState:
        zeros = jnp.zeros(chains.logp.shape, jnp.int32)
        return QuarantineState(zeros, zeros)

    def weight(self, chains: Chains) -> PerChain:
        """One for chains inside the bulk, zero for those outside."""
        finite = jnp.isfinite(chains.logp) & jnp.all(jnp.isfinite(chains.grad), axis=-1)
        below = ensemble.median(chains.logp, finite) - chains.logp
        limit = self.margin + self.spread * ensemble.median(jnp.abs(below), finite)
        return (finite & (below <= limit)).astype(chains.x.dtype)

    def update(
        self, key: Key, state: QuarantineState, chains: Chains, accepted: PerChain
    ) -> tuple[QuarantineState, Chains]:
        """Count, and move the chains whose time is up."""
        inside = self.weight(chains) > 0
        strikes = jnp.where(inside & accepted, 0, state.strikes + 1)
        lost = strikes >= self.patience
        eligible = inside & ~lost
        lost = lost & jnp.any(eligible)
        chains = when(jnp.any(lost), _replace, chains, key, lost, eligible)
        state = QuarantineState(
            jnp.where(lost, 0, strikes), state.reseeded + lost.astype(jnp.int32)
        )
        return state, chains


@dataclass(frozen=True)
class Trust:
    """Every chain counts, wherever it is."""

    def init(self, chains: Chains) -> QuarantineState:
        return Quarantine().init(chains)

    def weight(self, chains: Chains) -> PerChain:
        return jnp.ones_like(chains.logp)

    def update(self, key, state, chains, accepted):
        return state, chains


def _replace(chains: Chains, key: Key, lost: PerChain, eligible: PerChain) -> Chains:
    """Those lost by eligible ones."""
    source = jnp.where(lost, _one_of(key, eligible), jnp.arange(lost.size, dtype=jnp.int32))
    return jax.tree.map(lambda leaf: leaf[source], chains)


def _one_of(key: Key, eligible: PerChain) -> PerChain:
    """For every chain, the number of an eligible one, chosen at random."""
    rank = jnp.cumsum(eligible.astype(jnp.int32))
    chosen = jax.random.randint(key, eligible.shape, 1, jnp.maximum(rank[-1], 1) + 1, jnp.int32)
    return jnp.searchsorted(rank, chosen).astype(jnp.int32)

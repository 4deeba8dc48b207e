"""One Metropolis-adjusted HMC transition for an ensemble of chains (Neal 2011).

The metric enters as a linear map L: momenta are standard normal, dx/dt = L v, dv/dt = L^T grad log
p(x).
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from ._types import Key, LogDensity, PerChain, Positions, Scalar
from .metric import Metric

DIVERGENCE = 1000.0  # an energy error beyond this is a failure of the integrator


class Chains(NamedTuple):
    """Position of every chain, with the density there so that it is never computed twice."""

    x: Positions
    logp: PerChain
    grad: Positions


class Transition(NamedTuple):
    """What one transition shows to the adaptation. Every entry is finite."""

    start: Positions
    proposal: Positions
    velocity: Positions  # dx'/dt at the proposal, not flipped
    accept_prob: PerChain
    accepted: PerChain
    diverging: PerChain
    energy: PerChain  # -log p(x) + |v|^2 / 2 where the chain now stands
    num_leapfrog: jax.Array  # one number, or one per chain


def init(logp: LogDensity, x: Positions, at_once: int | None = None) -> Chains:
    """Density and gradient at points."""
    return Chains(x, *_over_chains(jax.value_and_grad(logp), at_once)(x))


def step(
    key: Key,
    logp: LogDensity,
    chains: Chains,
    step_size: Scalar,
    metric: Metric,
    num_leapfrog: Scalar,
    rounding: Scalar,
    at_once: int | None = None,
) -> tuple[Chains, Transition]:
    """Refresh momenta, follow the dynamics, accept or reject each chain.

    `rounding` is how many units in the last place of log p an energy error must exceed to count:
    zero for a correct sampler, more while warming up from a start whose log p has too many digits
    for its dtype.
    """
    key_momentum, key_accept = jax.random.split(key)
    v0 = jax.random.normal(key_momentum, chains.x.shape, chains.x.dtype)
    v0 = jax.lax.optimization_barrier(v0)  # or each of its uses draws it again
    end, v1 = leapfrog(logp, chains, v0, step_size, metric, num_leapfrog, at_once)

    log_ratio = end.logp - chains.logp - 0.5 * jnp.sum(v1**2 - v0**2, axis=-1)
    tolerance = rounding * resolution(jnp.maximum(jnp.abs(end.logp), jnp.abs(chains.logp)))
    log_accept = jnp.minimum(log_ratio + tolerance, 0.0)
    finite = jnp.isfinite(log_ratio) & jnp.all(
        jnp.isfinite(end.x) & jnp.isfinite(end.grad), axis=-1
    )
    end, v1 = _select(finite, (end, v1), (chains, v0))
    accept_prob = jnp.where(finite, jnp.exp(log_accept), 0.0)
    accepted = jax.random.uniform(key_accept, accept_prob.shape, accept_prob.dtype) < accept_prob
    diverging = ~finite | (log_accept < -DIVERGENCE)

    moved, v = _select(accepted, (end, v1), (chains, v0))
    energy = 0.5 * jnp.sum(v**2, axis=-1) - moved.logp
    velocity = metric.forward(v1)
    transition = Transition(
        chains.x, end.x, velocity, accept_prob, accepted, diverging, energy, num_leapfrog
    )
    return moved, transition


@dataclass(frozen=True)
class Blocks:
    """As `step`, with the gradients of `at_once` chains at a time: their workspace then fits where
    that of all chains would not.
    """

    at_once: int

    def __call__(self, *args) -> tuple[Chains, Transition]:
        return step(*args, at_once=self.at_once)


def leapfrog(
    logp: LogDensity,
    chains: Chains,
    v: Positions,
    step_size: Scalar,
    metric: Metric,
    num_steps: Scalar,
    at_once: int | None = None,
) -> tuple[Chains, Positions]:
    """`num_steps` kick-drift-kick steps, one gradient each; the density only at the end."""
    gradient = _over_chains(jax.grad(logp), at_once)

    def drift(x, v):
        return x + step_size * metric.forward(v)

    def kick(v, grad, time):
        return v + time * metric.transpose(grad)

    def body(_, carry):
        x, v = carry
        x = drift(x, v)
        return x, kick(v, gradient(x), step_size)

    v = kick(v, chains.grad, 0.5 * step_size)
    x, v = jax.lax.fori_loop(1, num_steps, body, (chains.x, v))
    end = init(logp, drift(x, v), at_once)
    return end, kick(v, end.grad, 0.5 * step_size)


def _over_chains(function, at_once: int | None):
    """For all chains together, or block after block."""
    if at_once is None:
        return jax.vmap(function)
    return lambda x: jax.lax.map(function, x, batch_size=min(at_once, len(x)))


def resolution(logp: PerChain) -> PerChain:
    """Size of one unit in the last place of log p."""
    return jnp.finfo(logp.dtype).eps * jnp.abs(logp)


def _select(which: PerChain, yes, no):
    """Per chain, one of two trees of arrays."""

    def pick(a, b):
        return jnp.where(which.reshape(which.shape + (1,) * (a.ndim - 1)), a, b)

    return jax.tree.map(pick, yes, no)

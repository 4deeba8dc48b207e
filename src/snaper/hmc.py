"""One Metropolis-adjusted HMC transition for an ensemble of chains (Neal 2011).

The metric enters as a linear map L: with v standard normal, velocities start at L v and change by
L L^T grad log p(x) per unit of time.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from . import threefry
from ._types import Key, LogDensity, PerChain, Positions, Scalar
from .metric import Metric

DIVERGENCE = 1000.0  # an energy error beyond this is a failure of the integrator
FEW_TERMS = 64  # summed up in log p, for `rounding` to be as it is; more err more, as their root


class Chains(NamedTuple):
    """Position of every chain, with the density there so that it is never computed twice."""

    x: Positions
    logp: PerChain
    grad: Positions


class Noise(NamedTuple):
    """What chance decides of a transition."""

    momentum: Positions  # standard normal
    uniform: PerChain  # on the unit interval, for acceptance


class Transition(NamedTuple):
    """What one transition shows to the adaptation. Every entry is finite."""

    start: Positions
    proposal: Positions
    velocity: Positions  # dx'/dt at the proposal, not flipped
    accept_prob: PerChain
    accepted: PerChain
    diverging: PerChain
    energy: PerChain  # potential and kinetic, where the chain now stands
    num_leapfrog: jax.Array  # one number, or one per chain


def init(logp: LogDensity, x: Positions, at_once: int | None = None) -> Chains:
    """Density and gradient at points."""
    return Chains(x, *_over_chains(jax.value_and_grad(logp), at_once)(x))


def noise(key: Key, x: Positions, first: Scalar | int = 0) -> Noise:
    """For chains like x, or for part of a run's chains, which begins at chain `first`."""
    key_momentum, key_accept = jax.random.split(key)
    v0 = threefry.normal(key_momentum, x.shape, x.dtype, first)
    v0 = jax.lax.optimization_barrier(v0)  # or each of its uses draws it again
    return Noise(v0, threefry.uniform(key_accept, x.shape[:1], x.dtype, first))


def step(
    noise: Noise,
    logp: LogDensity,
    chains: Chains,
    step_size: Scalar,
    metric: Metric,
    num_leapfrog: Scalar,
    rounding: Scalar,
    alternation: Scalar | float = 0.0,
    at_once: int | None = None,
) -> tuple[Chains, Transition]:
    """Refresh momenta, follow the dynamics, accept or reject each chain.

    `rounding` is how many units in the last place of log p an energy error must exceed to count,
    in few dimensions: zero for a correct sampler, more while warming up from a start whose log p
    has too many digits for its dtype.
    """
    v0, uniform = noise
    w0 = metric.forward(v0)
    end, w1, gained = leapfrog(
        logp, chains, w0, step_size, metric, num_leapfrog, alternation, at_once
    )

    log_ratio = end.logp - chains.logp - gained
    units = rounding * max(1.0, chains.x.shape[-1] / FEW_TERMS) ** 0.5
    tolerance = units * resolution(jnp.maximum(jnp.abs(end.logp), jnp.abs(chains.logp)))
    log_accept = jnp.minimum(log_ratio + tolerance, 0.0)
    finite = jnp.isfinite(log_ratio) & jnp.all(
        jnp.isfinite(end.x) & jnp.isfinite(end.grad), axis=-1
    )
    end, w1 = _select(finite, (end, w1), (chains, w0))
    accept_prob = jnp.where(finite, jnp.exp(log_accept), 0.0)
    accepted = uniform < accept_prob
    diverging = ~finite | (log_accept < -DIVERGENCE)

    moved = _select(accepted, end, chains)
    energy = 0.5 * jnp.sum(v0**2, axis=-1) + jnp.where(accepted, gained, 0.0) - moved.logp
    transition = Transition(
        chains.x, end.x, w1, accept_prob, accepted, diverging, energy, num_leapfrog
    )
    return moved, transition


@dataclass(frozen=True)
class Move:
    """As `step`; if told so, with the gradients of `at_once` chains at a time: their workspace then
    fits where that of all chains would not.
    """

    at_once: int | None = None

    def noise(self, key: Key, x: Positions, first: Scalar | int = 0) -> Noise:
        return noise(key, x, first)

    def __call__(self, *args) -> tuple[Chains, Transition]:
        return step(*args, at_once=self.at_once)


def leapfrog(
    logp: LogDensity,
    chains: Chains,
    velocity: Positions,
    step_size: Scalar,
    metric: Metric,
    num_steps: Scalar,
    alternation: Scalar | float = 0.0,
    at_once: int | None = None,
) -> tuple[Chains, Positions, PerChain]:
    """`num_steps` kick-drift-kick steps, one gradient each; the density only at the end.

    Kicks are summed up as an impulse, so that each step takes one product with the metric. Where
    the number of steps is even, they weigh 1 + `alternation` and 1 - `alternation` in turn. Returns
    chains and velocities there, and the kinetic energy that the impulse gave.
    """
    gradient = _over_chains(jax.grad(logp), at_once)

    def after(impulse):
        return velocity + metric.inverse_mass(impulse)

    # Else the way back would have other kicks than the way there.
    uneven = jnp.where(num_steps % 2 == 0, alternation, 0.0).astype(step_size.dtype)
    outer, inner = step_size * (1.0 - uneven), step_size * (1.0 + uneven)

    def body(number, carry):
        x, impulse = carry
        x = x + step_size * after(impulse)
        return x, impulse + jnp.where(number % 2 == 0, outer, inner) * gradient(x)

    x, impulse = jax.lax.fori_loop(1, num_steps, body, (chains.x, 0.5 * outer * chains.grad))
    end = init(logp, x + step_size * after(impulse), at_once)
    impulse = impulse + 0.5 * outer * end.grad
    last = after(impulse)
    return end, last, 0.5 * jnp.sum(impulse * (velocity + last), axis=-1)


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

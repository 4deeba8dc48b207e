"""The criterion for a metric that whitens: the function that mixes worst, found while its mixing is
improved.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from . import ensemble
from ._types import PerChain, Positions, Scalar, Vector
from .adapt import ema
from .hmc import Transition


class Memory(NamedTuple):
    """Running means over chains and transitions, one for each function f."""

    jump: Vector  # (f' - f)^2 times the probability of acceptance
    slope: Vector  # its derivative in log tau-bar
    mean: Vector  # f
    square: Vector  # f^2
    direction: Vector  # whose highest power mixes worst
    spread: Vector  # mean square of what f is a power of, each cut at far^2 times it


@dataclass(frozen=True)
class Slowest:
    r"""Climbs the soft minimum, over the `few` that mix worst among the functions f, of the
    logarithm of their ESS^max per unit of time:

    $$ \log\frac{1-\rho_f}{1+\rho_f} - \log\bar\tau, \quad 1 - \rho_f = E[(f'-f)^2] / 2 Var[f]. $$

    The functions are `powers` of every coordinate and of the principal component: themselves, which
    means are about, and their squares. They level off beyond `reach` standard deviations, as
    z / (1 + (z / reach)^2)^(1/2): else a chain or two far out, where the target may be narrow,
    would speak for all. `sharpness` is the power by which a function counts more that mixes more
    slowly. Functions are taken about the chains' own mean and in units of their own spread, so that
    nothing of the way in lasts; of that of about `pooled` chains, over several transitions where
    there are fewer. Expectations go back over the last step / `memory` transitions.
    """

    powers: tuple[int, ...] = (1, 2)
    reach: float = 6.0
    far: float = 3.0  # standard deviations, beyond which a chain says no more about the spread
    few: int = 4
    sharpness: float = 4.0
    memory: float = 40.0
    pooled: float = 64.0

    def init(self, x: Positions, direction: Vector | None = None) -> Memory:
        spread = jnp.zeros(x.shape[1] + 1, x.dtype)
        zeros = jnp.tile(spread, len(self.powers))
        first = jnp.zeros_like(x[0]).at[0].set(1.0) if direction is None else direction
        return Memory(zeros, zeros, zeros, zeros + 1.0, first, spread)

    def update(
        self,
        memory: Memory,
        transition: Transition,
        t: Scalar,
        healthy: PerChain,
        mean: Vector,
        direction: Vector,
        rounding: Scalar,
        length: Scalar,
        one_step: Scalar,
        step: Scalar,
    ) -> tuple[Memory, tuple[Scalar, Scalar]]:
        """What is known now, and the criterion with its derivative in log tau-bar.

        `mean` is the running one and `direction` the principal component; `length` is tau-bar, and
        `rounding` the time that whole steps add to it.
        """
        before, after, velocity = _functions(transition, healthy, mean, direction)
        count = ensemble.count(healthy)
        newest = ema.weight(step, self.memory, t.dtype)
        share = jnp.maximum(newest, count / (count + self.pooled))
        farthest = jnp.where(memory.spread > 0, self.far**2 * memory.spread, jnp.inf)
        squares = jnp.minimum(before**2, farthest)
        first = jnp.where(memory.spread > 0, share, 1.0)  # in a run that goes on with another's too
        spread = ema.blend(memory.spread, ensemble.mean(squares, healthy), first)
        spread = jnp.where(jnp.isfinite(spread), spread, memory.spread)
        scale = jnp.sqrt(spread)
        before, after, velocity = before / scale, after / scale, velocity / scale
        (f, _), (f_after, steepness) = self._powers(before), self._powers(after)
        speed = steepness * jnp.tile(velocity, len(self.powers))
        jump, slope = _jumps(f_after - f, speed, transition.accept_prob, healthy)
        now = (jump, slope * t, ensemble.mean(f, healthy), ensemble.mean(f**2, healthy))
        usable = jnp.all(jnp.isfinite(jnp.stack(now)))
        share = jnp.where(usable, jnp.where(one_step, 1.0, newest), 0.0)
        known = [
            ema.blend(old, jnp.where(usable, new, old), share)
            for old, new in zip(memory[:4], now, strict=True)
        ]
        jump, slope, first, second = known
        variance = jnp.maximum(second - first**2, 1e-6)
        seen = jump / (2.0 * variance)
        loss = jnp.clip(seen, 1e-12, 1.5)  # 1 - rho, which is not larger but by chance
        log_rate = jnp.log(loss / (2.0 - loss))
        log_slope = slope / (2.0 * variance) * (1.0 / loss + 1.0 / (2.0 - loss))
        log_slope = jnp.where(seen > loss, 0.0, jnp.clip(log_slope, -4.0, 2.0))  # at most as t^2
        slowness, last = jax.lax.top_k(-log_rate, min(self.few, log_rate.size))
        share_of = jax.nn.softmax(self.sharpness * slowness)
        cost = length + rounding
        value = jnp.exp(-jnp.sum(share_of * slowness)) / cost
        climb = jnp.sum(share_of * log_slope[last]) - length / cost
        worst = _direction(jnp.argmin(log_rate[-spread.size :]), direction)
        return Memory(jump, slope, first, second, worst, spread), (value, value * climb)

    def _powers(self, z: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Of what levels off beyond the reach, and their derivatives, one after the other."""
        share = 1.0 / (1.0 + (z / self.reach) ** 2)
        level, steepness = z * jnp.sqrt(share), share * jnp.sqrt(share)
        powers = [level**power for power in self.powers]
        slopes = [power * level ** (power - 1) * steepness for power in self.powers]
        return jnp.concatenate(powers, axis=1), jnp.concatenate(slopes, axis=1)


def _functions(transition: Transition, healthy: PerChain, mean: Vector, direction: Vector):
    """What the functions are powers of, [chain, direction]: before a transition and after it,
    and how fast it changes there; zero for chains that do not count.
    """
    few = 8.0 / (8.0 + ensemble.count(healthy))  # whose own mean is rough
    centre = ensemble.mean(transition.start, healthy)
    centre = ema.blend(centre, mean, few)
    counted = (healthy > 0)[:, None]

    def functions(z: Positions) -> jax.Array:
        values = jnp.concatenate([z, ensemble.project(z, direction)[:, None]], axis=1)
        return jnp.where(counted, values, 0.0)

    start, end = transition.start - centre, transition.proposal - centre
    return functions(start), functions(end), functions(transition.velocity)


def _jumps(change, speed, accept_prob: PerChain, healthy: PerChain) -> tuple[Vector, Vector]:
    """Of every function, its squared change times acceptance and the derivative of that in time,
    averaged over chains.
    """
    accept = accept_prob[:, None]
    jump = ensemble.mean(accept * change**2, healthy)
    return jump, ensemble.mean(2.0 * accept * change * speed, healthy)


def _direction(which: Scalar, principal: Vector) -> Vector:
    """A coordinate's, or the principal component, which is the last."""
    dim = principal.size
    return jnp.where(
        which == dim,
        principal,
        (jnp.arange(dim, dtype=which.dtype) == which).astype(principal.dtype),
    )

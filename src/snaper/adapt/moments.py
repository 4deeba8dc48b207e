"""Running mean and variance of the target, pooled over chains."""

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp

from .. import ensemble
from .._types import PerChain, Positions, Scalar, Vector
from . import ema

STALE = 4.0
RENEWAL = 0.2
WIDEST = 2.0  # of a batch on the way in, in units of what was expected


class MomentsState(NamedTuple):
    mean: Vector
    variance: Vector
    grad_variance: Vector


@dataclass(frozen=True)
class Moments:
    r"""Exponentially weighted mean and variance over the last step / `memory` transitions.

    A batch of chains has the variance about its own mean, plus the square of its drift, the
    distance of that mean from the running one. At rest the drift is of order $\sigma/\sqrt{b}$; on
    the way in from a far start it is more, and says how far there is to go, not how wide the target
    is. So it counts only up to `drift_limit` times its size at rest. `pseudo` observations of a
    width guessed from the starting points keep the variance from ever being zero.

    The variance of gradients, whose mean at rest is zero, is learnt the same way. Together the two
    say how wide a Gaussian would be, $\sqrt{Var[x] / Var[g]}$, whether chains are nearer to each
    other than at rest or farther apart. In the first `way_in` transitions a batch of four chains or
    more counts only up to twice that, or twice the running variance: where some chains have come in
    and others have not, their distance is not the target's width.

    With `renews`, what was seen on the way in is forgotten as soon as it is known to be wrong: a
    coordinate whose running variance is stale gives the newest batch a fifth of the weight.
    """

    memory: float = 8.0
    drift_limit: float = 3.0
    way_in: int = 100
    pseudo: float = 0.1
    renews: bool = True

    def init(
        self,
        x: Positions,
        grad: Positions,
        given: MomentsState | None = None,
        weight: PerChain | None = None,
    ) -> MomentsState:
        if given is not None:
            return given
        weight = jnp.ones_like(x[:, 0]) if weight is None else weight
        width = jnp.full_like(x[0], jnp.median(_guess(x, grad, weight)))
        return MomentsState(ensemble.mean(x, weight), width, 1.0 / width)

    def update(
        self, state: MomentsState, x: Positions, grad: Positions, weight: PerChain, step: Scalar
    ) -> MomentsState:
        share = ema.weight(step, self.memory, x.dtype, self.pseudo)
        centre = ensemble.mean(x, weight)
        moved = limited(centre - state.mean, state.variance, weight, self.drift_limit)
        variance = ensemble.variance(x, centre, weight) + moved**2
        pull = ensemble.mean(grad, weight)
        usual = limited(pull, state.grad_variance, weight, self.drift_limit)
        grad_variance = ensemble.variance(grad, pull, weight) + usual**2
        # Flat coordinates, and squares that overflow, say nothing.
        told = (grad_variance > 0) & jnp.isfinite(grad_variance)
        grad_variance = jnp.where(told, grad_variance, state.grad_variance)
        variance = jnp.where(jnp.isfinite(variance), variance, state.variance)
        expected = jnp.maximum(state.variance, of_gaussian(variance, grad_variance))
        on_the_way = (step > 0) & (step < self.way_in) & (ensemble.count(weight) >= 4.0)
        limit = jnp.where(on_the_way, WIDEST * expected, jnp.inf)
        variance = jnp.minimum(variance, limit)
        share_x, share_grad = (
            jnp.where(self.renews & stale(*pair, weight), jnp.maximum(share, RENEWAL), share)
            for pair in ((state.variance, variance), (state.grad_variance, grad_variance))
        )
        tiny = jnp.finfo(x.dtype).tiny
        return MomentsState(
            ema.blend(state.mean, centre, share_x),
            jnp.maximum(ema.blend(state.variance, variance, share_x), tiny),
            jnp.maximum(ema.blend(state.grad_variance, grad_variance, share_grad), tiny),
        )

    def centre(self, state: MomentsState, x: Positions, weight: PerChain, step: Scalar) -> Vector:
        """What the mean would be after seeing these chains."""
        share = ema.weight(step, self.memory, x.dtype, self.pseudo)
        return ema.blend(state.mean, ensemble.mean(x, weight), share)


def of_gaussian(variance: Vector, grad_variance: Vector) -> Vector:
    """The variance at rest of one whose chains spread so, and their gradients so."""
    return jnp.sqrt(variance) / jnp.sqrt(grad_variance)  # whose quotient may overflow


def stale(running: Vector, now: Vector, weight: PerChain) -> Vector:
    """Where the running variance is several times what the chains show now, as hardly ever happens
    at rest.

    Few chains show little variance by chance: their word must be clearer, and fewer than four have
    none. It is false a few times in a million, of 4 chains 6 times in 100 000.
    """
    count = ensemble.count(weight)
    doubt = (18.0 / jnp.maximum(count, 1.0)) ** 3.5
    return (running > STALE * (1.0 + doubt) * now) & (count >= 4.0)


def limited(offset: Vector, variance: Vector, weight: PerChain, limit: float) -> Vector:
    """An offset of the chains' mean, cut at `limit` times its standard deviation."""
    if limit == float("inf"):
        return offset
    bound = limit * jnp.sqrt(variance / ensemble.count(weight))
    return jnp.clip(offset, -bound, bound)


def _guess(x: Positions, grad: Positions, weight: PerChain) -> Vector:
    """Variance per dimension from the starting points, in the target's own units.

    A Gaussian's gradients spread by 1 / sigma^2 times its points, wherever those are; where all
    points coincide, E[grad^2] = 1 / sigma^2 is what remains.
    """
    spread_x, spread_grad = ensemble.spread(x, weight), ensemble.spread(grad, weight)
    safe = (spread_x > 0) & (spread_grad > 0)
    from_spread = of_gaussian(spread_x, jnp.where(safe, spread_grad, 1.0))
    square = ensemble.variance(grad, jnp.zeros_like(grad[0]), weight)
    from_size = 1.0 / jnp.where(square > 0, square, 1.0)
    guess = jnp.where(safe, from_spread, from_size)
    return jnp.where(jnp.isfinite(guess) & (guess > 0), guess, 1.0)

"""From dispersed starts towards the bulk, every chain at its own pace.

In lock-step, one chain on a slope a thousand times as steep as the others' holds back all of them.
So until chains have come near, each has a step size of its own, and takes single steps, in a metric
that the better half of all chains agree on. Only where they get to is kept.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from . import ensemble, metric
from ._types import Key, PerChain, Positions, Scalar
from .adapt import Quarantine, fisher
from .hmc import Chains, Move
from .metric import Metric, product
from .sampler import evaluate
from .starts import Starts
from .target import WIDTH, Target
from .when import when

BLOCK = 25  # steps between looks at whether chains still come nearer
_AIM = 0.6  # acceptance of single steps
_MEMORY = 4.0  # of covariances, in which what is new counts for 0.8 at first
_LEAST = 0.1  # and for this at last
_CAUTION = 2.0  # chains per dimension, for correlations to count for most of what they seem
_EVERY = 5  # steps that a metric is used for
_LARGEST = 512  # dimensions in which correlations are looked at
_ROUNDING = 8.0  # units in the last place of log p forgiven: see `hmc.step`
_LOST = Quarantine()


class Way(NamedTuple):
    """Chains under way, and what they have learnt."""

    key: Key
    done: Scalar  # steps
    chains: Chains
    log_step: PerChain
    spread: jax.Array  # covariances of points and of gradients, [2, dim, dim]; or variances
    worth: Scalar  # of these, in independent chains
    metric: Metric


def nearer(
    key: Key, target: Target, move: Move, start: Starts, groups: int | None, most: int
) -> Starts:
    """Starts with their chains as near to the bulk as so many steps bring them, or fewer where they
    come no nearer; chains left far behind are where others are. Groups keep one start each.
    """
    size = 1 if groups is None else len(start.x) // groups
    way, heights = _begin(key, evaluate(target, start.x[::size])), []
    while int(way.done) + BLOCK <= most and not _arrived(heights, target.dim):
        way, height = _go(target, move, way)
        heights.append(float(height))
    x, behind = _gathered(way)
    return start._replace(
        x=jnp.asarray(np.repeat(x, size, axis=0)),
        num_steps=int(way.done),
        num_behind=size * int(behind.sum()),
    )


def _arrived(heights: list[float], dim: int) -> bool:
    """Whether log densities rose in the last block by less than they vary in the bulk."""
    return len(heights) > 1 and heights[-1] - heights[-2] < 0.25 * dim**0.5


@jax.jit
def _begin(key: Key, chains: Chains) -> Way:
    dim, dtype = chains.x.shape[1], chains.x.dtype
    one, none = jnp.ones((), dtype), jnp.zeros((), jnp.int32)
    if dim > _LARGEST:
        unit, unknown = jnp.ones(dim, dtype), metric.identity(jnp.ones(dim, dtype))
    else:
        unit = jnp.eye(dim, dtype=dtype)
        unknown = metric.Dense(unit, unit)
    spread = jnp.stack([unit * WIDTH**2 / 3.0, unit * 3.0 / WIDTH**2])
    return Way(key, none, chains, jnp.zeros_like(chains.logp), spread, one, unknown)


@partial(jax.jit, static_argnums=1)
def _go(target: Target, move: Move, way: Way) -> tuple[Way, Scalar]:
    """A block of steps, and the median chain's log density, on average."""

    def step(_, carry):
        way, height = carry
        way = _learnt(way)
        noise = move.noise(jax.random.fold_in(way.key, way.done), way.chains.x)
        pace = jnp.exp(way.log_step)[:, None]
        chains, moved = move(noise, target.logp, way.chains, pace, way.metric, 1, _ROUNDING)
        log_step = way.log_step + moved.accept_prob - _AIM
        height = height + jnp.median(chains.logp) / BLOCK
        return way._replace(done=way.done + 1, chains=chains, log_step=log_step), height

    return jax.lax.fori_loop(0, BLOCK, step, (way, jnp.zeros_like(way.worth)))


def _gathered(way: Way) -> tuple[np.ndarray, np.ndarray]:
    """Where chains stand, those far behind in the place of others; and which these were."""
    x, logp = np.array(way.chains.x), np.asarray(way.chains.logp, float)
    below = np.median(logp) - logp
    behind = below > _LOST.margin + _LOST.spread * np.median(np.abs(below))
    rng = np.random.default_rng(np.asarray(jax.random.key_data(way.key)).tolist())
    x[behind] = x[rng.choice(np.flatnonzero(~behind), int(behind.sum()))]
    return x, behind


def _learnt(way: Way) -> Way:
    """With the covariances of the better half, and now and then their metric."""
    x, logp, grad = way.chains
    weight = (logp >= jnp.median(logp)).astype(x.dtype)
    count = ensemble.count(weight)
    share = jnp.maximum(1.0 / (1.0 + (way.done + 1.0) / _MEMORY), _LEAST) * (1.0 - 1.0 / count)
    spread = jnp.stack(
        [
            _products(x - ensemble.mean(x, weight), weight, way.spread),
            # Chains on slopes of any steepness tell the shape of what they are on alike.
            _products(grad / _steepness(way)[:, None], weight, way.spread),
        ]
    )
    spread = way.spread + share * (spread - way.spread)
    worth = 1.0 / ((1.0 - share) ** 2 / way.worth + share**2 / count)
    renewed = when(
        way.done % _EVERY == 0, lambda _, *known: _metric(*known), way.metric, spread, worth
    )
    way = way._replace(spread=spread, worth=worth, metric=renewed)
    first = jnp.minimum(-0.5 * jnp.log(_steepness(way)), 0.0)
    return way._replace(log_step=jnp.where(way.done == 0, first, way.log_step))


def _steepness(way: Way) -> PerChain:
    """How many times longer gradients are than in the bulk of what the metric whitens."""
    grad = way.chains.grad
    square = jnp.mean(grad * way.metric.inverse_mass(grad), axis=1)
    return jnp.maximum(jnp.sqrt(square), jnp.finfo(grad.dtype).tiny)


def _products(z: Positions, weight: PerChain, like: jax.Array) -> jax.Array:
    """Their covariance about zero, or variances."""
    z = z * jnp.sqrt(weight / jnp.sum(weight))[:, None]
    return jnp.sum(z**2, axis=0) if like.ndim == 2 else product(z.T, z)


def _metric(spread: jax.Array, worth: Scalar) -> Metric:
    """What makes points and gradients alike."""
    points, grads = spread
    if spread.ndim == 2:
        return metric.Diagonal((points / grads) ** 0.25)
    alone = jnp.diag((jnp.diag(points) / jnp.diag(grads)) ** 0.25)
    factor, _ = fisher(points, grads, jnp.exp(-worth / (_CAUTION * len(points))))
    return metric.dense(jnp.where(jnp.all(jnp.isfinite(factor)), factor, alone))

"""Learn from where chains were in which coordinates a target is easier: see docs/theory.md."""

from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from . import pivots
from ._types import Positions, Scalar
from .bend import ALONE, Bend, log_softplus
from .metric import product
from .result import constrain
from .target import Target

SHARES = (0.4, 0.55, 0.7, 0.85)  # of warm-up, after which coordinates are learnt,
WARMUP = 500  # if it has so many transitions or more,
SPAN = 128  # from at most so many
DIMS = 200  # coordinates, at most: time grows with their third power
POINTS = 5120  # draws that are looked at, at most;
WORK = 1e7  # fewer where these times the squared dimension are more,
PER_DIM = 10  # but not fewer than so many times the dimension
HELD = 5  # one chain in so many is not learnt from, but judged by,
ARRIVED = 0.5  # if so many of its points, or more, are where chains have arrived
FEW = 20  # points, times the dimension, that tell a Gaussian
NORMAL = 1.4826  # median absolute deviations of a normal in its standard deviation
KINDS = 32  # points that tell what is positive
FAR = 5.0  # standard deviations below the median log density where chains have not arrived,
NEAR = 10.0  # and more than so far: in few dimensions chains at rest are that many deviations away
RESTLESS = 0.1  # how far from what it is at rest the mean of points times gradients may be,
UNSURE = 2.0  # or so many standard errors,
MOVING = 0.25  # but not so far
ROUGH = 0.2  # roughness below which there is nothing to gain,
SMOOTH = 0.05  # and what coordinates may leave that are then kept without looking for newer ones
WORSE = 0.05  # roughness more than before that newer coordinates may leave: they saw more
HALF = 0.5  # of the roughness is to go, or this is not what the target is rough by;
MUCH = 0.75  # of it may be left by what was found to be so before
TURNS = 60
RATE = 0.15
RIDGE = 1e-5  # on what is learnt; on exponents more
ON_EXPONENTS = 2.5


class Looks(NamedTuple):
    """When coordinates are learnt: after these transitions of warm-up, from where chains were in so
    many before.
    """

    after: tuple[int, ...]
    span: int


def looks(warmup: int, chains: int, dim: int) -> Looks:
    """Such that there is time before, to arrive, and after, to tune; and points enough. What is
    learnt first lets chains see more to learn from, and those that have not arrived have more looks
    to come.
    """
    after = tuple(int(share * warmup) for share in SHARES)
    span = max(1, min(-(-POINTS // chains), SPAN, *(b - a for a, b in pairwise(after))))
    enough = chains * span >= PER_DIM * dim and chains >= HELD
    fits = warmup >= WARMUP and dim <= DIMS and enough
    return Looks(after if fits else (), span)


class Learnt(NamedTuple):
    """Coordinates to go on in, and at how many points gradients were computed for them."""

    bend: Bend | None  # None for those given
    num_points: int


def learn(
    target: Target, places: np.ndarray, before: Bend | None = None, at_once: int = 64
) -> Learnt:
    """From where chains were in the coordinates given, [step, chain, dim]: those that take away at
    least half of the roughness there, newer ones rather than those `before`, which are given up if
    they take away little. Gradients of so many points are computed at once.
    """
    chains, dim = places.shape[1:]
    wanted = max(min(POINTS, WORK / dim**2), PER_DIM * dim)
    every = max(1, int(places.shape[0] * chains / wanted))
    apart = chains - chains // HELD  # the rest are judged by

    def points(some: np.ndarray) -> np.ndarray:
        return np.swapaxes(some, 0, 1).reshape(-1, dim)[::every]

    x, held = points(places[:, :apart]), points(places[:, apart:])
    chain = np.repeat(np.arange(apart), len(places))[::every]
    if before is None and is_gaussian(target, x, at_once):
        return Learnt(None, min(len(x), FEW * dim))
    count = len(x) + len(held)
    logp, grad = map(np.asarray, gradients(target, jnp.asarray(x), at_once))
    logp_held, pull = map(np.asarray, gradients(target, jnp.asarray(held), at_once))
    if not all(np.isfinite(each).all() for each in (x, held, logp, logp_held, grad, pull)):
        return Learnt(before, count)
    least = lowest(logp)
    if np.mean(logp_held >= least) < ARRIVED:
        return Learnt(before, count)
    x, grad, chain = arrived(logp >= least, x, grad, chain)
    held, pull = arrived(logp_held >= least, held, pull)
    if not at_rest(x, grad, chain):
        return Learnt(before, count)
    plain = plain_roughness(held, pull)
    old = np.inf if before is None else float(roughness(before, held, pull))
    if old < min(SMOOTH, MUCH * plain):
        return Learnt(before, count)
    first = _first(target, x, grad, chain)
    if first is not None:
        bend = _fitted(*first, x, grad)
        known = before is not None and np.array_equal(bend.pivots, before.pivots)
        most = min(MUCH * plain, old + WORSE) if known else min(HALF * plain, old - WORSE)
        if float(roughness(bend, held, pull)) < most:  # not so for NaN
            return Learnt(bend, count)
    return Learnt(before if old < MUCH * plain else None, count)


def lowest(logp: np.ndarray) -> float:
    """The log density below which points are of chains that have not arrived."""
    logp = np.asarray(logp, float)  # a median adds two, which single precision may not hold
    middle = np.median(logp)
    return float(middle - NEAR - FAR * NORMAL * np.median(np.abs(logp - middle)))


def arrived(there: np.ndarray, *points: np.ndarray) -> tuple[np.ndarray, ...]:
    """Those that are `there`; some twice, so that as many are left and nothing is compiled anew."""
    left = np.flatnonzero(there)
    chosen = left[np.arange(len(there)) * len(left) // len(there)]
    return tuple(each[chosen] for each in points)


def is_gaussian(target: Target, x: np.ndarray, at_once: int) -> bool:
    """Whether it is nearly one, by a few points: most targets need no more gradients."""
    few = x[:: max(1, len(x) // (FEW * x.shape[1]))][: FEW * x.shape[1]]
    return not is_rough(few, np.asarray(gradients(target, jnp.asarray(few), at_once)[1]))


def is_rough(x: np.ndarray, grad: np.ndarray) -> bool:
    """More than is worth nothing, and than so few points of a Gaussian are; not so for NaN."""
    count, dim = x.shape
    return plain_roughness(x, grad) > ROUGH + np.log1p(dim / count)


def at_rest(x: np.ndarray, grad: np.ndarray, chain: np.ndarray) -> bool:
    """Whether chains have arrived, by what partial integration says of (x - mean) times gradients:
    it is minus one on average in every coordinate, as far as chains agree on it.
    """
    x = np.asarray(x, float)
    if not np.ptp(x, axis=0).all():
        return False
    products = np.mean((x - x.mean(axis=0)) * grad, axis=1)
    whose, counts = np.unique(chain, return_counts=True)
    of_chains = np.bincount(chain, products)[whose] / counts
    error = np.std(of_chains) / np.sqrt(len(whose))
    return abs(np.mean(products) + 1.0) < np.clip(UNSURE * error, RESTLESS, MOVING)


@jax.jit
def roughness(bend: Bend, x: Positions, grad: Positions) -> Scalar:
    r"""$\log(\mathrm{tr}(\mathrm{Cov}[z]\,\mathrm{E}[s s^T]) / d)$ of points, with gradients s of
    the log density of z: zero for a Gaussian, more for all else, in whatever units.
    """
    z, score = bend.straight_with_score(x, grad)
    z = z - jnp.mean(z, axis=0)
    count, dim = x.shape
    return jnp.log(jnp.sum(product(z.T, z) / count * product(score.T, score) / count) / dim)


def plain_roughness(x: np.ndarray, grad: np.ndarray) -> float:
    """The same in the coordinates that there are."""
    x, grad = (np.asarray(each, float) for each in (x, grad))
    count, dim = x.shape
    x = x - x.mean(axis=0)
    total = float(np.sum((x.T @ x / count) * (grad.T @ grad / count)))
    return np.log(total / dim) if total > 0 else -np.inf  # where nothing pulls


def _first(
    target: Target, x: np.ndarray, grad: np.ndarray, chain: np.ndarray
) -> tuple[Bend, jax.Array] | None:
    """Where to begin, and who may follow whom, [dim, pivot]; None where nobody follows, or all is
    nearly Gaussian.
    """
    count, dim = x.shape
    if not is_rough(x, grad):
        return None
    some = x[:: max(1, count // KINDS)]  # what a model computes may be large
    kinds = pivots.kinds(target, np.asarray(some, float), constrain(target, some))
    features = np.where(kinds.is_softplus, log_softplus(x), x).astype(float)
    found = pivots.find(grad * x.std(axis=0, dtype=float), features, kinds.is_positive, chain)
    if not found.edges.any():
        return None
    features = features[:, found.pivots]
    exponents = np.zeros((2, dim, len(found.pivots)), x.dtype)
    exponents[1] = -2.0 * found.slopes / features.std(axis=0)
    fields: dict[str, Any] = dict(
        width=x.std(axis=0, dtype=float).astype(x.dtype),
        centres=np.tile(x.mean(axis=0, dtype=float), (2, 1)).astype(x.dtype),
        leans=np.zeros((2, dim), x.dtype),
        offsets=np.full((2, dim), ALONE, x.dtype),
        exponents=exponents,
        pivots=found.pivots,
        middles=features.mean(axis=0).astype(x.dtype),
        is_softplus=kinds.is_softplus[found.pivots],
    )
    return Bend(**jax.tree.map(jnp.asarray, fields)), jnp.asarray(found.edges, x.dtype)


@jax.jit
def _fitted(first: Bend, edges: jax.Array, x: Positions, grad: Positions) -> Bend:
    """In such units that straight points have a standard deviation of one."""
    bend = fit(first, edges, x, grad)
    times = jnp.std(bend.straight(x), axis=0)
    return bend._replace(width=bend.width * times, leans=bend.leans / times)


def fit(first: Bend, edges: jax.Array, x: Positions, grad: Positions) -> Bend:
    """The bend with these pivots that leaves least roughness, from one to begin with."""
    follows = jnp.max(edges, axis=1)

    def bend(free: Any) -> Bend:
        return first._replace(
            centres=first.centres + first.width * free["centres"] * follows,
            leans=free["leans"] * follows,
            offsets=ALONE + free["offsets"] * follows,
            exponents=free["exponents"] * edges,
        )

    def loss(free: Any) -> Scalar:
        size = sum(jnp.sum(each**2) for each in free.values())
        size += (ON_EXPONENTS - 1.0) * jnp.sum(free["exponents"] ** 2)
        return roughness(bend(free), x, grad) + RIDGE * size

    adam = optax.adam(optax.cosine_decay_schedule(RATE, TURNS))

    def turn(carry, _):
        free, state = carry
        change, state = adam.update(jax.grad(loss)(free), state)
        return (optax.apply_updates(free, change), state), None

    none = jnp.zeros_like(first.leans)
    free = {"centres": none, "leans": none, "offsets": none, "exponents": first.exponents}
    (free, _), _ = jax.lax.scan(turn, (free, adam.init(free)), length=TURNS)
    return bend(free)


@partial(jax.jit, static_argnums=2)
def gradients(target: Target, x: Positions, at_once: int) -> tuple[jax.Array, Positions]:
    """Log densities and their gradients, of as many points at once as there are chains, whose
    memory is then enough.
    """
    return jax.lax.map(jax.value_and_grad(target.logp), x, batch_size=at_once)

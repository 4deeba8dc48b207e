"""Learn from where chains were in which coordinates a target is easier: see docs/theory.md."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from . import fits, sampler
from .bend import Bend
from .roughness import ROUGH, is_rough, plain_roughness
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
FAR = 5.0  # standard deviations below the median log density where chains have not arrived,
NEAR = 10.0  # and more than so far: in few dimensions chains at rest are that many deviations away
RESTLESS = 0.1  # how far from what it is at rest the mean of points times gradients may be,
UNSURE = 2.0  # or so many standard errors,
MOVING = 0.25  # but not so far
SMOOTH = 0.05  # and what coordinates may leave that are then kept without looking for newer ones
WORSE = 0.05  # roughness more than before that newer coordinates may leave: they saw more
HALF = 0.5  # of the roughness is to go, or this is not what the target is rough by;
MUCH = 0.75  # of it may be left by what was found to be so before


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
    worth = warmup >= WARMUP and dim <= DIMS and enough
    return Looks(after if worth else (), span)


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
    logp, grad = gradients(target, x, at_once)
    logp_held, pull = gradients(target, held, at_once)
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
    old = np.inf if before is None else roughness(before, held, pull)
    if old < min(SMOOTH, MUCH * plain):
        return Learnt(before, count)
    bend, left = _best(fits.find(target, x, grad, chain), held, pull)
    if bend is not None:
        known = before is not None and np.array_equal(bend.pivots, before.pivots)
        most = min(MUCH * plain, old + WORSE) if known else min(HALF * plain, old - WORSE)
        if left < most:
            return Learnt(bend, count)
    return Learnt(before if old < MUCH * plain else None, count)


def _best(bends: Iterator[Bend], x: np.ndarray, grad: np.ndarray) -> tuple[Bend | None, float]:
    """The one that leaves least roughness, by more than a little where it comes later, and what it
    leaves; none is looked at after one that leaves nothing to gain.
    """
    best, least = None, np.inf
    for bend in bends:
        left = roughness(bend, x, grad)
        if left < least - WORSE:  # not so for NaN
            best, least = bend, left
        if least < ROUGH:
            break
    return best, least


def roughness(bend: Bend, x: np.ndarray, grad: np.ndarray) -> float:
    """What a bend leaves of it."""
    return plain_roughness(*fits.straight_with_score(bend, x, grad))


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
    return not is_rough(few, gradients(target, few, at_once)[1])


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


def gradients(target: Target, x: np.ndarray, at_once: int) -> tuple[np.ndarray, np.ndarray]:
    """Log densities and their gradients, of as many points at once as there are chains: for them
    memory is enough, and starts were evaluated by the same program.
    """
    blocks = (x[begin : begin + at_once] for begin in range(0, len(x), at_once))
    full = (np.resize(block, (at_once, x.shape[1])) for block in blocks)
    chains = [sampler.evaluate(target, jnp.asarray(block)) for block in full]
    logp, grad = (
        np.concatenate([np.asarray(each) for each in some])
        for some in zip(*((each.logp, each.grad) for each in chains), strict=True)
    )
    return logp[: len(x)], grad[: len(x)]

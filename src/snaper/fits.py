"""Coordinates in which points would be those of a Gaussian: see docs/theory.md."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from . import factors, pivots
from ._types import Positions, Scalar
from .bend import Bend
from .level import ALONE, Level, log_softplus
from .result import constrain
from .roughness import is_rough, plain_roughness, roughness
from .target import Target

KINDS = 32  # points that tell what is positive
LEVELS = 3  # of a model, at most,
MUCH = 0.75  # if those before leave no more of the roughness
SOME = 2048  # points, or up to twice as many, that a regression takes
BLOCK = 512  # points that coordinates are changed of at once
TURNS = 60
RATE = 0.15
RIDGE = 1e-5  # on what is fitted; on exponents more
ON_EXPONENTS = 2.5


class Seen(NamedTuple):
    """Points [point, dim], what pulls there, and all that is known of them."""

    x: np.ndarray
    grad: np.ndarray
    chain: np.ndarray  # whose they are
    kinds: pivots.Kinds

    def features(self) -> np.ndarray:
        return np.where(self.kinds.is_softplus, log_softplus(self.x), self.x).astype(float)

    def scores(self) -> np.ndarray:
        return self.grad * self.x.std(axis=0, dtype=float)

    def few(self) -> "Seen":
        """Enough for a regression."""
        some = slice(None, None, max(1, len(self.x) // SOME))
        return self._replace(x=self.x[some], grad=self.grad[some], chain=self.chain[some])

    def straightened(self, level: Level) -> "Seen":
        """What is not followed there may be at the next level, and is as it was."""
        x, grad = straight_with_score(Bend((level,)), self.x, self.grad)
        left = ~_follows(level)
        kinds = pivots.Kinds(self.kinds.is_positive & left, self.kinds.is_softplus & left)
        return self._replace(x=x, grad=grad, kinds=kinds)


def find(target: Target, x: np.ndarray, grad: np.ndarray, chain: np.ndarray) -> Iterator[Bend]:
    """Those that a better one must be much better than come first: of normal factors, which stay
    what they are where no point is, level by level; then what fits best. None where all is nearly
    Gaussian, or nobody follows.
    """
    if not is_rough(x, grad):
        return
    some = x[:: max(1, len(x) // KINDS)]  # what a model computes may be large
    kinds = pivots.kinds(target, np.asarray(some, float), constrain(target, some))
    seen = Seen(x, grad, chain, kinds)
    by_factors = list[tuple[Level, ...]]()
    for levels in _of_factors(seen, LEVELS):
        by_factors.append(levels)
        yield _in_units(Bend(levels), x, grad)
    found = pivots.find(seen.scores(), seen.features(), kinds.is_positive, chain)
    if not found.edges.any():
        return
    few = seen.few()
    if not by_factors and (told := _regression(few, found)) is not None:
        yield _in_units(Bend((_meeting(few, told),)), x, grad)
    yield Bend((_fitted(*_first(seen, found), x, grad),))


def _of_factors(seen: Seen, most: int) -> Iterator[tuple[Level, ...]]:
    """By regression on what is positive: with centres that are as plain as a model's, with those
    that are estimated, and from what leaves less, at further levels.
    """
    few, places = seen.few(), np.flatnonzero(seen.kinds.is_positive)
    told = _regression(few, pivots.seeming(seen.scores(), seen.features(), places))
    if told is None:
        return
    plainest = told.plainest(few.x.mean(axis=0, dtype=float))
    left: list[tuple[float, Level, Seen]] = []
    for each in (plainest, told):
        level = _meeting(few, each)
        yield (level,)
        outer = _of_followers(level)
        inner = seen.straightened(outer)
        left.append((plain_roughness(inner.x, inner.grad), outer, inner))
    least, outer, inner = min(left, key=lambda each: each[0] if each[0] == each[0] else np.inf)
    enough = least < MUCH * plain_roughness(seen.x, seen.grad)
    if most > 1 and enough and is_rough(inner.x, inner.grad):
        for levels in _of_factors(inner, most - 1):
            yield (outer, *levels)


def _regression(seen: Seen, following: pivots.Following) -> factors.Factors | None:
    x, grad = (np.asarray(each, float) for each in (seen.x, seen.grad))
    features = seen.features()[:, following.pivots]
    return factors.find(x, grad, features, following, seen.chain)


def _meeting(seen: Seen, told: factors.Factors) -> Level:
    """Where these factors meet; coordinates that follow nothing are in their own units."""
    x, features = seen.x.astype(float), seen.features()
    known, count = np.isfinite(told.precisions[0])[:, None], len(told.pivots)
    width, anchors = x.std(axis=0), told.anchors
    powers = np.where(known, told.powers, 0.0)
    offsets = np.log(
        told.precisions * width**2, where=known.T, out=np.full_like(told.precisions, ALONE)
    )
    fields: dict[str, Any] = dict(
        width=width,
        centres=np.where(known.T, told.centres, x.mean(axis=0)),
        leans=np.stack([np.zeros_like(told.leans), told.leans]),
        offsets=offsets,
        exponents=np.pad(
            np.stack([np.zeros_like(powers), powers]), ((0, 0), (0, 0), (0, len(anchors)))
        ),
        pivots=np.append(told.pivots, anchors),
        middles=np.append(features[:, told.pivots].mean(axis=0), x[:, anchors].mean(axis=0)),
        is_softplus=np.append(seen.kinds.is_softplus[told.pivots], np.zeros(len(anchors), bool)),
        moves=np.pad(told.moves, ((0, 0), (count, 0))) if len(anchors) else None,
    )
    return _level(fields, seen.x.dtype)


def _of_followers(level: Level) -> Level:
    """The same, which leaves all others as they are."""
    follows = _follows(level)
    return level._replace(
        width=jnp.where(follows, level.width, 1.0), centres=jnp.where(follows, level.centres, 0.0)
    )


def _follows(level: Level) -> np.ndarray:
    return np.any(np.asarray(level.exponents) != 0.0, axis=(0, 2))


def _first(seen: Seen, found: pivots.Following) -> tuple[Level, jax.Array]:
    """Where a fit begins, and who may follow whom, [dim, pivot]."""
    x, features = seen.x, seen.features()[:, found.pivots]
    dim = x.shape[1]
    exponents = np.zeros((2, dim, len(found.pivots)))
    exponents[1] = -2.0 * found.slopes / features.std(axis=0)
    fields: dict[str, Any] = dict(
        width=x.std(axis=0, dtype=float),
        centres=np.tile(x.mean(axis=0, dtype=float), (2, 1)),
        leans=np.zeros((2, dim)),
        offsets=np.full((2, dim), ALONE),
        exponents=exponents,
        pivots=found.pivots,
        middles=features.mean(axis=0),
        is_softplus=seen.kinds.is_softplus[found.pivots],
    )
    return _level(fields, x.dtype), jnp.asarray(found.edges, x.dtype)


def _level(fields: dict[str, Any], dtype: Any) -> Level:
    def array(each: np.ndarray) -> jax.Array:
        return jnp.asarray(each, dtype if each.dtype.kind == "f" else None)

    return jax.tree.map(array, Level(**fields))


def straight_with_score(
    bend: Bend, x: np.ndarray, grad: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """By one program, whatever the pivots and levels and however many points."""
    count, room = len(x), -(-len(x) // BLOCK) * BLOCK
    z, score = (np.resize(each, (room, each.shape[1])) for each in (x, grad))
    for level in bend.levels:
        wide = _among_all(level)
        for begin in range(0, room, BLOCK):
            block = slice(begin, begin + BLOCK)
            z[block], score[block] = _straight_with_score(wide, z[block], score[block])
    return z[:count], score[:count]


def _among_all(level: Level) -> Level:
    """The same where each coordinate has a place among the pivots."""
    dim, none = len(level.width), np.zeros_like(level.exponents[0])

    def spread(each: Any) -> np.ndarray:
        wide = np.zeros((*each.shape[:-1], dim), each.dtype)
        wide[..., level.pivots] = each
        return wide

    return level._replace(
        exponents=spread(level.exponents),
        pivots=np.arange(dim),
        middles=spread(level.middles),
        is_softplus=spread(level.is_softplus),
        moves=spread(none if level.moves is None else level.moves),
    )


@jax.jit
def _straight_with_score(
    level: Level, x: Positions, grad: Positions
) -> tuple[Positions, Positions]:
    return level.straight_with_score(x, grad)


def _in_units(bend: Bend, x: np.ndarray, grad: np.ndarray) -> Bend:
    """In such units that straight points have a standard deviation of one."""
    *levels, last = bend.levels
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is not taken
        spread = straight_with_score(bend, x, grad)[0].std(axis=0, dtype=float)
    times = jnp.asarray(spread, x.dtype)
    return Bend((*levels, last._replace(width=last.width * times, leans=last.leans / times)))


@jax.jit
def _fitted(first: Level, edges: jax.Array, x: Positions, grad: Positions) -> Level:
    """In such units, too."""
    level = fit(first, edges, x, grad)
    times = jnp.std(level.straight(x), axis=0)
    return level._replace(width=level.width * times, leans=level.leans / times)


def fit(first: Level, edges: jax.Array, x: Positions, grad: Positions) -> Level:
    """The level with these pivots that leaves least roughness, from one to begin with."""
    follows = jnp.max(edges, axis=1)

    def level(free: Any) -> Level:
        return first._replace(
            centres=first.centres + first.width * free["centres"] * follows,
            leans=free["leans"] * follows,
            offsets=ALONE + free["offsets"] * follows,
            exponents=free["exponents"] * edges,
        )

    def loss(free: Any) -> Scalar:
        size = sum(jnp.sum(each**2) for each in free.values())
        size += (ON_EXPONENTS - 1.0) * jnp.sum(free["exponents"] ** 2)
        return roughness(*level(free).straight_with_score(x, grad)) + RIDGE * size

    adam = optax.adam(optax.cosine_decay_schedule(RATE, TURNS))

    def turn(carry, _):
        free, state = carry
        change, state = adam.update(jax.grad(loss)(free), state)
        return (optax.apply_updates(free, change), state), None

    none = jnp.zeros_like(first.leans)
    free = {"centres": none, "leans": none, "offsets": none, "exponents": first.exponents}
    (free, _), _ = jax.lax.scan(turn, (free, adam.init(free)), length=TURNS)
    return level(free)

"""Moments of chains as they grow, on the device, in memory that does not.

Moments are kept for `BLOCKS` stretches of equal length. When all are full, neighbours are merged
and the length doubles, so that at any time some edge between blocks is near the middle of the run,
where split R-hat needs it. Positions are taken relative to a centre, which keeps float32 exact
where the mean is far larger than the spread.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .._types import PerChain, Positions, Scalar, Vector
from . import rhat
from .rhat import Part

BLOCKS = 8

ScalarOf = Callable[[jax.Array, Any], jax.Array]
"""The criterion's scalar of positions [..., dim] relative to the centre, along a direction, or by
whatever else it goes by.
"""


class Lagged(NamedTuple):
    """Moments of a quantity, per chain, and of its changes from draw to draw."""

    mean: jax.Array
    m2: jax.Array  # sum of squared deviations
    jumps: jax.Array  # sum of squared changes


class Stream(NamedTuple):
    """Everything known of the draws so far, relative to the centre."""

    num_draws: Scalar
    length: Scalar  # of a full block
    mean: jax.Array  # [block, chain, dim]
    m2: jax.Array  # [block, chain, dim]
    last: Positions
    squares: Lagged  # [chain, dim]
    scalar: Lagged  # [chain]


class Look(NamedTuple):
    """What a stream says now. Numbers are per coordinate unless told otherwise."""

    num_draws: Scalar  # per chain
    split_at: Scalar  # the draw before which chains were split
    mean: Vector
    sd: Vector
    rhat: Vector
    nested_rhat: Vector | None
    ess: Vector  # by the variance between chains
    ess_squares: Vector
    lag_one_squares: Vector
    lag_one_scalar: Scalar  # one number
    ess_scalar: Scalar  # one number
    constant: jax.Array  # [chain, dim]: never changed


@jax.jit
def init(x: Positions) -> Stream:
    """No draws yet, of chains like x."""
    blocks = jnp.zeros((BLOCKS, *x.shape), x.dtype)
    zeros, zero = jnp.zeros_like(x), jnp.zeros_like(x[:, 0])
    return Stream(
        jnp.zeros((), jnp.int32),
        jnp.ones((), jnp.int32),
        blocks,
        blocks,
        zeros,
        Lagged(zeros, zeros, zeros),
        Lagged(zero, zero, zero),
    )


@partial(jax.jit, static_argnames=("scalar", "window"))
def update(
    stream: Stream,
    x: jax.Array,
    count: Scalar,
    centre: Vector,
    direction: Any,
    scalar: ScalarOf,
    window: int = 1,
) -> tuple[Stream, jax.Array]:
    """Take in the first `count` rows of x [slot, chain, dim], up to `window` at a time; also the
    criterion's scalar of each, [slot, chain].
    """
    slots = x.shape[0]
    window = min(window, slots)

    def body(carry):
        stream, done, values = carry
        room = stream.length - stream.num_draws % stream.length
        take = jnp.minimum(jnp.minimum(count - done, room), window)
        start = jnp.minimum(done, slots - window)
        rows = jax.lax.dynamic_slice_in_dim(x, start, window) - centre
        f = scalar(rows, direction)
        stream = _merge_when_full(_add(stream, rows, f, scalar, direction, done - start, take))
        # Rows past the newest are overwritten when their turn comes.
        values = jax.lax.dynamic_update_slice_in_dim(values, f, start, 0)
        return stream, done + take, values

    values = jnp.zeros(x.shape[:2], x.dtype)
    carry = (stream, jnp.zeros((), jnp.int32), values)
    stream, _, values = jax.lax.while_loop(lambda carry: carry[1] < count, body, carry)
    return stream, values


def _add(
    stream: Stream,
    rows: jax.Array,
    f: jax.Array,
    scalar: ScalarOf,
    direction: Any,
    offset: Scalar,
    take: Scalar,
) -> Stream:
    """Rows `offset` to `offset + take`, which fit into the block that is being filled."""
    place = jnp.arange(rows.shape[0], dtype=jnp.int32)
    new = (place >= offset) & (place < offset + take)
    inner = (new & (place > offset))[1:]  # those whose draw before is a row too
    here = stream.num_draws // stream.length
    block = Part(stream.num_draws % stream.length, stream.mean[here], stream.m2[here])
    _, mean, m2 = _join(block, _reduce(rows, new, take))

    def lagged(old: Lagged, values: jax.Array, before: jax.Array) -> Lagged:
        jumps = jnp.where(_column(inner, values), (values[1:] - values[:-1]) ** 2, 0.0)
        first = jax.lax.dynamic_index_in_dim(values, offset, 0, keepdims=False)
        first = jnp.where(stream.num_draws > 0, (first - before) ** 2, 0.0)
        joined = _join(Part(stream.num_draws, old.mean, old.m2), _reduce(values, new, take))
        return Lagged(joined.mean, joined.m2, old.jumps + first + jnp.sum(jumps, axis=0))

    return Stream(
        stream.num_draws + take,
        stream.length,
        stream.mean.at[here].set(mean),
        stream.m2.at[here].set(m2),
        jax.lax.dynamic_index_in_dim(rows, offset + take - 1, 0, keepdims=False),
        lagged(stream.squares, rows**2, stream.last**2),
        lagged(stream.scalar, f, scalar(stream.last, direction)),
    )


def _merge_when_full(stream: Stream) -> Stream:
    """Blocks two by two, if the last one has just been filled."""

    def merged(stream: Stream) -> Stream:
        even, odd = (Part(stream.length, stream.mean[i::2], stream.m2[i::2]) for i in (0, 1))
        _, mean, m2 = _join(even, odd)
        rest = jnp.zeros_like(mean)
        return stream._replace(
            length=2 * stream.length,
            mean=jnp.concatenate([mean, rest]),
            m2=jnp.concatenate([m2, rest]),
        )

    full = stream.num_draws == BLOCKS * stream.length
    return jax.lax.cond(full, merged, lambda stream: stream, stream)


def _reduce(values: jax.Array, which: jax.Array, count: Scalar) -> Part:
    """Moments of the rows marked."""
    which = _column(which, values)
    mean = jnp.sum(jnp.where(which, values, 0.0), axis=0) / count.astype(values.dtype)
    return Part(count, mean, jnp.sum(jnp.where(which, (values - mean) ** 2, 0.0), axis=0))


def _join(a: Part, b: Part) -> Part:
    """Moments of two stretches together (Chan, Golub & LeVeque)."""
    share = b.num_draws.astype(a.mean.dtype) / (a.num_draws + b.num_draws).astype(a.mean.dtype)
    gap = b.mean - a.mean
    m2 = a.m2 + b.m2 + gap**2 * share * a.num_draws.astype(a.mean.dtype)
    return Part(a.num_draws + b.num_draws, a.mean + share * gap, m2)


def _column(marks: jax.Array, like: jax.Array) -> jax.Array:
    return marks.reshape(marks.shape + (1,) * (like.ndim - 1))


@partial(jax.jit, static_argnames="superchains")
def look(stream: Stream, centre: Vector, superchains: int | None) -> Look:
    """Moments and diagnostics of the draws so far."""
    dtype = stream.mean.dtype
    number = jnp.arange(BLOCKS, dtype=jnp.int32)
    lengths = jnp.clip(stream.num_draws - number * stream.length, 0, stream.length)
    edge = (stream.num_draws + stream.length) // (
        2 * stream.length
    )  # the block edge nearest the middle

    def together(which: jax.Array) -> Part:
        """The blocks marked, as one stretch."""
        weight = jnp.where(which, lengths, 0)
        count = jnp.sum(weight).astype(dtype)
        weights = _column(weight.astype(dtype), stream.mean)
        mean = jnp.sum(weights * stream.mean, axis=0) / jnp.maximum(count, 1.0)
        within = jnp.sum(jnp.where(_column(which, stream.m2), stream.m2, 0.0), axis=0)
        return Part(count, mean, within + jnp.sum(weights * (stream.mean - mean) ** 2, axis=0))

    early = number < edge
    chains = together(jnp.ones_like(early))
    count = chains.num_draws
    told = jnp.where(count > 0, 1.0, jnp.nan).astype(dtype)  # no draws have no moments
    return Look(
        stream.num_draws,
        edge * stream.length,
        told * (centre + jnp.mean(chains.mean, axis=0)),
        told * jnp.sqrt(_variance(chains)),
        rhat.split(together(early), together(~early)),
        None if superchains is None else rhat.nested(chains, superchains),
        told * _ess_between(chains),
        told * _ess_between(Part(count, stream.squares.mean, stream.squares.m2)),
        _lag_one(stream.squares, count),
        _lag_one(stream.scalar, count),
        _ess_between(Part(count, stream.scalar.mean, stream.scalar.m2)),
        _still(chains),
    )


def _variance(chains: Part) -> jax.Array:
    """Of all draws of all chains."""
    between = jnp.var(chains.mean, axis=0)
    return jnp.mean(chains.m2, axis=0) / jnp.maximum(chains.num_draws, 1.0) + between


def _still(chains: Part) -> jax.Array:
    """Which chains never moved: their deviations are within what rounding of the mean leaves."""
    rounding = 16.0 * jnp.finfo(chains.mean.dtype).eps * jnp.abs(chains.mean)
    return chains.m2 <= chains.num_draws * rounding**2


def _ess_between(chains: Part) -> jax.Array:
    """Effective sample size from how much the means of independent chains differ; zero where a
    chain never moved, NaN for one chain, which has nothing to differ from.
    """
    num_chains = chains.mean.shape[0]
    if num_chains == 1:
        return jnp.full(chains.mean.shape[1:], jnp.nan, chains.mean.dtype)
    spread = jnp.var(chains.mean, axis=0, ddof=1)
    moved = ~jnp.any(_still(chains), axis=0) & (spread > 0)
    return jnp.where(moved, num_chains * _variance(chains) / jnp.where(moved, spread, 1.0), 0.0)


def _lag_one(lagged: Lagged, count: Scalar) -> jax.Array:
    """Autocorrelation at lag one: a stationary quantity of variance s^2 jumps by 2 s^2 (1 - rho)
    in mean square.
    """
    variance = _variance(Part(count, lagged.mean, lagged.m2))
    jump = jnp.mean(lagged.jumps, axis=0) / jnp.maximum(count - 1.0, 1.0)
    ratio = jump / (2.0 * jnp.where(variance > 0, variance, 1.0))
    return jnp.where((variance > 0) & (count > 1), 1.0 - ratio, jnp.nan)


def nobody(y: jax.Array, direction: Any) -> PerChain:
    """The scalar of a criterion that has none."""
    return jnp.zeros(y.shape[:-1], y.dtype)

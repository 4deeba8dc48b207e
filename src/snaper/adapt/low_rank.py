"""A diagonal metric with a few directions put right, for targets of many dimensions."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from .. import ensemble, metric
from .._types import PerChain, Positions, Scalar, Vector
from ..metric import product
from ..when import when
from . import ema
from .dense import finest, fisher, told
from .due import due
from .metric import squared_width
from .moments import MomentsState, limited


class LowRankState(NamedTuple):
    basis: jax.Array  # orthonormal, [dim, rank], in units of the coordinates' spreads
    points: jax.Array  # correlations of points times the basis
    grads: jax.Array
    worth: Scalar  # of these, in independent chains
    wider: Vector  # than the spread, by which the metric is
    axes: jax.Array  # of the metric in use, [dim, rank]
    lengths: Vector  # along these
    gain: Scalar  # of these axes: how many times fewer steps a trajectory should take
    roughness: Scalar  # how many times more it takes than for a Gaussian without correlations


@dataclass(frozen=True)
class LowRankMetric:
    r"""The diagonal metric, times the geometric mean of the correlations of points and the inverse
    of those of gradients in a subspace.

    A quarter of the `rank` directions are where points are most correlated, the rest where
    gradients are, found by powers: the correlations times the basis are running means, and whenever
    the metric is renewed, they become the new basis.
    """

    rank: int = 32
    memory: float = 4.0
    drift_limit: float = 3.0
    caution: float = 2.0
    least_gain: float = 0.6
    per_doubling: float = 8.0
    every: int = 4  # transitions of which one is looked at

    def init(self, moments: MomentsState, given: metric.Metric | None = None) -> LowRankState:
        dim, dtype = moments.mean.size, moments.mean.dtype
        shape = (dim, self.rank_in(dim))
        one = jnp.ones((), dtype)
        wider = jnp.ones(dim, dtype)
        if isinstance(given, metric.LowRank) and given.axes.shape == shape:
            axes, squares = given.axes, given.lengths**2
            wider = given.scale / jnp.sqrt(squared_width(moments))
            gain = _steps(jnp.diag(squares), jnp.diag(1.0 / squares))
            return LowRankState(
                axes, axes * squares, axes / squares, 1e4 * one, wider, *given[1:], gain, one
            )
        axes = _orthonormal(jax.random.normal(jax.random.key(0), shape, dtype))
        return LowRankState(axes, axes, axes, one, wider, axes, jnp.ones_like(axes[0]), one, one)

    def rank_in(self, dim: int) -> int:
        """So that a metric's numbers are not as many as a dense one's."""
        return min(self.rank, dim - 2 if dim > 2 else dim)

    def update(
        self,
        state: LowRankState,
        x: Positions,
        grad: Positions,
        weight: PerChain,
        moments: MomentsState,
        step: Scalar,
        age: Scalar,
    ) -> LowRankState:
        """`moments` are the running ones before these chains."""
        now = step % self.every == 0
        return when(now, self._look, state, x, grad, weight, moments, step)

    def due(self, dim: int, step: Scalar, age: Scalar) -> Scalar:
        return due(step, self.per_doubling, self.every)

    def describe(self, state: LowRankState) -> str:
        """What was chosen, and why."""
        rank = state.lengths.size
        if self.least_gain == 0:
            return f"diagonal and {rank} directions, as asked for"
        kind = f"diagonal and {rank} directions" if self._pays(state) else "diagonal"
        return f"{kind}: {told(state, self.least_gain)}"

    def width(self, moments: MomentsState) -> Scalar:
        """The metric whitens as it is."""
        return jnp.ones_like(moments.mean[0])

    def value(self, state: LowRankState, moments: MomentsState) -> metric.LowRank:
        return metric.LowRank(
            jnp.sqrt(squared_width(moments)) * state.wider, state.axes, state.lengths
        )

    def _look(self, state: LowRankState, x, grad, weight, moments: MomentsState, step: Scalar):
        share = ema.weight(step // self.every, self.memory, x.dtype)
        count = 1.0 / ((1.0 - share) ** 2 / state.worth + share**2 / ensemble.count(weight))
        origin = jnp.zeros_like(moments.mean)
        limit = self.drift_limit
        points = _correlate(x, moments.mean, moments.variance, weight, limit, state.basis)
        grads = _correlate(grad, origin, moments.grad_variance, weight, limit, state.basis)
        seen = state._replace(
            points=ema.blend(state.points, points, share),
            grads=ema.blend(state.grads, grads, share),
            worth=count,
        )
        usable = jnp.all(jnp.isfinite(seen.points)) & jnp.all(jnp.isfinite(seen.grads))
        return jax.tree.map(lambda new, old: jnp.where(usable, new, old), seen, state)

    def renew(self, state: LowRankState, moments: MomentsState, age: Scalar) -> LowRankState:
        """Another metric, from what is known along the basis; then another basis."""
        points, grads = (_within(state.basis, image) for image in (state.points, state.grads))
        lost = jnp.exp(-state.worth / (self.caution * moments.mean.size))
        rest = lost * jnp.eye(len(points), dtype=points.dtype)
        factor, inverse = fisher((1 - lost) * points + rest, (1 - lost) * grads + rest, 0.0 * lost)
        squares, turn = jnp.linalg.eigh(product(factor, factor.T))
        least = finest(squares.size, squares.dtype)
        squares = jnp.clip(squares, least, 1.0 / least)
        axes = product(state.basis, turn)
        variance = 1.0 + jnp.sum((squares - 1.0) * axes**2, axis=1)
        now = _steps(
            product(product(inverse, points), inverse.T),
            product(product(factor.T, grads), factor),
        )
        gain = _steps(points, grads) / now
        roughness = jnp.sqrt(jnp.median(moments.variance * moments.grad_variance))
        new = state._replace(axes=axes, gain=gain, roughness=roughness)
        pays = self._pays(new)
        new = new._replace(
            wider=jnp.where(pays, 1.0 / jnp.sqrt(jnp.minimum(variance, 1.0)), 1.0),
            lengths=jnp.where(pays, jnp.sqrt(squares), 1.0),
        )
        wide = len(points) // 4
        basis = _orthonormal(
            jnp.concatenate(
                [
                    product(state.points, jnp.linalg.eigh(points)[1][:, len(points) - wide :]),
                    product(state.grads, jnp.linalg.eigh(grads)[1][:, wide:]),
                ],
                axis=1,
            )
        )
        new = new._replace(
            basis=basis,
            points=_carried(state.basis, state.points, points, basis),
            grads=_carried(state.basis, state.grads, grads, basis),
        )
        usable = jnp.all(jnp.isfinite(jnp.concatenate([axes, new.points, new.grads, basis])))
        return jax.tree.map(lambda new, old: jnp.where(usable, new, old), new, state)

    def _pays(self, state: LowRankState) -> Scalar:
        return state.gain > self.least_gain * (1.0 + state.roughness)


def _steps(points: jax.Array, grads: jax.Array) -> Scalar:
    """As for a dense metric; outside of the basis, correlations are as good as none."""
    longest, stiffest = (jnp.maximum(jnp.linalg.eigvalsh(m)[-1], 1.0) for m in (points, grads))
    return jnp.sqrt(longest * stiffest)


def _correlate(x, mean: Vector, variance: Vector, weight: PerChain, limit: float, basis):
    """The chains' correlations times a basis; their drift counts as far as it is usual at rest."""
    centre = ensemble.mean(x, weight)
    scale = jnp.sqrt(variance)
    moved = limited(centre - mean, variance, weight, limit) / scale
    z = jnp.where(weight[:, None] > 0, (x - centre) / scale, 0.0)
    share = (weight / jnp.maximum(jnp.sum(weight), 1e-30))[:, None]
    image = product((share * z).T, product(z, basis)) + jnp.outer(moved, moved @ basis)
    size = (jnp.sum(share * z**2) + jnp.sum(moved**2)) / len(mean)
    # On the way in all coordinates widen together, which is not for a few directions to follow.
    return jnp.where(size > 0, image / size, basis)


def _within(basis: jax.Array, image: jax.Array) -> jax.Array:
    """Of a symmetric matrix, known by its image of a basis, the part inside."""
    inside = product(basis.T, image)
    return (inside + inside.T) / 2


def _carried(old: jax.Array, image: jax.Array, inside: jax.Array, new: jax.Array) -> jax.Array:
    """The image of a new basis, where the image of the old one is known: the matrix is taken for
    the identity between directions that were not looked at.
    """
    along, across = product(old.T, new), product(image.T, new)
    return new + product(image - old, along) + product(old, across - product(inside, along))


def _orthonormal(columns: jax.Array) -> jax.Array:
    return jnp.linalg.qr(columns)[0]

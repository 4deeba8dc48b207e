"""A dense metric from the covariances of points and of gradients together."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from .. import ensemble, metric
from .._types import PerChain, Positions, Scalar, Vector
from ..metric import product
from ..when import when
from . import ema
from .due import FIRST, due
from .metric import squared_width
from .moments import MomentsState, limited, of_gaussian, stale
from .root import halves


class DenseState(NamedTuple):
    covariances: jax.Array  # of points and of gradients, [2, dim, dim]
    worth: Scalar  # of these, in independent chains
    since: Scalar  # transitions since the chains were last looked at
    metric: metric.Dense  # in use
    gain: Scalar  # of correlations: how many times fewer steps a trajectory should take
    roughness: Scalar  # how many times more it takes still than for a Gaussian


def finest(dim: int, dtype) -> float:
    """The least share of a coordinate's variance that a direction may have: below it L v and
    L L^T g are rounded so differently that variances would be wrong by more than a hundredth.
    """
    return max(100.0 * dim**0.5 * float(jnp.finfo(dtype).eps), 1e-6)


def fisher(covariance: jax.Array, grad_covariance: jax.Array, lost: Scalar, cut=halves):
    r"""W with $W W^T = C_x \# C_g^{-1}$, and its inverse; correlations count less by the share
    `lost`. A root is `cut` in halves on the way.
    """
    sd, sd_grad = jnp.sqrt(jnp.diag(covariance)), jnp.sqrt(jnp.diag(grad_covariance))
    scale = jnp.sqrt(sd / sd_grad)  # in its units, points and gradients have equal variances
    units = jnp.outer(scale, scale)
    ridge = (lost + finest(sd.size, sd.dtype)) * jnp.diag(sd * sd_grad)
    points = (1.0 - lost) * covariance / units + ridge
    grads = (1.0 - lost) * grad_covariance * units + ridge
    lower = jnp.linalg.cholesky(grads)
    half, inverse = cut(points, lower)
    solved = jax.scipy.linalg.solve_triangular(lower.T, half, lower=False)
    return scale[:, None] * solved, product(inverse, lower.T) / scale


def plain(covariance: jax.Array, grad_covariance: jax.Array, lost: Scalar):
    """W with W W^T = Cov[x], and its inverse; correlations count less by the share `lost`."""
    dim = len(covariance)  # this product of triangles is rounded worse than the other
    ridge = (lost + dim**0.5 * finest(dim, covariance.dtype)) * jnp.diag(jnp.diag(covariance))
    factor = jnp.linalg.cholesky((1.0 - lost) * covariance + ridge)
    identity = jnp.eye(len(factor), dtype=factor.dtype)
    return factor, jax.scipy.linalg.solve_triangular(factor, identity, lower=True)


@dataclass(frozen=True)
class DenseMetric:
    r"""The geometric mean of Cov[x] and Cov[g]^{-1}, which for a Gaussian is its covariance however
    little of it the chains have seen; no coordinate is narrower than what the chains show, unless
    that takes `least_cost` times the steps.

    Correlations are left out by the share exp(-n / (`caution` d)) of n chains seen, so that few
    chains give a diagonal metric; and all of them while `gain`, what they promise, is less than
    `least_gain` (1 + `roughness`), with the roughness that they do not explain. The
    matrices are decomposed `per_doubling` times while the number of transitions doubles. Chains are
    looked at `closely`, after every transition, at first, while what was seen is not `enough`, and
    where they are not `many`; else after one of `every`. `combine` may be `plain`, for Cov[x]
    alone.
    """

    combine: Callable = fisher
    memory: float = 4.0
    drift_limit: float = 3.0
    caution: float = 2.0
    least_gain: float = 0.5
    least_cost: float = 1.5
    per_doubling: float = 2.5  # up to 512 dimensions; beyond, by their root fewer
    closely: int = 128  # transitions of a run, and while what was seen is not
    enough: float = 16.0  # chains per dimension
    many: int = 64  # chains; fewer are always looked at closely
    every: int = 4
    settled: int = 512  # transitions after which a metric without correlations remembers longer
    renewal: float = 0.2  # weight of a transition in coordinates whose variance is stale

    def init(self, moments: MomentsState, given: metric.Metric | None = None) -> DenseState:
        square, grads = jnp.diag(moments.variance), jnp.diag(1.0 / moments.variance)
        used, none = metric.Dense(jnp.sqrt(square), square), jnp.zeros((), jnp.int32)
        count = gain = one = jnp.ones((), square.dtype)
        if isinstance(given, metric.Dense):
            inverse = jnp.linalg.inv(given.factor)
            used, grads = metric.dense(given.factor), product(inverse.T, inverse)
            count, (gain,) = 1e4 * one, _steps(_alone(used.square, grads))
        return DenseState(jnp.stack([used.square, grads]), count, none, used, gain, one)

    def update(
        self,
        state: DenseState,
        x: Positions,
        grad: Positions,
        weight: PerChain,
        moments: MomentsState,
        step: Scalar,
        age: Scalar,
    ) -> DenseState:
        """`moments` are the running ones before these chains."""
        dim = moments.mean.size
        state = state._replace(since=state.since + 1)
        closely = (age <= self.closely) | (state.worth < self.enough * dim)
        look = closely | (len(x) < self.many) | (state.since >= self.every)
        return when(look, self._look, state, x, grad, weight, moments, step, age)

    def due(self, dim: int, step: Scalar, age: Scalar) -> Scalar:
        """By the transitions of this run, whatever number they have."""
        return due(age - 1, self.per_doubling * min(1.0, (512 / dim) ** 0.5))

    def _look(self, state: DenseState, x, grad, weight, moments: MomentsState, step, age):
        """What a look shows counts for all transitions since the last one."""
        means = jnp.stack([moments.mean, jnp.zeros_like(moments.mean)])  # gradients have none
        variances = jnp.stack([moments.variance, moments.grad_variance])
        both = jax.vmap(_distances, (0, 0, 0, None, None))
        distances = both(jnp.stack([x, grad]), means, variances, weight, self.drift_limit)
        usual = ema.weight(step // state.since, self.memory, x.dtype)
        old = stale(jnp.diag(state.covariances[0]), _seen(distances[0]), weight)
        sure = ensemble.count(weight) >= 32.0  # fewer err about single coordinates
        old = (old & sure) | (jnp.mean(old) > 0.1)
        renewal = 1.0 - (1.0 - self.renewal) ** state.since.astype(x.dtype)
        renewed = jnp.where(old, jnp.maximum(usual, renewal), usual)
        share = jnp.mean(renewed)
        seen = state._replace(
            covariances=jax.vmap(_blend, (0, 0, None))(state.covariances, distances, renewed),
            worth=1.0 / ((1.0 - share) ** 2 / state.worth + share**2 / ensemble.count(weight)),
            since=jnp.zeros_like(state.since),
        )
        settled = (age > self.settled) & ~self._pays(seen)
        return when((step < FIRST) | settled, self._leave_out, seen, moments, age)

    def describe(self, state: DenseState) -> str:
        """What was chosen, and why."""
        if self.least_gain == 0:
            return "dense, as asked for"
        return f"{'dense' if self._pays(state) else 'diagonal'}: {told(state, self.least_gain)}"

    def width(self, moments: MomentsState) -> Scalar:
        """The metric whitens as it is."""
        return jnp.ones_like(moments.mean[0])

    def value(self, state: DenseState, moments: MomentsState) -> metric.Dense:
        return state.metric

    def renew(self, state: DenseState, moments: MomentsState, age: Scalar) -> DenseState:
        """Another metric: a dense one if that pays."""
        state = self._choose(state)
        return when(~self._pays(state), self._leave_out, state, moments, age)

    def _leave_out(self, state: DenseState, moments: MomentsState, age: Scalar) -> DenseState:
        """All correlations; in time as the learner of a diagonal metric does, which remembers
        longer.
        """
        square = _width(*state.covariances) ** 2
        square = jnp.where(age > self.settled, squared_width(moments), square)
        return state._replace(metric=metric.Dense(jnp.diag(jnp.sqrt(square)), jnp.diag(square)))

    def _choose(self, state: DenseState) -> DenseState:
        """The metric that is best for what is known, and what it promises."""
        covariance, grad_covariance = state.covariances
        lost = jnp.exp(-state.worth / (self.caution * len(covariance)))
        factor, inverse = self.combine(covariance, grad_covariance, lost)
        wide, inverse_of_wide = _no_narrower(factor, inverse, covariance)
        fine, rough, alone = _steps(
            _in_units(factor, inverse, covariance, grad_covariance),
            _in_units(wide, inverse_of_wide, covariance, grad_covariance),
            _alone(covariance, grad_covariance),
        )
        costs = rough > self.least_cost * fine
        factor = jnp.where(costs, factor, wide)
        roughness = jnp.where(costs, fine, rough)
        gain = alone / roughness
        usable = jnp.all(jnp.isfinite(factor)) & jnp.isfinite(gain) & jnp.isfinite(roughness)
        new = state._replace(metric=metric.dense(factor), gain=gain, roughness=roughness)
        return jax.tree.map(lambda new, old: jnp.where(usable, new, old), new, state)

    def _pays(self, state: DenseState) -> Scalar:
        return state.gain > self.least_gain * (1.0 + state.roughness)


def _no_narrower(factor: jax.Array, inverse: jax.Array, covariance: jax.Array):
    """W and its inverse, every coordinate as wide as chains show it or wider."""
    wider = jnp.sqrt(jnp.maximum(1.0, jnp.diag(covariance) / jnp.sum(factor**2, axis=1)))
    return factor * wider[:, None], inverse / wider


def _in_units(factor: jax.Array, inverse: jax.Array, covariance: jax.Array, grads: jax.Array):
    """Covariances of points and of gradients in the coordinates of a metric."""
    points = product(product(inverse, covariance), inverse.T)
    return points, product(product(factor.T, grads), factor)


def _width(covariance: jax.Array, grad_covariance: jax.Array) -> Vector:
    """Of every coordinate on its own, also while chains are still spreading."""
    variance, grad_variance = jnp.diag(covariance), jnp.diag(grad_covariance)
    return jnp.sqrt(jnp.maximum(variance, of_gaussian(variance, grad_variance)))


def _alone(covariance: jax.Array, grad_covariance: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Both in the coordinates of the metric without correlations."""
    width = _width(covariance, grad_covariance)
    units = jnp.outer(width, width)
    return covariance / units, grad_covariance * units


def _distances(x, mean: Vector, variance: Vector, weight: PerChain, limit: float) -> jax.Array:
    """What a covariance is the product of, [1 + chain, dim]: how far the chains' mean has drifted,
    as far as it is usual at rest, and how far they are from it.
    """
    centre = ensemble.mean(x, weight)
    moved = limited(centre - mean, variance, weight, limit)
    share = weight / jnp.maximum(jnp.sum(weight), 1e-30)
    counted = jnp.where(share[:, None] > 0, (x - centre) * jnp.sqrt(share)[:, None], 0.0)
    return jnp.concatenate([moved[None], counted])


def _seen(distances: jax.Array) -> Vector:
    """The variances that they make."""
    return jnp.sum(distances**2, axis=0)


def _blend(old: jax.Array, distances: jax.Array, share: Vector) -> jax.Array:
    """Move a covariance towards a new one by a share for each coordinate; it stays positive.

    Where all chains agree, as before the first move of chains that start at one point, they say
    nothing, and the old variance stays; so does all where squares overflow.
    """
    seen = _seen(distances)
    usable = jnp.all(jnp.isfinite(seen))
    share = jnp.where((seen > 0) & usable, share, 0.0)
    kept, taken = jnp.sqrt(1.0 - share), jnp.sqrt(share)
    new = jnp.where(usable, distances * taken, 0.0)
    return old * jnp.outer(kept, kept) + product(new.T, new)


def _steps(*metrics: tuple[jax.Array, jax.Array]) -> Vector:
    """How many steps cross the target, in each metric's coordinates: its length, from the
    covariance of points there, over that of a step, from the covariance of gradients.
    """
    largest = _largest(jnp.stack([matrix for pair in metrics for matrix in pair]))
    return jnp.sqrt(jnp.prod(largest.reshape(-1, 2), axis=1))


def _largest(matrices: jax.Array, powers: int = 16) -> Vector:
    """Eigenvalues of covariances [..., dim, dim], by powers; of these, four at a time, which cannot
    overflow in units of the trace.
    """
    trace = jnp.trace(matrices, axis1=-2, axis2=-1)[..., None]
    start = jnp.cos(jnp.arange(matrices.shape[-1], dtype=matrices.dtype))

    def image(v):
        return jnp.sum(matrices * v[..., None, :], axis=-1) / trace

    def four(_, v):
        v = image(image(image(image(v))))
        return v / jnp.linalg.norm(v, axis=-1, keepdims=True)

    start = jnp.broadcast_to(start, matrices.shape[:-1])
    last = image(jax.lax.fori_loop(0, powers // 4, four, start))
    return jnp.linalg.norm(last * trace, axis=-1)


def told(state, least_gain: float) -> str:
    """Why correlations are used, or not."""
    gain, roughness = float(state.gain), float(state.roughness)
    limit = least_gain * (1.0 + roughness)
    return (
        f"correlations promise trajectories of {gain:.2g} times fewer steps, "
        f"{'more' if gain > limit else 'not more'} than the {limit:.2g} that pays at a roughness "
        f"of {roughness:.2g}"
    )

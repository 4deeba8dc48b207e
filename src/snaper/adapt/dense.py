"""A dense metric from the covariances of points and of gradients together."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from .. import ensemble, metric
from .._types import PerChain, Positions, Scalar, Vector
from . import ema
from .moments import MomentsState, limited, stale

FIRST = 8  # transitions before correlations are looked at


class DenseState(NamedTuple):
    covariance: jax.Array  # of points, [dim, dim]
    grad_covariance: jax.Array
    worth: Scalar  # of these, in independent chains
    factor: jax.Array  # the metric in use, [dim, dim]
    stretch: Scalar  # longest over shortest direction, in units of the coordinates' widths
    roughness: Scalar  # sd of gradients over that of a Gaussian with this metric and width


@dataclass(frozen=True)
class DenseMetric:
    r"""The geometric mean of Cov[x] and Cov[g]^{-1}, which for a Gaussian is its covariance however
    little of it the chains have seen; no coordinate is narrower than what the chains show.

    Correlations are left out by the share exp(-n / (`caution` d)) of n chains seen, so that few
    chains give a diagonal metric; and all of them while `stretch`, what they promise, is less than
    `least_gain` times `roughness`, by which the target's shape varies from place to place. The
    matrices are decomposed `per_doubling` times while the number of transitions doubles.
    """

    memory: float = 4.0
    drift_limit: float = 3.0
    caution: float = 2.0
    least_gain: float = 2.0
    per_doubling: float = 8.0
    renewal: float = 0.2  # weight of the newest chains in coordinates whose variance is stale

    def init(self, moments: MomentsState, given: metric.Metric | None = None) -> DenseState:
        factor = jnp.diag(jnp.sqrt(moments.variance))
        count = jnp.ones((), factor.dtype)
        if isinstance(given, metric.Dense):
            factor, count = given.factor, 1e4 * count
        inverse = jnp.linalg.inv(factor)
        one = jnp.ones_like(count)
        return DenseState(factor @ factor.T, inverse.T @ inverse, count, factor, one, one)

    def update(
        self,
        state: DenseState,
        x: Positions,
        grad: Positions,
        weight: PerChain,
        moments: MomentsState,
        step: Scalar,
    ) -> DenseState:
        """`moments` are the running ones before these chains."""
        now = _covariance(x, moments.mean, moments.variance, weight, self.drift_limit)
        now = _where_seen(now, state.covariance)
        origin = jnp.zeros_like(moments.mean)
        now_grad = _covariance(grad, origin, moments.grad_variance, weight, self.drift_limit)
        now_grad = _where_seen(now_grad, state.grad_covariance)
        usual = ema.weight(step, self.memory, x.dtype)
        old = stale(jnp.diag(state.covariance), jnp.diag(now), weight)
        many = ensemble.count(weight) >= 16.0  # fewer err about single coordinates
        old = (old & many) | (jnp.mean(old) > 0.1)
        renewed = jnp.where(old, jnp.maximum(usual, self.renewal), usual)
        share = jnp.mean(renewed)
        count = 1.0 / ((1.0 - share) ** 2 / state.worth + share**2 / ensemble.count(weight))
        covariance = _blend(state.covariance, now, renewed)
        grad_covariance = _blend(state.grad_covariance, now_grad, renewed)
        chosen = jax.lax.cond(
            self._due(step),
            lambda: self._choose(covariance, grad_covariance, count, state),
            lambda: (state.factor, state.stretch, state.roughness),
        )
        factor = jnp.where(step < FIRST, jnp.diag(_width(covariance, grad_covariance)), chosen[0])
        return DenseState(covariance, grad_covariance, count, factor, *chosen[1:])

    def describe(self, state: DenseState) -> str:
        """What was chosen, and why."""
        if self.least_gain == 0:
            return "dense, as asked for"
        stretch, roughness = float(state.stretch), float(state.roughness)
        pays = stretch > self.least_gain * roughness
        return (
            f"{'dense' if pays else 'diagonal'}: correlations stretch the target by {stretch:.2g}, "
            f"{'more' if pays else 'not more'} than {self.least_gain:g} times its roughness of "
            f"{roughness:.2g}"
        )

    def width(self, moments: MomentsState) -> Scalar:
        """The metric whitens as it is."""
        return jnp.ones_like(moments.mean[0])

    def value(self, state: DenseState, moments: MomentsState) -> metric.Dense:
        return metric.Dense(state.factor)

    def _due(self, step: Scalar) -> Scalar:
        """Whether to decompose after this transition, which depends on its number alone."""
        number = step.astype(jnp.float32)
        before, after = (jnp.floor(self.per_doubling * jnp.log2(number + k)) for k in (1.0, 2.0))
        return (before != after) & (step >= FIRST)

    def _choose(self, covariance, grad_covariance, count, state: DenseState):
        sd, sd_grad = jnp.sqrt(jnp.diag(covariance)), jnp.sqrt(jnp.diag(grad_covariance))
        lost = jnp.exp(-count / (self.caution * sd.size))
        factor, inverse = fisher(covariance, grad_covariance, lost)
        wider = jnp.sqrt(jnp.maximum(1.0, sd**2 / jnp.sum(factor**2, axis=1)))
        factor, inverse = factor * wider[:, None], inverse / wider
        stretch = _stretch(factor, inverse)
        expected = jnp.sqrt(jnp.sum(factor**2, axis=1) * jnp.sum(inverse**2, axis=0))
        roughness = jnp.median(sd * sd_grad / expected)
        pays = stretch > self.least_gain * roughness
        chosen = jnp.where(pays, factor, jnp.diag(_width(covariance, grad_covariance)))
        usable = jnp.all(jnp.isfinite(factor)) & jnp.isfinite(stretch)
        old = (state.factor, state.stretch, state.roughness)
        new = (chosen, stretch, roughness)
        return jax.tree.map(lambda new, old: jnp.where(usable, new, old), new, old)


def _width(covariance: jax.Array, grad_covariance: jax.Array) -> Vector:
    """Of every coordinate on its own, also while chains are still spreading."""
    variance, grad_variance = jnp.diag(covariance), jnp.diag(grad_covariance)
    return jnp.sqrt(jnp.maximum(variance, jnp.sqrt(variance / grad_variance)))


def fisher(covariance: jax.Array, grad_covariance: jax.Array, lost: Scalar):
    r"""W with $W W^T = C_x \# C_g^{-1}$, and its inverse; correlations count less by the share
    `lost`.
    """
    sd, sd_grad = jnp.sqrt(jnp.diag(covariance)), jnp.sqrt(jnp.diag(grad_covariance))
    scale = jnp.sqrt(sd / sd_grad)  # in its units, points and gradients have equal variances
    units = jnp.outer(scale, scale)
    ridge = (lost + 1e-6) * jnp.diag(sd * sd_grad)
    points = (1.0 - lost) * covariance / units + ridge
    grads = (1.0 - lost) * grad_covariance * units + ridge
    lower = jnp.linalg.cholesky(grads)
    values, vectors = jnp.linalg.eigh(_product(_product(lower.T, points), lower))
    roots = jnp.maximum(values, 1e-12) ** 0.25
    solved = jax.scipy.linalg.solve_triangular(lower.T, vectors * roots, lower=False)
    inverse = _product((vectors / roots).T, lower.T)
    return scale[:, None] * solved, inverse / scale


def _covariance(x, mean: Vector, variance: Vector, weight: PerChain, limit: float) -> jax.Array:
    """Of the chains, with their drift from the mean as far as it is usual at rest."""
    centre = ensemble.mean(x, weight)
    moved = limited(centre - mean, variance, weight, limit)
    return ensemble.covariance(x, centre, weight) + jnp.outer(moved, moved)


def _where_seen(now: jax.Array, old: jax.Array) -> jax.Array:
    """Where all chains agree, as before the first move of chains that start at one point, they say
    nothing of the width, and the old one stays.
    """
    unseen = jnp.diag(now) == 0
    return now + jnp.diag(jnp.where(unseen, jnp.diag(old), 0.0))


def _blend(old: jax.Array, new: jax.Array, share: Vector) -> jax.Array:
    """Move a covariance towards a new one by a share for each coordinate; it stays positive."""
    kept, taken = jnp.sqrt(1.0 - share), jnp.sqrt(share)
    return old * jnp.outer(kept, kept) + new * jnp.outer(taken, taken)


def _stretch(factor: jax.Array, inverse: jax.Array, iterations: int = 16) -> Scalar:
    """Square root of the condition number of the correlations of W W^T, by powers."""
    width = jnp.sqrt(jnp.sum(factor**2, axis=1))
    scaled, unscaled = factor / width[:, None], inverse * width

    def largest(matrix: jax.Array) -> Scalar:
        start = jnp.cos(jnp.arange(width.size, dtype=width.dtype))

        def power(_, v):
            image = matrix.T @ (matrix @ v)
            return image / jnp.linalg.norm(image)

        return jnp.linalg.norm(matrix @ jax.lax.fori_loop(0, iterations, power, start))

    return largest(scaled.T) * largest(unscaled)


def _product(a: jax.Array, b: jax.Array) -> jax.Array:
    return jnp.matmul(a, b, precision="highest")

"""One level of a model: coordinates in units of widths that follow others, as those of effects
follow their scale, from centres that may move with others, as those of effects do with their mean.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .metric import product

ALONE = -0.6931471805599453  # log 1/2: two such precisions make one
_ALMOST_LOG = -15.0  # below which log(softplus(x)) is x to all digits


class Level(NamedTuple):
    r"""$x = c + w (z + l) v$, of points [..., dim]: what each coordinate is like, given pivots, if
    two normal factors meet in it whose precisions follow powers of the pivots: see docs/theory.md.

    With features f of the pivots, log precisions $q_k = o_k + E_k f$ and shares $s_k = e^{q_k}
    v^2$, the width is $v = (e^{q_0} + e^{q_1})^{-1/2}$, the centre $c = s_0 m_0 + s_1 m_1$ and
    $l = h_0 \sqrt{s_0} + h_1 \sqrt{s_1}$. Where centres move, $M f$ is added to $m_1$. Rows of E
    and M are zero and o is `ALONE` for what follows nothing, as pivots do: there v is one.
    """

    width: jax.Array  # w
    centres: jax.Array  # m, [factor, dim]
    leans: jax.Array  # h, [factor, dim]
    offsets: jax.Array  # o, [factor, dim]
    exponents: jax.Array  # E, [factor, dim, pivot]
    pivots: jax.Array  # places in x
    middles: jax.Array  # of their features
    is_softplus: jax.Array  # whether a pivot's feature is log(softplus(x)), and not x itself
    moves: jax.Array | None = None  # M, [dim, pivot]; None where no centre moves

    def bent(self, z: jax.Array) -> jax.Array:
        """x where z is known."""
        return self.bent_with_log_det(z)[0]

    def bent_with_log_det(self, z: jax.Array) -> tuple[jax.Array, jax.Array]:
        """And the log determinant of dx / dz, which is triangular with pivots first."""
        pivots = self._chosen(self.centres[0] + self.width * z)  # these follow nothing
        local = self._local(pivots)
        x = local.centre + self.width * (z + local.lean) * local.width
        return x, jnp.sum(jnp.log(self.width) + local.log_width, axis=-1)

    def straight(self, x: jax.Array) -> jax.Array:
        """z where x is known."""
        local = self._local(self._chosen(x))
        return (x - local.centre) / (self.width * local.width) - local.lean

    def straight_with_score(self, x: jax.Array, grad: jax.Array) -> tuple[jax.Array, jax.Array]:
        """z where x is known, and the gradient of its log density where that of x is: written out,
        since it is differentiated many times where coordinates are learnt.
        """
        pivots = self._chosen(x)
        local = self._local(pivots)
        width = self.width * local.width
        z = (x - local.centre) / width - local.lean
        ones, others = local.roots[0] ** 2, local.roots[1] ** 2  # shares
        lean = self.leans[0] * local.roots[0] * others - self.leans[1] * local.roots[1] * ones
        moved = ones * others * (local.centres[0] - local.centres[1]) + 0.5 * width * lean
        wider = 0.5 * (grad * width * (z + local.lean) + 1.0)
        pulls = grad * moved - ones * wider, -grad * moved - others * wider  # on log precisions
        pull = product(jnp.concatenate(pulls, axis=-1), _of_both(self.exponents))
        if self.moves is not None:
            pull = pull + product(grad * others, self.moves)
        slope = jax.jvp(self._features, (pivots,), (jnp.ones_like(pivots),))[1]
        return z, grad * width + self.width * product(pull * slope, self._places(x).T)

    def _places(self, x: jax.Array) -> jax.Array:
        """Which coordinate is which pivot, [dim, pivot]."""
        return (jnp.arange(x.shape[-1])[:, None] == self.pivots).astype(x.dtype)

    def _chosen(self, x: jax.Array) -> jax.Array:
        """Pivots among coordinates, as a product, whose derivative is another: that of an indexed
        choice is a loop on a CPU.
        """
        return product(x, self._places(x))

    def _features(self, pivots: jax.Array) -> jax.Array:
        return jnp.where(self.is_softplus, log_softplus(pivots), pivots) - self.middles

    def _centres(self, features: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Of both factors, where they are."""
        one, other = self.centres
        if self.moves is None:
            return one, other
        return one, other + product(features, self.moves.T)

    def _local(self, pivots: jax.Array) -> "Local":
        """What all coordinates are like, by the larger precision and the root of their ratio, which
        is at most one: two exponentials for each coordinate.
        """
        features = self._features(pivots)
        both = product(features, _of_both(self.exponents).T)
        one, other = jnp.split(both + self.offsets.reshape(-1), 2, axis=-1)
        first = one >= other  # is larger
        larger, less = jnp.where(first, one, other), jnp.where(first, other, one)
        ratio = jnp.exp(0.5 * (less - larger))
        main = jax.lax.rsqrt(1.0 + ratio**2)
        rest = ratio * main
        roots = jnp.where(first, main, rest), jnp.where(first, rest, main)  # of shares
        centres = self._centres(features)
        return Local(
            width=jnp.exp(-0.5 * larger) * main,
            log_width=-0.5 * (larger + jnp.log1p(ratio**2)),
            centre=roots[0] ** 2 * centres[0] + roots[1] ** 2 * centres[1],
            lean=roots[0] * self.leans[0] + roots[1] * self.leans[1],
            roots=roots,
            centres=centres,
        )


class Local(NamedTuple):
    """Of all coordinates, [..., dim], where pivots are known."""

    width: jax.Array  # v, in units of w
    log_width: jax.Array
    centre: jax.Array
    lean: jax.Array
    roots: tuple[jax.Array, jax.Array]  # of the factors' shares
    centres: tuple[jax.Array, jax.Array]  # of the factors


def _of_both(powers: jax.Array) -> jax.Array:
    """Of both factors, [factor times dim, pivot]: one product is faster than two."""
    return powers.reshape(-1, powers.shape[-1])


def log_softplus(x: Any) -> jax.Array:
    """To all digits, of small x too."""
    small = x < _ALMOST_LOG
    return jnp.where(small, x, jnp.log(jax.nn.softplus(jnp.where(small, 0.0, x))))

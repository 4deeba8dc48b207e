"""Coordinates in units of widths that follow others, as those of effects follow their scale."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from ._types import Key, Scalar
from .metric import product
from .target import Model, Target

ALONE = -0.6931471805599453  # log 1/2: two such precisions make one
_ALMOST_LOG = -15.0  # below which log(softplus(x)) is x to all digits


class Bend(NamedTuple):
    r"""$x = c + w (z + l) v$, of points [..., dim]: what each coordinate is like, given pivots, if
    two normal factors meet in it whose precisions follow powers of the pivots: see docs/theory.md.

    With features f of the pivots, log precisions $q_k = o_k + E_k f$ and shares $s_k = e^{q_k}
    v^2$, the width is $v = (e^{q_0} + e^{q_1})^{-1/2}$, the centre $c = s_0 m_0 + s_1 m_1$ and
    $l = h_0 \sqrt{s_0} + h_1 \sqrt{s_1}$. Rows of E are zero and o is `ALONE` for what follows
    nothing, as pivots do: there v is one.
    """

    width: jax.Array  # w
    centres: jax.Array  # m, [factor, dim]
    leans: jax.Array  # h, [factor, dim]
    offsets: jax.Array  # o, [factor, dim]
    exponents: jax.Array  # E, [factor, dim, pivot]
    pivots: jax.Array  # places in x
    middles: jax.Array  # of their features
    is_softplus: jax.Array  # whether a pivot's feature is log(softplus(x)), and not x itself

    def bent(self, z: jax.Array) -> jax.Array:
        """x where z is known."""
        places = self.pivots
        pivots = self.centres[0, places] + self.width[places] * jnp.take(z, places, axis=-1)
        log_width, centre, lean = self._given(pivots)
        return centre + self.width * (z + lean) * jnp.exp(log_width)

    def straight(self, x: jax.Array) -> jax.Array:
        """z where x is known."""
        log_width, centre, lean = self._given(jnp.take(x, self.pivots, axis=-1))
        return (x - centre) / self.width * jnp.exp(-log_width) - lean

    def log_det(self, z: jax.Array) -> jax.Array:
        """Of dx / dz, which is triangular, with pivots before all others."""
        places = self.pivots
        pivots = self.centres[0, places] + self.width[places] * jnp.take(z, places, axis=-1)
        return jnp.sum(jnp.log(self.width) + self._given(pivots)[0], axis=-1)

    def score(self, z: jax.Array, grad: jax.Array) -> jax.Array:
        """The gradient of the log density of z, where that of x is known."""
        _, pulled = jax.vjp(lambda z: (self.bent(z), self.log_det(z)), z)
        return pulled((grad, jnp.ones(z.shape[:-1], z.dtype)))[0]

    def _given(self, pivots: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Of all coordinates: log widths in units of w, centres and leans."""
        features = jnp.where(self.is_softplus, log_softplus(pivots), pivots) - self.middles
        one, other = (
            product(features, exponents.T) + offset
            for exponents, offset in zip(self.exponents, self.offsets, strict=True)
        )
        both = jnp.logaddexp(one, other)
        roots = jnp.exp(0.5 * (one - both)), jnp.exp(0.5 * (other - both))  # of shares
        centre = roots[0] ** 2 * self.centres[0] + roots[1] ** 2 * self.centres[1]
        lean = roots[0] * self.leans[0] + roots[1] * self.leans[1]
        return -0.5 * both, centre, lean


def log_softplus(x: Any) -> jax.Array:
    """To all digits, of small x too."""
    small = x < _ALMOST_LOG
    return jnp.where(small, x, jnp.log(jax.nn.softplus(jnp.where(small, 0.0, x))))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Straightened:
    """A model whose unconstrained space has such coordinates; its parameters are as they were."""

    model: Model
    bend: Bend

    @property
    def data(self) -> Any:
        return {"model": self.model.data, "bend": self.bend._asdict()}

    @property
    def named_data(self) -> dict[str, Any]:
        return self.model.named_data

    def log_density(self, free: list[jax.Array]) -> Scalar:
        z, shaped = ravel_pytree(free)
        return self.model.log_density(shaped(self.bend.bent(z))) + self.bend.log_det(z)

    def constrain(self, free: list[jax.Array]) -> dict[str, jax.Array]:
        z, shaped = ravel_pytree(free)
        return self.model.constrain(shaped(self.bend.bent(z)))

    def unconstrain(self, values: list[jax.Array]) -> list[jax.Array]:
        x, shaped = ravel_pytree(self.model.unconstrain(values))
        return shaped(self.bend.straight(x))

    def sample_prior(self, key: Key, num_draws: int) -> Any:
        return self.model.sample_prior(key, num_draws)


def bent_by(target: Target, bend: Bend) -> Target:
    """The same target, sampled as z."""
    (model, observed), static = target.tree_flatten()
    return Target.tree_unflatten(static, (Straightened(model, bend), observed))


bent, straight = jax.jit(Bend.bent), jax.jit(Bend.straight)  # for where nothing else is compiled


@jax.jit
def reported(target: Target, x: jax.Array, logp: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Points [..., dim] of a target that may be bent, and log densities there, as they are in the
    coordinates of the plain one.
    """
    _, bend = plain(target)
    return (x, logp) if bend is None else (bend.bent(x), logp - bend.log_det(x))


def plain(target: Target) -> tuple[Target, Bend | None]:
    """The target that was bent, and by what; a target that was not is as it is."""
    (model, observed), static = target.tree_flatten()
    if not isinstance(model, Straightened):
        return target, None
    return Target.tree_unflatten(static, (model.model, observed)), model.bend

"""Values so close to a bound that numbers cannot tell how close."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from .._types import Positions
from ..target import Target

SAME = 2.0  # units in the last place
MANY = 0.002  # of the points: where the last number before a bound has that many, more are missing
ENOUGH = 256  # points that are looked at closely


def at_bounds(target: Target, x: np.ndarray) -> dict[str, float]:
    """By parameter, the share of points x [point, dim] at which it is what it would be elsewhere, a
    unit and a thousandth nearer to zero in unconstrained space; only those that have many.
    """
    far = np.abs(x) > -np.log(np.finfo(x.dtype).eps) / 2  # where the last digit of a tanh ends,
    # before that of a sigmoid
    concerned = np.flatnonzero(far.any(axis=1))
    if len(concerned) < MANY * len(x) or not len(concerned):
        return {}
    some = concerned[np.arange(ENOUGH) * len(concerned) // ENOUGH]  # some twice where there are few
    x, far, share = x[some], far[some], len(concerned) / len(x)
    nearer = np.where(far, x - np.sign(x) * np.maximum(1.0, np.abs(x) / 1000), x).astype(x.dtype)
    same = jax.tree.map(np.asarray, _same(target, jnp.asarray(x), jnp.asarray(nearer)))
    found, place = {}, 0
    for parameter in target.parameters:
        its = far[:, place : place + parameter.size].any(axis=1)
        found[parameter.name] = share * float(np.mean(its & same[parameter.name]))
        place += parameter.size
    return {name: share for name, share in found.items() if share > MANY}


@jax.jit
def _same(target: Target, x: Positions, other: Positions) -> dict[str, jax.Array]:
    """Whether parameters of the one point are those of the other."""
    return jax.vmap(partial(_same_point, target))(x, other)


def _same_point(target: Target, x: jax.Array, other: jax.Array) -> dict[str, jax.Array]:
    values, others = target.constrain(x), target.constrain(other)
    close = SAME * jnp.finfo(x.dtype).eps

    def same(name: str) -> jax.Array:
        value = values[name]
        return jnp.all(jnp.abs(value - others[name]) <= close * jnp.abs(value))  # not so for NaN

    return {parameter.name: same(parameter.name) for parameter in target.parameters}

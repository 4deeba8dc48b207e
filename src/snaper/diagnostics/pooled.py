"""Moments of named values over all chains and draws, while draws pass by."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .._types import Scalar
from ..target import Target


class Pooled(NamedTuple):
    """How many draws of each chain, and by name the mean and the sum over draws of squared
    deviations, these averaged over chains.
    """

    num_draws: Scalar  # not values: 16 thousand chains would soon have more of them than int32
    mean: dict[str, jax.Array]
    m2: dict[str, jax.Array]


def init(target: Target) -> Pooled:
    """No values yet."""
    point = jax.ShapeDtypeStruct((target.dim,), target.dtype)
    shapes = jax.eval_shape(target.constrain, point)
    zeros = {name: jnp.zeros(value.shape, target.dtype) for name, value in shapes.items()}
    return Pooled(jnp.zeros((), jnp.int32), zeros, zeros)


@jax.jit
def update(target: Target, pooled: Pooled, x: jax.Array, count: Scalar) -> Pooled:
    """Take in the first `count` rows of x [slot, chain, dim], one at a time: named values may be
    many more numbers than x.
    """

    def body(row, pooled):
        named = jax.vmap(target.constrain)(x[row])
        share = 1.0 / (pooled.num_draws + 1).astype(x.dtype)
        mean, m2 = {}, {}
        for name, values in named.items():
            values = values.astype(x.dtype)
            centre = jnp.mean(values, axis=0)
            gap = centre - pooled.mean[name]
            mean[name] = pooled.mean[name] + share * gap
            m2[name] = (
                pooled.m2[name]
                + jnp.mean((values - centre) ** 2, axis=0)
                + gap**2 * share * pooled.num_draws.astype(x.dtype)
            )
        return Pooled(pooled.num_draws + 1, mean, m2)

    return jax.lax.fori_loop(0, count, body, pooled)


def mean_and_sd(pooled: Pooled) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Mean and standard deviation by name; NaN of no draws."""
    count = int(pooled.num_draws) or float("nan")
    return {
        name: (np.asarray(mean) * (count / count), np.sqrt(np.asarray(pooled.m2[name]) / count))
        for name, mean in pooled.mean.items()
    }

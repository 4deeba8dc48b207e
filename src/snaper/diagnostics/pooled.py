"""Moments of named values over all chains and draws, while draws pass by."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .._types import Scalar
from ..target import Target


class Pooled(NamedTuple):
    """How many values, their mean and sum of squared deviations, by name."""

    num_values: Scalar
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
    num_chains = x.shape[1]

    def body(row, pooled):
        named = jax.vmap(target.constrain)(x[row])
        total = pooled.num_values + num_chains
        share = num_chains / total.astype(x.dtype)
        mean, m2 = {}, {}
        for name, values in named.items():
            values = values.astype(x.dtype)
            centre = jnp.mean(values, axis=0)
            gap = centre - pooled.mean[name]
            mean[name] = pooled.mean[name] + share * gap
            m2[name] = (
                pooled.m2[name]
                + jnp.sum((values - centre) ** 2, axis=0)
                + gap**2 * share * pooled.num_values.astype(x.dtype)
            )
        return Pooled(total, mean, m2)

    return jax.lax.fori_loop(0, count, body, pooled)


def mean_and_sd(pooled: Pooled) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Mean and standard deviation by name; NaN of no values."""
    count = int(pooled.num_values) or float("nan")
    return {
        name: (np.asarray(mean) * (count / count), np.sqrt(np.asarray(pooled.m2[name]) / count))
        for name, mean in pooled.mean.items()
    }

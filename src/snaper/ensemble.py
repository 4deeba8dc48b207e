"""Reductions over chains. Beside these, one chain's numbers meet another's only where
`adapt/quarantine.py` moves a lost chain to the place of another.

Weights say how much each chain counts; a weight of zero leaves a chain out.
"""

import jax
import jax.numpy as jnp

from ._types import PerChain, Positions, Scalar, Vector


def mean(values: jax.Array, weight: PerChain) -> jax.Array:
    """Weighted mean over chains of numbers [chain] or vectors [chain, dim].

    A chain of weight zero is left out even where its value is infinite; if no chain has weight,
    all count alike.
    """
    weight = jnp.where(jnp.any(weight > 0), weight, jnp.ones_like(weight))
    share = (weight / jnp.sum(weight)).reshape(weight.shape + (1,) * (values.ndim - 1))
    # A sum, not a matrix product, which a GPU rounds to ten bits.
    return jnp.sum(jnp.where(share > 0, share * values, 0.0), axis=0)


def harmonic_mean(probability: PerChain, weight: PerChain) -> Scalar:
    """Weighted harmonic mean over chains, of probabilities clipped to at least 1e-5."""
    return 1.0 / mean(1.0 / jnp.maximum(probability, 1e-5), weight)


def median(values: PerChain, counted: PerChain) -> Scalar:
    """Median over the chains that are counted."""
    return jnp.nanmedian(jnp.where(counted, values, jnp.nan))


def variance(x: Positions, centre: Vector, weight: PerChain) -> Vector:
    """Weighted mean square distance of the chains from a centre, per dimension."""
    return mean((x - centre) ** 2, weight)


def spread(x: Positions, weight: PerChain) -> Vector:
    """Variance of the chains about their mean, exactly zero where they coincide."""
    z = x - x[jnp.argmax(weight)]
    return variance(z, mean(z, weight), weight)


def scatter(x: Positions, centre: Vector, weight: PerChain, direction: Vector) -> Vector:
    """The chains' covariance about a centre, times a direction; the matrix is never formed."""
    z = x - centre
    return mean(z * project(z, direction)[:, None], weight)


def project(z: Positions, direction: Vector) -> PerChain:
    """Length of every chain's vector along a direction."""
    return jnp.sum(z * direction, axis=-1)


def count(weight: PerChain) -> Scalar:
    """How many chains the weights amount to, at least one."""
    return jnp.maximum(jnp.sum(weight), 1.0)

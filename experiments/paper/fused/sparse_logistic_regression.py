"""Sparse logistic regression: a program has several points, which share what is read of loans."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

from snaper import targets
from snaper.target import Target
from snaper.targets._german_credit import NUM_WEIGHTS

from .kernel import Kernel, fused, load, product, softplus, store

POINTS = 16
LOANS = 64  # at a time
COLUMNS = 32  # room for weights: sizes of blocks are powers of two


def target() -> Target:
    plain = targets.get("sparse-logistic-regression")
    features = plain.data  # those of no loan add nothing to a gradient
    room = ((0, -len(features) % LOANS), (0, COLUMNS - NUM_WEIGHTS))
    return fused(plain, Kernel(_write, POINTS, warps=4), jnp.pad(features, room))


def _write(x_ref, features_ref, grad_ref):
    """The global scale, local ones, unscaled weights; scales are unconstrained."""
    point, weight = jnp.arange(POINTS)[:, None], jnp.arange(COLUMNS)[None, :]
    of_overall, of_local, of_unscaled = 0, 1 + weight, 1 + NUM_WEIGHTS + weight
    there = weight < NUM_WEIGHTS
    free_overall = load(x_ref, point, of_overall, mask=True)
    free_local = load(x_ref, point, of_local, mask=there)
    unscaled = load(x_ref, point, of_unscaled, mask=there)
    overall, local = softplus(free_overall), softplus(free_local)

    slope = _slope(unscaled * local * overall, features_ref)
    to_overall = jnp.sum(slope * unscaled * local, axis=1, keepdims=True)
    to_overall = _of_free(free_overall, overall, to_overall)
    to_local = _of_free(free_local, local, slope * unscaled * overall)
    to_unscaled = slope * local * overall - unscaled
    store(grad_ref, point, of_overall, value=to_overall, mask=True)
    store(grad_ref, point, of_local, value=to_local, mask=there)
    store(grad_ref, point, of_unscaled, value=to_unscaled, mask=there)


def _slope(weights, features_ref):
    """Of the log likelihood, [point, weight]."""

    def some(block, slope):
        features = features_ref[pl.ds(block * LOANS, LOANS), :]
        margins = product(weights, features.T)
        return slope + product(jax.nn.sigmoid(-margins), features)

    return jax.lax.fori_loop(0, len(features_ref) // LOANS, some, jnp.zeros_like(weights))


def _of_free(free, scale, of_likelihood):
    """The slope in a scale's unconstrained value, from the likelihood's in the scale. The prior's
    is -(1 / scale + 1) / 2, and the Jacobian is the sigmoid.
    """
    rising, falling = jax.nn.sigmoid(free), jax.nn.sigmoid(-free)
    return (of_likelihood - 0.5) * rising - 0.5 * rising / scale + falling

"""The German Credit data as the regressions use them."""

import jax
import jax.numpy as jnp
import numpy as np

from ._data import load
from ._logistic import log_sigmoid

NUM_WEIGHTS = 25
"""One per feature, and one for the constant."""


def signed_features() -> jax.Array:
    """Standardised features and a constant of one, times +1 for a bad loan and -1 for a good one.

    With y = 0 for good and 1 for bad, Bernoulli(y | sigmoid(x.w)) is sigmoid(s x.w), s = 2y - 1:
    the label is folded into the features, [loan, weight].
    """
    raw = load("german_credit")
    features = raw["features"].astype(np.float64)
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    features = np.column_stack([features, np.ones(len(features))])
    sign = np.where(raw["label"] == 2, 1.0, -1.0)
    return jnp.asarray(sign[:, None] * features, dtype=float)


def log_likelihood(weights: jax.Array, signed_features: jax.Array) -> jax.Array:
    """Of one vector of weights."""
    margins = jnp.matmul(signed_features, weights, precision="highest")
    return jnp.sum(log_sigmoid(margins))

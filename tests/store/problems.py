"""What these tests share beside the helpers of all, so that it is compiled once."""

import jax.numpy as jnp
import numpy as np

from snaper import Target


def schools(params, data):
    misfit = (data["y"] - params["effect"]) / data["error"]
    prior = -0.5 * jnp.sum((params["effect"] - params["mean"]) ** 2) - 0.5 * params["mean"] ** 2
    return prior - 0.5 * jnp.sum(misfit**2)


def labelled():
    """A target with labels, observed data and constants."""
    return Target(
        schools,
        {"effect": jnp.zeros(3), "mean": 0.0},
        {"y": np.array([1.0, 2.0, 3.0]), "error": np.ones(3)},
        dims={"effect": ["school"], "y": ["school"]},
        coords={"school": ["a", "b", "c"]},
        observed={"y": np.array([1.0, 2.0, 3.0])},
    )


def own_criterion(x, x_new, t, *, weight):
    return jnp.mean(weight * (x_new[:, 0] - x[:, 0]) ** 2) / t

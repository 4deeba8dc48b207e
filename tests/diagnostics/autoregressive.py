"""Chains whose answers are known: autoregressive ones of unit variance."""

import numpy as np


def chains(rho, num_chains, num_draws, seed=0, start=None):
    """AR(1) chains [chain, draw], stationary unless their starts are given."""
    rng = np.random.default_rng(seed)
    x = np.empty((num_chains, num_draws + 1))
    x[:, 0] = rng.normal(size=num_chains) if start is None else start
    noise = np.sqrt(1 - rho**2) * rng.normal(size=x.shape)
    for i in range(num_draws):
        x[:, i + 1] = rho * x[:, i] + noise[:, i]
    return x[:, 1:]

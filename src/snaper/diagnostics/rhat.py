"""R-hat from the moments of chains; draws are not needed. Formulas in docs/theory.md."""

from types import ModuleType
from typing import Any, NamedTuple

import jax.numpy as jnp


class Part(NamedTuple):
    """A stretch of every chain: how many draws, and their moments [chain, ...]."""

    num_draws: Any
    mean: Any
    m2: Any  # sum of squared deviations from the mean


def split(first: Part, second: Part, xp: ModuleType = jnp) -> Any:
    """Split R-hat from the two parts of every chain, which may differ in length; NaN where nothing
    varies within chains.
    """
    total = first.num_draws + second.num_draws
    length = 2 * first.num_draws * second.num_draws / xp.maximum(total, 1)  # harmonic mean
    within = xp.mean(first.m2 + second.m2, axis=0) / xp.maximum(total - 2, 1)
    between = xp.var(xp.concatenate([first.mean, second.mean]), axis=0, ddof=1)
    squared = 1.0 - 1.0 / xp.maximum(length, 1) + between / xp.where(within > 0, within, 1.0)
    return xp.where((within > 0) & (total > 2), xp.sqrt(squared), xp.nan)


def nested(chains: Part, superchains: int, xp: ModuleType = jnp) -> Any:
    """Nested R-hat (Margossian et al. 2024), of chains in order of superchain; NaN where nothing
    varies within superchains.
    """
    shape = (superchains, -1, *chains.mean.shape[1:])
    means, m2 = chains.mean.reshape(shape), chains.m2.reshape(shape)
    within = xp.mean(m2, axis=(0, 1)) / xp.maximum(chains.num_draws - 1, 1)
    if means.shape[1] > 1:
        within = within + xp.mean(xp.var(means, axis=1, ddof=1), axis=0)
    between = xp.var(xp.mean(means, axis=1), axis=0, ddof=1)
    squared = 1.0 + between / xp.where(within > 0, within, 1.0)
    return xp.where(within > 0, xp.sqrt(squared), xp.nan)

"""Effective sample size and R-hat of draws that are kept."""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp

from . import rhat


def autocorrelation(draws: Any, xp: ModuleType = jnp) -> Any:
    """Autocorrelation of a scalar [chain, draw] at lags 0, 1, ..., relative to its variance within
    and between chains. NaN where nothing varies.

    `xp` is the module that computes: NumPy never compiles, JAX is faster where shapes repeat.
    """
    num_chains, num_draws = draws.shape
    means = xp.mean(draws, axis=1)
    spectrum = xp.fft.rfft(draws - means[:, None], 2 * num_draws, axis=1)
    products = xp.fft.irfft(xp.abs(spectrum) ** 2, 2 * num_draws, axis=1)[:, :num_draws]
    lags = xp.arange(num_draws, dtype=draws.dtype)
    covariance = xp.mean(products.astype(draws.dtype), axis=0) / (num_draws - lags)
    between = xp.var(means, ddof=1) if num_chains > 1 else xp.zeros((), draws.dtype)
    variance = covariance[0] + between
    loss = (covariance[0] - covariance) / xp.where(variance > 0, variance, 1.0)
    return xp.where(variance > 0, 1.0 - loss, xp.nan)


def effective_sample_size(draws: Any, xp: ModuleType = jnp) -> Any:
    r"""Effective sample size of a scalar [chain, draw], summed over chains.

    $\frac{b n}{-1 + 2\sum_k (1 - k/n)\rho_k}$ with autocorrelations $\rho_k$ relative to the
    variance within and between chains, up to the first that is negative. Zero where a chain never
    moved.
    """
    num_chains, num_draws = draws.shape
    correlation = autocorrelation(draws, xp)
    lags = xp.arange(num_draws, dtype=draws.dtype)
    kept = xp.cumsum(correlation < 0) == 0
    total = xp.sum(xp.where(kept, (1.0 - lags / num_draws) * correlation, 0.0))
    ess = num_chains * num_draws / (-1.0 + 2.0 * total)
    moved = xp.all(xp.max(draws, axis=1) > xp.min(draws, axis=1))
    return xp.where(moved & ~xp.isnan(ess), ess, 0.0)


@jax.jit
def ess_per_dimension(draws: jax.Array) -> jax.Array:
    """Effective sample size of every coordinate of draws [chain, draw, dim]."""
    return jax.lax.map(effective_sample_size, jnp.moveaxis(draws, -1, 0))


@jax.jit
def ess_of_squares(draws: jax.Array) -> jax.Array:
    """Effective sample size of the squared distance from the mean, the hardest of the usual
    questions, per dimension.
    """
    squares = (draws - jnp.mean(draws, axis=(0, 1))) ** 2
    return jax.lax.map(effective_sample_size, jnp.moveaxis(squares, -1, 0))


def split_rhat(draws: Any, at: int | None = None, xp: ModuleType = jnp) -> Any:
    """Split R-hat of every coordinate of draws [chain, draw, dim]; one means no disagreement
    between the parts of chains before and after draw number `at`, by default the middle.
    """
    half = draws.shape[1] // 2
    if at is None:
        at, draws = half, draws[:, : 2 * half]
    return rhat.split(_part(draws[:, :at], xp), _part(draws[:, at:], xp), xp)


def nested_rhat(draws: Any, superchains: int, xp: ModuleType = jnp) -> Any:
    """Nested R-hat of every coordinate of draws [chain, draw, dim], whose chains follow each other
    by superchain; one means no disagreement between superchains.
    """
    return rhat.nested(_part(draws, xp), superchains, xp)


def _part(draws: Any, xp: ModuleType) -> rhat.Part:
    mean = xp.mean(draws, axis=1)
    return rhat.Part(draws.shape[1], mean, xp.sum((draws - mean[:, None]) ** 2, axis=1))

"""Effective sample size and R-hat of draws [chain, draw]."""

import jax
import jax.numpy as jnp


def effective_sample_size(draws: jax.Array) -> jax.Array:
    r"""Effective sample size of a scalar, summed over chains.

    $\frac{b n}{-1 + 2\sum_k (1 - k/n)\rho_k}$ with autocorrelations $\rho_k$ relative to the
    variance within and between chains, up to the first that is negative. Zero where a chain never
    moved.
    """
    num_chains, num_draws = draws.shape
    means = jnp.mean(draws, axis=1)
    centred = draws - means[:, None]
    spectrum = jnp.fft.rfft(centred, 2 * num_draws, axis=1)
    lags = jnp.arange(num_draws, dtype=draws.dtype)
    products = jnp.fft.irfft(jnp.abs(spectrum) ** 2, 2 * num_draws, axis=1)[:, :num_draws]
    covariance = jnp.mean(products.astype(draws.dtype), axis=0) / (num_draws - lags)
    between = jnp.var(means, ddof=1) if num_chains > 1 else jnp.zeros((), draws.dtype)
    variance = covariance[0] + between
    correlation = 1.0 - (covariance[0] - covariance) / jnp.where(variance > 0, variance, 1.0)
    kept = jnp.cumsum(correlation < 0) == 0
    total = jnp.sum(jnp.where(kept, (1.0 - lags / num_draws) * correlation, 0.0))
    ess = num_chains * num_draws / (-1.0 + 2.0 * total)
    moved = jnp.all(jnp.max(draws, axis=1) > jnp.min(draws, axis=1))
    return jnp.where(moved & (variance > 0), ess, 0.0)


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


@jax.jit
def split_rhat(draws: jax.Array) -> jax.Array:
    """Split R-hat of every coordinate of draws [chain, draw, dim]; one means no disagreement
    between half-chains.
    """
    num_chains, num_draws, dim = draws.shape
    half = num_draws // 2
    halves = draws[:, : 2 * half].reshape(2 * num_chains, half, dim)
    within = jnp.mean(jnp.var(halves, axis=1, ddof=1), axis=0)
    between = jnp.var(jnp.mean(halves, axis=1), axis=0, ddof=1)
    pooled = within * (half - 1) / half + between
    return jnp.sqrt(pooled / jnp.where(within > 0, within, 1.0))

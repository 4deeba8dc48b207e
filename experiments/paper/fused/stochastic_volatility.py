"""Stochastic volatility: recursions over days as products with small matrices of powers."""

import jax
import jax.numpy as jnp

from snaper import targets
from snaper.target import Target
from snaper.targets.stochastic_volatility import NUM_DAYS

from .kernel import Kernel, fused, load, softplus, store

SIDE = 16  # days are numbered by three digits of so many


def target() -> Target:
    plain = targets.get("stochastic-volatility")
    return fused(plain, Kernel(_write, None, warps=4), plain.data)


def _write(x_ref, squares_ref, grad_ref):
    """Level, persistence, shocks, scale. Volatilities, in units of the scale, are a recursion
    forwards in time, what the density gains by larger shocks is one backwards.
    """
    day = jnp.arange(SIDE**2)[:, None] * SIDE + jnp.arange(SIDE)[None, :]
    there = day < NUM_DAYS
    of_level, of_persistence, of_shocks, of_scale = 0, 1, 2 + day, 2 + NUM_DAYS
    level, free, free_scale = x_ref[of_level], x_ref[of_persistence], x_ref[of_scale]
    up, down = jax.nn.sigmoid(free), jax.nn.sigmoid(-free)
    persistence = up - down
    scale = softplus(free_scale)
    rising, falling = jax.nn.sigmoid(free_scale), jax.nn.sigmoid(-free_scale)

    shocks = load(x_ref, of_shocks, mask=there)
    widths = jnp.where(day == 0, jax.lax.rsqrt(4.0 * up * down), 1.0)
    innovations = shocks * widths
    before = _recur(persistence, innovations, forward=True)
    unit = innovations + persistence * before
    surprise = load(squares_ref, day, mask=there) * jnp.exp(-(level + scale * unit))
    slope = jnp.where(there, (surprise - 1.0) / 2, 0.0)
    gain = scale * slope + persistence * _recur(persistence, scale * slope, forward=False)

    store(grad_ref, of_shocks, value=gain * widths - shocks, mask=there)
    grad_ref[of_level] = jnp.sum(slope) - 2.0 * level / (25.0 + level**2)
    to_first = jnp.sum(jnp.where(day == 0, gain * innovations, 0.0))
    to_persistence = 2.0 * up * down * jnp.sum(gain * before) + persistence * to_first / 2
    grad_ref[of_persistence] = to_persistence + 19.0 * down - 0.5 * up - persistence
    to_scale = jnp.sum(slope * unit) - 2.0 * scale / (4.0 + scale**2)
    grad_ref[of_scale] = to_scale * rising + falling


def _recur(factor, numbers, forward: bool):
    """The sum of all numbers before each, or after it, each times the factor to the power of how
    many are between; numbers [row, column] are in a sequence, row after row.
    """
    place = jnp.arange(SIDE) if forward else SIDE - 1 - jnp.arange(SIDE)
    in_row = jnp.dot(numbers, _reach(factor, place), precision=jax.lax.Precision.HIGHEST)
    rows = jnp.sum(numbers * _power(factor, SIDE - 1 - place)[None, :], axis=1)
    if rows.size == SIDE:
        others = jnp.sum(rows[:, None] * _reach(factor**SIDE, place), axis=0)
    else:
        others = _recur(factor**SIDE, rows.reshape(SIDE, SIDE), forward).reshape(rows.shape)
    return in_row + others[:, None] * _power(factor, place)[None, :]


def _reach(factor, place):
    """How much each place takes of those before it, [from, to]."""
    between = place[None, :] - place[:, None] - 1
    return jnp.where(between >= 0, _power(factor, jnp.maximum(between, 0)), 0.0)


def _power(base, exponent):
    """Of exponents below SIDE, by squaring: a general power takes far longer."""
    power, bit = jnp.ones(exponent.shape, base.dtype), 1
    while bit < SIDE:
        power = jnp.where(exponent & bit != 0, power * base, power)
        base, bit = base * base, 2 * bit
    return power

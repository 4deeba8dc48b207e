r"""The recursion h_0 = e_0, h_t = phi h_{t-1} + e_t, without a loop over time.

Time is cut in blocks. Within a block h = e U, where U_jt = phi^(t-j) for t >= j. The last states of
the blocks obey the same recursion with phi to the power of a block's length, so they are found by
the same function; each is then handed to the first innovation of the next block.
"""

from functools import partial

import jax
import jax.numpy as jnp

BLOCKS = {"cpu": 8, "default": 6}
"""Lengths of blocks, by where they are computed: whatever is fastest for years of days."""


@jax.custom_jvp
def autoregress(phi: jax.Array, innovations: jax.Array) -> jax.Array:
    """h_t = phi h_{t-1} + e_t from h_0 = e_0, of one series [time]."""
    return _solve(phi, innovations)


@autoregress.defjvp
def _autoregress_jvp(primals, tangents):
    """dh obeys the recursion of h with the innovations de_t + dphi h_{t-1}."""
    (phi, innovations), (d_phi, d_innovations) = primals, tangents
    h = autoregress(phi, innovations)
    before = jnp.pad(h[:-1], (1, 0))
    return h, _solve(phi, d_innovations + d_phi * before)


def _solve(phi, innovations):
    by_platform = {name: partial(in_blocks, block) for name, block in BLOCKS.items()}
    return jax.lax.platform_dependent(phi, innovations, **by_platform)


def in_blocks(longest, phi, innovations):
    """The same by blocks of at most this length."""
    length = innovations.shape[0]
    block = min(longest, length)
    step = jnp.arange(block, dtype=phi.dtype)
    lag = step - step[:, None]
    powers = jnp.where(lag >= 0, phi ** jnp.abs(lag), 0.0)
    if length <= longest:
        return _product(innovations, powers)
    blocks = jnp.pad(innovations, (0, -length % block)).reshape(-1, block)
    last = in_blocks(longest, phi**block, jnp.sum(blocks[:-1] * powers[:, -1], axis=-1))
    blocks = blocks.at[1:, 0].add(phi * last)
    return _product(blocks, powers).reshape(-1)[:length]


def _product(a, b):
    """Of small matrices, as a sum: that is fused into the rest of a gradient, and not rounded to
    ten bits on a GPU.
    """
    return jnp.sum(a[..., :, None] * b, axis=-2)

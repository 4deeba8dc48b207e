"""Multipliers of mean one for the trajectory length, one per transition, shared by all chains."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from ._types import Key, Scalar


@dataclass(frozen=True)
class QuasiRandom:
    """Van der Corput's sequence in base two, digitally shifted by the run's key, on the open
    interval (0, 2).

    It fills the interval evenly over any stretch of steps and repeats after 2^32 of them.
    """

    def __call__(self, key: Key, step: Scalar, dtype) -> Scalar:
        shift = jax.random.bits(key, (), jnp.uint32)
        bits = _reverse(step.astype(jnp.uint32)) ^ shift
        return ((bits >> 9).astype(dtype) + 0.5) / 2.0**22  # 23 bits are exact in float32


@dataclass(frozen=True)
class Uniform:
    """Independent draws from the open interval (0, 2)."""

    def __call__(self, key: Key, step: Scalar, dtype) -> Scalar:
        return jax.random.uniform(jax.random.fold_in(key, step), (), dtype, 1e-7, 2.0)


@dataclass(frozen=True)
class Constant:
    """No jitter: always one."""

    def __call__(self, key: Key, step: Scalar, dtype) -> Scalar:
        return jnp.ones((), dtype)


def _reverse(bits: jax.Array) -> jax.Array:
    """The 32 bits of an unsigned integer in reverse order."""
    for width, mask in (
        (1, 0x55555555),
        (2, 0x33333333),
        (4, 0x0F0F0F0F),
        (8, 0x00FF00FF),
        (16, 0x0000FFFF),
    ):
        mask = jnp.uint32(mask)
        bits = ((bits >> width) & mask) | ((bits & mask) << width)
    return bits

"""Random numbers computed here are JAX's own, bit for bit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from snaper import prng


def same(draw, key=None):
    key = jax.random.key(12345) if key is None else key
    ours, theirs = jax.jit(draw)(prng.unrolled(key)), jax.jit(draw)(key)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("shape", [(), (7,), (64, 33)])
def test_numbers_are_the_same(dtype, shape):
    same(lambda key: jax.random.uniform(key, shape, dtype))
    same(lambda key: jax.random.normal(key, shape, dtype))


def test_bits_and_integers_are_the_same():
    for width in (8, 16, 32, 64):
        same(lambda key, width=width: jax.random.bits(key, (5, 3), f"uint{width}"))
    same(lambda key: jax.random.randint(key, (50,), 1, 17, jnp.int32))


@pytest.mark.parametrize("data", [0, 1, 2**31 - 1, 2**32 - 1])
def test_derived_keys_are_the_same(data):
    def derived(key):
        left, right = jax.random.split(jax.random.fold_in(key, np.uint32(data)))
        many = jax.random.split(right, (2, 3))
        return jnp.stack([jax.random.bits(left), jax.random.bits(many[1, 2])])

    same(derived)


def test_keys_in_a_batch_are_the_same():
    same(jax.vmap(jax.random.normal), jax.random.split(jax.random.key(1), 6))


def test_keys_of_another_kind_are_left_alone():
    key = jax.random.key(3, impl="rbg")
    assert prng.unrolled(key) is key

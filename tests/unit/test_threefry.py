"""Random numbers are JAX's own, computed faster."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from snaper import threefry

SHAPES = [(), (1,), (7,), (64, 33), (3, 5, 11)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("name", ["normal", "uniform"])
def test_equals_jax_number_for_number(name, dtype, shape):
    for seed in (0, 1, 2**31):
        assert threefry.written_out(jax.random.key(seed))
        key = jax.random.fold_in(jax.random.key(seed), 5)
        ours = getattr(threefry, name)(key, shape, dtype)
        theirs = getattr(jax.random, name)(key, shape, dtype)
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


def test_equals_jax_for_many_keys_at_once():
    keys = jax.random.split(jax.random.key(3), 10)
    ours = jax.jit(jax.vmap(lambda key: threefry.normal(key, (4, 3), jnp.float32)))(keys)
    theirs = [jax.random.normal(key, (4, 3), jnp.float32) for key in keys]
    np.testing.assert_array_equal(ours, np.stack(theirs))


@pytest.mark.parametrize("name", ["normal", "uniform"])
def test_other_generators_are_left_to_jax(name):
    key = jax.random.key(0, impl="rbg")
    ours = getattr(threefry, name)(key, (8,), jnp.float32)
    np.testing.assert_array_equal(ours, getattr(jax.random, name)(key, (8,), jnp.float32))


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("name", ["normal", "uniform"])
def test_part_of_an_array_can_be_drawn_alone(name, dtype):
    draw, key = jax.jit(getattr(threefry, name), static_argnums=(1, 2)), jax.random.key(7)
    for shape in ((12,), (12, 5)):
        whole = draw(key, shape, dtype)
        for first in (0, 4, 8):
            part = draw(key, (4, *shape[1:]), dtype, first)
            np.testing.assert_array_equal(part, whole[first : first + 4])

"""Multipliers of the trajectory length."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from snaper import jitter

pytestmark = pytest.mark.usefixtures("strict")

NUM_STEPS = 2**16


@partial(jax.jit, static_argnums=(0, 2, 3))
def _sequence(kind, key, num_steps, dtype):
    return jax.vmap(lambda step: kind(key, step, dtype))(jnp.arange(num_steps, dtype=jnp.int32))


def sequence(kind, seed=0, dtype=jnp.float64):
    return np.asarray(_sequence(kind, jax.random.key(seed), NUM_STEPS, dtype))


def discrepancy(u):
    """Largest distance between the empirical and the uniform distribution function on (0, 1)."""
    u, n = np.sort(u), len(u)
    return max(np.max(np.arange(1, n + 1) / n - u), np.max(u - np.arange(n) / n))


KINDS = [jitter.QuasiRandom(), jitter.Uniform()]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)


@each_kind
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_lies_in_the_open_interval_and_has_mean_one(kind, dtype):
    u = sequence(kind, dtype=dtype)
    assert u.dtype == dtype
    assert 0.0 < u.min() < 1e-3 and 2.0 - 1e-3 < u.max() < 2.0
    assert abs(u.mean(dtype=float) - 1.0) < 4 * np.sqrt(1 / 3) / np.sqrt(NUM_STEPS)
    np.testing.assert_allclose(u.var(dtype=float), 1 / 3, rtol=0.02)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_quasi_random_is_open_at_its_very_ends(dtype):
    """The steps whose reversed bits cancel the shift, or all of its complement."""
    key = jax.random.key(3)
    shift = format(int(jax.random.bits(key, (), jnp.uint32)), "032b")
    complement = shift.translate(str.maketrans("01", "10"))
    first, last = (jnp.asarray(int(bits[::-1], 2), jnp.uint32) for bits in (shift, complement))
    low, high = (float(jitter.QuasiRandom()(key, step, dtype)) for step in (first, last))
    assert 0.0 < low < 1e-6 and 2.0 - 1e-6 < high < 2.0


@each_kind
def test_never_repeats_within_a_long_run(kind):
    u = sequence(kind)
    assert len(np.unique(u)) == NUM_STEPS
    assert np.abs(u[1024:] - u[:-1024]).mean() > 1e-4  # nor nearly, after ten binary digits


@each_kind
def test_another_key_gives_another_sequence(kind):
    a, b = sequence(kind, 0), sequence(kind, 1)
    assert np.mean(a == b) < 0.01
    np.testing.assert_array_equal(a, sequence(kind, 0))


def test_quasi_random_fills_evenly_over_any_stretch():
    """Discrepancy falls as log n / n, independent draws' as n^(-1/2)."""
    even, independent = sequence(jitter.QuasiRandom()) / 2, sequence(jitter.Uniform()) / 2
    for start in (0, 1, 777, 40_000):
        for length in (64, 1000, 8192):
            part = even[start : start + length]
            assert discrepancy(part) < 2 * np.log2(length) / length
            other = discrepancy(independent[start : start + length])
            assert other > 0.3 / np.sqrt(length)  # the yardstick itself is as expected


def test_quasi_random_halves_alternate():
    """Every pair of steps has one multiplier below one and one above, whatever the key."""
    for seed in range(3):
        u = sequence(jitter.QuasiRandom(), seed)
        assert ((u[0::2] < 1) != (u[1::2] < 1)).all()


def test_late_steps_are_as_good_as_early_ones():
    """Beyond 2^24, where float32 no longer tells whole numbers apart."""
    step = jnp.arange(2**24, 2**24 + 64, dtype=jnp.int32)
    u = jax.vmap(lambda s: jitter.QuasiRandom()(jax.random.key(0), s, jnp.float32))(step)
    assert discrepancy(np.asarray(u) / 2) < 0.05


def test_constant_is_one():
    value = jitter.Constant()(jax.random.key(0), jnp.asarray(3, jnp.int32), jnp.float32)
    assert value == 1.0 and value.dtype == jnp.float32

"""Arrays of a device as NumPy's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from snaper import host


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64, jnp.int32])
def test_numbers_and_dtype_are_kept(dtype):
    array = jnp.arange(24, dtype=dtype).reshape(2, 3, 4)
    found = host.brought(array)
    assert isinstance(found, np.ndarray) and found.dtype == array.dtype
    np.testing.assert_array_equal(found, np.arange(24).reshape(2, 3, 4))


def test_what_is_on_the_host_stays_there():
    array = np.arange(3.0)
    assert host.brought(array) is array


@pytest.mark.cpu
def test_a_cpu_s_memory_is_the_host_s(monkeypatch):
    """Nothing is copied to other memory of its own."""
    monkeypatch.setattr(jax, "device_put", lambda *_: pytest.fail("was copied"))
    host.brought(jnp.ones(3))


def test_pinned_memory_brings_the_same(monkeypatch):
    """JAX's CPU has memory of that name too: the way of a GPU, on a CPU."""
    array = jnp.arange(5.0)
    kinds = {memory.kind for device in array.devices() for memory in device.addressable_memories()}
    if "pinned_host" not in kinds:
        pytest.skip("this JAX has no pinned memory on a CPU")
    monkeypatch.setattr(host, "_has_pinned", lambda _: True)
    np.testing.assert_array_equal(host.brought(array), np.arange(5.0))

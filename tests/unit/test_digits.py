"""Data that the default numbers of JAX have no room for."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from helpers import one_sentence

import snaper
from snaper.digits import kept

PEOPLE = np.array([3_000_000_000, 1_400_000_000, 80_000_000])
SECONDS = 1.7e9 + 60.0 * np.arange(60)
REFUSED = {
    "whole numbers": (PEOPLE, "data n has 3000000000, for which int32 has no room"),
    "one of them": (3_000_000_000, "data n has 3000000000"),
    "large numbers": (np.array([1.0, 1e300]), "data n has 1e.300, for which float32 has no room"),
    "times": (SECONDS, "data n, of standard deviation 1e.03, is rounded by up to 64 in float32"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_would_become_another_number_is_refused(what):
    data, words = REFUSED[what]
    with jax.enable_x64(False), pytest.raises(ValueError, match=words) as caught:
        snaper.Target(lambda p, d: -(p**2) + jnp.sum(d["n"]), 0.0, {"n": data})
    assert one_sentence(str(caught.value))
    with jax.enable_x64(True):
        np.testing.assert_array_equal(kept(data), data)


TAKEN = {
    "counts": np.array([0, 7, 2**31 - 1]),
    "years": 1950.0 + np.arange(70),
    "measured": np.random.default_rng(0).normal(1e3, 1.0, 100),
    "one number": 1.7e9 + 0.3,
    "equal ones": np.full(5, 1e9 + 0.1),
    "missing ones": np.array([np.nan, 1.0, 2.0]),
    "none": np.zeros(0),
    "flags": np.array([True, False]),
    "single precision": np.float32([1e9, 1e9 + 64]),
}


@pytest.mark.parametrize("what", TAKEN)
def test_what_rounding_does_not_change_is_taken(what):
    with jax.enable_x64(False):
        found = kept(TAKEN[what])
    np.testing.assert_allclose(found, TAKEN[what], rtol=1e-7)


def test_arguments_of_models_are_looked_at_too():
    def model(times):
        numpyro.sample("a", numpyro.distributions.Normal(0.0, 1.0))
        numpyro.sample("b", numpyro.distributions.Normal(times - times[0], 1.0), obs=times)

    with jax.enable_x64(False), pytest.raises(ValueError, match="rounded by up to 64 in float32"):
        snaper.sample(model, SECONDS)

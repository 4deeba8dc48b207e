"""All chains at the mean of draws from the prior."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from helpers import normal_model, one_sentence
from numpyro.distributions import constraints

import snaper
from snaper import Target, starts


def numpyro_model():
    numpyro.sample("rate", dist.Exponential(0.5))
    numpyro.sample("share", dist.Uniform(1, 3).expand([2]))


def written():
    def sample_prior(key):
        first, second = jax.random.split(key)
        return {
            "rate": 2 * jax.random.exponential(first),
            "share": jax.random.uniform(second, (2,), minval=1, maxval=3),
        }

    like = {"rate": 1.0, "share": jnp.ones(2)}
    bounds = {"rate": constraints.positive, "share": constraints.interval(1, 3)}
    return Target(lambda p: -0.5 * p["rate"], like, None, bounds, sample_prior=sample_prior)


def pymc_model():
    pm = pytest.importorskip("pymc")
    with pm.Model() as model:
        pm.Exponential("rate", 0.5)
        pm.Uniform("share", 1, 3, shape=2)
    return snaper.from_pymc(model)


TARGETS = {
    "log density": written,
    "NumPyro": lambda: snaper.from_numpyro(numpyro_model),
    "PyMC": pymc_model,
}


@pytest.mark.parametrize("way", TARGETS)
def test_start_is_the_mean_where_the_density_sees_it(way):
    """Within 5 standard errors: 1/16 for the mean of 256 draws, in standard deviations."""
    target = TARGETS[way]()
    found = starts.find(jax.random.key(0), target, 4, "prior-mean")
    assert found.num_replaced == 0
    np.testing.assert_array_equal(found.x, found.x[:1].repeat(4, axis=0))
    at = target.constrain(found.x[0])
    np.testing.assert_allclose(at["rate"], 2, atol=5 * 2 / 16)
    np.testing.assert_allclose(at["share"], 2, atol=5 * np.sqrt(1 / 3) / 16)
    other = starts.find(jax.random.key(1), target, 4, "prior-mean")
    assert not np.array_equal(other.x, found.x)


@pytest.mark.parametrize("way", TARGETS)
def test_named_starts_are_where_the_density_sees_them(way):
    target = TARGETS[way]()
    one = {"rate": np.array(1.5), "share": np.array([1.2, 2.3])}
    rates = {"rate": np.array([1.0, 2.0]), "share": np.tile(one["share"], (2, 1))}
    for init in (one, rates):
        found = starts.find(jax.random.key(0), target, 2, init)
        at = jax.vmap(target.constrain)(found.x)
        np.testing.assert_allclose(at["rate"], np.broadcast_to(init["rate"], 2))
        np.testing.assert_allclose(at["share"], rates["share"])


def test_target_without_a_prior_says_so():
    with pytest.raises(ValueError, match="no prior to draw from") as caught:
        snaper.sample(normal_model(), init="prior-mean", progress=False)
    assert one_sentence(str(caught.value))

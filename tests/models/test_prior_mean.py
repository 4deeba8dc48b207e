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


def gamma_numpyro():
    numpyro.sample("rate", dist.Gamma(4.0, 2.0))
    numpyro.sample("share", dist.Dirichlet(jnp.array([1.0, 2.0, 5.0])))


def gamma_plain():
    def log_density(params):
        rate, share = params["rate"], params["share"]
        powers = jnp.array([0.0, 1.0, 4.0])
        return 3 * jnp.log(rate) - 2 * rate + jnp.sum(powers * jnp.log(share))

    def sample_prior(key):
        first, second = jax.random.split(key)
        return {
            "rate": jax.random.gamma(first, 4.0) / 2,
            "share": jax.random.dirichlet(second, jnp.array([1.0, 2.0, 5.0])),
        }

    like = {"rate": 1.0, "share": jnp.ones(3) / 3}
    bounds = {"rate": constraints.positive, "share": constraints.simplex}
    return Target(log_density, like, None, bounds, sample_prior=sample_prior)


def gamma_pymc():
    pm = pytest.importorskip("pymc")
    with pm.Model() as model:
        pm.Gamma("rate", 4, 2)
        pm.Dirichlet("share", np.array([1.0, 2.0, 5.0]))
    return snaper.from_pymc(model)


TARGETS = {
    "log density": gamma_plain,
    "NumPyro": lambda: snaper.from_numpyro(gamma_numpyro),
    "PyMC": gamma_pymc,
}


@pytest.mark.parametrize("way", TARGETS)
def test_start_is_the_mean_where_the_density_sees_it(way):
    """Within 5 standard errors: 1/16 for the mean of 256 draws, in standard deviations."""
    target = TARGETS[way]()
    found = starts.find(jax.random.key(0), target, 4, "prior-mean")
    assert found.num_replaced == 0
    np.testing.assert_array_equal(found.x, found.x[:1].repeat(4, axis=0))
    at = target.constrain(found.x[0])
    np.testing.assert_allclose(at["rate"], 2.0, atol=5 * 1.0 / 16)
    share = np.array([1, 2, 5]) / 8
    sd = np.sqrt(share * (1 - share) / 9)
    assert (abs(at["share"] - share) < 5 * sd / 16).all()
    other = starts.find(jax.random.key(1), target, 4, "prior-mean")
    assert not np.array_equal(other.x, found.x)


@pytest.mark.parametrize("way", TARGETS)
def test_named_starts_are_where_the_density_sees_them(way):
    target = TARGETS[way]()
    one = {"rate": np.array(1.5), "share": np.array([0.2, 0.3, 0.5])}
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

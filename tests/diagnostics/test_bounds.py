"""Values that a type cannot tell from their bound."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.distributions import constraints

import snaper
from snaper.diagnostics.bounds import at_bounds

LIKE = {"free": 0.0, "positive": 1.0, "share": 0.5, "simplex": jnp.ones(3) / 3}
BOUNDS = {
    "positive": constraints.positive,
    "share": constraints.unit_interval,
    "simplex": constraints.simplex,
}


def points(dtype, **where):
    """Two, of which the first is at zero, of the parameters above."""
    places = {"free": 0, "positive": 1, "share": 2, "simplex": 3}
    x = np.zeros((2, 5), dtype)
    for name, value in where.items():
        x[1, places[name]] = value
    return x


def log_density(p):
    return -(p["free"] ** 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_only_what_saturates_is_told(dtype):
    end = -np.log(np.finfo(dtype).eps)
    with jax.enable_x64(dtype == np.float64):
        like = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), LIKE)
        target = snaper.Target(log_density, like, None, BOUNDS)
        assert at_bounds(target, points(dtype, share=end + 3)) == {"share": 0.5}
        assert at_bounds(target, points(dtype, simplex=end + 5)) == {"simplex": 0.5}
        for name, value in {
            "free": 1e12,
            "positive": -end - 3,  # a number close to zero is told from others
            "share": -end - 3,
            "simplex": -end - 3,
        }.items():
            assert at_bounds(target, points(dtype, **{name: value})) == {}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_correlations_saturate_before_shares(dtype):
    end = -np.log(np.finfo(dtype).eps) / 2
    with jax.enable_x64(dtype == np.float64):
        like, bounds = {"c": jnp.eye(2, dtype=dtype)}, {"c": constraints.corr_cholesky}
        target = snaper.Target(lambda p: p["c"][1, 0], like, None, bounds)
        places = np.array([[0.0], [end + 4.0]], dtype)
        assert at_bounds(target, places) == {"c": 0.5} == at_bounds(target, -places)
        assert at_bounds(target, places / 2) == {}


def beta(width):
    numpyro.sample("p", dist.Beta(width, width))


def test_tails_of_a_share_are_right_or_told():
    """A tenth of Beta(0.1, 0.1) is closer to one than NumPyro's numbers of single precision."""
    sizes = {"chains": 64, "warmup": 600, "draws": 200, "progress": False}
    with jax.enable_x64(False):
        narrow = snaper.sample(beta, 0.1, **sizes)
        told = [str(each) for each in narrow.findings if each.topic == "precision"]
        assert len(told) == 1 and told[0].startswith("p is so close to a bound in ")
        wide = snaper.sample(beta, 0.7, **sizes)
        assert [each for each in wide.findings if each.topic == "precision"] == []

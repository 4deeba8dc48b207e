"""What functions read from their surroundings: runs are of what it is now, not of what it was."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

import snaper
from snaper import surroundings

SIZES = {"chains": 16, "warmup": 200, "draws": 100, "progress": False}
DATA = np.zeros(20)
WIDTH = 10.0


def density(p):
    return -0.5 * jnp.sum((p["mean"] - DATA) ** 2)


def model():
    mean = numpyro.sample("mean", dist.Normal(0.0, WIDTH))
    numpyro.deterministic("scaled", mean / WIDTH)
    numpyro.sample("y", dist.Normal(mean, 1.0), obs=DATA)


WAYS = {
    "log density": lambda: (snaper.Target(density, {"mean": 0.0}),),
    "NumPyro": lambda: (model,),
}


@pytest.mark.parametrize("way", WAYS)
def test_data_that_changed_are_seen(monkeypatch, way):
    """By another array in its place, and back."""
    found = []
    for level in (0.0, 4.0, 0.0):
        monkeypatch.setitem(globals(), "DATA", np.full(20, level))
        found.append(snaper.sample(*WAYS[way](), **SIZES).draws["mean"].mean())
    np.testing.assert_allclose(found, [0.0, 4.0, 0.0], atol=0.1)


def test_a_number_of_the_prior_that_changed_is_seen(monkeypatch):
    monkeypatch.setitem(globals(), "DATA", np.full(20, 4.0))
    for width in (10.0, 0.1):
        monkeypatch.setitem(globals(), "WIDTH", width)
        draws = snaper.sample(model, **SIZES).draws
        wanted = 80.0 / (20.0 + width**-2)
        np.testing.assert_allclose(draws["mean"].mean(), wanted, atol=0.1)
        np.testing.assert_allclose(draws["scaled"], draws["mean"] / width, rtol=1e-6)


def test_the_same_surroundings_compile_nothing(compilations):
    for way in WAYS.values():
        snaper.sample(*way(), **SIZES)
        compilations()
        snaper.sample(*way(), **SIZES)
        assert compilations() == []


def program(level=1.0, entry=0.0, double=False):
    """A function with programs within programs, made anew."""
    table = np.zeros(5000)
    table[2500] = entry

    def turn(total, each):
        return jax.lax.cond(each > 0, lambda: total + level, lambda: jax.nn.softplus(total)), each

    def function(x):
        total, _ = jax.lax.scan(turn, x, jnp.arange(3.0))
        total = jax.lax.while_loop(lambda y: y < 0, lambda y: y + level, total)
        noise = jax.random.normal(jax.random.key(3), (2,)).sum()
        factor = jnp.linalg.cholesky(jnp.eye(2) * (x**2 + 1.0)).sum()
        grad = jax.grad(lambda y: jax.scipy.special.gammaln(y))(x)
        total = total + noise + factor + grad + jnp.sum(jnp.asarray(table) * x)
        return 2 * total if double else total

    return function


def test_digests_tell_programs_apart_and_nothing_else():
    same = {surroundings.digest(program(), 1.0) for _ in range(3)}
    others = {
        surroundings.digest(program(level=1.0 + 1e-12), 1.0),
        surroundings.digest(program(entry=1e-30), 1.0),
        surroundings.digest(program(double=True), 1.0),
        surroundings.digest(program(), np.float32(1.0)),
    }
    assert len(same) == 1 and len(others) == 4 and not same & others

"""Coordinates whose widths do not follow each other: the same posterior, and learnt from a run."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import NUM_CHAINS, standard_normal
from numpyro.distributions import LogNormal, Normal, constraints

import snaper
from snaper import straighten
from snaper.bend import Bend, bent_by
from snaper.diagnostics import ess

SPREAD = 1.5  # of a group's log scale
EFFECTS = 6


def log_group(p):
    prior = LogNormal(0.0, SPREAD).log_prob(p["scale"])
    return prior + jnp.sum(Normal(2.0, p["scale"]).log_prob(p["effects"]))


@pytest.fixture(scope="module")
def group():
    """Effects about 2 whose scale is unknown: where it is small, they are narrow."""
    like = {"effects": jnp.zeros(EFFECTS), "scale": 1.0}
    return snaper.Target(log_group, like, constraints={"scale": constraints.positive})


@pytest.fixture(scope="module")
def plain(group):
    return snaper.sample(group, chains=32, warmup=300, draws=300, seed=1, progress=False)


@pytest.fixture(scope="module")
def straight(plain):
    """A run in the coordinates that the plain one taught."""
    target = snaper.straightened(plain)
    return snaper.sample(target, chains=32, warmup=300, draws=300, seed=2, progress=False)


@pytest.fixture
def bend():
    rng = np.random.default_rng(0)
    exponents = rng.normal(size=(EFFECTS + 1, 2))
    exponents[[2, EFFECTS]] = 0.0
    centre, width = rng.normal(size=EFFECTS + 1), rng.uniform(0.5, 2.0, EFFECTS + 1)
    return Bend(*map(jnp.asarray, (centre, width, [2, EFFECTS], exponents)))


def test_density_and_gradient_are_those_of_the_change_of_variables(group, bend):
    z = jax.random.normal(jax.random.key(1), (5, EFFECTS + 1))
    x, target = bend.bent(z), bent_by(group, bend)
    np.testing.assert_allclose(bend.straight(x), z, rtol=1e-10)
    log_dets = np.linalg.slogdet(np.asarray(jax.vmap(jax.jacobian(bend.bent))(z)))[1]
    np.testing.assert_allclose(bend.log_det(z), log_dets, rtol=1e-10)
    expected = jax.vmap(group.logp)(x) + log_dets
    np.testing.assert_allclose(jax.vmap(target.logp)(z), expected, rtol=1e-10)
    scores = bend.score(z, jax.vmap(jax.grad(group.logp))(x))
    np.testing.assert_allclose(scores, jax.vmap(jax.grad(target.logp))(z), rtol=1e-8, atol=1e-10)


def test_parameters_are_as_they_were(group, bend):
    target = bent_by(group, bend)
    params = {"effects": jnp.arange(EFFECTS, dtype=float), "scale": jnp.asarray(0.3)}
    z = target.flatten(params)
    assert not np.allclose(z, group.flatten(params))
    for name, value in target.constrain(z).items():
        np.testing.assert_allclose(value, params[name], rtol=1e-10, atol=1e-12)
    assert target.parameters == group.parameters


def test_a_gaussian_is_not_rough_and_a_funnel_is_until_it_is_straight():
    """Exact draws of both: the funnel's pivot is found, and that widths follow half of it."""
    normal = jax.random.normal(jax.random.key(0), (4000, 3))
    widths = jnp.asarray([0.1, 1.0, 30.0])
    x, grad = normal * widths, -normal / widths
    assert straighten.find(x, grad).pivots.size == 0
    assert abs(straighten.roughness(straighten.flat(x), x, grad)) < 0.05

    x, grad = _funnel(normal, 1.0)
    learnt = straighten.find(x, grad)
    np.testing.assert_array_equal(learnt.pivots, [0])
    np.testing.assert_allclose(learnt.exponents[:, 0], [0.0, 0.5, 0.5], atol=0.05)
    assert straighten.roughness(straighten.flat(x), x, grad) > 0.3
    assert abs(straighten.roughness(learnt, x, grad)) < 0.05


@pytest.mark.parametrize("seed", range(3))
def test_a_wide_funnel_is_found_where_heavy_tails_hide_it(seed):
    """Exact draws, the neck included, whose gradients are e^10 times as large as others."""
    x, grad = _funnel(jax.random.normal(jax.random.key(seed), (4096, 10)), 3.0)
    learnt = straighten.find(x, grad)
    np.testing.assert_array_equal(learnt.pivots, [0])
    np.testing.assert_allclose(jnp.std(learnt.straight(x), axis=0), 1.0, atol=1e-3)
    assert abs(straighten.roughness(learnt, x, grad)) < 0.1


def test_the_posterior_is_the_same_and_easier(plain, straight):
    """Mean and spread of the log scale, known exactly, within 5 standard errors: a false alarm in
    a million. More effective draws per gradient, by far.
    """
    log_scale = np.log(straight.draws["scale"])
    size = float(ess.effective_sample_size(jnp.asarray(log_scale)))
    assert abs(log_scale.mean()) < 5 * SPREAD / size**0.5
    of_squares = float(ess.effective_sample_size(jnp.asarray(log_scale**2)))
    assert abs(np.mean(log_scale**2) / SPREAD**2 - 1) < 5 * (2 / of_squares) ** 0.5
    assert straight.draws["effects"].shape == plain.draws["effects"].shape

    def per_gradient(run):
        sizes = ess.effective_sample_size(jnp.asarray(np.log(run.draws["scale"]) ** 2))
        return float(sizes) / run.num_gradients[1]

    assert per_gradient(straight) > 5 * per_gradient(plain)
    assert snaper.straightened(straight) is straight.target  # nothing is left to gain


def test_a_run_in_it_goes_on_from_a_store(plain, straight, tmp_path):
    """With coordinates learnt again from the same run, which are the same bit for bit."""
    sizes = {"chains": 32, "warmup": 300, "seed": 2, "progress": False}
    snaper.sample(straight.target, draws=100, store=tmp_path / "run.zarr", **sizes)
    again = snaper.straightened(plain)
    run = snaper.resume(tmp_path / "run.zarr", again, draws=300, progress=False)
    np.testing.assert_array_equal(run.unconstrained, straight.unconstrained)


def test_a_gaussian_is_left_as_it_is():
    target = snaper.Target(standard_normal, jnp.zeros(3))
    run = snaper.sample(target, chains=NUM_CHAINS, warmup=30, draws=60, progress=False)
    assert snaper.straightened(run) is run.target


def test_what_the_narrow_place_says_is_not_taken_where_it_makes_draws_rougher(
    plain, group, monkeypatch
):
    x = straighten.points(plain)
    found = straighten.find(x, jax.vmap(jax.grad(group.logp))(x))
    assert found.pivots.size
    monkeypatch.setattr(straighten, "find", lambda *given: found)  # which takes its time
    for wrong in (-3.0, np.nan):
        turned = found._replace(exponents=wrong * found.exponents)
        monkeypatch.setattr(straighten, "probed", lambda *given, turned=turned: turned)
        kept = straighten.learn(group, x, at_once=32)
        np.testing.assert_allclose(kept.exponents, found.exponents, rtol=1e-6)


def test_what_cannot_be_learnt_from_is_refused(plain):
    def like(**changes):
        return type(plain)(**{**vars_of(plain), **changes})

    with pytest.raises(TypeError, match=r"takes a run, .* not Target"):
        snaper.straightened(plain.target)
    with pytest.raises(ValueError, match="keep='draws'"):
        snaper.straightened(like(keep="moments"))
    with pytest.raises(ValueError, match=r"56 draws of all chains together or more, but .* 32:"):
        snaper.straightened(like(unconstrained=plain.unconstrained[:, :1]))
    with pytest.raises(ValueError, match=r"up to 512 coordinates .* has 600"):
        snaper.straightened(like(unconstrained=np.zeros((2, 1, 600))))
    still = plain.unconstrained.copy()
    still[..., -1] = 0.1  # whose standard deviation is not quite zero
    with pytest.raises(ValueError, match="scale is the same in all draws"):
        snaper.straightened(like(unconstrained=still))


def vars_of(run):
    return {name: getattr(run, name) for name in run.__dataclass_fields__}


def _funnel(normal, spread):
    """Draws, and gradients there: of a log variance with this spread, and what it is that of."""
    v = spread * normal[:, :1]
    x = jnp.concatenate([v, jnp.exp(v / 2) * normal[:, 1:]], axis=1)

    def logp(x):
        rest = x[1:]
        within = jnp.sum(rest**2) * jnp.exp(-x[0]) + rest.size * x[0]
        return -0.5 * ((x[0] / spread) ** 2 + within)

    return x, jax.vmap(jax.grad(logp))(x)

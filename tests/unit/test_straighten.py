"""Coordinates learnt while a run warms up: the same posterior, easier, and told as it was given."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import NUM_CHAINS, standard_normal
from numpyro.distributions import LogNormal, Normal, constraints

import snaper
from snaper import straighten
from snaper.diagnostics import ess

SPREAD = 1.5  # of a group's log scale
EFFECTS = 6
SIZES = {"chains": 32, "warmup": 500, "draws": 300, "progress": False}


def log_group(p):
    prior = LogNormal(0.0, SPREAD).log_prob(p["scale"])
    return prior + jnp.sum(Normal(2.0, p["scale"]).log_prob(p["effects"]))


@pytest.fixture(scope="module")
def group():
    """Effects about 2 whose scale is unknown: where it is small, they are narrow."""
    like = {"effects": jnp.zeros(EFFECTS), "scale": 1.0}
    return snaper.Target(log_group, like, constraints={"scale": constraints.positive})


@pytest.fixture(scope="module")
def as_given(group):
    return snaper.sample(group, seed=1, coordinates="given", **SIZES)


@pytest.fixture(scope="module")
def straight(group):
    return snaper.sample(group, seed=1, **SIZES)


def test_widths_are_found_to_follow_the_scale(group, straight, as_given):
    bend = straight.tuning.bend
    assert [group.coordinate_name(int(place)) for place in bend.pivots] == ["scale"]
    log_scale = jnp.linspace(-3.0, 3.0, 5)
    z = jnp.zeros((5, EFFECTS + 1)).at[:, -1].set(log_scale / bend.width[-1])
    widths = np.diff(
        jnp.log(bend.width[:-1] * jnp.exp(bend._given(bend.bent(z)[:, -1:])[0])[:, :-1]), axis=0
    )
    np.testing.assert_allclose(widths, 1.5, atol=0.15)
    assert as_given.tuning.bend is None


def test_the_posterior_is_the_same_and_easier(straight, as_given):
    """Mean and spread of the log scale, known exactly, within 5 standard errors: a false alarm in
    a million. More effective draws per gradient, by far.
    """
    log_scale = np.log(straight.draws["scale"])
    size = float(ess.effective_sample_size(jnp.asarray(log_scale)))
    assert abs(log_scale.mean()) < 5 * SPREAD / size**0.5
    of_squares = float(ess.effective_sample_size(jnp.asarray(log_scale**2)))
    assert abs(np.mean(log_scale**2) / SPREAD**2 - 1) < 5 * (2 / of_squares) ** 0.5

    def per_gradient(run):
        sizes = ess.effective_sample_size(jnp.asarray(np.log(run.draws["scale"]) ** 2))
        return float(sizes) / run.num_gradients[1]

    assert per_gradient(straight) > 5 * per_gradient(as_given)


def test_what_is_told_is_of_the_coordinates_that_were_given(group, straight):
    np.testing.assert_allclose(straight.draws["scale"], np.exp(straight.unconstrained[..., -1]))
    np.testing.assert_array_equal(straight.draws["effects"], straight.unconstrained[..., :-1])
    some = straight.unconstrained[0, :20]
    np.testing.assert_allclose(
        straight.stats["lp"][0, :20], jax.vmap(group.logp)(jnp.asarray(some)), rtol=1e-9
    )
    draws = straight.unconstrained.reshape(-1, group.dim)
    np.testing.assert_allclose(straight.moments.mean, draws.mean(axis=0), rtol=1e-6, atol=1e-6)
    assert straight.target is group
    kept = [f for f in straight.findings if f.severity == "trouble"]
    assert not kept, kept


def test_the_certificate_is_of_the_coordinates_that_were_sampled(straight):
    bend, tuning = straight.tuning.bend, straight.tuning
    z = np.asarray(bend.straight(jnp.asarray(straight.unconstrained)))
    along = (z - tuning.mean) @ tuning.direction
    np.testing.assert_allclose(straight.scalar, along**2, rtol=1e-5, atol=1e-8)


def test_stretches_do_not_matter(group, straight):
    other = snaper.sample(group, seed=1, chunk=37, **SIZES)
    np.testing.assert_array_equal(other.unconstrained, straight.unconstrained)


@pytest.mark.parametrize("stopped_in", ["before", "between", "after"])
def test_a_run_goes_on_from_a_store(group, straight, tmp_path, monkeypatch, stopped_in):
    """Killed before coordinates were learnt, between both looks, or while drawing."""
    done = {"before": 120, "between": 260, "after": 560}[stopped_in]

    class Killed(Exception):
        pass

    def die(course, phase, recorder):
        after_stretch(course, phase, recorder)
        course.keeper._commit(course, None)
        if course.warming.done + course.sampling.done >= done:
            raise Killed

    after_stretch = snaper.course.Course._after_stretch
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(snaper.course.Course, "_after_stretch", die)
        snaper.sample(group, seed=1, chunk=40, store=tmp_path / "run.zarr", **SIZES)
    run = snaper.resume(tmp_path / "run.zarr", group, progress=False)
    np.testing.assert_array_equal(run.unconstrained, straight.unconstrained)
    np.testing.assert_array_equal(run.stats["lp"], straight.stats["lp"])
    stored = snaper.load(tmp_path / "run.zarr")
    np.testing.assert_array_equal(stored.draws["scale"], straight.draws["scale"])
    np.testing.assert_array_equal(stored.tuning.bend.exponents, straight.tuning.bend.exponents)


def test_another_run_begins_with_them(group, straight, tmp_path):
    again = snaper.sample(
        group,
        chains=32,
        warmup=0,
        draws=100,
        tuning=straight.tuning,
        init=straight.unconstrained[:, -1],
        store=tmp_path / "run.zarr",
        progress=False,
    )
    np.testing.assert_array_equal(again.tuning.bend.exponents, straight.tuning.bend.exponents)
    assert again.stats["acceptance_rate"].mean() > 0.7
    assert again.num_gradients[1] <= 0.5 * straight.num_gradients[1]
    on = snaper.resume(tmp_path / "run.zarr", group, draws=150, progress=False)
    np.testing.assert_array_equal(on.unconstrained[:, :100], again.unconstrained)


def test_where_nothing_is_to_be_gained_draws_are_as_without_it():
    target = snaper.Target(standard_normal, jnp.zeros(3))
    sizes = {"chains": NUM_CHAINS, "warmup": 400, "draws": 30, "progress": False}
    one = snaper.sample(target, **sizes)
    other = snaper.sample(target, coordinates="given", **sizes)
    assert one.tuning.bend is None
    np.testing.assert_array_equal(one.unconstrained, other.unconstrained)


def test_when_coordinates_are_looked_at():
    assert straighten.looks(1000, 64, 32, 4096) == ((400, 700), 80)
    assert straighten.looks(1000, 4, 32, 4096).span == straighten.SPAN
    assert straighten.looks(399, 64, 32, 4096).after == ()  # no time
    assert straighten.looks(1000, 64, 513, 4096).after == ()  # too many dimensions
    assert straighten.looks(1000, 2, 32, 4096).after == ()  # too few points
    assert straighten.looks(1000, 4096, 400, 9).span == 2  # as many as are enough


@pytest.mark.parametrize("wrong", ["rough", "constant", "nan"])
def test_what_teaches_nothing_is_not_learnt_from(group, wrong):
    x = np.random.default_rng(0).normal(size=(40, 32, EFFECTS + 1))
    if wrong == "constant":
        x[..., 2] = 0.5
    elif wrong == "nan":
        x[3, 4] = np.nan
    assert straighten.learn(group, x) is None  # these are not its draws


def test_other_words_are_refused(group):
    with pytest.raises(ValueError, match="coordinates must be 'auto' or 'given', not 'learnt'"):
        snaper.sample(group, coordinates="learnt")

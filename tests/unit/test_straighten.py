"""Coordinates learnt while a run warms up: the same posterior, easier, and told as it was given."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import NUM_CHAINS, standard_normal
from numpyro.distributions import LogNormal, Normal, constraints

import snaper
from snaper import straighten
from snaper.arguments import straight_starts
from snaper.bend import Bend
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
    bend, (level,) = straight.tuning.bend, straight.tuning.bend.levels
    assert [group.coordinate_name(int(place)) for place in bend.pivots] == ["scale"]
    log_scale = jnp.linspace(-3.0, 3.0, 5)
    z = jnp.zeros((5, EFFECTS + 1)).at[:, -1].set(log_scale / level.width[-1])
    widths = np.diff(
        jnp.log(level.width[:-1] * level._local(level.bent(z)[:, -1:]).width[:, :-1]), axis=0
    )
    np.testing.assert_allclose(widths, 1.5, atol=0.15)
    assert straight.tuning.choice.endswith("; in units of widths that follow scale")
    assert as_given.tuning.bend is None and "widths" not in as_given.tuning.choice


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


def test_findings_are_of_the_coordinates_that_were_given(group, monkeypatch):
    seen = []
    monkeypatch.setattr(snaper.course.findings, "find", lambda facts: seen.append(facts) or [])
    run = snaper.sample(group, seed=1, **SIZES)
    assert run.tuning.bend is not None
    np.testing.assert_allclose(seen[0].lp, run.stats["lp"].mean(axis=1), rtol=1e-9)


def test_the_certificate_is_of_the_coordinates_that_were_sampled(straight):
    bend, tuning = straight.tuning.bend, straight.tuning
    z = np.asarray(bend.straight(jnp.asarray(straight.unconstrained)))
    along = (z - tuning.mean) @ tuning.direction
    np.testing.assert_allclose(straight.scalar, along**2, rtol=1e-5, atol=1e-8)


@pytest.mark.compiler
def test_stretches_do_not_matter(group, straight):
    other = snaper.sample(group, seed=1, chunk=37, **SIZES)
    np.testing.assert_array_equal(other.unconstrained, straight.unconstrained)


@pytest.mark.parametrize("stopped_in", ["before", "between", "after"])
def test_a_run_goes_on_from_a_store(group, straight, tmp_path, monkeypatch, stopped_in):
    """Killed before coordinates were learnt, between two looks, or while drawing."""
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
    jax.tree.map(np.testing.assert_array_equal, stored.tuning.bend, straight.tuning.bend)


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
    jax.tree.map(np.testing.assert_array_equal, again.tuning.bend, straight.tuning.bend)
    assert again.stats["acceptance_rate"].mean() > 0.7
    assert again.num_gradients[1] <= 0.5 * straight.num_gradients[1]
    on = snaper.resume(tmp_path / "run.zarr", group, draws=150, progress=False)
    np.testing.assert_array_equal(on.unconstrained[:, :100], again.unconstrained)


def test_where_nothing_is_to_be_gained_draws_are_as_without_it():
    target = snaper.Target(standard_normal, jnp.zeros(3))
    sizes = {"chains": NUM_CHAINS, "warmup": 500, "draws": 30, "progress": False}
    one = snaper.sample(target, **sizes)
    other = snaper.sample(target, coordinates="given", **sizes)
    assert one.tuning.bend is None
    np.testing.assert_array_equal(one.unconstrained, other.unconstrained)
    looks = len(straighten.SHARES) * -(-straighten.FEW * 3 // NUM_CHAINS)
    assert one.num_gradients == (other.num_gradients[0] + looks, other.num_gradients[1])


def test_when_coordinates_are_looked_at():
    assert straighten.looks(1000, 64, 32) == ((400, 550, 700, 850), 80)
    assert straighten.looks(1000, 8, 32).span == straighten.SPAN
    assert straighten.looks(500, 8, 32).span == 75  # no further than the last look
    assert straighten.looks(499, 64, 32).after == ()  # no time
    assert straighten.looks(1000, 64, 201).after == ()  # too many dimensions
    assert straighten.looks(1000, 8, 150).after == ()  # too few points
    assert straighten.looks(1000, 4, 3).after == ()  # none to judge by


def funnel_draws(steps, chains):
    """Exact, of the group."""
    normal = np.random.default_rng(0).normal(size=(steps, chains, EFFECTS + 1))
    log_scale = SPREAD * normal[..., -1:]
    effects = 2.0 + np.exp(log_scale) * normal[..., :-1]
    return np.concatenate([effects, log_scale], axis=-1)


@pytest.fixture(scope="module")
def learnt(group):
    return straighten.learn(group, funnel_draws(80, 32)).bend


def test_exact_draws_teach_what_makes_them_normal(group, learnt):
    x = funnel_draws(80, 32).reshape(-1, EFFECTS + 1)
    _, grad = map(np.asarray, straighten.gradients(group, jnp.asarray(x), 64))
    assert straighten.plain_roughness(x, grad) > 1.0
    assert abs(straighten.roughness(learnt, jnp.asarray(x), jnp.asarray(grad))) < 0.1


def test_coordinates_that_turn_out_wrong_are_given_up(learnt):
    """A Gaussian in a funnel's."""
    target = snaper.Target(standard_normal, jnp.zeros(EFFECTS + 1))
    x = np.random.default_rng(0).normal(size=(80, 32, EFFECTS + 1))
    assert straighten.learn(target, x) == (None, straighten.FEW * (EFFECTS + 1))
    assert straighten.learn(target, x, before=learnt) == (None, 80 * 32)


def test_chains_on_their_way_do_not_teach(group, learnt, monkeypatch):
    """A tenth of them are still far out."""
    x = funnel_draws(80, 32)
    exact = jnp.asarray(x[:, 1].reshape(-1, EFFECTS + 1))
    x[:, ::10, :-1] += np.linspace(4e3, 3e3, 80)[:, None, None]
    bend = straighten.learn(group, x).bend
    np.testing.assert_array_equal(bend.pivots, learnt.pivots)
    _, grad = straighten.gradients(group, exact, 64)
    assert abs(straighten.roughness(bend, exact, grad)) < 0.3  # of 80 points
    monkeypatch.setattr(straighten, "FAR", np.inf)
    assert straighten.learn(group, x).bend is None


def test_as_many_points_are_left_as_there_were():
    points = np.arange(8.0)
    np.testing.assert_array_equal(straighten.arrived(points >= 0, points)[0], points)
    few = straighten.arrived(points < 3, points)[0]
    np.testing.assert_array_equal(few, [0, 0, 0, 1, 1, 1, 2, 2])


def test_few_points_do_not_judge(group, learnt):
    """All chains that are held out are far away, but for one point of each."""
    x = funnel_draws(80, 32)
    x[1:, -(32 // straighten.HELD) :, :-1] += 4e3
    assert straighten.learn(group, x).bend is None
    assert straighten.learn(group, x, before=learnt).bend is learnt


def test_log_densities_near_the_largest_number_have_a_median():
    logp = np.array([-3.1e38, -3.0e38], np.float32)  # whose sum is infinite
    assert straighten.lowest(logp) == straighten.lowest(logp.astype(float)) > -3.5e38


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_chains_at_rest_are_not_taken_for_chains_on_their_way(dim):
    """Of 10,000 points of a normal, where log densities are skewed, none is left out."""
    x = np.random.default_rng(0).normal(size=(10_000, dim))
    logp = -0.5 * np.sum(x**2, axis=1)
    assert logp.min() > straighten.lowest(logp)
    grad, chain = -x, np.repeat(np.arange(100), 100)
    assert straighten.at_rest(x, grad, chain)
    assert not straighten.at_rest(x, 1.15 * grad, chain)
    assert not straighten.at_rest(x, 1.3 * grad, np.arange(10_000) % 2)  # however unsure


@pytest.mark.parametrize(
    ("pivots", "old", "new", "taken"),
    [
        ("same", 0.5, 0.54, "new"),  # it saw more
        ("same", 0.5, 0.56, "old"),
        ("same", 0.74, 0.74, "new"),  # less than three quarters
        ("same", 0.8, 0.76, "given"),
        ("same", 0.04, 0.01, "old"),  # nothing to gain
        ("others", 0.5, 0.46, "old"),
        ("others", 0.5, 0.44, "new"),
        ("others", 9.0, 0.6, "given"),  # not half
        ("none", 0.0, 0.49, "new"),
        ("none", 0.0, 0.51, "given"),
    ],
)
def test_which_coordinates_are_taken(group, learnt, monkeypatch, pivots, old, new, taken):
    """By the roughness that they leave of 1."""
    (level,) = learnt.levels
    places = jnp.asarray([0]) if pivots == "others" else level.pivots
    new_bend = Bend((level._replace(pivots=places),))
    bends = {"old": None if pivots == "none" else learnt, "new": new_bend, "given": None}
    monkeypatch.setattr(straighten.fits, "find", lambda *_: iter([new_bend]))
    monkeypatch.setattr(straighten, "plain_roughness", lambda *_: 1.0)
    left = {id(learnt): old, id(new_bend): new}
    monkeypatch.setattr(straighten, "roughness", lambda bend, *_: left[id(bend)])
    got = straighten.learn(group, funnel_draws(80, 32), before=bends["old"]).bend
    assert got is bends[taken]


@pytest.mark.parametrize(
    ("left", "taken"),
    [
        ([0.3, 0.26, 0.31], 0),  # those that come first must be much worse
        ([0.3, 0.24, 0.21], 1),
        ([0.3, 0.19, 0.1], 1),  # none is looked at where nothing is to be gained
        ([np.nan, 0.7, np.inf], 1),
        ([np.nan, np.inf, np.nan], None),
    ],
)
def test_which_is_best(monkeypatch, left, taken):
    monkeypatch.setattr(straighten, "roughness", lambda bend, *_: left[bend])
    none = np.empty((0, 1))
    best, least = straighten._best(iter(range(3)), none, none)
    assert (best, least) == ((taken, left[taken]) if taken is not None else (None, np.inf))


@pytest.mark.parametrize("wrong", ["moving", "constant", "nan"])
def test_what_teaches_nothing_changes_nothing(group, learnt, wrong):
    x = funnel_draws(80, 32)
    if wrong == "moving":
        x += np.linspace(0, 10, 80)[:, None, None]  # chains that have not arrived
    elif wrong == "constant":
        x[..., 2] = 0.5
    else:
        x[3, 4] = np.nan
    assert straighten.learn(group, x).bend is None
    assert straighten.learn(group, x, before=learnt).bend is learnt


def test_far_from_zero_single_precision_is_enough():
    """A Gaussian a million widths away."""
    x = np.float32(1e6) + np.random.default_rng(0).normal(size=(5000, 3)).astype("float32")
    grad = -(x.astype(float) - 1e6)
    assert abs(straighten.plain_roughness(x, grad)) < 0.05


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_not_finite_has_no_roughness(group, learnt, wrong):
    x = funnel_draws(80, 32).reshape(-1, EFFECTS + 1)
    grad = np.asarray(straighten.gradients(group, jnp.asarray(x), 64)[1])
    far = np.where(np.arange(len(x))[:, None] == 7, wrong, x)
    assert np.isnan(straighten.plain_roughness(far, grad))
    (level,) = learnt.levels
    broken = Bend((level._replace(width=level.width * wrong),))
    assert not straighten.roughness(broken, x, grad) < 100.0
    best, _ = straighten._best(iter([broken, learnt]), x, grad)
    assert best is learnt


def test_where_nothing_pulls_nothing_is_rough():
    assert straighten.plain_roughness(np.eye(3), np.zeros((3, 3))) == -np.inf


def test_coordinates_without_a_place_for_a_chain_are_not_gone_on_in(group, learnt, monkeypatch):
    steep = jax.tree.map(lambda leaf: leaf * 1e6 if leaf.dtype.kind == "f" else leaf, learnt)
    learn = straighten.learn
    monkeypatch.setattr(
        straighten, "learn", lambda *args, **kwargs: learn(*args, **kwargs)._replace(bend=steep)
    )
    run = snaper.sample(group, seed=1, **SIZES)
    assert run.tuning.bend is None and np.isfinite(run.stats["lp"]).all()


def test_coordinates_that_leave_the_numbers_are_not_taken():
    """A width that jumps where another coordinate changes its sign."""

    def log_density(p):
        width = jnp.where(p["a"] > 0, 0.1, 1.0)
        prior = Normal(0.0, 300.0).log_prob(p["a"])
        return prior + jnp.sum(Normal(0.0, width).log_prob(p["y"]))

    target = snaper.Target(log_density, {"a": 0.0, "y": jnp.zeros(5)})
    rng = np.random.default_rng(0)
    a = 300.0 * rng.normal(size=(80, 64, 1))
    y = np.where(a > 0, 0.1, 1.0) * rng.normal(size=(80, 64, 5))
    bend = straighten.learn(target, np.concatenate([a, y], axis=-1)).bend
    assert bend is None or all(np.isfinite(each).all() for each in jax.tree.leaves(bend))


def test_what_does_not_fit_a_tuning_is_refused(group, straight):
    sizes = {"chains": 32, "warmup": 0, "draws": 10, "tuning": straight.tuning, "progress": False}
    with pytest.raises(ValueError, match="leave coordinates= out, or tuning="):
        snaper.sample(group, coordinates="given", **sizes)
    far = np.zeros((32, EFFECTS + 1))
    far[:, -1] = -5000.0  # where effects have no width
    with pytest.raises(ValueError, match="do not reach: begin where that run ended"):
        straight_starts(jax.tree.map(jnp.asarray, straight.tuning.bend), jnp.asarray(far))
    with pytest.raises(ValueError, match="leave criterion= out, or tuning="):
        snaper.sample(group, criterion=snaper.criteria.Along(np.ones(EFFECTS + 1)), **sizes)


def test_a_criterion_about_given_coordinates_leaves_them(group):
    along = snaper.criteria.Along(np.ones(EFFECTS + 1))
    run = snaper.sample(group, criterion=along, **{**SIZES, "draws": 5})
    assert run.tuning.bend is None


def test_other_words_are_refused(group):
    with pytest.raises(ValueError, match="coordinates must be 'auto' or 'given', not 'learnt'"):
        snaper.sample(group, coordinates="learnt")

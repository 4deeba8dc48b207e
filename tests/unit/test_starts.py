"""Where chains begin."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import normal_model, one_sentence
from numpyro.distributions import constraints

import snaper
from snaper import Target, starts

NUM_CHAINS, DIM = 6, 3
KEY = jax.random.key(0)


def bounded_log_density(params, data):
    """Standard normal above `data`; below, what kind of nothing the second entry says."""
    inside = params["a"] > data[0]
    density = -0.5 * (params["a"] ** 2 + jnp.sum(params["b"] ** 2))
    return jnp.where(inside, density, data[1])


def bounded(bound, outside=-jnp.inf):
    like = {"a": 0.0, "b": jnp.zeros(2)}
    return Target(bounded_log_density, like, jnp.array([bound, outside]))


def bad_gradient_log_density(params, data):
    """Finite, with a gradient in b[1] that is not, where a is below `data`."""
    hidden = jnp.where(params["a"] > data, 1.0, 0.0) * params["b"][1] ** 2
    return -0.5 * (params["a"] ** 2 + jnp.sum(params["b"] ** 2)) + 0.0 * jnp.sqrt(hidden)


def bad_gradient(bound):
    return Target(bad_gradient_log_density, {"a": 0.0, "b": jnp.zeros(2)}, jnp.asarray(bound))


def test_dispersed_starts_differ_and_stay_within_two():
    x, num_replaced, why = starts.find(KEY, normal_model(), NUM_CHAINS)
    assert x.shape == (NUM_CHAINS, DIM) and num_replaced == 0 and why == ""
    assert np.abs(x).max() < 2 and len(np.unique(x)) == x.size
    assert np.std(x) > 0.7
    again = starts.find(jax.random.key(1), normal_model(), NUM_CHAINS).x
    assert not np.array_equal(x, again)


GIVEN = np.random.default_rng(0).normal(size=(NUM_CHAINS, DIM))
NAMED = {"mean": GIVEN[:, :2], "scale": np.exp(GIVEN[:, 2])}


@pytest.mark.parametrize(
    ("init", "expected"),
    [
        (GIVEN[0], np.tile(GIVEN[0], (NUM_CHAINS, 1))),
        (list(GIVEN[0]), np.tile(GIVEN[0], (NUM_CHAINS, 1))),
        (jnp.asarray(GIVEN[0]), np.tile(GIVEN[0], (NUM_CHAINS, 1))),
        ([0, 1, 2], np.tile([0.0, 1.0, 2.0], (NUM_CHAINS, 1))),
        (GIVEN, GIVEN),
        (jnp.asarray(GIVEN), GIVEN),
        ({"mean": [0.5, 1.0], "scale": 2.0}, np.tile([0.5, 1.0, np.log(2)], (NUM_CHAINS, 1))),
        (NAMED, GIVEN),
        ({name: jnp.asarray(value) for name, value in NAMED.items()}, GIVEN),
    ],
    ids=[
        "vector",
        "list",
        "JAX",
        "integers",
        "each",
        "each JAX",
        "named",
        "named each",
        "JAX each",
    ],
)
def test_points_are_taken_in_any_form(init, expected):
    """Arrays are unconstrained; named parameters are as the log density sees them."""
    x, num_replaced, _ = starts.find(KEY, normal_model(), NUM_CHAINS, init)
    np.testing.assert_allclose(x, expected)
    assert num_replaced == 0 and x.dtype == jnp.float64


@pytest.mark.parametrize("outside", [-jnp.inf, jnp.inf, jnp.nan])
def test_dispersed_starts_outside_the_support_are_drawn_again(outside):
    x, num_replaced, why = starts.find(KEY, bounded(0.5, outside), 32)
    assert 0 < num_replaced < 32 and why.startswith(f"the log density is {outside:g} at a = ")
    assert np.all(x[:, 0] > 0.5) and len(np.unique(x[:, 0])) == 32
    good = starts.find(KEY, bounded(-9.0), 32).x
    kept = np.asarray(good[:, 0] > 0.5)
    np.testing.assert_array_equal(np.asarray(x)[kept], np.asarray(good)[kept])
    assert num_replaced == 32 - kept.sum()


def test_dispersed_starts_with_a_bad_gradient_are_drawn_again():
    x, num_replaced, why = starts.find(KEY, bad_gradient(0.0), 32)
    assert 0 < num_replaced < 32 and np.all(x[:, 0] > 0.0)
    assert "its gradient is not finite with respect to b = [" in why


def test_bad_points_among_given_ones_take_the_place_of_good_ones():
    init = np.random.default_rng(1).normal(size=(32, DIM))
    x, num_replaced, _ = map(np.asarray, starts.find(KEY, bounded(0.0), 32, init))
    bad = init[:, 0] <= 0.0
    assert num_replaced == bad.sum() > 0
    np.testing.assert_array_equal(x[~bad], init[~bad])
    good = {*map(tuple, init[~bad])}
    assert {*map(tuple, x[bad])} <= good
    assert len({*map(tuple, x[bad])}) > 1


@pytest.mark.parametrize(
    ("target", "init", "message"),
    [
        (bounded(9.0), None, r"6 of 6 chains .* 100 attempts: .* is -inf at a = .*, b = \["),
        (bounded(9.0, jnp.nan), None, r"the log density is nan at a = "),
        (
            bounded(9.0),
            np.array([1.25, 2.0, 3.0]),
            r"is -inf at a = 1.25, b = \[2, 3\]; give init=",
        ),
        (
            bounded(9.0),
            np.array([np.nan, 2.0, 3.0]),
            r"the starting point is not finite at a = nan",
        ),
        (
            bad_gradient(9.0),
            np.array([1.0, 2.0, 3.0]),
            r"is -7 and its gradient is not finite with respect to b = \[2, 3\]",
        ),
    ],
    ids=["-inf", "NaN", "given", "start", "gradient"],
)
def test_where_no_start_can_be_found_one_sentence_says_why(target, init, message):
    with pytest.raises(snaper.InitializationError, match=message) as caught:
        starts.find(KEY, target, NUM_CHAINS, init)
    assert one_sentence(str(caught.value)) and isinstance(caught.value, ValueError)


def test_only_the_culprit_is_named():
    target = bad_gradient(9.0)
    with pytest.raises(snaper.InitializationError) as caught:
        starts.find(KEY, target, NUM_CHAINS, np.array([1.0, 2.0, 3.0]))
    assert "a =" not in str(caught.value)


def test_failure_comes_before_the_sampler_is_compiled(compilations):
    """The density and its gradient are enough to find it out."""
    with pytest.raises(snaper.InitializationError):
        snaper.sample(bounded(9.0), chains=7, warmup=10, draws=10)
    names = compilations()
    assert any("evaluate" in name for name in names)
    assert not any("advance" in name or "init_adapt" in name for name in names)


@pytest.mark.parametrize(
    ("init", "kind", "message"),
    [
        (np.zeros(4), ValueError, r"init has shape \(4,\): give one point \(3,\), .* \(6, 3\)"),
        (np.zeros((5, 3)), ValueError, r"init has shape \(5, 3\)"),
        (0.5, ValueError, r"init must hold the parameters \['mean', 'scale'\]"),
        ({"mean": np.zeros(2)}, ValueError, r"init must hold the parameters \['mean', 'scale'\]"),
        (
            {"mean": np.zeros(2), "scale": 1.0, "more": 1.0},
            ValueError,
            r"init must hold the parameters \['mean', 'scale'\]",
        ),
        ({"mean": np.zeros(5), "scale": 1.0}, ValueError, r"init\['mean'\] has a shape"),
        ({"mean": np.zeros((5, 2)), "scale": np.ones(5)}, ValueError, r"init\['mean'\]"),
        (np.array(["a", "b", "c"]), TypeError, "init must hold numbers"),
    ],
)
def test_bad_init_is_named_in_one_sentence(init, kind, message):
    with pytest.raises(kind, match=message) as caught:
        starts.find(KEY, normal_model(), NUM_CHAINS, init)
    assert one_sentence(str(caught.value))


def of_kind(constraint, value):
    """A target of one parameter, in the default precision of JAX."""
    like = {"a": np.zeros_like(value), "free": 0.0}
    return snaper.Target(lambda p: -(p["free"] ** 2), like, None, {"a": constraint})


SQUARE = np.array([[1.0, 0.5, 0.5], [0.5, 1.0, 0.0], [0.5, 0.0, 1.0]])
INSIDE = {  # of each, single precision makes another number that is next to it
    "near the middle of an interval": (constraints.interval(-1e4, 1e4), 1e-3),
    "far from a bound": (constraints.greater_than(-1000.0), 1e-4),
    "ordered": (constraints.ordered_vector, np.array([-50.0, 0.0, 50.0, 100.0])),
    "adding up to zero": (constraints.zero_sum(1), np.array([300.0, 0.0, -100.0, -200.0])),
    "covariance": (constraints.positive_definite, 1e4 * SQUARE),
    "correlations": (constraints.corr_matrix, SQUARE),
    "small shares": (constraints.simplex, np.array([1e-7, 1e-4, 1.0 - 1e-4 - 1e-7])),
    "rounded shares": (constraints.simplex, np.array([0.33, 0.33, 0.33])),
    "rounded up": (constraints.simplex, np.array([0.13, 0.26, 0.63])),
}


@pytest.mark.parametrize("what", INSIDE)
def test_points_inside_of_a_support_are_taken(what):
    constraint, value = INSIDE[what]
    with jax.enable_x64(False):
        init = {"a": np.asarray(value), "free": 0.0}
        starts.find(KEY, of_kind(constraint, np.asarray(value)), NUM_CHAINS, init)


OUTSIDE = {  # and a transformation would make another point of it without a word
    "shares": (constraints.simplex, np.array([0.2, 0.3, 1.5]), "1.5"),
    "sum": (constraints.zero_sum(1), np.array([1.0, 0.0, 0.0]), ""),
}


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("what", OUTSIDE)
def test_a_point_outside_of_a_support_is_refused(what, each):
    constraint, value, entry = OUTSIDE[what]
    init = {"a": value, "free": 0.0}
    if each:
        init = {"a": np.tile(value, (NUM_CHAINS, *[1] * value.ndim)), "free": np.zeros(NUM_CHAINS)}
    message = rf"init\['a'\] is outside of its support at \[.*: for its entry of {entry}"
    with pytest.raises(ValueError, match=message) as caught:
        starts.find(KEY, of_kind(constraint, value), NUM_CHAINS, init)
    assert one_sentence(str(caught.value))


def test_data_that_are_not_numbers_are_named():
    data = {"y": np.array([1.0, np.nan]), "n": np.ones(2)}
    target = snaper.Target(lambda p, d: -jnp.sum((p - d["y"]) ** 2) + jnp.sum(d["n"]), 0.0, data)
    with pytest.raises(starts.InitializationError, match="leave out what is NaN in data y, or"):
        starts.find(KEY, target, NUM_CHAINS)

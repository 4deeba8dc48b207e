"""Coordinates in units of widths that follow others: the same density, and closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.distributions import LogNormal, Normal, constraints

import snaper
from snaper.bend import Bend, bent_by, plain, reported
from snaper.level import ALONE, Level, log_softplus

EFFECTS = 6
DIM = EFFECTS + 1
FOLLOWS = np.array([True, True, False, True, True, True, False])


def log_group(p):
    prior = LogNormal(0.0, 1.5).log_prob(p["scale"])
    return prior + jnp.sum(Normal(2.0, p["scale"]).log_prob(p["effects"]))


@pytest.fixture(scope="module")
def group():
    like = {"effects": jnp.zeros(EFFECTS), "scale": 1.0}
    return snaper.Target(log_group, like, constraints={"scale": constraints.positive})


def level(seed, pivots, moves=False):
    """Of whatever numbers, with two pivots."""
    rng = np.random.default_rng(seed)
    follows = FOLLOWS & ~np.isin(np.arange(DIM), pivots)

    def numbers(*shape):
        return rng.normal(size=shape)

    return Level(
        width=jnp.asarray(rng.uniform(0.5, 2.0, DIM)),
        centres=jnp.asarray(np.where(follows, numbers(2, DIM), numbers(DIM))),
        leans=jnp.asarray(numbers(2, DIM) * follows),
        offsets=jnp.asarray(np.where(follows, numbers(2, DIM), ALONE)),
        exponents=jnp.asarray(numbers(2, DIM, 2) * follows[:, None]),
        pivots=jnp.asarray(pivots),
        middles=jnp.asarray(numbers(2)),
        is_softplus=jnp.asarray([False, True]),
        moves=jnp.asarray(numbers(DIM, 2) * follows[:, None]) if moves else None,
    )


BENDS = {
    "one level": Bend((level(0, [2, EFFECTS]),)),
    "centres that move": Bend((level(0, [2, EFFECTS], moves=True),)),
    "two levels": Bend((level(0, [2, EFFECTS], moves=True), level(1, [0, EFFECTS]))),
}


@pytest.mark.parametrize("bend", BENDS.values(), ids=BENDS)
def test_density_and_gradient_are_those_of_the_change_of_variables(group, bend):
    z = jax.random.normal(jax.random.key(1), (5, DIM))
    x, target = bend.bent(z), bent_by(group, bend)
    np.testing.assert_allclose(bend.straight(x), z, rtol=1e-9, atol=1e-9)
    log_dets = np.linalg.slogdet(np.asarray(jax.vmap(jax.jacobian(bend.bent))(z)))[1]
    np.testing.assert_allclose(bend.bent_with_log_det(z)[1], log_dets, rtol=1e-9)
    logp = jax.vmap(group.logp)(x)
    np.testing.assert_allclose(jax.vmap(target.logp)(z), logp + log_dets, rtol=1e-9)
    again, scores = bend.straight_with_score(x, jax.vmap(jax.grad(group.logp))(x))
    np.testing.assert_allclose(again, z, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(scores, jax.vmap(jax.grad(target.logp))(z), rtol=1e-8, atol=1e-9)
    told = reported(target, z, jax.vmap(target.logp)(z))
    np.testing.assert_allclose(told[0], x, rtol=1e-12)
    np.testing.assert_allclose(told[1], logp, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precisions_may_be_far_apart_or_equal(dtype):
    """Where one is e^200 times the other, which overflows in single precision, its factor alone is
    left; where both are equal, values and slopes are those of either side.
    """
    zero, ones = jnp.zeros((2, 2), dtype), jnp.ones(2, dtype)
    exponents = zero.at[0, 0].set(500.0).at[1, 0].set(-500.0)[..., None]
    centres = jnp.asarray([[1.0, 0.0], [-1.0, 0.0]], dtype)
    places, middle = jnp.asarray([1]), ones[:1]
    bend = Level(ones, centres, zero, zero + ALONE, exponents, places, middle, middle < 0)
    z = jnp.asarray([[0.0, 1.2], [0.0, 0.8], [0.0, 1.0]], dtype)
    x, log_det = bend.bent_with_log_det(z)
    np.testing.assert_allclose(x[:, 0], [1.0, -1.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(bend.straight(x)[2], z[2], atol=1e-4)  # others: no digits left
    far = -50.0 + 0.5 * np.log(2.0)
    np.testing.assert_allclose(log_det, [far, far, 0.0], rtol=1e-5, atol=1e-6)
    slopes = bend.straight_with_score(x, jnp.ones_like(x))[1]
    expected = [[0.0, -249.0], [0.0, 251.0], [1.0, 501.0]]
    np.testing.assert_allclose(slopes, expected, rtol=1e-4, atol=1e-6)


def test_who_is_followed():
    assert BENDS["one level"].pivots.tolist() == [2, EFFECTS]
    assert BENDS["one level"].anchors.tolist() == []
    assert BENDS["two levels"].pivots.tolist() == [0, 2, EFFECTS]
    assert BENDS["two levels"].anchors.tolist() == [2, EFFECTS]


@pytest.mark.parametrize("bend", BENDS.values(), ids=BENDS)
def test_parameters_are_as_they_were(group, bend):
    target = bent_by(group, bend)
    params = {"effects": jnp.arange(EFFECTS, dtype=float), "scale": jnp.asarray(0.3)}
    z = target.flatten(params)
    assert not np.allclose(z, group.flatten(params))
    for name, value in target.constrain(z).items():
        np.testing.assert_allclose(value, params[name], rtol=1e-9, atol=1e-9)
    assert target.parameters == group.parameters
    back, by = plain(target)
    assert by is not None and plain(group) == (group, None)
    np.testing.assert_array_equal(back.logp(z), group.logp(z))


SEEN, ERROR = jnp.asarray([3.0, -1.0, 0.2]), 0.5


def log_not_centred(x):
    """Unit weights times a scale, of which the products were seen."""
    weights, scale = x[:3], jax.nn.softplus(x[3])
    misfit = jnp.sum((scale * weights - SEEN) ** 2) / ERROR**2
    return -0.5 * (misfit + jnp.sum(weights**2) + x[3] ** 2)


def log_centred(x):
    """Effects of a scale, which were seen."""
    effects, scale = x[:3], jnp.exp(x[3])
    prior = jnp.sum((effects / scale) ** 2) + 6 * x[3]
    return -0.5 * (prior + jnp.sum((effects - SEEN) ** 2) / ERROR**2 + x[3] ** 2)


def meeting(log_error, **changes):
    """Of three coordinates in which two factors meet, one by the error; the last is the pivot."""
    ones = jnp.asarray([1.0, 1.0, 1.0, 0.0])
    none = jnp.zeros((2, 4))
    offsets = none.at[1].set(-2 * log_error)
    first = Level(
        width=jnp.ones(4),
        centres=none,
        leans=none,
        offsets=jnp.where(ones > 0, offsets, ALONE),
        exponents=jnp.zeros((2, 4, 1)),
        pivots=jnp.asarray([3]),
        middles=jnp.zeros(1),
        is_softplus=jnp.asarray([False]),
    )
    return first._replace(**changes), ones


def test_two_normal_factors_become_one_of_width_one_wherever_the_pivot_is():
    seen = jnp.append(SEEN, 0.0)
    none = jnp.zeros((2, 4, 1))
    data, ones = meeting(np.log(ERROR))
    not_centred = data._replace(
        exponents=none.at[1, :, 0].set(2.0 * ones),
        leans=data.leans.at[1].set(seen / ERROR),
        is_softplus=jnp.asarray([True]),
    )
    centred = data._replace(
        exponents=none.at[0, :, 0].set(-2.0 * ones), centres=data.centres.at[1].set(seen)
    )
    z = 2.0 * jax.random.normal(jax.random.key(0), (50, 4))
    for log_density, bend in ((log_not_centred, not_centred), (log_centred, centred)):
        target = bent_by(snaper.Target(log_density, jnp.zeros(4)), Bend((bend,)))
        scores = jax.vmap(jax.grad(target.logp))(z)
        np.testing.assert_allclose(scores[:, :3], -z[:, :3], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_logarithm_of_softplus_keeps_its_digits(dtype):
    x = np.array([-200.0, -50.0, -15.0, -14.9, -3.0, 0.0, 40.0], dtype)
    exact = np.where(x < -30, x, np.log(np.log1p(np.exp(np.maximum(x, -30.0).astype(float)))))
    rough = 4 * np.finfo(dtype).eps
    np.testing.assert_allclose(log_softplus(jnp.asarray(x)), exact, rtol=rough)
    slopes = jax.vmap(jax.grad(log_softplus))(jnp.asarray(x))
    assert np.all(np.isfinite(slopes)) and slopes[0] == 1.0

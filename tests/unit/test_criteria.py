"""Criteria and their slopes, against closed forms for a standard normal."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import quadrature, quartic

from snaper import criteria, hmc
from snaper.metric import Diagonal

pytestmark = pytest.mark.usefixtures("strict")

TIMES = [0.3, 1.0, 1.5, 2.5]
DIM = 2


X, V, WEIGHT = quadrature(DIM)


def transition(start, proposal, velocity):
    ones = jnp.ones(len(start))
    arrays = map(jnp.asarray, (start, proposal, velocity))
    return hmc.Transition(*arrays, ones, ones > 0, ones < 0, ones, 1)


def exact_flow(t, centre=0.0):
    """Hamiltonian flow of a standard normal about a centre."""
    x1, v1 = X * np.cos(t) + V * np.sin(t), V * np.cos(t) - X * np.sin(t)
    return transition(X + centre, x1 + centre, v1)


@partial(jax.jit, static_argnums=0)
def value_and_slope(criterion, seen, t, statistics):
    return criteria.value_and_slope(criterion, seen, t, **statistics)


def statistics(centre=0.0, direction=(0.6, 0.8)):
    mean = jnp.full(DIM, centre)
    return {
        "weight": jnp.asarray(WEIGHT),
        "mean": mean,
        "mean_new": mean,
        "direction": jnp.asarray(direction),
    }


def closed_form(name, t):
    """Value and slope; corr(x^2, x'^2) = cos(t)^2."""
    sin, cos = np.sin(t), np.cos(t)
    return {
        "snaper": (4 * sin**2 / t, 8 * sin * cos / t - 4 * sin**2 / t**2),
        "chees": (DIM * sin**2, 2 * DIM * sin * cos),
        "chees_rate": (DIM * sin**2 / t, 2 * DIM * sin * cos / t - DIM * sin**2 / t**2),
        "esjd": (2 * DIM * (1 - cos), 2 * DIM * sin),
    }[name]


@pytest.mark.parametrize("t", TIMES)
@pytest.mark.parametrize("name", criteria.FORMULAS)
def test_value_and_slope_match_the_closed_form(name, t):
    seen = value_and_slope(criteria.get(name), exact_flow(t), jnp.asarray(t), statistics())
    np.testing.assert_allclose(seen, closed_form(name, t), atol=1e-12)


def test_slopes_change_sign_at_the_best_length():
    """A positive slope asks for longer trajectories: the best for SNAPER is at tan t = 2 t."""
    before, after = (
        value_and_slope(criteria.snaper, exact_flow(t), jnp.asarray(t), statistics())[1]
        for t in (1.16, 1.17)
    )
    assert before > 0 > after


@pytest.mark.parametrize("name", criteria.FORMULAS)
def test_translation_changes_nothing(name):
    t = 1.3
    here = value_and_slope(criteria.get(name), exact_flow(t), jnp.asarray(t), statistics())
    seen, about = exact_flow(t, centre=50.0), statistics(centre=50.0)
    there = value_and_slope(criteria.get(name), seen, jnp.asarray(t), about)
    np.testing.assert_allclose(there, here, rtol=1e-9)


def test_slope_is_the_derivative_along_the_real_trajectory():
    """Finite differences of the criterion between neighbouring leapfrog steps, tiny ones."""
    eps, num_steps = 1e-3, 700
    x = jax.random.normal(jax.random.key(0), (50, DIM))
    v = jax.random.normal(jax.random.key(1), (50, DIM))
    metric = Diagonal(jnp.array([0.4, 1.0]))

    @jax.jit
    def proposal(num_steps):
        chains = hmc.init(quartic, x)
        end, velocity, _ = hmc.leapfrog(
            quartic, chains, metric.forward(v), jnp.asarray(eps), metric, num_steps
        )
        return transition(x, end.x, velocity)

    about = {**statistics(), "weight": jax.random.uniform(jax.random.key(2), (50,))}
    for criterion in criteria.FORMULAS.values():
        (lower, _), (_, slope), (upper, _) = (
            value_and_slope(criterion, proposal(num_steps + k), jnp.asarray(t), about)
            for k, t in ((k, (num_steps + k) * eps) for k in (-1, 0, 1))
        )
        assert abs(slope) > 1e-2
        np.testing.assert_allclose(slope, (upper - lower) / (2 * eps), rtol=1e-4)


def test_centres_are_each_for_their_own_points():
    """SNAPER and ChEES use `mean` for x and `mean_new` for x_new."""
    t, seen, about = jnp.asarray(1.0), exact_flow(1.0), statistics()
    moved = seen._replace(start=seen.start + 3.0, proposal=seen.proposal - 2.0)
    centres = {"mean": jnp.full(DIM, 3.0), "mean_new": jnp.full(DIM, -2.0)}
    for criterion in (criteria.snaper, criteria.chees, criteria.chees_rate):
        here = value_and_slope(criterion, seen, t, about)
        there = value_and_slope(criterion, moved, t, {**about, **centres})
        np.testing.assert_allclose(there, here, rtol=1e-12)


def test_snaper_sees_only_its_direction():
    t, about = jnp.asarray(0.8), statistics(direction=(1.0, 0.0))
    seen = exact_flow(0.8)
    noisy = seen._replace(proposal=seen.proposal.at[:, 1].multiply(7.0))
    here, there = (value_and_slope(criteria.snaper, s, t, about) for s in (seen, noisy))
    np.testing.assert_allclose(there, here, rtol=1e-12)
    other = value_and_slope(criteria.snaper, noisy, t, statistics(direction=(0.0, 1.0)))
    assert other[0] > 10 * here[0]


@pytest.mark.parametrize("name", criteria.FORMULAS)
def test_chains_of_weight_zero_are_left_out(name):
    seen, about = exact_flow(1.0), statistics()
    t, half = jnp.asarray(1.0), jnp.arange(len(X)) < len(X) // 2
    about["weight"] = jnp.where(half, about["weight"], 0.0)
    calm = value_and_slope(criteria.get(name), seen, t, about)
    for far in (1e2, 1e200):  # the fourth power of the latter overflows
        wild = jax.tree.map(lambda a, far=far: jnp.where(half[:, None], a, far), seen[:3])
        other = value_and_slope(criteria.get(name), transition(*wild), t, about)
        np.testing.assert_allclose(other, calm, rtol=1e-12)


def test_a_function_asks_for_the_statistics_it_names():
    def bare(x, x_new, t):
        return jnp.mean(x_new[:, 0] - x[:, 0]) * t

    def with_weight(x, x_new, t, *, weight):
        return jnp.sum(weight * (x_new[:, 0] - x[:, 0]) ** 2)

    def with_all(x, x_new, t, **everything):
        assert set(everything) == {"weight", "mean", "mean_new", "direction"}
        return jnp.sum(everything["direction"]) * t

    t, seen, about = jnp.asarray(2.0), exact_flow(2.0), statistics()
    value, slope = value_and_slope(bare, seen, t, about)
    jump, speed = jnp.mean(seen.proposal[:, 0] - seen.start[:, 0]), jnp.mean(seen.velocity[:, 0])
    np.testing.assert_allclose([value, slope], [2.0 * jump, jump + 2.0 * speed], atol=1e-12)
    value, slope = value_and_slope(with_weight, seen, t, about)
    np.testing.assert_allclose([value, slope], [2 * (1 - np.cos(2.0)), 2 * np.sin(2.0)])
    np.testing.assert_allclose(value_and_slope(with_all, seen, t, about), [2.8, 1.4])


def test_along_is_snaper_along_a_direction_of_ones_own():
    t, seen = jnp.asarray(1.0), exact_flow(1.0)
    skewed = seen._replace(proposal=seen.proposal * jnp.array([1.0, 2.0]))
    along = criteria.Along([3.0, 4.0])
    mine = value_and_slope(along, skewed, t, statistics(direction=(1.0, 0.0)))
    theirs = value_and_slope(criteria.snaper, skewed, t, statistics(direction=(0.6, 0.8)))
    np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    assert along == criteria.Along((0.6, 0.8)) and hash(along) == hash(criteria.Along((0.6, 0.8)))


@pytest.mark.parametrize("direction", [(0.0, 0.0), (np.nan, 1.0), (np.inf, 1.0)])
def test_along_needs_a_direction(direction):
    with pytest.raises(ValueError, match="direction"):
        criteria.Along(direction)


def test_along_needs_the_targets_dimension():
    with pytest.raises(ValueError, match="direction has 3 entries, but the target has 2"):
        value_and_slope(
            criteria.Along((1.0, 0.0, 0.0)), exact_flow(1.0), jnp.asarray(1.0), statistics()
        )


def test_get_knows_names_and_functions():
    assert criteria.get("chees") is criteria.chees
    assert criteria.get(criteria.snaper) is criteria.snaper
    with pytest.raises(ValueError, match=r"criterion 'nuts' is unknown: .* slowest, snaper"):
        criteria.get("nuts")

"""Coordinates for exact points of models of one level and of two."""

import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.distributions import LogNormal, Normal, constraints

import snaper
from snaper import fits, straighten
from snaper.bend import Bend
from snaper.roughness import plain_roughness

SCHOOLS, CLASSES, CHAINS, STEPS = 4, 3, 24, 60
SCHOOL = np.repeat(np.arange(SCHOOLS), CLASSES)
CHAIN = np.repeat(np.arange(CHAINS), STEPS)
POSITIVE = {"among": constraints.positive, "within": constraints.positive}


def log_schools(p, seen):
    """Classes around their school, and schools around a mean, of unknown scales; classes are seen
    where there are data.
    """
    prior = Normal(0.0, 1.0).log_prob(p["mean"])
    prior += LogNormal(0.0, 1.0).log_prob(p["among"]) + LogNormal(0.0, 1.0).log_prob(p["within"])
    prior += jnp.sum(Normal(p["mean"], p["among"]).log_prob(p["schools"]))
    prior += jnp.sum(Normal(p["schools"][SCHOOL], p["within"]).log_prob(p["classes"]))
    return prior + jnp.sum(Normal(p["classes"], 0.5).log_prob(seen) * (seen != 0.0))


@pytest.fixture(scope="module")
def schools():
    like = {"among": 1.0, "classes": jnp.zeros(len(SCHOOL)), "mean": 0.0}
    like |= {"schools": jnp.zeros(SCHOOLS), "within": 1.0}
    return snaper.Target(log_schools, like, jnp.zeros(len(SCHOOL)), constraints=POSITIVE)


@pytest.fixture(scope="module")
def points(schools):
    """Exact, of the prior, with their gradients."""
    noise = np.random.default_rng(0).normal(size=(CHAINS * STEPS, schools.dim))
    among, classes, mean, places, within = np.split(
        noise, np.cumsum([1, len(SCHOOL), 1, SCHOOLS]), 1
    )
    places = mean + np.exp(among) * places
    classes = places[:, SCHOOL] + np.exp(within) * classes
    x = np.column_stack([among, classes, mean, places, within])
    return x, np.asarray(straighten.gradients(schools, jnp.asarray(x), 64)[1])


@pytest.fixture(scope="module")
def bends(schools, points):
    return list(fits.find(schools, *points, CHAIN))


def names(target, places):
    return sorted({target.coordinate_name(int(place)).split("[")[0] for place in places})


def test_two_levels_are_taken_apart_to_a_normal(schools, points, bends):
    assert plain_roughness(*points) > 1.0
    left = [straighten.roughness(bend, *points) for bend in bends]
    best = bends[int(np.argmin(left))]
    assert min(left) < 0.05
    outer, inner = (Bend((level,)) for level in best.levels)
    assert names(schools, outer.pivots) == ["within"]
    assert names(schools, outer.anchors) == ["schools"]
    assert names(schools, inner.pivots) == ["among"] and names(schools, inner.anchors) == ["mean"]
    z = best.straight(jnp.asarray(points[0]))
    np.testing.assert_allclose(np.cov(z.T), np.eye(schools.dim), atol=0.15)


def test_what_is_compiled_once_is_what_the_bend_says(points, bends):
    some = [jnp.asarray(each[:10]) for each in points]
    for bend in bends:
        for one, other in zip(
            fits.straight_with_score(bend, *some), bend.straight_with_score(*some), strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_one_program_is_compiled_for_all(schools, points, bends, compilations):
    assert len(bends) > 2
    compilations()
    halves = (each[: len(CHAIN) // 2].repeat(2, axis=0) for each in points)
    list(fits.find(schools, *halves, CHAIN))
    assert not [name for name in compilations() if "straight" in name]


def test_far_from_the_data_what_is_learnt_is_still_so(schools, points, bends):
    """Where scales are e^-8, and no point is: gradients are those of a normal."""
    best = next(bend for bend in bends if len(bend.levels) == 2)
    far = points[0][:50].copy()
    shrunk = -8.0 - far[:, 0], -8.0 - far[:, -1]
    place = slice(2 + len(SCHOOL), 2 + len(SCHOOL) + SCHOOLS)
    mean, among, within = far[:, 1 + len(SCHOOL)], *(each[:, None] for each in shrunk)
    schools_far = mean[:, None] + np.exp(among) * (far[:, place] - mean[:, None])
    classes = far[:, 1 : 1 + len(SCHOOL)] - far[:, place][:, SCHOOL]
    far[:, 1 : 1 + len(SCHOOL)] = schools_far[:, SCHOOL] + np.exp(within) * classes
    far[:, place], far[:, 0], far[:, -1] = schools_far, -8.0, -8.0
    grad = straighten.gradients(schools, jnp.asarray(far), 50)[1]
    z, score = best.straight_with_score(jnp.asarray(far), grad)
    others = np.r_[1 : 2 + len(SCHOOL), place]
    spread = np.std(np.asarray(score + z)[:, others], axis=0)
    assert np.max(spread) < 0.2

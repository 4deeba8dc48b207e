"""Learned values follow a change of units, origin, axes or the order of chains."""

from functools import cache

import numpy as np
import pytest

import snaper

pytestmark = pytest.mark.statistical
DIM = 16
SCALES = np.concatenate([[1.0], np.geomspace(0.1, 0.5, DIM - 1)])
ROTATION = np.linalg.qr(np.random.default_rng(0).normal(size=(DIM, DIM)))[0]


def gaussian(x, change):
    """A Gaussian turned, scaled and moved."""
    axes, scale, origin = change
    z = (axes.T @ (x - origin)) / scale
    return -0.5 * (z @ z)


CRITERION = {"identity": "snaper", "diagonal": "snaper", "auto": "auto"}


def learn(axes=None, scale=1.0, origin=0.0, metric="identity", dtype=np.float64, init=None):
    axes = np.eye(DIM) if axes is None else axes
    change = (axes, scale * SCALES, np.full(DIM, origin))
    change = tuple(np.asarray(part, dtype) for part in change)
    target = snaper.Target(gaussian, np.zeros(DIM, dtype), change)
    return snaper.sample(
        target,
        warmup=1500,
        draws=200,
        seed=3,
        criterion=CRITERION[metric],
        metric=metric,
        init=init,
        progress=False,
    )


@cache
def plain(metric):
    return learn(metric=metric)


def assert_same(run, reference, unit=1.0):
    assert run.tuning.trajectory_length / unit == pytest.approx(
        reference.tuning.trajectory_length, rel=0.1
    )
    assert run.tuning.step_size / unit == pytest.approx(reference.tuning.step_size, rel=0.1)


def unit(metric, scale):
    """Of the step size: the target's, where the metric does not carry it."""
    return 1.0 if metric == "auto" else scale


@pytest.mark.parametrize(
    "metric", ["identity", pytest.param("diagonal", marks=pytest.mark.slow), "auto"]
)
@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6])
def test_units_do_not_matter(scale, metric):
    """Starts stay on (-2, 2), so these are also starts from far outside and from one point."""
    assert_same(learn(scale=scale, metric=metric), plain(metric), unit(metric, scale))


@pytest.mark.parametrize("metric", [pytest.param("identity", marks=pytest.mark.slow), "auto"])
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_do_not_matter_in_single_precision(scale, metric):
    run = learn(scale=scale, metric=metric, dtype=np.float32)
    assert_same(run, plain(metric), unit(metric, scale))


@pytest.mark.parametrize("metric", ["identity", "auto"])
@pytest.mark.parametrize("origin", [10.0, -300.0])
def test_the_origin_does_not_matter(origin, metric):
    assert_same(learn(origin=origin, metric=metric), plain(metric))


@pytest.mark.parametrize("metric", ["identity", "auto"])
def test_axes_do_not_matter(metric):
    """Neither to SNAPER with the identity metric, nor where correlations are learnt."""
    assert_same(learn(axes=ROTATION, metric=metric), plain(metric))


@pytest.mark.parametrize("metric", ["identity", "auto"])
def test_the_order_of_chains_does_not_matter(metric):
    starts = np.random.default_rng(1).uniform(-2, 2, (64, DIM))
    assert_same(learn(init=starts[::-1], metric=metric), learn(init=starts, metric=metric))

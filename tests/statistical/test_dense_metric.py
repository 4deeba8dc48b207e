"""The whole sampler with the dense metric: it does not see a linear change of coordinates, and it
samples what the diagonal one samples, faster.

One log density serves all targets here, so that it is compiled once for each metric: a Gaussian,
bent or with logistic observations on request, in any linear coordinates.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import snaper
from snaper.diagnostics import ess

pytestmark = pytest.mark.statistical

DIM, NUM_OBSERVED = 10, 40


class Shape(NamedTuple):
    whiten: np.ndarray  # x is this far from standard normal,
    design: np.ndarray  # seen through logistic observations, of which zeros say nothing,
    bend: np.ndarray  # and bent by this much


def log_density(x, shape):
    z = jnp.matmul(shape.whiten, x, precision="highest")
    z = z.at[1].add(shape.bend * (z[0] ** 2 - 1.0))
    observed = jax.nn.log_sigmoid(jnp.matmul(shape.design, x, precision="highest"))
    return -0.5 * jnp.sum(z**2) + jnp.sum(observed)


def target(axes, design=None, bend=0.0):
    """In coordinates x = axes z."""
    dim = len(axes)
    design = np.zeros((NUM_OBSERVED, dim)) if design is None else design
    shape = Shape(np.linalg.inv(axes), design, np.asarray(bend))
    return snaper.Target(log_density, np.zeros(dim), shape)


def orthogonal(seed, dim=DIM):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(dim, dim)))[0]


LONG = np.geomspace(0.01, 1.0, DIM)  # condition number 1e4
UNITS = np.random.default_rng(3).permutation(np.geomspace(1e-3, 1e3, DIM))
AXES = {
    "round": np.eye(DIM),
    "rotated": orthogonal(0) * LONG,
    "scaled": UNITS[:, None] * orthogonal(0) * LONG @ orthogonal(1),
}


def sample(of, seed=0, metric="dense", warmup=1000, draws=200, **choices):
    return snaper.sample(
        of, warmup=warmup, draws=draws, seed=seed, metric=metric, progress=False, **choices
    )


def efficiency(run, axes=None):
    """Gradients per draw, and effective draws of squares per gradient: the median over coordinates,
    and the least; along the axes, if there are any.
    """
    z = run.unconstrained if axes is None else run.unconstrained @ np.linalg.inv(axes).T
    sizes = np.asarray(ess.ess_of_squares(jnp.asarray(z, run.unconstrained.dtype)))
    draws, gradients = run.unconstrained.shape[1], run.num_gradients[1]
    return gradients / draws, np.median(sizes) / gradients, sizes.min() / gradients


def average(axes):
    """Over four seeds."""
    return np.mean([efficiency(run, axes) for run in runs(axes)], axis=0)


def runs(axes, **shape):
    """Of four seeds, from starts that turn with the axes."""
    for seed in range(4):
        starts = np.random.default_rng(seed).uniform(-2, 2, (64, DIM)) @ axes.T
        yield sample(target(axes, **shape), seed, draws=1000, init=starts)


def average_by_kicks(axes, **shape):
    """Over those that ended with even kicks, and over those whose kicks alternate."""
    found = {}
    for run in runs(axes, **shape):
        found.setdefault(run.tuning.alternation > 0, []).append(efficiency(run, axes))
    return {kind: np.mean(each, axis=0) for kind, each in found.items()}


@pytest.fixture(scope="module")
def round_one():
    return average(AXES["round"])


@pytest.mark.parametrize("name", ["rotated", "scaled"])
def test_a_linear_change_of_coordinates_does_not_matter(round_one, name):
    """From seed to seed, gradients per draw and the median effective size spread by 1 to 4 %, the
    least of ten by 1.5 to 5 %: of two averages of four, 10 % is four standard errors or more, a
    false alarm once in ten thousand.
    """
    np.testing.assert_allclose(average(AXES[name]), round_one, rtol=0.1)


@pytest.mark.parametrize("bend", [pytest.param(0.25, marks=pytest.mark.slow), 0.5])
def test_off_gaussians_turning_the_axes_matters_little(bend):
    """Widths and the functions that trajectories are tuned for go by coordinates. A bend of 0.5,
    turned, took 0.95 of the gradients per draw, for 1.04 of the median effective size and 1.17 of
    the least; these spread by 2 to 5 % and the last by 13 % over seeds. With one of 0.25 kicks came
    to alternate in 8 of 16 runs turned and in 9 of 16 as they are, for twice the median effective
    size: runs are compared with those of the same kicks.
    """
    turned, plain = (average_by_kicks(axes, bend=bend) for axes in (orthogonal(0), np.eye(DIM)))
    both = turned.keys() & plain.keys()
    assert both
    for kind in both:
        found = turned[kind] / plain[kind]
        np.testing.assert_allclose(found[:2], 1.0, rtol=0.2)
        np.testing.assert_allclose(found[2], 1.0, rtol=0.4)


def test_correlations_are_worth_more_than_a_factor_of_five():
    """It is about 40 for this Gaussian, spread by 11 % over seeds. One in eight has not settled
    after this warm-up, from a start so far out in the short directions, and was at 17.
    """
    dense, diagonal = (
        efficiency(sample(target(AXES["rotated"]), metric=metric))[2]
        for metric in ("dense", "diagonal")
    )
    assert dense > 5.0 * diagonal


DESIGN = np.random.default_rng(4).normal(size=(NUM_OBSERVED, DIM)) @ orthogonal(5) * LONG
POSTERIORS = {
    "logistic": target(3.0 * np.eye(DIM), design=10.0 * DESIGN + 1.0),
    "banana": target(orthogonal(2) * np.geomspace(0.2, 1.0, DIM), bend=0.5),
}


@pytest.mark.parametrize("name", POSTERIORS)
def test_moments_are_those_of_the_diagonal_sampler(name):
    """Within five standard errors of the difference: of 40 normal quantities a false alarm once in
    40 thousand.
    """
    dense, diagonal = (
        sample(POSTERIORS[name], seed, metric, draws=1000).unconstrained
        for seed, metric in enumerate(("dense", "diagonal"))
    )
    centre = diagonal.mean(axis=(0, 1))
    for power in (1, 2):
        (here, error), (there, other) = (
            mean_and_error((x - centre) ** power) for x in (dense, diagonal)
        )
        np.testing.assert_array_less(np.abs(here - there) / np.hypot(error, other), 5.0)


def mean_and_error(values):
    effective = np.asarray(ess.ess_per_dimension(jnp.asarray(values)))
    return values.mean(axis=(0, 1)), values.std(axis=(0, 1)) / np.sqrt(effective)


def test_four_chains_in_twenty_dimensions():
    """Their covariance has rank three, and the metric is still one that samples correctly: within
    five standard errors of the truth, a false alarm once in 40 thousand. Diagonal, steps are 0.17.
    """
    axes = orthogonal(1, 20) * np.geomspace(0.1, 1.0, 20)
    run = sample(target(axes), chains=4, warmup=1500, draws=1000)
    mean, error = mean_and_error(run.unconstrained)
    np.testing.assert_array_less(np.abs(mean) / error, 5.0)
    variance, error = mean_and_error(run.unconstrained**2)
    np.testing.assert_array_less(np.abs(variance - np.sum(axes**2, axis=1)) / error, 5.0)
    assert run.tuning.step_size > 0.4
    assert run.moments.rhat.max() < 1.02


def random_walk(x, inverse_steps):
    return -0.5 * jnp.sum((jnp.diff(x, prepend=0.0) * inverse_steps) ** 2)


def test_what_single_precision_cannot_follow_is_left_to_short_steps():
    """Fifty coordinates that differ by a thousandth of their spread: a metric of the covariance as
    it is, of condition 1e8, gave increments a variance of up to 1.4. All 50 are within 5 standard
    errors, told by how the 64 chains differ, but for one seed in 3e4.
    """
    steps = np.r_[1.0, np.full(49, 1e-3)].astype(np.float32)
    of = snaper.Target(random_walk, np.zeros(50, np.float32), jnp.asarray(1.0 / steps))
    run = sample(of, metric="covariance", warmup=2000, draws=1000)
    assert run.unconstrained.dtype == np.float32
    increments = np.diff(run.unconstrained.astype(float), axis=2, prepend=0.0) / steps
    squares = np.mean(increments**2, axis=1)
    error = squares.std(axis=0) / np.sqrt(len(squares))
    assert error.max() < 0.05
    np.testing.assert_array_less(np.abs(squares.mean(axis=0) - 1.0), 5.0 * error)

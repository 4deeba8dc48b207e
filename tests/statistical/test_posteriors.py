"""All targets against their moments, which are exact, or from quadrature or long runs of another
sampler.

Every mean and variance is allowed five standard errors, ours by the effective sample size and
theirs as they state it: for one normal quantity a false alarm once in 1.7 million, for the 6700
compared here together once in 250.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import snaper
from snaper import targets
from snaper.diagnostics import ess

pytestmark = pytest.mark.statistical
SLOW = [
    "banana",
    "eight-schools",
    "hierarchical-linear",
    "sparse-logistic-regression",
    "item-response",
    "stochastic-volatility",
    "gaussian-spectrum",
    "ill-conditioned-gaussian",
]
NARROW = ["brownian-bridge"]  # in its own coordinates steps are too long for part of it,
HEAVY = {("funnel", "x")}  # whose fourth moment is 3 e^18: no run tells how far off its variance is
HARD = {"funnel": "log_variance"}  # and no step size suits both ends of this


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in targets.names()],
)
def test_moments_are_those_known_from_elsewhere(name):
    with jax.enable_x64(False):
        benchmark = targets.benchmark(name)
        assert benchmark.moments is not None
        sizes = {"warmup": 1000, "draws": 1000, "progress": False}
        run = snaper.sample(benchmark.target, seed=5, **sizes)
        flat = jnp.asarray(run.unconstrained.reshape(-1, benchmark.target.dim))
        quantities = jax.jit(
            jax.vmap(lambda x: benchmark.quantities(benchmark.target.constrain(x)))
        )
        found = jax.tree.map(np.asarray, quantities(flat))
    theirs = benchmark.moments.standard_error
    for key, mean in benchmark.moments.mean.items():
        sd = benchmark.moments.sd[key]
        values = found[key].reshape(*run.unconstrained.shape[:2], -1).astype(np.float64)
        assert_close(values, mean.ravel(), theirs * sd.ravel(), f"mean of {key}")
        if (name, key) in HEAVY:
            continue
        squares = (values - mean.ravel()) ** 2
        assert_close(squares, sd.ravel() ** 2, 2 * theirs * sd.ravel() ** 2, f"variance of {key}")


@pytest.mark.parametrize("name", NARROW)
def test_a_narrow_place_is_told(name):
    """In its own coordinates, where draws miss part of it. Of 96 runs seven had so few draws there
    that they said nothing: one in four is let pass, and two in four are one set in 36.
    """
    sizes = {"warmup": 1000, "draws": 1000, "progress": False, "coordinates": "given"}
    with jax.enable_x64(False):
        runs = [snaper.sample(targets.get(name), seed=seed, **sizes) for seed in range(4)]
    told = ["loose-bound" in {finding.topic for finding in run.findings} for run in runs]
    assert sum(told) >= 3


@pytest.mark.parametrize("name", HARD)
def test_what_cannot_be_sampled_well_is_told(name):
    """By how little the energy changes: the fraction is 0.07 to 0.09 in eight runs of the funnel,
    where 0.3 is usual. Of 96 runs 78 said more: how much of its neck they see, chains decide.
    """
    sizes = {"warmup": 1000, "draws": 1000, "progress": False, "coordinates": "given"}
    with jax.enable_x64(False):
        runs = [snaper.sample(targets.get(name), seed=seed, **sizes) for seed in range(4)]
    for run in runs:
        (told,) = [str(finding) for finding in run.findings if finding.topic == "energy"]
        assert f"as if {HARD[name]} ruled the width" in told


@pytest.mark.slow
def test_ends_of_a_ridge_that_steps_are_too_long_for_are_told():
    """Where it bends most: of the draws of 48 runs, 24 by each of two ways to compile, 0.95 % lay
    beyond 2.58 standard deviations, and 1.00 % with smaller steps. Of the former 45 say so, and
    none of the latter: fewer than two of four are one set in 1000. Were it told from one transition
    in 1000 on, three would.
    """
    with jax.enable_x64(False):
        target, sizes = targets.get("banana"), {"warmup": 1000, "draws": 1000, "progress": False}
        usual = [snaper.sample(target, seed=seed, **sizes) for seed in range(4)]
        careful = [snaper.sample(target, seed=s, target_accept=0.95, **sizes) for s in range(2)]
    told, still = (
        ["divergences" in {finding.topic for finding in run.findings} for run in runs]
        for runs in (usual, careful)
    )
    assert sum(told) >= 2 and not any(still)


def assert_close(values, truth, error_of_truth, what):
    effective = np.asarray(ess.ess_per_dimension(jnp.asarray(values)))
    error = values.std(axis=(0, 1)) / np.sqrt(effective)
    distance = np.abs(values.mean(axis=(0, 1)) - truth) / np.hypot(error, error_of_truth)
    assert distance.max() < 5.0, f"{what} is {distance.max():.1f} standard errors off"

"""Simulation-based calibration (Talts et al. 2018): parameters from the prior, data from them, and
the rank of the parameters among draws from the posterior of the data, which must be uniform.

Of every run the last draw of each chain is taken: chains are independent, given what they learnt
together, so that ranks are uniform for any number of draws. Ranks are counted in eight bins and
compared by a chi-squared test at a level of 1e-5: for the eleven quantities of the three models a
false alarm once in 9000.
"""

from collections import defaultdict

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.distributions import constraints
from scipy import stats

import snaper

pytestmark = pytest.mark.statistical
CHAINS, BINS, LEVEL = 31, 8, 1e-5
SIZES = {"chains": CHAINS, "warmup": 300, "draws": 20, "progress": False}


def normal_gamma(params, data):
    """Normal observations of unknown mean and precision, under the conjugate prior."""
    observed, prior_sd = data
    mean, precision = params["mean"], params["precision"]
    prior = 2.0 * jnp.log(precision) - 2.0 * precision
    prior += 0.5 * jnp.log(precision) - 0.5 * precision * (mean / prior_sd) ** 2
    likelihood = 0.5 * observed.size * jnp.log(precision)
    return prior + likelihood - 0.5 * precision * jnp.sum((observed - mean) ** 2)


def conjugate(rng, believed_sd=2.0):
    """The prior standard deviation of the mean is 2, in units of the observations'."""
    precision = rng.gamma(3.0, 0.5)
    mean = rng.normal() * 2.0 / np.sqrt(precision)
    observed = mean + rng.normal(size=3) / np.sqrt(precision)
    like = {"mean": 0.0, "precision": 1.0}
    positive = {"precision": constraints.positive}
    target = snaper.Target(normal_gamma, like, (observed, believed_sd), positive)
    return target, {"mean": mean, "precision": precision}


ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def schools_model(errors, y):
    mean = numpyro.sample("mean", dist.Normal(0.0, 5.0))
    spread = numpyro.sample("spread", dist.HalfNormal(5.0))
    with numpyro.plate("schools", len(ERRORS)):
        effect = numpyro.sample("effect", dist.Normal(0.0, 1.0))
        numpyro.sample("y", dist.Normal(mean + spread * effect, errors), obs=y)


def schools(rng):
    """Eight schools, not centred, as a NumPyro model."""
    truth = {"mean": 5.0 * rng.normal(), "spread": 5.0 * abs(rng.normal())}
    truth["effect"] = rng.normal(size=8)
    y = truth["mean"] + truth["spread"] * truth["effect"] + ERRORS * rng.normal(size=8)
    return snaper.from_numpyro(schools_model, ERRORS, y), truth


DESIGN = np.column_stack([np.ones(20), np.random.default_rng(0).normal(size=(20, 2))])


def poisson(coefficients, data):
    design, counts = data
    rate = design @ coefficients
    return jnp.sum(counts * rate - jnp.exp(rate)) - 0.5 * jnp.sum(coefficients**2)


def counts(rng):
    """A Poisson regression."""
    coefficients = rng.normal(size=3)
    counts = rng.poisson(np.exp(DESIGN @ coefficients)).astype(float)
    return snaper.Target(poisson, np.zeros(3), (DESIGN, counts)), {"x": coefficients}


def ranks(simulate, replicates, **options):
    """Of every parameter and of the log density, by name, over replicates."""
    found = defaultdict(list)
    log_density = jax.jit(lambda target, x: target.logp(x))
    for seed in range(replicates):
        target, truth = simulate(np.random.default_rng(seed), **options)
        run = snaper.sample(target, seed=seed, **SIZES)
        x = truth["x"] if "x" in truth else target.flatten(truth)
        drawn = {name: run.draws[name][:, -1].reshape(CHAINS, -1) for name in truth}
        for name, value in truth.items():
            for place, true in enumerate(np.ravel(value)[:2]):
                found[f"{name}[{place}]"].append(np.sum(drawn[name][:, place] < true))
        found["log density"].append(np.sum(run.stats["lp"][:, -1] < log_density(target, x)))
    return found


def p_values(found):
    per_bin = (CHAINS + 1) // BINS
    counted = {
        name: np.bincount(np.array(r) // per_bin, minlength=BINS) for name, r in found.items()
    }
    return {name: float(stats.chisquare(count).pvalue) for name, count in counted.items()}


MODELS = [conjugate, schools, counts]
FEW, MANY = 200, 1000


@pytest.mark.parametrize(
    "replicates", [FEW, pytest.param(MANY, marks=[pytest.mark.slow, pytest.mark.timeout(1200)])]
)
@pytest.mark.parametrize(
    "simulate", [conjugate, *(pytest.param(each, marks=pytest.mark.slow) for each in MODELS[1:])]
)
def test_ranks_are_uniform(simulate, replicates):
    found = p_values(ranks(simulate, replicates))
    assert min(found.values()) > LEVEL, found


def test_a_wrong_prior_is_found_out():
    """A mean believed to be three times nearer to zero than it is."""
    assert p_values(ranks(conjugate, FEW, believed_sd=2.0 / 3.0))["mean[0]"] < LEVEL

"""Hierarchical models as people write them, with effects around their mean: their narrow places are
reached, and nothing is told of trouble.

Shares of draws are compared with exact ones within five standard errors, by how much 64 chains
differ: for one a false alarm once in 200,000 (Student's t), for the nine here once in 20,000.
"""

import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from numpyro.distributions import HalfCauchy, LogNormal, Normal
from scipy.stats import halfcauchy, norm

import snaper

pytestmark = pytest.mark.statistical
SEEN = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
SHARES = (0.01, 0.1, 0.5)
SIZES = {"chains": 64, "warmup": 800, "draws": 800, "seed": 3, "progress": False}


def eight_schools(seen, errors):
    mu = numpyro.sample("mu", Normal(0, 5))
    tau = numpyro.sample("tau", HalfCauchy(5))
    with numpyro.plate("schools", len(seen)):
        theta = numpyro.sample("theta", Normal(mu, tau))
        numpyro.sample("seen", Normal(theta, errors), obs=seen)


def quantiles_of_log_tau():
    """By quadrature: given tau, what is seen is normal around a normal mean."""
    log_tau = np.linspace(-12.0, 6.0, 20_000)
    precision = 1.0 / (ERRORS**2 + np.exp(2 * log_tau)[:, None])
    total = 1 / 25 + precision.sum(axis=1)
    pull = (precision * SEEN).sum(axis=1)
    log_density = 0.5 * np.log(precision).sum(axis=1) - 0.5 * np.log(total)
    log_density += 0.5 * pull**2 / total - 0.5 * (precision * SEEN**2).sum(axis=1)
    log_density += halfcauchy.logpdf(np.exp(log_tau), scale=5.0) + log_tau
    share = np.cumsum(np.exp(log_density - log_density.max()))
    return np.interp(SHARES, share / share[-1], log_tau)


def two_levels():
    """Without data: scales are what they are in the prior."""
    mean = numpyro.sample("mean", Normal(0, 1))
    among = numpyro.sample("among", LogNormal(0, 1))
    within = numpyro.sample("within", LogNormal(0, 1))
    with numpyro.plate("schools", 4):
        school = numpyro.sample("school", Normal(mean, among))
    with numpyro.plate("classes", 12):
        numpyro.sample("class", Normal(jnp.repeat(school, 3), within))


def assert_shares(values, quantiles):
    """Of draws [chain, draw] below each."""
    for share, quantile in zip(SHARES, quantiles, strict=True):
        below = np.mean(values < quantile, axis=1)
        error = below.std(ddof=1) / np.sqrt(len(below))
        assert abs(below.mean() - share) < 5 * error, (share, below.mean(), error)
        assert error < 0.25 * share


def test_eight_schools_as_they_are_written():
    run = snaper.sample(eight_schools, SEEN, ERRORS, **SIZES)
    assert run.findings == []
    assert_shares(np.log(run.draws["tau"]), quantiles_of_log_tau())
    ends = "in units of widths that follow tau, from centres that move with mu"
    assert run.tuning.choice.endswith(ends)


def test_two_levels_as_they_are_written():
    run = snaper.sample(two_levels, **SIZES)
    assert [finding for finding in run.findings if finding.severity == "trouble"] == []
    for scale in ("among", "within"):
        assert_shares(np.log(run.draws[scale]), norm.ppf(SHARES))
    assert len(run.tuning.bend.levels) == 2

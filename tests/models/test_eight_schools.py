"""One model written three ways, against NumPyro's own NUTS."""

import jax
import numpy as np
import pytest
import schools
from numpyro.infer import MCMC, NUTS

import snaper
from snaper.diagnostics.ess import ess_per_dimension
from snaper.models import as_target

pm = pytest.importorskip("pymc")

NAMES = {"mu": (), "tau": (), "z": (8,), "theta": (8,)}
SIZES = {"chains": 64, "warmup": 400, "draws": 300, "progress": False}
WAYS = {
    "log density": lambda: (schools.plain(),),
    "NumPyro": lambda: (schools.numpyro_model, schools.Y, schools.SIGMA),
    "PyMC": lambda: (schools.pymc_model(),),
}


@pytest.fixture(scope="module")
def runs():
    return {
        "log density": snaper.sample(*WAYS["log density"](), seed=1, **SIZES),
        "NumPyro": snaper.sample(*WAYS["NumPyro"](), seed=1, init="prior-mean", **SIZES),
        "PyMC": snaper.sample(*WAYS["PyMC"](), seed=1, **SIZES),
    }


def test_model_is_traced_a_few_times(runs):
    """By its first run, which drew from the prior too; draws by name are computed later."""
    assert runs["NumPyro"].draws["theta"].shape == (64, 300, 8)
    assert 1 <= len(schools.traces) <= 6


@pytest.fixture(scope="module")
def nuts():
    mcmc = MCMC(
        NUTS(schools.numpyro_model),
        num_warmup=300,
        num_samples=300,
        num_chains=64,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(0), schools.Y, schools.SIGMA)
    return mcmc.get_samples(group_by_chain=True)


def mean_and_error(draws):
    """Mean of each coordinate and its Monte Carlo standard error."""
    flat = np.asarray(draws).reshape(*draws.shape[:2], -1)
    pooled = flat.reshape(-1, flat.shape[-1])
    return pooled.mean(axis=0), pooled.std(axis=0) / np.sqrt(ess_per_dimension(flat))


@pytest.mark.statistical
@pytest.mark.parametrize("way", WAYS)
def test_means_agree_with_nuts(runs, nuts, way):
    """All within 5 standard errors. Were the seeds not fixed, one of the 46 comparisons (10 for the
    log density, 18 for each model) would fail once in 40 000 runs of a right sampler.
    """
    for name, draws in runs[way].draws.items():
        ours, our_error = mean_and_error(draws)
        theirs, their_error = mean_and_error(nuts[name])
        assert our_error.max() < 0.2 and their_error.max() < 0.2  # the test can see something
        np.testing.assert_array_less(abs(ours - theirs), 5 * np.hypot(our_error, their_error), name)


def shapes(draws):
    return {name: value.shape[2:] for name, value in draws.items()}


def test_names_and_shapes_are_the_model_s(runs, nuts):
    assert shapes(nuts) == NAMES
    assert shapes(runs["NumPyro"].draws) == shapes(runs["PyMC"].draws) == NAMES
    assert shapes(runs["log density"].draws) == {k: v for k, v in NAMES.items() if k != "theta"}
    assert all(run.draws["mu"].shape == (64, 300) for run in runs.values())


def test_deterministics_follow_from_the_parameters(runs):
    for way in ("NumPyro", "PyMC"):
        draws = runs[way].draws
        theta = draws["mu"][..., None] + draws["tau"][..., None] * draws["z"]
        np.testing.assert_allclose(draws["theta"], theta)


def test_log_densities_differ_by_a_constant():
    """In one unconstrained space, so that also the Jacobians are equal."""
    targets = [
        as_target(model, tuple(args), {}) for model, *args in (way() for way in WAYS.values())
    ]
    points = jax.random.normal(jax.random.key(2), (5, 10))
    values = np.array([[target.logp(x) for x in points] for target in targets])
    np.testing.assert_allclose(np.ptp(values - values[0], axis=1), 0, atol=1e-9)
    assert np.ptp(values, axis=1).min() > 1


def test_new_data_compile_nothing_and_draw_elsewhere(runs, compilations):
    model = schools.pymc_model()
    assert snaper.sample(model, seed=1, **SIZES).draws  # compiled for this model object
    compilations()
    pm.set_data({"y_data": schools.Y + 5}, model=model)
    moved = {
        "log density": snaper.sample(schools.plain(schools.Y + 5), seed=1, **SIZES),
        "NumPyro": snaper.sample(schools.numpyro_model, schools.Y + 5, schools.SIGMA, **SIZES),
        "PyMC": snaper.sample(model, seed=1, **SIZES),
    }
    for way, run in moved.items():
        assert run.draws["mu"].mean() > runs[way].draws["mu"].mean() + 1
    assert compilations() == []

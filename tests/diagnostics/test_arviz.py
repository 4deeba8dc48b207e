"""A run in ArviZ's form."""

import builtins

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from helpers import NUM_CHAINS, one_sentence

import snaper
from snaper import Target

arviz = pytest.importorskip("arviz")
CALLS = []
QUICK = {"preset": "paper", "progress": False}  # to compile


def schools(params, data):
    CALLS.append(1)
    effect, mean = params["effect"], params["mean"]
    misfit = (data["y"] - effect) / data["error"]
    return -0.5 * jnp.sum(misfit**2) - 0.5 * jnp.sum((effect - mean) ** 2) - 0.5 * mean**2


@pytest.fixture(scope="module")
def run():
    target = Target(
        schools,
        {"effect": jnp.zeros(3), "mean": 0.0},
        {"y": np.array([1.0, 2.0, 3.0]), "error": np.ones(3)},
        dims={"effect": ["school"], "y": ["school"]},
        coords={"school": ["a", "b", "c"]},
        observed={"y": np.array([1.0, 2.0, 3.0])},
    )
    return snaper.sample(target, chains=NUM_CHAINS, warmup=60, draws=20, **QUICK)


@pytest.fixture(scope="module")
def data(run):
    CALLS.clear()
    converted = run.to_arviz(warmup=True)
    assert not CALLS  # the log density is not run again
    return converted


def test_type_is_the_installed_arviz_s(data):
    kind = "DataTree" if int(arviz.__version__.split(".")[0]) >= 1 else "InferenceData"
    assert type(data).__name__ == kind


def test_groups_names_and_shapes(run, data):
    assert data.posterior["effect"].dims == ("chain", "draw", "school")
    assert data.posterior["effect"].coords["school"].values.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(data.posterior["effect"].values, run.draws["effect"])
    np.testing.assert_array_equal(data.observed_data["y"].values, [1.0, 2.0, 3.0])
    assert list(data.constant_data.data_vars) == ["error"]
    stats = {"lp", "acceptance_rate", "step_size", "n_steps", "diverging", "energy"}
    assert stats <= set(data.sample_stats.data_vars)
    assert data.sample_stats["diverging"].dtype == bool
    assert data.warmup_sample_stats["lp"].shape == (NUM_CHAINS, 60)


def test_groups_on_request(run):
    plain = run.to_arviz()
    assert not hasattr(plain, "warmup_sample_stats")
    assert not hasattr(plain, "unconstrained_posterior")
    flat = run.to_arviz(unconstrained=True).unconstrained_posterior
    assert flat["effect"].dims == ("chain", "draw", "school")
    np.testing.assert_array_equal(flat["effect"].values, run.unconstrained[..., :3])
    np.testing.assert_array_equal(flat["mean"].values, run.unconstrained[..., 3])


def mixture(weight, y):
    """The argument `weight` shares its name with a site of another shape."""
    with numpyro.plate("part", 3):
        scale = numpyro.sample("scale", dist.HalfNormal())
    share = numpyro.sample("weight", dist.Dirichlet(weight[0]), infer={"event_dims": ["part"]})
    with numpyro.plate("point", 2):
        numpyro.sample("seen", dist.Normal(jnp.dot(share, scale), 1.0), obs=y)


def test_more_chains_than_draws_and_axes_that_change_length():
    """No warning comes of the first; of the second only the axes' own names go."""
    sizes = {"chains": 8, "warmup": 20, "draws": 4}
    run = snaper.sample(mixture, np.full((1, 3), 2.0), np.ones(2), **sizes, **QUICK)
    data = run.to_arviz(unconstrained=True)
    assert data.posterior["weight"].dims == ("chain", "draw", "part")
    assert data.unconstrained_posterior["weight"].dims == ("chain", "draw", "weight_dim_0")
    assert data.unconstrained_posterior["weight"].shape == (8, 4, 2)
    assert data.unconstrained_posterior["scale"].dims == ("chain", "draw", "part")
    np.testing.assert_array_equal(data.observed_data["seen"].values, np.ones(2))
    assert {*data.constant_data.data_vars} == {"weight"}  # y is what `seen` observes
    assert data.constant_data["weight"].shape == (1, 3)


def scoped():
    with numpyro.handlers.scope(prefix="inner"), numpyro.plate("part", 2):
        numpyro.sample("x", dist.Normal())


def test_names_with_slashes_can_be_written(tmp_path):
    data = snaper.sample(scoped, chains=8, warmup=20, draws=4, **QUICK).to_arviz()
    assert list(data.posterior.data_vars) == ["inner.x"]
    path = str(tmp_path / "run.nc")
    data.to_netcdf(path)
    np.testing.assert_array_equal(
        arviz.from_netcdf(path).posterior["inner.x"].values, data.posterior["inner.x"].values
    )


def test_attributes_follow_the_schema(run, data):
    attributes = data.posterior.attrs
    assert attributes["inference_library"] == "snaper" and "T" in attributes["created_at"]
    assert attributes["inference_library_version"] and attributes["tuning_steps"] == 60
    assert attributes["sampling_time"] == pytest.approx(sum(run.seconds))
    assert data.sample_stats.attrs["inference_library"] == "snaper"


def test_netcdf_round_trip(data, tmp_path):
    path = str(tmp_path / "run.nc")
    data.to_netcdf(path)
    back = arviz.from_netcdf(path)
    for group in ("posterior", "sample_stats", "warmup_sample_stats"):
        for name, values in getattr(data, group).data_vars.items():
            np.testing.assert_array_equal(getattr(back, group)[name].values, values.values)
    assert back.posterior.attrs["tuning_steps"] == 60


def test_without_arviz_one_sentence_names_the_extra(run, monkeypatch):
    original = builtins.__import__

    def missing(name, *args):
        if name == "arviz" and 0 in args[3:]:  # not the module of that name in this package
            raise ImportError(name)
        return original(name, *args)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r"snaper\[arviz\]") as caught:
        run.to_arviz()
    assert one_sentence(str(caught.value))

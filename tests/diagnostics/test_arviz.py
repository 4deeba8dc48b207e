"""A run in ArviZ's form."""

import builtins

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import NUM_CHAINS, one_sentence

import snaper
from snaper import Target

arviz = pytest.importorskip("arviz")
CALLS = []


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
    return snaper.sample(target, chains=NUM_CHAINS, warmup=60, draws=20, progress=False)


@pytest.fixture(scope="module")
def data(run):
    CALLS.clear()
    converted = run.to_arviz()
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

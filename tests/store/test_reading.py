"""A store as its readers see it: snaper.load, xarray and ArviZ."""

import builtins
import warnings

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from helpers import NUM_CHAINS, normal_model, one_sentence
from problems import labelled

import snaper

xarray = pytest.importorskip("xarray")
arviz = pytest.importorskip("arviz")

SIZES = {"chains": NUM_CHAINS, "warmup": 20, "draws": 20, "progress": False}


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "run.zarr"
    return path, snaper.sample(labelled(), store=path, **SIZES)


def assert_like(dataset, expected):
    """Variables, axes and labels as ArviZ makes them of the run."""
    for name, values in expected.data_vars.items():
        assert dataset[name].dims == values.dims and dataset[name].dtype == values.dtype
        np.testing.assert_array_equal(dataset[name].values, values.values)
    assert {*dataset.coords} == {*expected.coords}
    for name, labels in expected.coords.items():
        assert dataset.coords[name].values.tolist() == labels.values.tolist()


@pytest.mark.parametrize("consolidated", [None, False])
def test_xarray_opens_every_group(stored, consolidated):
    path, run = stored
    converted = run.to_arviz(warmup=True, unconstrained=True)
    groups = "posterior unconstrained_posterior sample_stats warmup_sample_stats observed_data"
    for group in f"{groups} constant_data".split():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            dataset = xarray.open_zarr(path, group=group, consolidated=consolidated)
        assert_like(dataset, converted[group])
        assert dataset.attrs["inference_library"] == "snaper"


def test_arviz_opens_the_folder(stored):
    """The way that the installed ArviZ does with Zarr 3."""
    path, run = stored
    tree = xarray.open_datatree(path, engine="zarr")
    assert tree.attrs["findings"] == "\n".join(map(str, run.findings))
    assert tree.attrs["step_size"] == run.tuning.step_size
    data = tree
    if int(arviz.__version__.split(".")[0]) < 1:
        data = arviz.InferenceData.from_datatree(tree)
    table = arviz.summary(data, var_names=["effect"])
    assert [*table.index] == ["effect[a]", "effect[b]", "effect[c]"]
    assert table["mean"].iloc[2] == pytest.approx(run.draws["effect"][..., 2].mean(), abs=1e-3)


def test_load_needs_no_log_density(stored):
    path, run = stored
    loaded = snaper.load(path)
    for name, values in run.draws.items():
        np.testing.assert_array_equal(loaded.draws[name], values)
        assert loaded.draws[name].dtype == values.dtype
    assert str(loaded.summary()).splitlines()[1:] == str(run.summary()).splitlines()[1:]
    assert loaded.findings == run.findings
    assert loaded.seconds == pytest.approx(
        run.seconds, abs=0.5
    )  # the last commit is in one of them
    ours, theirs = (r.to_arviz(warmup=True, unconstrained=True) for r in (loaded, run))
    for group in ("posterior", "unconstrained_posterior", "sample_stats", "observed_data"):
        assert_like(ours[group], theirs[group])
    assert_like(ours["constant_data"], theirs["constant_data"])
    with pytest.raises(ValueError, match=r"log density of .* is not in the store: pass the target"):
        loaded.target.logp(jnp.zeros(4))


def test_load_with_the_target(stored):
    path, run = stored
    loaded = snaper.load(path, labelled())
    x = jnp.asarray(run.unconstrained[0, -1])
    assert float(loaded.target.logp(x)) == pytest.approx(run.stats["lp"][0, -1])
    tuned = snaper.sample(loaded.target, tuning=loaded.tuning, **SIZES | {"warmup": 0})
    assert tuned.tuning.step_size == pytest.approx(run.tuning.step_size, rel=1e-12)


def scoped(y):
    with numpyro.handlers.scope(prefix="inner"), numpyro.plate("part", 2):
        x = numpyro.sample("x", dist.Normal())
    numpyro.deterministic("sum", x.sum())
    numpyro.sample("y", dist.Normal(x.sum()), obs=y)


def test_numpyro_models(tmp_path):
    """Names with slashes, deterministic sites, and data as arguments."""
    run = snaper.sample(scoped, 1.5, store=tmp_path / "run.zarr", preset="paper", **SIZES)
    loaded = snaper.load(tmp_path / "run.zarr")
    assert [*loaded.draws] == [*run.draws] == ["inner/x", "sum"]
    for name in run.draws:
        np.testing.assert_array_equal(loaded.draws[name], run.draws[name])
    resumed = snaper.resume(tmp_path / "run.zarr", scoped, 1.5, draws=30, progress=False)
    np.testing.assert_array_equal(resumed.draws["sum"][:, :20], run.draws["sum"])
    with xarray.open_zarr(tmp_path / "run.zarr", group="posterior") as posterior:
        assert posterior["inner.x"].dims == ("chain", "draw", "inner.part")
    with pytest.raises(ValueError, match="was drawn with another"):
        snaper.resume(tmp_path / "run.zarr", scoped, 2.5)


def test_moments_are_loaded_without_the_log_density(tmp_path):
    run = snaper.sample(normal_model(), store=tmp_path / "run.zarr", keep="moments", **SIZES)
    loaded = snaper.load(tmp_path / "run.zarr")
    assert str(loaded.summary()).splitlines()[1:] == str(run.summary()).splitlines()[1:]
    np.testing.assert_array_equal(loaded.moments.named["scale"][0], run.moments.named["scale"][0])
    with pytest.raises(AttributeError, match="kept no draws"):
        loaded.draws  # noqa: B018


def test_without_zarr_one_sentence_names_the_extra(tmp_path, monkeypatch):
    original = builtins.__import__

    def missing(name, *args):
        if name == "zarr":
            raise ImportError(name)
        return original(name, *args)

    monkeypatch.setattr(builtins, "__import__", missing)
    for attempt in (
        lambda: snaper.sample(normal_model(), store=tmp_path / "run.zarr", **SIZES),
        lambda: snaper.load(tmp_path),
    ):
        with pytest.raises(ImportError, match=r"snaper\[store\]") as caught:
            attempt()
        assert one_sentence(str(caught.value))
    assert not (tmp_path / "run.zarr").exists()

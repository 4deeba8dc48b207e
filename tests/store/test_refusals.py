"""What does not fit a store is refused in one sentence that says what it is."""

import json
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import (
    NUM_CHAINS,
    OBSERVED,
    normal_log_density,
    normal_model,
    one_sentence,
    quartic,
    standard_normal,
)
from problems import own_criterion

import snaper
from snaper import Target, Until, cli, config, criteria, nuts
from snaper.store import fingerprint, plain

SIZES = {"chains": NUM_CHAINS, "warmup": 20, "draws": 20, "progress": False}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "run.zarr"
    snaper.sample(normal_model(), store=path, **SIZES)
    return path


def refused(match, *args, kind=ValueError, **kwargs):
    with pytest.raises(kind, match=match) as caught:
        snaper.resume(*args, progress=False, **kwargs)
    assert one_sentence(str(caught.value)) and str(args[0]) in str(caught.value)


def nearly(params, observed):
    return normal_log_density(params, observed) - 1e-9 * params["mean"][0] ** 2


def narrower(params, observed):
    return normal_log_density(params, observed) - jnp.sum(params["mean"] ** 2)


def renamed(params, observed):
    return normal_log_density({"mean": params["middle"], "scale": params["scale"]}, observed)


def test_another_log_density(path):
    refused("drawn from another log density", path, normal_model(log_density=nearly))


def test_another_log_density_that_is_the_same_where_all_chains_began(tmp_path):
    """With the same gradient there, too."""
    path = tmp_path / "run.zarr"
    snaper.sample(normal_model(), store=path, init=np.zeros(3), **SIZES)
    refused("drawn from another log density", path, normal_model(log_density=narrower))


def test_a_log_density_that_is_not_finite_everywhere_is_the_same(tmp_path):
    path = tmp_path / "run.zarr"
    target = Target(lambda x: jnp.where(x[0] > 0, standard_normal(x), jnp.nan), jnp.zeros(2))
    snaper.sample(target, store=path, preset="paper", **SIZES)
    assert snaper.resume(path, target, draws=25, progress=False).stopped.draws == 25
    other = Target(lambda x: jnp.where(x[0] > 0, standard_normal(x), -jnp.inf), jnp.zeros(2))
    refused("drawn from another log density", path, other)


def test_other_data(path):
    changed = OBSERVED.copy()
    changed[0, 0] += 1e-12
    refused("drawn with another data than", path, normal_model(changed))


def test_another_dtype(path):
    refused("with dtype float64, not float32", path, normal_model(dtype=jnp.float32))


def test_other_parameters(path):
    like = {"middle": jnp.zeros(2), "scale": jnp.ones(())}
    refused("a parameter called mean, not middle", path, Target(renamed, like, OBSERVED))
    like = {"mean": jnp.zeros((1, 2)), "scale": jnp.ones(())}
    refused(r"mean of shape \(2,\), not \(1, 2\)", path, Target(normal_log_density, like, OBSERVED))
    refused("a parameter called mean, not x", path, Target(quartic, jnp.zeros(3)))


@pytest.mark.parametrize("name", ["snaper", "jax", "jaxlib", "backend"])
def test_another_version_or_device(path, name, monkeypatch):
    now = fingerprint.surroundings()
    monkeypatch.setattr(fingerprint, "surroundings", lambda: {**now, name: "other"})
    refused(f"with {name} {now[name]}, not other: use {now[name]}", path, normal_model())


def test_what_is_asked_for(path):
    refused("draws=10 are fewer than the 20", path, normal_model(), draws=10)
    refused("criterion= is for functions", path, normal_model(), criterion=own_criterion)
    with pytest.raises(TypeError, match="draws must be a whole number"):
        snaper.resume(path, normal_model(), draws=1.5)
    with pytest.raises(TypeError, match=r"until must be a snaper\.Until"):
        snaper.resume(path, normal_model(), until=1.01)


def test_an_own_criterion_is_to_be_given_again(tmp_path):
    path, given = tmp_path / "run.zarr", {"criterion": own_criterion}
    run = snaper.sample(normal_model(), store=path, **SIZES, **given)
    refused("criterion of your own, own_criterion, not None: pass it", path, normal_model())
    refused("not <function quartic", path, normal_model(), criterion=quartic)
    again = snaper.resume(path, normal_model(), progress=False, **given)
    np.testing.assert_array_equal(again.unconstrained, run.unconstrained)
    loaded = snaper.load(path)
    np.testing.assert_array_equal(loaded.unconstrained, run.unconstrained)
    assert loaded.config.criterion.name == "own_criterion"


class Own:
    """A criterion that has no name, and is another object in every process."""

    def __call__(self, *args, **kwargs):
        return own_criterion(*args, **kwargs)


def test_names_of_own_functions_hold_no_address():
    for criterion in (Own(), partial(own_criterion)):
        assert "0x" not in plain.encode(criterion, "criterion")["yours"]


def test_draws_that_were_not_judged_by_a_function_are_not_from_now_on(path):
    until = Until(rhat=1.5, max_draws=30, of=lambda p: p["scale"])
    refused("20 draws that were not judged by", path, normal_model(), until=until)


def test_an_own_condition_is_to_be_given_again(tmp_path):
    path, until = tmp_path / "run.zarr", Until(rhat=1.5, max_draws=30, of=lambda p: p["scale"])
    run = snaper.sample(normal_model(), store=path, **SIZES, until=until)
    refused("by a function of your own", path, normal_model())
    again = snaper.resume(path, normal_model(), until=until, progress=False)
    np.testing.assert_array_equal(again.unconstrained, run.unconstrained)
    np.testing.assert_array_equal(snaper.load(path).unconstrained, run.unconstrained)


def test_other_functions_than_then(tmp_path):
    path, until = tmp_path / "run.zarr", Until(rhat=1.5, max_draws=30, of=lambda p: p["scale"])
    snaper.sample(normal_model(), store=path, **SIZES, until=until)
    told = until.of.__qualname__

    def longer(params):
        return params["mean"]

    longer.__qualname__ = told
    other = Until(rhat=1.5, max_draws=30, of=longer)
    refused("holds another kind of run", path, normal_model(), kind=snaper.StoreError, until=other)


def test_fields_that_were_not_there_then_are_as_by_default():
    told = plain.encode(config.paper())
    del told["max_leapfrog"], told["rounding"]
    back = plain.decode(told)
    assert (back.max_leapfrog, back.rounding, back.first_cap) == (1000, 8.0, 1e9)


def test_no_store(tmp_path):
    for there in (tmp_path, tmp_path / "nothing"):
        refused("holds no run: give the path", there, normal_model(), kind=snaper.StoreError)
        with pytest.raises(snaper.StoreError, match="holds no run"):
            snaper.load(there)
    assert not (tmp_path / ".snaper").exists() and not (tmp_path / "nothing").exists()


def test_what_exists_is_not_written(path, tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/file").write_text("mine")
    for there in (path, tmp_path / "folder", tmp_path / "file"):
        with pytest.raises(snaper.StoreError) as caught:
            snaper.sample(normal_model(), store=there, **SIZES)
        assert one_sentence(str(caught.value)) and str(there) in str(caught.value)
    assert (tmp_path / "folder/file").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    snaper.sample(normal_model(), store=tmp_path / "empty", **SIZES)
    assert snaper.load(tmp_path / "empty").unconstrained.shape[1] == 20


def test_single_precision_is_no_place_for_double(path):
    with jax.enable_x64(False), pytest.raises(snaper.StoreError, match="drawn in float64: switch"):
        snaper.load(path)


CONFIGS = {
    "default": config.default(),
    "paper": config.paper(criteria.chees),
    "along": config.default(criteria.Along([1.0, 2.0, 3.0])),
    "metrics": config.preset("default", "esjd", "dense", 0.7, 77),
    "nuts": nuts.adaptive(0.9, 5),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_configurations_come_back_as_they_were(name):
    told = json.loads(json.dumps(plain.encode(CONFIGS[name])))
    back = plain.decode(told)
    assert back == CONFIGS[name] and hash(back) == hash(CONFIGS[name])


@pytest.mark.parametrize("metric", config.METRICS["default"])
def test_every_metric_can_be_stored(metric):
    chosen = config.preset("default", "auto", metric)
    assert plain.decode(plain.encode(chosen)) == chosen


def test_parts_that_are_not_snaper_s_are_refused_at_once(tmp_path):
    chosen = config.Config(jitter=lambda key, step, dtype: jnp.ones((), dtype))
    with pytest.raises(ValueError, match="store= cannot hold jitter=") as caught:
        snaper.sample(normal_model(), preset=chosen, store=tmp_path / "run.zarr", **SIZES)
    assert one_sentence(str(caught.value))
    assert not (tmp_path / "run.zarr/zarr.json").exists()


@pytest.mark.parametrize("names", [("draw",), ("zarr.json",), ("..",), ("a\\b",), ("a/b", "a.b")])
def test_names_that_would_be_written_over_each_other_are_refused_at_once(names, tmp_path):
    target = Target(
        lambda p: sum(standard_normal(each) for each in p.values()), dict.fromkeys(names, 0.0)
    )
    with pytest.raises(ValueError, match="store= cannot hold") as caught:
        snaper.sample(target, store=tmp_path / "run.zarr", **SIZES)
    assert one_sentence(str(caught.value)) and repr(names[-1]) in str(caught.value)
    assert not (tmp_path / "run.zarr/zarr.json").exists()


def test_paths(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    snaper.sample(normal_model(), store="~/with space/run.zarr", **SIZES)
    assert snaper.load("with space/run.zarr").stopped.draws == 20
    assert (
        snaper.resume("~/with space/run.zarr", normal_model(), progress=False).stopped.draws == 20
    )
    for wrong in (5, b"run.zarr", "", "s3://bucket/run.zarr"):
        for attempt in (
            lambda wrong: snaper.sample(normal_model(), store=wrong, **SIZES),
            lambda wrong: snaper.resume(wrong, normal_model()),
            snaper.load,
        ):
            with pytest.raises((TypeError, ValueError), match="A store must be") as caught:
                attempt(wrong)
            assert one_sentence(str(caught.value)) and repr(wrong) in str(caught.value)
    assert [each.name for each in tmp_path.iterdir()] == ["with space"]


def test_command_line(tmp_path, capsys):
    path = str(tmp_path / "run.zarr")
    options = ["--chains", "16", "--warmup", "30", "--draws", "10", "--seed", "3"]
    options += ["--criterion", "chees", "--preset", "paper"]
    assert cli.main(["sample", "banana", *options, "--store", path]) == 0
    assert cli.main(["resume", path, "banana", "--draws", "25"]) == 0
    first, second = (
        line for line in capsys.readouterr().out.splitlines() if line.startswith("16 chains")
    )
    assert first.startswith("16 chains x 10 draws;") and second.startswith("16 chains x 25 draws;")
    assert cli.main(["sample", "banana", *options, "--store", path]) == 2
    assert cli.main(["resume", path, "funnel"]) == 2
    said = [line for line in capsys.readouterr().err.splitlines() if "run.zarr" in line]
    assert len(said) == 2 and "exists already" in said[0] and "was drawn with" in said[1]

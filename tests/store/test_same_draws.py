"""A run that was stopped and resumed is the run that was not."""

import os
import signal
from dataclasses import MISSING, fields

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import NUM_CHAINS, normal_model, quartic
from problems import own_criterion

import snaper
from snaper import Until, course, criteria, keep, record
from snaper.store import snapshot, writer

SIZES = {"chains": NUM_CHAINS, "warmup": 60, "seed": 3, "progress": False, "chunk": 20}


@pytest.fixture
def often(monkeypatch):
    """A checkpoint after every stretch."""
    monkeypatch.setattr(writer, "SECONDS", 0.0)
    monkeypatch.setattr(writer, "SHARE", float("inf"))


def interrupted_after(monkeypatch, transitions):
    """Ctrl-C as soon as so many transitions are done."""
    advance = course.Course._advance

    def noted(self, phase, recorder, size):
        advance(self, phase, recorder, size)
        if self.warming.done + self.sampling.done == transitions:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(course.Course, "_advance", noted)


def assert_same(run, other):
    """Bit for bit."""
    for name in ("unconstrained", "scalar"):
        np.testing.assert_array_equal(getattr(run, name), getattr(other, name))
    for group in ("stats", "warmup_stats") + (("draws",) if run.keep == "draws" else ()):
        ours, theirs = getattr(run, group), getattr(other, group)
        assert [*ours] == [*theirs]
        for name in ours:
            np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)
            assert ours[name].shape == theirs[name].shape
            assert ours[name].dtype == theirs[name].dtype or not ours[name].size
    for name in run.tuning.keys():
        np.testing.assert_array_equal(run.tuning[name], other.tuning[name])
    for name in ("mean", "sd", "rhat", "ess", "ess_squares", "lag_one_squares"):
        np.testing.assert_array_equal(getattr(run.moments, name), getattr(other.moments, name))
    assert run.num_gradients == other.num_gradients and run.findings == other.findings
    assert (run.stopped.rule, run.stopped.draws) == (other.stopped.rule, other.stopped.draws)
    assert run.interrupted == other.interrupted and run.config == other.config


CHOICES = {
    "default": {},
    "thinned": {"thin": 3},
    "moments": {"keep": "moments"},
    "superchains": {"superchains": 4},
    "own criterion": {"criterion": own_criterion},
    "paper": {"preset": "paper"},
    "along": {"criterion": criteria.Along([1.0, 2.0, -1.0])},
}
SLOW = ("paper", "along")  # to compile


@pytest.mark.parametrize(
    "choice", [pytest.param(c, marks=[pytest.mark.slow] * (c in SLOW)) for c in CHOICES]
)
def test_400_and_600_draws_are_1000(choice, tmp_path):
    options, target = SIZES | CHOICES[choice], normal_model()
    snaper.sample(target, draws=400, store=tmp_path / "run.zarr", **options)
    again = {"criterion": own_criterion} if choice == "own criterion" else {}
    resumed = snaper.resume(tmp_path / "run.zarr", target, draws=1000, progress=False, **again)
    assert_same(resumed, snaper.sample(target, draws=1000, **options))
    assert resumed.seconds[1] > 0


@pytest.mark.slow  # to compile: with the dense metric it is tested below
def test_float32(tmp_path):
    target = normal_model(dtype=jnp.float32)
    snaper.sample(target, draws=40, store=tmp_path / "run.zarr", **SIZES)
    resumed = snaper.resume(tmp_path / "run.zarr", target, draws=100, progress=False)
    assert resumed.unconstrained.dtype == np.float32
    assert_same(resumed, snaper.sample(target, draws=100, **SIZES))


@pytest.mark.parametrize("keep", ["draws", "moments"])
@pytest.mark.parametrize("transitions", [20, 60, 100], ids="warm-up between sampling".split())
def test_after_control_c(keep, transitions, tmp_path, monkeypatch, often):
    target, options = normal_model(), SIZES | {"keep": keep, "draws": 100}
    whole = snaper.sample(target, **options)
    with monkeypatch.context() as patched:
        interrupted_after(patched, transitions)
        part = snaper.sample(target, store=tmp_path / "run.zarr", **options)
    assert part.interrupted and part.stopped.draws == max(transitions - 60, 0)
    assert_same(snaper.load(tmp_path / "run.zarr"), part)
    assert_same(snaper.resume(tmp_path / "run.zarr", target, progress=False), whole)
    assert_same(snaper.load(tmp_path / "run.zarr"), whole)


def ratio(params):
    return params["mean"][0] / params["scale"]


@pytest.mark.parametrize(("every", "of"), [(None, None), (30, ratio)])
def test_until_ends_at_the_same_draw(of, every, tmp_path, monkeypatch, often):
    """Also where it was stopped between two looks."""
    target = normal_model()
    until = Until(rhat=1.02, ess=2000, max_draws=500, every=every, of=of)
    options = SIZES | {"until": until, "chunk": 10 if every else None}
    whole = snaper.sample(target, **options)
    assert whole.stopped.rule == "converged" and whole.stopped.draws > 50
    with monkeypatch.context() as patched:
        interrupted_after(patched, 60 + (40 if every else 22))  # with every=30, looks at 20, 50
        part = snaper.sample(target, store=tmp_path / "run.zarr", **options)
    assert part.interrupted and 0 < part.stopped.draws < whole.stopped.draws
    again = {} if of is None else {"until": until}
    assert_same(snaper.resume(tmp_path / "run.zarr", target, progress=False, **again), whole)


def test_a_finished_run_is_returned_as_it_is(tmp_path):
    target = normal_model()
    run = snaper.sample(target, draws=40, store=tmp_path / "run.zarr", **SIZES)
    for _ in range(2):
        assert_same(snaper.resume(tmp_path / "run.zarr", target, progress=False), run)
    assert_same(snaper.resume(tmp_path / "run.zarr", target, draws=40, progress=False), run)


def test_parameters_without_elements(tmp_path):
    target = snaper.Target(lambda p: -0.5 * p["b"] ** 2, {"a": jnp.zeros(0), "b": 0.0})
    options = SIZES | {"preset": "paper"}  # which takes less time to compile
    snaper.sample(target, draws=20, store=tmp_path / "run.zarr", **options)
    resumed = snaper.resume(tmp_path / "run.zarr", target, draws=40, progress=False)
    assert_same(resumed, snaper.sample(target, draws=40, **options))
    assert snaper.load(tmp_path / "run.zarr").draws["a"].shape == (NUM_CHAINS, 40, 0)


def test_findings_are_of_where_chains_began(tmp_path, monkeypatch):
    """And not of where they were when the run went on."""
    began, result = [], course.Course.result

    def noted(self):
        began.append(np.asarray(self.began.chains.grad))
        return result(self)

    monkeypatch.setattr(course.Course, "result", noted)
    snaper.sample(normal_model(), draws=40, store=tmp_path / "run.zarr", **SIZES)
    snaper.resume(tmp_path / "run.zarr", normal_model(), draws=60, progress=False)
    snaper.load(tmp_path / "run.zarr")
    for other in began[1:]:
        np.testing.assert_array_equal(other, began[0])
    assert len(began) == 3


def test_another_condition_goes_on_from_there(tmp_path):
    target = normal_model()
    run = snaper.sample(target, draws=40, store=tmp_path / "run.zarr", **SIZES)
    until = Until(rhat=1.01, ess=3000, max_draws=700)
    more = snaper.resume(tmp_path / "run.zarr", target, until=until, progress=False)
    assert more.stopped.rule == "converged" and more.stopped.draws > 40
    np.testing.assert_array_equal(more.unconstrained[:, :40], run.unconstrained)


def test_a_store_changes_no_draw_and_resuming_compiles_nothing(tmp_path, compilations):
    target, options = normal_model(), SIZES | {"draws": 40}
    plain = snaper.sample(target, **options)
    plain.draws  # noqa: B018
    assert_same(snaper.sample(target, store=tmp_path / "run.zarr", **options), plain)
    compilations()
    snaper.resume(tmp_path / "run.zarr", target, draws=80, progress=False)
    assert not [name for name in compilations() if "advance" in name or "evaluate" in name]


def test_dense_metric_in_float32_and_many_files(tmp_path, monkeypatch, often):
    """Files that are full are not written again, and rows that do not count are not read."""
    monkeypatch.setattr("snaper.store.arrays._MAX_CHUNK", 7)
    target = snaper.Target(quartic, jnp.zeros(2, jnp.float32))
    options = SIZES | {"metric": "dense"}
    snaper.sample(target, draws=40, store=tmp_path / "run.zarr", **options)
    first = tmp_path / "run.zarr/posterior/x/c/0/0/0"
    written = first.stat().st_mtime_ns
    resumed = snaper.resume(tmp_path / "run.zarr", target, draws=80, progress=False)
    assert first.stat().st_mtime_ns == written
    assert len([*first.parents[1].iterdir()]) == -(-80 // 7)
    assert resumed.unconstrained.dtype == np.float32
    assert_same(resumed, snaper.sample(target, draws=80, **options))


def test_all_that_changes_in_a_run_is_saved():
    """What is new in these must be given a place in a checkpoint."""
    recorder = record.Recorder(4, 10, 1, keep.Statistics(4))
    aside = {"wanted", "thin", "kept", "watch", "last"}
    assert vars(recorder).keys() - aside == snapshot._sums(recorder).keys()
    changing = [each.name for each in fields(course.Course) if has_default(each)]
    assert changing == ["bend", "tuned_from", "keeper", "clock", "looked", "rule"]


def has_default(each):
    return each.default is not MISSING or each.default_factory is not MISSING

"""`sample` and what it returns."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import NUM_CHAINS, normal_model, one_sentence

import snaper
from snaper import Target, config
from snaper.adapt import Held
from snaper.clock import Integrated

DIM, WARMUP, DRAWS = 3, 150, 120
SIZES = {"chains": NUM_CHAINS, "warmup": WARMUP, "draws": DRAWS, "progress": False}
STATS = {
    "step_size",
    "trajectory_length",
    "mean_trajectory_length",
    "n_steps",
    "criterion",
    "lp",
    "acceptance_rate",
    "is_accepted",
    "diverging",
    "energy",
}


@pytest.fixture(scope="module")
def run():
    return snaper.sample(normal_model(), **SIZES)


def test_draws_have_names_and_shapes(run):
    assert {name: x.shape for name, x in run.draws.items()} == {
        "mean": (NUM_CHAINS, DRAWS, 2),
        "scale": (NUM_CHAINS, DRAWS),
    }
    assert run.unconstrained.shape == (NUM_CHAINS, DRAWS, DIM)
    np.testing.assert_array_equal(run.draws["mean"], run.unconstrained[..., :2])
    np.testing.assert_allclose(run.draws["scale"], np.exp(run.unconstrained[..., 2]))
    for array in (run.unconstrained, *run.draws.values(), *run.stats.values()):
        assert isinstance(array, np.ndarray)
    assert not run.interrupted and run.target.dim == DIM


def test_statistics_are_per_chain_and_draw(run):
    assert set(run.stats) == set(run.warmup_stats) == STATS
    for stats, length in ((run.stats, DRAWS), (run.warmup_stats, WARMUP)):
        for name, values in stats.items():
            assert values.shape == (NUM_CHAINS, length), name
            climbed = name != "criterion" or stats is run.warmup_stats
            assert (np.isfinite(values) == climbed).all(), name
    kinds = {name: values.dtype.kind for name, values in run.stats.items()}
    assert kinds["is_accepted"] == kinds["diverging"] == "b" and kinds["n_steps"] == "i"


def test_statistics_belong_to_their_draws(run):
    lp = jax.vmap(jax.vmap(run.target.logp))(jnp.asarray(run.unconstrained))
    np.testing.assert_allclose(run.stats["lp"], lp)
    moved = np.any(np.diff(run.unconstrained, axis=1) != 0, axis=-1)
    np.testing.assert_array_equal(moved, run.stats["is_accepted"][:, 1:])
    stats = run.stats
    np.testing.assert_allclose(stats["trajectory_length"], stats["n_steps"] * stats["step_size"])
    kinetic = stats["energy"] + stats["lp"]
    assert kinetic.min() > 0
    assert kinetic.mean() == pytest.approx(DIM / 2, rel=0.1)


def test_gradients_are_counted(run):
    expected = tuple(int(stats["n_steps"][0].sum()) for stats in (run.warmup_stats, run.stats))
    assert run.num_gradients == expected and min(expected) > DRAWS


def test_sampling_holds_what_warm_up_learnt(run):
    np.testing.assert_allclose(run.stats["step_size"], run.tuning.step_size)
    np.testing.assert_allclose(run.stats["mean_trajectory_length"], run.tuning.trajectory_length)
    assert len(np.unique(run.warmup_stats["step_size"])) > WARMUP // 2


def test_warm_up_begins_with_single_steps(run):
    """For a fifth of it, where the trajectory is said to be the shortest that follows, of a pair;
    then the cap on leapfrog steps grows.
    """
    steps, held = run.warmup_stats["n_steps"][0], WARMUP // 5
    np.testing.assert_array_equal(steps[:held], 1)
    np.testing.assert_allclose(
        run.warmup_stats["mean_trajectory_length"][0, 1:held],
        2 * run.warmup_stats["step_size"][0, 1:held],
    )
    since = np.arange(WARMUP - held)
    assert np.all(steps[held:] <= 2 + 0.15 * since * (1 + (since / 800) ** 2))
    assert steps.max() > 1


def test_tuning_is_plain_numbers(run):
    tuning = run.tuning
    assert isinstance(tuning.step_size, float) and isinstance(tuning.trajectory_length, float)
    for name in ("mean", "direction"):
        assert isinstance(tuning[name], np.ndarray) and tuning[name].shape == (DIM,)
    factor = np.diag(tuning.metric) if tuning.metric.ndim == 1 else tuning.metric
    assert factor.shape == (DIM, DIM)
    widths = tuning.width * np.linalg.norm(factor, axis=1)
    np.testing.assert_allclose(widths, run.unconstrained.std(axis=(0, 1)), rtol=0.5)
    assert np.linalg.norm(tuning.direction) == pytest.approx(1.0)
    assert {**tuning}.keys() == {
        "step_size",
        "bend",
        "trajectory_length",
        "metric",
        "mean",
        "direction",
        "width",
        "choice",
        "alternation",
    }
    assert isinstance(tuning.alternation, float) and tuning.alternation in (0.0, 0.153)
    assert tuning.choice.startswith(("dense: ", "diagonal: "))
    np.testing.assert_allclose(tuning.mean, run.unconstrained.mean(axis=(0, 1)), atol=0.3)


def test_summary_is_a_table(run):
    summary = run.summary()
    assert summary.names == ["mean[0]", "mean[1]", "scale"]
    flat = run.draws["mean"].reshape(-1, 2)
    np.testing.assert_allclose(summary["mean"][:2], flat.mean(axis=0))
    np.testing.assert_allclose(summary["sd"][:2], flat.std(axis=0))
    np.testing.assert_allclose(summary["50%"][2], np.median(run.draws["scale"]))
    assert np.all(summary["5%"] < summary["50%"]) and np.all(summary["50%"] < summary["95%"])
    assert np.all(summary["ess"] > 100) and np.all(summary["rhat"] < 1.2)
    lines = str(summary).splitlines()
    assert lines[0].startswith(f"{NUM_CHAINS} chains x {DRAWS} draws; gradients ")
    assert [line.split()[0] for line in lines[2:5]] == summary.names
    told = [*summary.notes, *map(str, run.findings)]  # a note where ArviZ is missing
    assert [line[2:] for line in lines[5:]] == told


def test_a_run_is_shown_in_one_line(run):
    shown, heading = repr(run), str(run.summary()).splitlines()[0]
    told = f"{len(run.findings)} in run.findings" if run.findings else "no findings"
    assert shown == f"Run({heading}; {told}; see run.summary())"


def test_findings_are_printed(capsys):
    run = snaper.sample(normal_model(), **{**SIZES, "warmup": 0, "draws": 20})
    assert "no-warmup" in [finding.topic for finding in run.findings]
    printed = capsys.readouterr().err.splitlines()
    assert printed == [f"snaper: {finding}" for finding in run.findings]


def test_tuning_is_enough_to_sample(run):
    """With the last positions to begin with, a run without warm-up goes on where another ended."""
    sizes, last = {**SIZES, "warmup": 0}, run.unconstrained[:, -1]
    again = snaper.sample(normal_model(), **sizes, seed=1, init=last, tuning=run.tuning)
    assert again.tuning.bend is None and run.tuning.bend is None
    for name in {*run.tuning.keys()} - {"choice", "bend"}:
        np.testing.assert_allclose(again.tuning[name], run.tuning[name])
    assert again.findings == [] and again.num_gradients[0] == 0
    assert {values.shape for values in again.warmup_stats.values()} == {(NUM_CHAINS, 0)}
    scale = run.draws["scale"]
    assert again.draws["scale"].mean() == pytest.approx(scale.mean(), abs=0.3 * scale.std())


def test_tuning_is_where_more_warm_up_begins(run):
    sizes = {**SIZES, "warmup": 5, "draws": 0}
    again = snaper.sample(normal_model(), **sizes, tuning=run.tuning)
    assert again.warmup_stats["step_size"][0, 0] == pytest.approx(run.tuning.step_size)
    length = again.warmup_stats["mean_trajectory_length"][0, 0]
    assert length == pytest.approx(run.tuning.trajectory_length)
    assert again.unconstrained.shape == (NUM_CHAINS, 0, DIM)
    assert again.draws["mean"].shape == (NUM_CHAINS, 0, 2)


def correlated(x, precision):
    return -0.5 * x @ precision @ x


@pytest.fixture(scope="module")
def alternating():
    """A run in 30 dimensions, where energy errors are what keeps steps short."""
    axes = np.linalg.qr(np.random.default_rng(0).normal(size=(30, 30)))[0]
    target = Target(correlated, np.zeros(30), (axes * np.logspace(0, 2, 30)) @ axes.T)
    sizes = {"chains": 64, "warmup": 500, "draws": 50, "progress": False}
    return snaper.sample(target, **sizes), sizes


def test_kicks_alternate_where_that_allows_longer_steps(alternating):
    """1.7 times as long or so here. Draws have an even number of them."""
    run, _ = alternating
    assert run.tuning.alternation == run.config.adapt.step_size.alternation > 0
    assert np.all(run.stats["n_steps"] % 2 == 0) and run.stats["n_steps"].min() >= 2
    np.testing.assert_allclose(run.stats["step_size"], run.tuning.step_size)
    even, other = np.exp(run.state.adapt.step_size.rivals.log_average)
    assert run.tuning.step_size <= other and 1.4 < other / even < 2.5
    assert run.findings == []


@pytest.mark.parametrize("cap", [1, pytest.param(2, marks=pytest.mark.slow), 3])
def test_few_steps_allowed_are_as_long_as_leapfrog_s(alternating, cap):
    """Where there is no room for a pair, or for one alone, trials of other kicks take nothing from
    step sizes; and a cap that is met is told, though pairs end one short of an odd one.
    """
    target = alternating[0].target
    sizes = {"chains": 64, "warmup": 500, "draws": 50, "max_leapfrog": cap, "progress": False}
    found = snaper.sample(target, **sizes)
    leapfrog = snaper.sample(target, **sizes, criterion="esjd")
    assert found.stats["n_steps"].max() <= cap
    assert found.tuning.step_size > 0.8 * leapfrog.tuning.step_size
    assert "leapfrog-cap" in {finding.topic for finding in found.findings}


def test_alternating_kicks_are_gone_on_with(alternating):
    """By a run that is given no more than the tuning, as by one that goes on."""
    run, sizes = alternating
    last = run.unconstrained[:, -1]
    again = snaper.sample(
        run.target, **{**sizes, "warmup": 0}, seed=1, init=last, tuning=run.tuning
    )
    assert again.tuning.alternation == run.tuning.alternation
    assert again.tuning.step_size == pytest.approx(run.tuning.step_size)
    np.testing.assert_allclose(again.stats["step_size"], run.stats["step_size"])
    assert np.all(again.stats["n_steps"] % 2 == 0)
    # As many are accepted as before; with the same steps and even kicks it would be fewer.
    even = replace(run.tuning, alternation=0.0)
    worse = snaper.sample(run.target, **{**sizes, "warmup": 0}, seed=1, init=last, tuning=even)
    rates = [each.stats["acceptance_rate"].mean() for each in (run, again, worse)]
    assert rates[1] == pytest.approx(rates[0], abs=0.02) and rates[2] < rates[0] - 0.1


SEEDS = {
    "int": (7, 7),
    "NumPy int": (7, np.int32(7)),
    "typed key": (7, jax.random.key(7)),
    "raw key": (7, jax.random.PRNGKey(7)),
    "NumPy raw key": (7, np.asarray(jax.random.PRNGKey(7))),
}


@pytest.fixture(scope="module")
def seeded():
    def draws(seed):
        return snaper.sample(normal_model(), **{**SIZES, "warmup": 0, "draws": 5}, seed=seed)

    return lambda seed: draws(seed).unconstrained


@pytest.mark.parametrize("kind", SEEDS)
def test_seed_in_any_form_is_the_same_seed(kind, seeded):
    seed, same = SEEDS[kind]
    np.testing.assert_array_equal(seeded(same), seeded(seed))


def test_another_seed_is_another_run(seeded):
    assert not np.isin(seeded(8), seeded(7)).any()


def test_config_decides_everything():
    base = config.default()
    held = base.adapt.__class__(step_size=Held(0.125), trajectory=Held(0.5))
    chosen = snaper.Config(clock=Integrated(), adapt=held, max_leapfrog=3)
    run = snaper.sample(normal_model(), **{**SIZES, "warmup": 40, "draws": 10}, preset=chosen)
    assert run.config is chosen
    np.testing.assert_array_equal(run.stats["step_size"], 0.125)
    np.testing.assert_array_equal(run.stats["mean_trajectory_length"], 0.5)
    assert run.stats["n_steps"].max() == 3
    assert "leapfrog-cap" in [finding.topic for finding in run.findings]


BAD = {
    "target": ({"target": 3}, TypeError, "must be a snaper.Target, a NumPyro model .*, not int"),
    "chains": ({"chains": 0}, ValueError, "chains must be at least 1, not 0"),
    "warmup": ({"warmup": -1}, ValueError, "warmup must be at least 0, not -1"),
    "draws": ({"draws": -5}, ValueError, "draws must be at least 0, not -5"),
    "thin": ({"thin": 0}, ValueError, "thin must be at least 1, not 0"),
    "chunk": ({"chunk": 0}, ValueError, "chunk must be at least 1, not 0"),
    "half a chain": ({"chains": 2.5}, TypeError, "chains must be a whole number, not 2.5"),
    "words for draws": ({"draws": "many"}, TypeError, "draws must be a whole number, not 'many'"),
    "seed": ({"seed": 0.5}, TypeError, "seed must be a whole number or a JAX random key, not 0.5"),
    "no seed": ({"seed": None}, TypeError, "seed must be .*, not None"),
    "criterion": ({"criterion": "nuts"}, ValueError, "criterion 'nuts' is unknown: .* snaper, ch"),
    "preset": ({"preset": "fast"}, ValueError, "preset 'fast' is unknown: .* default, paper"),
    "metric": (
        {"metric": "round"},
        ValueError,
        "metric 'round' is unknown to preset 'default': .* diagonal, identity",
    ),
    "target_accept": ({"target_accept": 1.5}, ValueError, "target_accept must lie between 0 and 1"),
    "max_leapfrog": (
        {"max_leapfrog": 0},
        ValueError,
        "max_leapfrog must be a whole number of at least 1, not 0",
    ),
    "init": ({"init": np.zeros(4)}, ValueError, r"init has shape \(4,\)"),
    "tuning": (
        {"tuning": snaper.Tuning(0.1, 1.0, np.ones(2), np.zeros(2), np.ones(2))},
        ValueError,
        "tuning holds a metric of shape \\(2,\\)",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_argument_is_named_in_one_sentence(what):
    changes, kind, message = BAD[what]
    arguments = {"target": normal_model(), **SIZES, **changes}
    with pytest.raises(kind, match=message) as caught:
        snaper.sample(arguments.pop("target"), **arguments)
    assert one_sentence(str(caught.value))


INTERRUPTED = """
    import json, sys
    import jax.numpy as jnp
    import snaper

    target = snaper.Target(lambda x: -0.5 * jnp.sum(x**2), jnp.zeros(2))
    long = 10**8
    options = {"chains": 16, "preset": "paper"}  # which takes less time to compile

    def tell(run):
        facts = {
            "interrupted": run.interrupted,
            "topics": [finding.topic for finding in run.findings],
            "shape": run.unconstrained.shape,
            "warmup": run.warmup_stats["lp"].shape,
            "draws": {name: x.shape for name, x in run.draws.items()},
            "sentence": str(run.findings[0]),
        }
        print(json.dumps(facts), flush=True)

    tell(snaper.sample(target, **options, warmup=long, draws=10))
    tuning = snaper.Tuning(1.0, 1.5, jnp.ones(2), jnp.zeros(2), jnp.ones(2))
    tell(snaper.sample(target, **options, warmup=0, draws=10**6, tuning=tuning))
    print(json.dumps(snaper.sample(target, **options, warmup=20, draws=5).interrupted))
"""


@pytest.fixture(scope="module")
def interrupted():
    """A process that is sent SIGINT as soon as each of two long runs shows progress."""
    command = [sys.executable, "-c", textwrap.dedent(INTERRUPTED)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env={**os.environ, "JAX_PLATFORMS": "cpu"}, **pipes) as child:
        try:
            told = []
            for phase in ("warm-up", "sampling"):
                for line in child.stderr:
                    if line.startswith(phase):
                        break
                child.send_signal(signal.SIGINT)
                told.append(json.loads(child.stdout.readline()))
            told.append(json.loads(child.stdout.readline()))
            child.stderr.read()
        finally:
            child.kill()
    return told


def test_interrupt_in_warm_up_returns_what_there_is(interrupted):
    facts = interrupted[0]
    assert facts["interrupted"] and facts["topics"] == ["interrupted"]
    assert facts["shape"] == [16, 0, 2] and facts["draws"] == {"x": [16, 0, 2]}
    done = facts["warmup"][1]
    assert 0 < done < 10**8 and f"{done} of 100000000 warm-up" in facts["sentence"]


def test_interrupt_in_sampling_returns_the_draws_so_far(interrupted):
    facts = interrupted[1]
    assert facts["interrupted"] and "interrupted" in facts["topics"]
    done = facts["shape"][1]
    assert 0 < done < 10**6 and facts["draws"] == {"x": [16, done, 2]}
    assert f"{done} of 1000000 draws" in facts["sentence"]


def test_interrupt_is_over_with_its_run(interrupted):
    assert interrupted[2] is False


@pytest.fixture(scope="module")
def line():
    return Target(lambda x: -0.5 * x**2, 0.0)


def test_target_of_one_dimension_and_one_chain(line):
    run = snaper.sample(line, chains=1, warmup=30, draws=30, progress=False)
    assert run.draws["x"].shape == (1, 30) and np.isfinite(run.draws["x"]).all()
    assert run.summary().names == ["x"]
    assert "few-chains" in [finding.topic for finding in run.findings]


def test_two_draws_of_one_chain_are_a_run(line):
    for seed in range(4):
        run = snaper.sample(line, chains=1, warmup=60, draws=2, seed=seed, progress=False)
        assert run.unconstrained.shape == (1, 2, 1)

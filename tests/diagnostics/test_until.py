"""Sampling until a condition holds, and runs that keep no draws."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import NUM_CHAINS, normal_model, one_sentence

import snaper
from snaper import Target, Until
from snaper import chunk as chunk_module
from snaper.diagnostics.ess import nested_rhat, split_rhat
from snaper.until import FIRST_LOOK, LONGEST, Progress

SIZES = {"chains": NUM_CHAINS, "warmup": 300, "progress": False, "seed": 5}
QUICK = {"preset": "paper"}  # to compile, where how it was learnt does not matter


def sample(**changes):
    return snaper.sample(normal_model(), **{**SIZES, **changes})


@pytest.fixture(scope="module")
def stopped():
    return sample(draws=20, until=Until(rhat=1.05, every=16))


@pytest.fixture(scope="module")
def moments():
    return sample(draws=200, keep="moments")


@pytest.fixture(scope="module")
def plain():
    return sample(draws=200)


def test_stops_at_the_first_look_where_the_condition_holds(stopped):
    """Also one look earlier it did not."""
    end = stopped.stopped
    assert end.rule == "converged" and not stopped.interrupted
    assert end.draws == stopped.unconstrained.shape[1] and (end.draws - 20) % 16 == 0
    assert end.gradients == stopped.num_gradients[1] and end.seconds > 0
    assert np.all(stopped.moments.rhat < 1.05)
    before = sample(draws=end.draws - 16)
    assert before.stopped.rule == "draws" and np.any(before.moments.rhat >= 1.05)
    np.testing.assert_array_equal(
        before.unconstrained, stopped.unconstrained[:, : before.unconstrained.shape[1]]
    )


@pytest.mark.parametrize("chunk", [5, 64])
def test_chunks_do_not_move_the_end(stopped, chunk):
    again = sample(draws=20, until=Until(rhat=1.05, every=16), chunk=chunk)
    np.testing.assert_array_equal(again.unconstrained, stopped.unconstrained)


@pytest.mark.parametrize("changes", [{"until": Until(rhat=1.1)}, {"draws": 30, "keep": "moments"}])
def test_another_run_compiles_nothing(changes, stopped, moments, compilations):
    _ = stopped, moments  # have compiled all there is
    compilations()
    sample(**{**changes, "seed": 8})
    assert compilations() == []


def test_a_longer_run_has_more_effective_draws():
    run = sample(until=Until(rhat=None, ess=2000, max_draws=3000))
    assert run.stopped.rule == "converged"
    assert min(run.moments.ess.min(), run.moments.ess_squares.min()) >= 2000


def test_a_condition_without_a_least_number_of_draws():
    run = sample(draws=0, until=Until(rhat=1.2, max_draws=300))
    assert run.stopped.rule == "converged" and 2 < run.unconstrained.shape[1] < 300


def test_a_condition_that_holds_is_no_limit():
    """Time is up, too, at the first look."""
    run = sample(until=Until(rhat=5.0, max_seconds=1e-6), draws=8)
    assert run.stopped.rule == "converged" and run.stopped.draws == 8
    run = sample(until=Until(rhat=5.0, max_seconds=1e-6), draws=50, chunk=10)
    assert run.stopped.rule == "max_seconds" and run.stopped.draws == 10


def test_a_limit_that_is_all_there_is_to_reach_is_no_trouble():
    run = sample(until=Until(rhat=None, max_draws=40))
    assert run.stopped.rule == "max_draws" and run.findings == []


def test_thinned_draws_are_as_many_before_the_first_look():
    run = sample(until=Until(rhat=1.5), thin=3)
    assert run.stopped.rule == "converged"
    assert run.unconstrained.shape[1] == run.moments.num_draws == FIRST_LOOK


def test_few_chains_that_stop_may_agree_by_chance():
    run = sample(until=Until(rhat=1.5), chains=4, **QUICK)
    (sentence,) = [str(finding) for finding in run.findings if finding.topic == "few-chains"]
    assert "agreed by chance when sampling stopped" in sentence and one_sentence(sentence)


def far_modes(params):
    x = params["side"]
    return jnp.logaddexp(-0.5 * jnp.sum((x - 20.0) ** 2), -0.5 * jnp.sum((x + 20.0) ** 2))


@pytest.fixture(scope="module")
def never():
    sides = np.where(np.arange(NUM_CHAINS)[:, None] < 8, 20.0, -20.0) * np.ones(2)
    target = Target(far_modes, {"side": jnp.zeros(2)})
    return lambda **changes: snaper.sample(target, **{**SIZES, **QUICK, "init": sides, **changes})


def test_a_target_that_never_converges_hits_its_limit_and_says_so(never):
    run = never(until=Until(max_draws=90))
    assert run.stopped.rule == "max_draws" and run.stopped.draws == 90
    (sentence,) = [str(f) for f in run.findings if f.topic == "limit"]
    assert sentence.startswith(
        "Sampling ran into max_draws=90 before rhat=1.01: after 90 draws the R-hat"
    )
    run = never(until=Until(max_gradients=60))
    assert run.stopped.rule == "max_gradients" and run.stopped.gradients >= 60
    run = never(until=Until(max_seconds=1e-6))
    assert run.stopped.rule == "max_seconds" and 0 < run.stopped.draws
    assert "limit" in [f.topic for f in run.findings]


def test_modes_are_told_without_a_condition_too(never):
    run = never(draws=120)
    (sentence,) = [str(f) for f in run.findings if f.topic == "not-mixed"]
    assert "look for separate modes" in sentence and run.moments.rhat.min() > 5


def test_superchains_begin_at_one_point_each_and_are_compared():
    run = sample(superchains=4, draws=30)
    expected = nested_rhat(run.unconstrained.astype(float), 4, np)
    np.testing.assert_allclose(run.moments.nested_rhat, expected, rtol=1e-5)
    still = sample(superchains=4, warmup=0, draws=0)
    points = np.asarray(still.state.chains.x).reshape(4, 4, -1)
    assert np.all(points == points[:, :1]) and len(np.unique(points[:, 0], axis=0)) == 4
    assert "nested" in run.summary().columns


def test_nested_rhat_decides_where_superchains_are_declared():
    run = sample(superchains=2, until=Until(rhat=1.1, max_draws=2000))
    assert run.stopped.rule == "converged" and run.moments.nested_rhat.max() < 1.1


def test_moments_need_no_draws(moments, plain):
    assert moments.unconstrained.shape == (NUM_CHAINS, 0, 3)
    x = plain.unconstrained
    np.testing.assert_allclose(moments.moments.mean, x.mean(axis=(0, 1)), rtol=1e-5)
    np.testing.assert_allclose(moments.moments.sd, x.std(axis=(0, 1)), rtol=1e-5)
    np.testing.assert_allclose(moments.moments.rhat, plain.moments.rhat, rtol=1e-5)
    assert moments.moments.coordinates == ["mean[0]", "mean[1]", "scale"]
    for name, (mean, sd) in moments.moments.named.items():
        np.testing.assert_allclose(mean, plain.draws[name].mean(axis=(0, 1)), rtol=1e-5)
        np.testing.assert_allclose(sd, plain.draws[name].std(axis=(0, 1)), rtol=1e-5)
        np.testing.assert_allclose(plain.moments.named[name][1], sd, rtol=1e-5)
    assert moments.num_gradients == plain.num_gradients and moments.findings == plain.findings
    assert not moments.certificate and "takes 32 chains" in str(moments.certificate)
    with pytest.raises(AttributeError, match=r"kept no draws: see run\.moments") as caught:
        _ = moments.draws
    assert one_sentence(str(caught.value))
    lines = str(moments.summary()).splitlines()
    assert lines[0].endswith("; unconstrained") and lines[1].split() == [
        "mean",
        "sd",
        "ess",
        "rhat",
    ]


def test_split_of_a_run_is_near_its_middle(plain):
    at = int(plain.watch.look().split_at)
    assert abs(at - 100) <= 25
    x = plain.unconstrained.astype(float)
    np.testing.assert_allclose(plain.moments.rhat, split_rhat(x, at, np), rtol=1e-5)


def test_certificate_of_a_run(plain):
    found = plain.certificate
    z = (plain.unconstrained - plain.tuning.mean) @ plain.tuning.direction
    np.testing.assert_allclose(plain.scalar, z**2, rtol=1e-4, atol=1e-6)
    assert 0.4 < found.tightness < 2.0 and found.tight and found.worst in plain.moments.coordinates
    other = sample(draws=5, criterion="esjd", **QUICK).certificate
    assert not other and "criterion without a scalar" in str(other) and one_sentence(str(other))
    short = sample(draws=5).certificate
    assert not short and "takes 100 draws per chain" in str(short)


def test_progress_shows_the_worst_rhat(capsys):
    run = sample(draws=60, progress=True)
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.endswith(f"worst R-hat {run.moments.rhat.max():.3f}")
    run = sample(draws=60, progress=True, superchains=4)
    assert f"worst nested R-hat {run.moments.nested_rhat.max():.3f}" in capsys.readouterr().err


BAD = {
    "one chain has no rhat": (
        {"chains": 1, "until": Until()},
        ValueError,
        r"Until\(rhat=1.01\) is told by how much chains differ, which 1 chain does not",
    ),
    "one chain has no ess": (
        {"chains": 1, "until": Until(rhat=None, ess=100)},
        ValueError,
        r"Until\(ess=100\) is told by how much chains differ, which 1 chain does not",
    ),
    "superchains at one point": (
        {"superchains": 4, "init": np.zeros(3)},
        ValueError,
        "superchains=4 must begin at as many different points, but init gives 1:",
    ),
    "superchains at replaced points": (
        {"superchains": 2, "init": np.array([[0.0, 0, 0], [np.nan, 0, 0]])},
        ValueError,
        "but init gives 1, 1 unusable ones aside: give one usable point for each",
    ),
    "a point for every chain": (
        {"superchains": 4, "init": np.zeros((NUM_CHAINS, 3))},
        ValueError,
        r"init has shape \(16, 3\): give one for every superchain \(4, 3\)\.",
    ),
    "until": ({"until": 1.01}, TypeError, "until must be a snaper.Until"),
    "keep": ({"keep": "all"}, ValueError, "keep must be 'draws' or 'moments', not 'all'"),
    "superchains": ({"superchains": 5}, ValueError, "superchains must divide chains, but 5"),
    "one superchain": ({"superchains": 1}, ValueError, "superchains must be at least 2, not 1"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_argument_is_named_in_one_sentence(what):
    changes, kind, message = BAD[what]
    with pytest.raises(kind, match=message) as caught:
        sample(**changes)
    assert one_sentence(str(caught.value))


BAD_CONDITIONS = {
    "rhat must be above 1, not 0.9.": {"rhat": 0.9},
    "rhat must be above 1, not nan.": {"rhat": float("nan")},
    "rhat must be a number, not '1.01'.": {"rhat": "1.01"},
    "rhat must be a number, not [1.1, 1.2].": {"rhat": [1.1, 1.2]},
    "max_draws must be positive, not 0.": {"max_draws": 0},
    "max_draws must be a number, not None.": {"max_draws": None},
    "max_draws must be a whole number, not inf.": {"max_draws": float("inf")},
    "every must be a whole number, not 2.5.": {"every": 2.5},
    "max_seconds must be a number, not '3'.": {"max_seconds": "3"},
}


@pytest.mark.parametrize("message", BAD_CONDITIONS)
def test_bad_conditions_are_named(message):
    with pytest.raises((TypeError, ValueError)) as caught:
        Until(**BAD_CONDITIONS[message])
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("every", "expected"),
    [(None, [20, 22, 24, 26, 28]), (5, [20, 25, 30, 35, 40]), (100, [20, 120, 220, 320, 420])],
)
def test_looks_are_a_tenth_apart_or_as_asked_for(every, expected):
    until = Until(max_draws=1000, every=every)
    seen = looks(until, 20)
    assert seen[:5] == expected and seen[-1] == 1000
    assert not until.out_of_time(Progress(10, 10, 1e9))
    assert np.diff(seen).max() == (every or LONGEST)


def looks(until, first):
    """Numbers of draws at which a run is judged."""
    seen = [until.next_look(0, first)]
    while seen[-1] < until.max_draws:
        seen.append(until.next_look(seen[-1], first))
    return seen


def stored_rule(run, num_draws, until):
    """Whether the first draws of a run fulfil a condition, by diagnostics of stored draws."""
    x = run.unconstrained[:, :num_draws].astype(float)
    squares = (x - run.tuning.mean) ** 2
    sizes = [len(v) * v.var(axis=(0, 1)) / v.mean(axis=1).var(axis=0, ddof=1) for v in (x, squares)]
    split = int(_stream_split(num_draws))
    mixed = until.rhat is None or np.all(split_rhat(x, split, np) < until.rhat)
    return bool(mixed and (until.ess is None or np.min(sizes) >= until.ess))


def _stream_split(num_draws):
    """The edge nearest the middle, of blocks that doubled whenever eight were full."""
    length = 1
    while num_draws >= 8 * length:
        length *= 2
    return (num_draws + length) // (2 * length) * length


@pytest.mark.parametrize(
    ("until", "chunk"),
    [
        (Until(rhat=1.004), None),
        (Until(rhat=1.01), None),
        (Until(rhat=1.01), 10),
        (Until(rhat=None, ess=2000), None),
        (Until(rhat=1.05, ess=3000, every=7), None),
    ],
)
def test_stops_within_one_stretch_of_the_condition(until, chunk, monkeypatch):
    """By stored draws: at the look where it ended the condition holds, at none before, and the last
    compiled stretch is all there was between the last two looks.
    """
    sizes = []
    compiled = chunk_module.advance

    def noted(target, config, state, record, first, size, thin):
        sizes.append((int(first), int(size)))
        return compiled(target, config, state, record, first, size, thin)

    monkeypatch.setattr(chunk_module, "advance", noted)
    run = sample(until=until, chunk=chunk)
    assert run.stopped.rule == "converged"
    seen = looks(dataclasses.replace(until, every=until.every or chunk), FIRST_LOOK)
    seen = seen[: seen.index(run.stopped.draws) + 1]
    assert [stored_rule(run, n, until) for n in seen] == [False] * (len(seen) - 1) + [True]
    gap = seen[-1] - seen[-2]
    assert sizes[-1] == (seen[-2], gap) and gap <= LONGEST
    sampling = sizes[len(sizes) - len(seen) + 1 :]
    assert [first for first, _ in sampling] == seen[:-1]  # each stretch ends at a look


def test_one_start_is_told_but_not_shouted(capsys):
    run = sample(draws=50, init=np.zeros(3))
    (note,) = [finding for finding in run.findings if finding.topic == "one-start"]
    assert note.severity == "note" and "R-hat cannot tell" in str(run.summary())
    assert "R-hat cannot tell" not in capsys.readouterr().err
    assert "one-start" not in [finding.topic for finding in sample(draws=50).findings]

"""Sentences about a run."""

import dataclasses
import re

import numpy as np
import pytest
from helpers import one_sentence

from snaper.diagnostics import findings

NUM_CHAINS, DRAWS = 20, 1000
ZEROS = np.zeros(NUM_CHAINS, int)

GOOD = findings.Facts(
    num_chains=NUM_CHAINS,
    num_replaced=0,
    target_accept=0.8,
    max_leapfrog=1000,
    tuned=False,
    warmup_wanted=500,
    warmup_done=500,
    draws_wanted=DRAWS,
    draws_done=DRAWS,
    interrupted=False,
    reseeded=ZEROS,
    warmup_step_size=np.full(500, 0.3),
    warmup_length=np.full(500, 2.0),
    accept_prob=np.full(NUM_CHAINS, 0.85),
    accepted=np.full(NUM_CHAINS, 850),
    diverging=ZEROS,
    capped=0,
    lp=np.linspace(-10.5, -9.5, NUM_CHAINS),
    resolution=1e-15,
)


def one(value, index=3, rest=ZEROS):
    changed = np.array(rest, float if isinstance(value, float) else int)
    changed[index] = value
    return changed


def settling(factor):
    """A trace whose last quarter differs from the one before by a factor."""
    return np.where(np.arange(500) < 375, 0.3, 0.3 * factor)


CASES = {
    "interrupted": (
        {"interrupted": True, "draws_done": 400},
        "500 of 500 warm-up transitions and 400 of 1000 draws",
    ),
    "starts": (
        {"num_replaced": 3, "replaced_for": "the log density is nan at a = 1"},
        "3 of 20 starting points .* the first the log density is nan at a = 1: give init=",
    ),
    "few-chains": (
        {
            "num_chains": 4,
            **{name: np.zeros(4, int) for name in ("reseeded", "diverging")},
            "accepted": np.full(4, 850),
            "accept_prob": np.full(4, 0.85),
            "lp": np.zeros(4),
        },
        "With 4 chains",
    ),
    "reseeded": ({"reseeded": one(2)}, r"1 of 20 chains \(number 3\)"),
    "no-warmup": (
        {"warmup_wanted": 0, "warmup_done": 0, "warmup_step_size": np.zeros(0)},
        "pass tuning=",
    ),
    "not-settled": ({"warmup_step_size": settling(2.0)}, "step size .* factor of 2.0"),
    "divergences": ({"diverging": one(100)}, r"100 of 20000 transitions \(0.5%\)"),
    "leapfrog-cap": ({"capped": 20}, "20 of 1000 transitions .* 1000 leapfrog"),
    "stuck": (
        {"accepted": one(5, rest=GOOD.accepted)},
        r"\(number 3\) hardly .* about -10.3: do not",
    ),
    "outside": ({"lp": one(-60.0, rest=GOOD.lp)}, r"1 of 20 chains \(number 3\) stayed"),
    "acceptance": ({"accept_prob": np.full(NUM_CHAINS, 0.6)}, "Mean acceptance was 0.60 where 0.8"),
    "precision": ({"resolution": 0.5}, "last digit is worth 0.5"),
}


def topics(**changes):
    return [finding.topic for finding in findings.find(dataclasses.replace(GOOD, **changes))]


def test_a_good_run_has_none():
    assert findings.find(GOOD) == []


@pytest.mark.parametrize("topic", CASES)
def test_each_finding_appears_alone_and_says_what_to_do(topic):
    changes, words = CASES[topic]
    (finding,) = findings.find(dataclasses.replace(GOOD, **changes))
    assert finding.topic == topic and str(finding) == finding.sentence
    assert one_sentence(finding.sentence) and re.search(words, finding.sentence)


def test_trajectory_length_that_has_not_settled():
    (finding,) = findings.find(dataclasses.replace(GOOD, warmup_length=settling(0.4)))
    assert finding.topic == "not-settled" and "trajectory length" in finding.sentence


@pytest.mark.parametrize("length", [np.nan, np.inf, 0.0])
def test_tuning_that_came_to_nothing_is_one_finding(length):
    trace = np.where(np.arange(500) < 20, 0.3, length)
    (finding,) = findings.find(dataclasses.replace(GOOD, warmup_length=trace))
    assert finding.topic == "overflow" and one_sentence(finding.sentence)
    assert f"step size of 0.3 and a trajectory length of {length:g}" in finding.sentence


HIGH = {"accept_prob": np.full(NUM_CHAINS, 0.999)}


def test_acceptance_too_high_is_a_finding_too():
    (finding,) = findings.find(dataclasses.replace(GOOD, **HIGH, warmup_step_size=settling(1.2)))
    assert finding.topic == "acceptance" and "use a longer warmup=" in finding.sentence


def test_steps_that_trajectories_have_no_more_room_for_are_accepted_often():
    """Nothing is wrong then; with too few accepted something is."""
    assert findings.find(dataclasses.replace(GOOD, **HIGH, held_short=True)) == []
    low = {"accept_prob": np.full(NUM_CHAINS, 0.6)}
    (finding,) = findings.find(dataclasses.replace(GOOD, **low, held_short=True))
    assert finding.topic == "acceptance"


def test_a_step_size_kept_short_by_few_failures_is_not_put_down_to_a_short_warm_up():
    """It has settled; transitions that fail altogether rule the harmonic mean it is tuned by."""
    (finding,) = findings.find(dataclasses.replace(GOOD, **HIGH, warmup_diverging=50))
    assert finding.topic == "acceptance" and one_sentence(finding.sentence)
    assert "longer warmup" not in finding.sentence and "constraints=" in finding.sentence
    assert "(50 of 10000 diverged or left the support in warm-up)" in finding.sentence
    assert "keep the step size at 0.3; reparameterise" in finding.sentence
    (finding,) = findings.find(dataclasses.replace(GOOD, **HIGH))
    assert "hardly ever accepted keep the step size" in finding.sentence
    assert " 0 of " not in finding.sentence and one_sentence(finding.sentence)


def test_few_chains_slow_to_arrive_are_a_note():
    """Of plain regressions, whose draws are right, a tenth of dispersed starts may be."""
    some, many = np.arange(NUM_CHAINS) < 4, np.arange(NUM_CHAINS) < 5
    (few,) = findings.find(dataclasses.replace(GOOD, reseeded=some.astype(int)))
    (more,) = findings.find(dataclasses.replace(GOOD, reseeded=many.astype(int)))
    assert few.severity == "note" and "not merely slow to arrive" in few.sentence
    assert more.severity == "trouble" and "slow" not in more.sentence


def test_few_divergences_are_told_with_weaker_words():
    (few,) = findings.find(dataclasses.replace(GOOD, diverging=one(3)))
    (many,) = findings.find(dataclasses.replace(GOOD, diverging=one(30)))
    assert "3 of 20000 transitions (0.015%)" in few.sentence and "may hold too few" in few.sentence
    assert "are missed" in many.sentence


def test_small_troubles_are_passed_over():
    assert topics(diverging=one(2)) == []
    assert topics(capped=10) == []
    assert topics(warmup_step_size=settling(1.4)) == []
    assert topics(accept_prob=np.full(NUM_CHAINS, 0.7)) == []
    assert topics(accept_prob=np.full(NUM_CHAINS, 0.96)) == []
    assert topics(lp=one(-25.0, rest=GOOD.lp)) == []


def test_held_step_size_has_no_acceptance_to_miss():
    assert topics(accept_prob=np.full(NUM_CHAINS, 0.2), target_accept=None) == []


def test_tuned_run_needs_no_warm_up():
    nothing = np.zeros(0)
    changes = {"warmup_wanted": 0, "warmup_done": 0, "warmup_step_size": nothing}
    assert topics(**changes, warmup_length=nothing, tuned=True) == []


def test_stuck_chains_do_not_colour_the_mean_acceptance():
    accepted, accept_prob = one(0, rest=GOOD.accepted), one(0.0, rest=GOOD.accept_prob)
    assert topics(accepted=accepted, accept_prob=accept_prob) == ["stuck"]


def test_a_run_without_draws_says_nothing_of_sampling():
    assert topics(draws_done=0, draws_wanted=0, accepted=ZEROS, accept_prob=0.0 * ZEROS) == []


def test_warm_up_cut_short_is_not_called_unsettled():
    changes = {"interrupted": True, "draws_done": 0, "warmup_done": 100}
    assert topics(**changes, warmup_step_size=settling(3.0)) == ["interrupted"]


def test_many_chains_are_abbreviated():
    (finding,) = findings.find(dataclasses.replace(GOOD, reseeded=np.ones(NUM_CHAINS, int)))
    assert "(numbers 0, 1, 2, 3, 4, 5, ...)" in finding.sentence

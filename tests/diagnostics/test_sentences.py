"""What is said of chains that do not agree, or do not move."""

import dataclasses

import numpy as np
import pytest
from helpers import one_sentence

from snaper.diagnostics import findings
from snaper.diagnostics.energy import Energy
from snaper.diagnostics.judged import Judged

NUM_CHAINS = 20
NONE = np.zeros(NUM_CHAINS, int)
STILL = np.zeros((NUM_CHAINS, 5), bool)
NAMES = ("ratio", "sum").__getitem__
SIZES = np.array([9000.0, 9000.0, 9000.0, 9000.0, 5000.0])


def judged(rhat=1.01, **changes):
    """How chains compare in x[0] to x[4]; R-hat is that of x[2], the worst."""
    ratios = np.array([1.0, 1.0, rhat, 1.0, 1.0])
    mixing = Judged(400, ratios, False, SIZES, STILL, lambda i: f"x[{i}]")
    return mixing._replace(**changes)


def still(chain, coordinate):
    """Marks what never changed."""
    marks = STILL.copy()
    marks[chain, coordinate] = True
    return marks


GOOD = findings.Facts(
    num_chains=NUM_CHAINS,
    num_replaced=0,
    target_accept=0.8,
    max_leapfrog=1000,
    tuned=True,
    warmup_wanted=500,
    warmup_done=500,
    draws_wanted=400,
    draws_done=400,
    interrupted=False,
    reseeded=NONE,
    warmup_step_size=np.full(500, 0.3),
    warmup_length=np.full(500, 2.0),
    accept_prob=np.full(NUM_CHAINS, 0.85),
    accepted=np.full(NUM_CHAINS, 340),
    diverging=NONE,
    capped=0,
    lp=np.linspace(-10.5, -9.5, NUM_CHAINS),
    resolution=1e-15,
    ends=np.linspace(-3.0, 4.0, NUM_CHAINS)[:, None] * np.ones(5),
    mixing=judged(),
    tightness=0.9,
)


def one_off(chain: int, amount: float) -> np.ndarray:
    return np.where(np.arange(NUM_CHAINS) == chain, amount, 1e-4)


def far_out(chain: int, coordinate: int) -> np.ndarray:
    ends = np.random.default_rng(0).normal(size=(NUM_CHAINS, 5)).astype(np.float32)
    ends[chain, coordinate] = 9.0
    return ends


CASES = {
    "not-mixed": (
        {"mixing": judged(1.5)},
        "The R-hat of x[2] is 1.5 after 400 draws, and chains stand at -3 to 4: look",
    ),
    "few-draws": (
        {"mixing": judged(1.1, ess=SIZES / 60.0)},
        "effective sample size of x[4] is only 83, and the R-hat of x[2] is 1.1 after 400 draws",
    ),
    "energy": (
        {"energy": Energy(0.08, 3)},
        "changes little from draw to draw (E-BFMI 0.08, where 0.3 and more is usual), as if x[3] ",
    ),
    "overflow": (
        {"mixing": judged(np.nan)},
        "x[2] overflowed or was not finite, so that it has no R-hat, and chains stand at -3 to 4",
    ),
    "flat": (
        {"flat": np.arange(5) > 2},
        "The gradient with respect to x[3], x[4] is zero where chains began and where they ended",
    ),
    "precision": (
        {"ends": np.float32(2e7) + 2 * np.arange(NUM_CHAINS, dtype=np.float32)[:, None] % 6},
        "x[0] stands at 2e+07 to 2e+07 where numbers of its type are 2 apart, too coarse",
    ),
    "precision, at a bound": (
        {"at_bounds": {"a": 0.05, "p": 0.25}},
        "p is so close to a bound in 25.0% of draws that numbers of its type do not tell how close",
    ),
    "precision, of one place": (
        {"unexplained": one_off(3, 0.42), "ends": far_out(3, 2)},
        "In 1 of 20 chains (number 3) the log density departs by up to 0.42 from what its gradient "
        "says of a tiny move from x[2] = 9 (unconstrained), as if digits were lost: switch JAX",
    ),
    "precision, whatever the digits": (
        {"unexplained": one_off(3, 0.42), "ends": far_out(3, 2).astype(float)},
        "as if digits were lost: look for",
    ),
    "precision, in no place of its own": (
        {"unexplained": np.full(NUM_CHAINS, 0.4), "ends": far_out(3, 2)},
        "says of a tiny move, as if digits were lost",
    ),
    "precision, of all digits": (
        {"unexplained": np.full(NUM_CHAINS, 0.4), "resolution": 0.2},
        "so large that its last digit is worth 0.2",
    ),
    "constant": (
        {"mixing": judged(constant=still(7, 1))},
        "x[1] never changed in 1 of 20 chains (number 7)",
    ),
    "limit": (
        {"limit": "max_draws=400 before rhat=1.01", "mixing": judged(1.5, nested=True)},
        "after 400 draws the nested R-hat of x[2] is 1.5",
    ),
    "loose-bound": ({"tightness": 0.2}, "only 20% of its bound"),
    "loose-bound, nearly": ({"tightness": 0.498}, "only 49% of its bound (50% and more"),
}


@pytest.mark.parametrize("topic", CASES)
def test_each_trouble_has_its_own_sentence(topic):
    changes, words = CASES[topic]
    (finding,) = findings.find(dataclasses.replace(GOOD, **changes))
    assert finding.topic == topic.partition(",")[0] and words in finding.sentence
    assert one_sentence(finding.sentence)


LIMIT = {"limit": "max_draws=400 before rhat=1.01"}


def test_a_limit_is_told_of_what_was_asked_for():
    asked = Judged(400, np.array([1.3, 1.0]), False, np.array([90.0, 12.0]), STILL[:, :2], NAMES)
    changes = {**LIMIT, "asked": asked, "mixing": judged(2.0)}
    (finding,) = findings.find(dataclasses.replace(GOOD, **changes))
    assert "the R-hat of ratio is 1.3 and the least effective" in finding.sentence
    assert "sample size, of sum, is 12;" in finding.sentence and one_sentence(finding.sentence)


NO_RHAT = {
    "constant": (
        judged(np.nan, constant=np.ones_like(STILL)),
        "x[2] has no R-hat, since it never changed",
    ),
    "not finite": (judged(np.nan), "x[2] has no R-hat, since it overflowed or was not finite"),
    "few": (judged(np.nan, num_draws=1), "R-hat cannot be told of 1 draw; raise the limit"),
}


@pytest.mark.parametrize("what", NO_RHAT)
def test_a_limit_says_why_there_is_no_r_hat(what):
    asked, words = NO_RHAT[what]
    found = findings.find(dataclasses.replace(GOOD, **LIMIT, asked=asked))
    assert words in found[-1].sentence and one_sentence(found[-1].sentence)


def test_a_function_that_never_changed_is_named():
    (finding,) = findings.find(dataclasses.replace(GOOD, asked=judged(constant=still(7, 3))))
    assert finding.topic == "constant" and one_sentence(finding.sentence)
    assert "x[3] never changed in 1 of 20 chains (number 7)" in finding.sentence
    assert "check of=" in finding.sentence


def test_what_never_changed_is_not_told_of_chains_that_are_stuck():
    """Chain 3 is stuck, and so everything in it."""
    marks = still(7, 1)
    marks[3] = True
    accepted = np.where(np.arange(NUM_CHAINS) == 3, 0, 340)
    facts = dataclasses.replace(GOOD, mixing=judged(constant=marks), accepted=accepted)
    stuck, constant = findings.find(facts)
    assert stuck.topic == "stuck" and "(number 3)" in stuck.sentence
    assert "x[1] never changed in 1 of 20 chains (number 7)" in constant.sentence


def test_one_start_is_a_note():
    (finding,) = findings.find(dataclasses.replace(GOOD, one_start=True))
    assert finding.topic == "one-start" and finding.severity == "note"
    assert "R-hat cannot tell whether that start is forgotten" in finding.sentence
    assert one_sentence(finding.sentence)


def test_a_log_density_that_grows_outward_is_told_of_many_chains_only():
    facts = dataclasses.replace(GOOD, outward=np.array([0.4, 0.5, 0.9, 0.6, 0.5]))
    assert findings.find(facts) == []
    many = {name: np.resize(getattr(GOOD, name), 64) for name in PER_CHAIN}
    mixing = judged(constant=np.zeros((64, 5), bool))
    (finding,) = findings.find(dataclasses.replace(facts, num_chains=64, mixing=mixing, **many))
    assert finding.topic == "unbounded" and one_sentence(finding.sentence)
    assert "grows outward along x[2] in 90% of chains, which stand at -3 to 4" in finding.sentence


PER_CHAIN = ("reseeded", "accept_prob", "accepted", "diverging", "lp")
QUIET = {
    "good run": {},
    "short chains, as split R-hat judges them": {"mixing": judged(1.8, num_draws=20)},
    "few draws that agree": {"mixing": judged(1.04, ess=SIZES / 60.0)},
    "many draws that agree less": {"mixing": judged(1.1)},
    "no certificate": {"tightness": float("nan")},
    "large numbers that differ enough": {"ends": 1e6 + GOOD.ends.astype(np.float32)},
    "chains at one place": {"ends": np.full((NUM_CHAINS, 5), 1e30)},
    "chains that overflowed": {"ends": np.full((NUM_CHAINS, 5), np.inf)},
    "rounding that harms nobody": {"unexplained": one_off(3, 0.2)},
    "few draws have no R-hat": {"mixing": judged(np.nan, num_draws=20)},
}


@pytest.mark.parametrize("what", QUIET)
def test_nothing_is_said_without_need(what):
    assert findings.find(dataclasses.replace(GOOD, **QUIET[what])) == []

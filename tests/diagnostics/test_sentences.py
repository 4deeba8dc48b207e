"""What is said of chains that do not agree, or do not move."""

import dataclasses

import numpy as np
import pytest
from helpers import one_sentence

from snaper.diagnostics import findings

NUM_CHAINS = 20
NONE = np.zeros(NUM_CHAINS, int)
MIXING = findings.Mixing(400, 1.01, False, "x[2]", 5000.0, "x[4]", (), NONE > 0)
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
    mixing=MIXING,
    tightness=0.9,
)


def mixing(**changes):
    return {"mixing": dataclasses.replace(MIXING, **changes)}


CASES = {
    "not-mixed": (mixing(rhat=1.5), "The R-hat of x[2] is 1.5 after 400 draws"),
    "constant": (
        mixing(constant=("x[1]",), constant_chains=np.arange(NUM_CHAINS) == 7),
        "x[1] never changed in 1 of 20 chains (number 7)",
    ),
    "limit": (
        {"limit": "max_draws=400 before rhat=1.01", **mixing(rhat=1.5, nested=True)},
        "after 400 draws the nested R-hat of x[2] is 1.5",
    ),
    "loose-bound": ({"tightness": 0.2}, "only 20% of its bound"),
}


@pytest.mark.parametrize("topic", CASES)
def test_each_trouble_has_its_own_sentence(topic):
    changes, words = CASES[topic]
    (finding,) = findings.find(dataclasses.replace(GOOD, **changes))
    assert finding.topic == topic and words in finding.sentence
    assert one_sentence(finding.sentence)


def test_a_limit_is_told_of_what_was_asked_for():
    asked = dataclasses.replace(MIXING, worst="ratio", rhat=1.3, least="sum", ess=12.0)
    changes = {"limit": "max_draws=400 before rhat=1.01", "asked": asked, **mixing(rhat=2.0)}
    (finding,) = findings.find(dataclasses.replace(GOOD, **changes))
    assert "the R-hat of ratio is 1.3 and the least effective" in finding.sentence
    assert "sample size, of sum, is 12;" in finding.sentence and one_sentence(finding.sentence)


def test_one_start_is_a_note():
    (finding,) = findings.find(dataclasses.replace(GOOD, one_start=True))
    assert finding.topic == "one-start" and finding.severity == "note"
    assert "R-hat cannot tell whether that start is forgotten" in finding.sentence
    assert one_sentence(finding.sentence)


QUIET = {
    "good run": {},
    "short chains, as split R-hat judges them": mixing(rhat=1.8, draws=20),
    "no certificate": {"tightness": float("nan")},
}


@pytest.mark.parametrize("what", QUIET)
def test_nothing_is_said_without_need(what):
    assert findings.find(dataclasses.replace(GOOD, **QUIET[what])) == []

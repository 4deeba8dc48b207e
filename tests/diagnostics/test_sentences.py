"""What is said of chains that do not agree, or do not move."""

import dataclasses

import numpy as np
import pytest
from helpers import one_sentence

from snaper.diagnostics import findings

NUM_CHAINS = 20
NONE = np.zeros(NUM_CHAINS, int)
MIXING = findings.Mixing(400, 1.01, False, "x[2]", 5000.0, (), NONE > 0)
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


QUIET = {
    "good run": {},
    "short chains, as split R-hat judges them": mixing(rhat=1.8, draws=20),
    "short chains, as the bound judges them": {"tightness": 0.2, **mixing(draws=20)},
    "a criterion without a scalar": {"tightness": float("nan")},
}


@pytest.mark.parametrize("what", QUIET)
def test_nothing_is_said_without_need(what):
    assert findings.find(dataclasses.replace(GOOD, **QUIET[what])) == []

"""Presets, and the rules a configuration holds."""

import dataclasses

import jax.numpy as jnp
import pytest

from snaper import Config, clock, config, criteria, jitter
from snaper.adapt import IdentityMetric, Kicks, Quarantine, StepSize, Trust


def test_presets_differ_where_they_should():
    default, paper = config.preset("default"), config.preset("paper")
    assert default == config.default() and paper == config.paper()
    assert isinstance(default.jitter, jitter.QuasiRandom)
    assert isinstance(paper.jitter, jitter.Uniform)
    assert isinstance(default.clock, clock.Paired) and isinstance(paper.clock, clock.Drawn)
    assert isinstance(default.adapt.step_size, Kicks)
    assert isinstance(paper.adapt.step_size, StepSize)
    assert isinstance(default.adapt.quarantine, Quarantine)
    assert isinstance(paper.adapt.quarantine, Trust)
    assert default.adapt.trajectory.unit_free and not paper.adapt.trajectory.unit_free
    assert (paper.one_step, paper.one_step_share, paper.rounding) == (100, 1.0, 0.0)


@pytest.mark.parametrize("name", config.PRESETS)
def test_preset_takes_every_choice(name):
    chosen = config.preset(name, "chees", "identity", 0.65, 77)
    assert chosen.criterion is criteria.chees
    assert chosen.adapt.metric == IdentityMetric()
    assert chosen.adapt.step_size.target == 0.65
    assert chosen.max_leapfrog == 77


def test_acceptance_is_aimed_at_with_either_kicks():
    chosen = config.preset("default", target_accept=0.65).adapt.step_size
    assert chosen == Kicks(StepSize(target=0.65)) and chosen.target == 0.65


@pytest.mark.parametrize("name", criteria.FORMULAS)
def test_kicks_are_even_for_the_criteria_of_papers(name):
    """And steps need not come in pairs."""
    chosen = config.preset("default", name)
    assert chosen.clock == clock.Integrated() and chosen.adapt.step_size == StepSize()
    assert chosen.adapt.trajectory.held == 1.0


def test_plain_chees_climbs_at_half_the_rate():
    rates = {name: config.preset("paper", name).adapt.trajectory.rate for name in criteria.FORMULAS}
    assert rates == {"snaper": 0.05, "chees": 0.025, "chees_rate": 0.05, "esjd": 0.05}


def test_a_config_made_by_hand_is_the_default():
    assert Config() == config.default()


def test_config_is_a_key():
    """Static when compiled: equal ones share what was compiled, others do not."""
    assert hash(config.default()) == hash(config.default())
    changed = dataclasses.replace(config.default(), max_leapfrog=7)
    assert changed != config.default() and len({changed, config.default(), Config()}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        changed.max_leapfrog = 8


def cap(chosen, step, held=10, warming=True):
    return int(chosen.cap(jnp.asarray(step), jnp.asarray(held), jnp.asarray(warming)))


def test_cap_grows_with_warm_up_and_is_whole_after():
    chosen = Config(max_leapfrog=12)
    assert [cap(chosen, step) for step in (0, 10, 16, 17, 30, 500)] == [2, 2, 2, 3, 5, 12]
    assert cap(Config(), 810) == 242  # twice as much as it would be at its first pace
    assert cap(chosen, 20, warming=False) == 12
    assert cap(Config(max_leapfrog=1), 500) == 1


def test_cap_of_the_paper_never_binds_early():
    """Beyond the first free transition, whose trajectory is two steps at most."""
    assert cap(config.paper(), 11) == cap(config.paper(), 500) == 1000

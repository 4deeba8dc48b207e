"""The table's columns of effective sizes, with ArviZ-stats and without."""

import builtins
import time

import autoregressive
import numpy as np
import pytest

from snaper.diagnostics import estimators
from snaper.diagnostics.ess import nested_rhat, split_rhat
from snaper.diagnostics.summary import summarise

DRAWS = {
    "a": autoregressive.chains(0.5, 16, 100),
    "b": np.stack([autoregressive.chains(0.3, 16, 100, seed) for seed in (1, 2)], axis=-1),
}


def summary(draws, superchains=None):
    return summarise(draws, (1, 2), (0.1, 0.2), [], superchains)


def test_columns_are_arviz_s():
    array_stats = pytest.importorskip("arviz_stats.base.array").array_stats
    table = summary(DRAWS, superchains=4)
    axes = {"chain_axis": 0, "draw_axis": 1}
    told = {
        "ess": array_stats.ess(DRAWS["b"], method="bulk", **axes),
        "ess_tail": array_stats.ess(DRAWS["b"], method="tail", prob=(0.05, 0.95), **axes),
        "mcse": array_stats.mcse(DRAWS["b"], method="mean", **axes),
        "rhat": array_stats.rhat(DRAWS["b"], method="split", **axes),
        "nested": array_stats.rhat_nested(
            DRAWS["b"], superchain_ids=np.repeat(np.arange(4), 4), method="identity", **axes
        ),
    }
    for column, expected in told.items():
        np.testing.assert_allclose(table[column][1:], expected, err_msg=column)
    assert table.notes == []


def test_r_hat_is_what_stopping_rules_call_r_hat():
    """Up to rounding, whichever package computes it: they go by `split_rhat` and `nested_rhat`."""
    table = summary(DRAWS, superchains=4)
    np.testing.assert_allclose(table["rhat"][1:], split_rhat(DRAWS["b"], xp=np))
    np.testing.assert_allclose(table["nested"][1:], nested_rhat(DRAWS["b"], 4, np))


def test_many_short_chains_at_rest_alarm_the_usual_r_hat_but_not_the_nested():
    """With ranks, too, as long as chains are short."""
    array_stats = pytest.importorskip("arviz_stats.base.array").array_stats
    draws = autoregressive.chains(0.9, 1024, 50)
    table = summary({"x": draws}, superchains=16)
    assert table["rhat"][0] == pytest.approx(1.4, abs=0.02)
    assert table["rhat"][0] == pytest.approx(array_stats.rhat(draws, method="rank"), abs=0.01)
    assert table["nested"][0] < 1.01


@pytest.mark.parametrize("num_draws", [1, 3, 4, 7])
def test_nested_r_hat_takes_four_draws(num_draws):
    table = summary({"a": DRAWS["a"][:, :num_draws]}, superchains=4)
    told = num_draws >= 4
    assert np.isfinite(table["nested"]).all() == told
    note = f"{num_draws} draws are too few to tell nested R-hat: draw 4 or more."
    assert (note in table.notes) == (not told)


@pytest.fixture
def without_arviz_stats(monkeypatch):
    original = builtins.__import__

    def missing(name, *args, **kwargs):
        if name.startswith("arviz_stats"):
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)


@pytest.mark.usefixtures("without_arviz_stats")
def test_without_arviz_stats_the_size_of_the_mean():
    table = summary(DRAWS, superchains=4)
    assert table.columns == ("mean", "sd", "5%", "50%", "95%", "ess", "rhat", "nested")
    assert table["ess"][0] == pytest.approx(1600 / 3, rel=0.2)
    np.testing.assert_array_equal(table["rhat"][1:], split_rhat(DRAWS["b"], xp=np))
    np.testing.assert_array_equal(table["nested"][1:], nested_rhat(DRAWS["b"], 4, np))
    assert "ess is of the mean" in str(table)


def test_too_many_numbers_are_not_ranked(monkeypatch):
    pytest.importorskip("arviz_stats")
    ranked = summary(DRAWS)
    monkeypatch.setattr(estimators, "_MAX_RANKED", 16 * 100 * 3 - 1)
    table = summary(DRAWS)
    assert table.columns == ("mean", "sd", "mcse", "5%", "50%", "95%", "ess", "rhat")
    np.testing.assert_array_equal(table["mcse"], ranked["mcse"])
    np.testing.assert_allclose(table["ess"], ranked["ess"], rtol=0.2)
    assert "ess is of the mean" in str(table)


def test_sizes_are_left_out_where_chains_are_shorter_than_their_memory():
    """Ten draws correlated 0.9 from one to the next: an autocorrelation would be twice too good."""
    table = summary(
        {"slow": autoregressive.chains(0.9, 256, 10), "x": DRAWS["a"][:, :10].repeat(16, 0)}
    )
    assert np.isnan(table["ess"][0]) and np.isfinite(table["rhat"]).all()
    assert "rows have fewer than two effective draws per chain" in str(table)


def test_a_constant_chain_is_worth_nothing_and_a_constant_row_is_not_judged():
    draws = DRAWS["a"].copy()
    draws[3] = 0.5
    table = summary({"a": draws, "one": np.ones((16, 100))})
    assert table["ess"][0] == 0.0 and np.isnan(table["ess"][1]) and np.isnan(table["rhat"][1])


@pytest.mark.parametrize("arviz_stats", [True, False])
def test_rounding_does_not_make_a_constant_row_vary(arviz_stats, request):
    """The mean of many 0.3 is not 0.3, so that deviations from it are not zero."""
    if not arviz_stats:
        request.getfixturevalue("without_arviz_stats")
    draws = np.full((16, 100), 0.3)
    assert draws.std() > 0
    table = summary({"one": draws}, superchains=4)
    assert table["sd"][0] == 0.0
    assert all(np.isnan(table[column][0]) for column in ("ess", "rhat", "nested"))
    assert not any("effective draws" in note for note in table.notes)


def test_chains_that_rest_in_different_places_have_no_r_hat():
    """Nothing varies within them, which is said elsewhere, and no warning comes of it."""
    table = summary({"a": np.repeat(0.1 * np.arange(16.0), 100).reshape(16, 100)}, superchains=4)
    assert table["sd"][0] > 0 and table["ess"][0] == 0.0
    assert np.isnan(table["rhat"][0]) and np.isnan(table["nested"][0])


def test_rows_that_overflowed_are_shown_without_estimates():
    draws = DRAWS["a"].copy()
    draws[2, 5] = np.inf
    table = summary({"a": draws, "b": DRAWS["b"]})
    assert np.isnan(table["ess"][0]) and np.isnan(table["rhat"][0])
    assert np.isfinite(table["ess"][1:]).all() and np.isfinite(table["rhat"][1:]).all()


@pytest.mark.parametrize("superchains", [pytest.param(None, marks=pytest.mark.slow), 16])
def test_many_chains_and_parameters_take_seconds(superchains):
    """1.0 s of one core, 3.4 times as long as to sort the draws, at best of three. The stable sort:
    the usual one is fifteen times as fast where processors have wide vectors, and the table is not.
    """
    draws = {"x": np.random.default_rng(0).normal(size=(1024, 50, 100)).astype(np.float32)}
    summary({"x": draws["x"][:, :, :1]}, superchains)  # imports
    ratios = []
    for _ in range(3):
        began = time.process_time()
        summary(draws, superchains)
        done = time.process_time()
        np.sort(draws["x"].reshape(-1, 100), axis=0, kind="stable")
        ratios.append((done - began) / (time.process_time() - done))
    assert min(ratios) < 7.0

"""The table's columns of effective sizes, with ArviZ-stats and without."""

import builtins
import time

import autoregressive
import numpy as np
import pytest

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


def test_without_arviz_stats_the_size_of_the_mean(monkeypatch):
    original = builtins.__import__

    def missing(name, *args, **kwargs):
        if name.startswith("arviz_stats"):
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    table = summary(DRAWS)
    assert table.columns == ("mean", "sd", "5%", "50%", "95%", "ess", "rhat")
    assert table["ess"][0] == pytest.approx(1600 / 3, rel=0.2)
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


def test_many_chains_and_parameters_take_seconds():
    """1.5 s of one core; thrice that is allowed for a busy machine."""
    draws = {"x": np.random.default_rng(0).normal(size=(1024, 50, 100)).astype(np.float32)}
    summary({"x": draws["x"][:, :, :1]})  # imports
    began = time.process_time()
    summary(draws)
    assert time.process_time() - began < 2.0

"""The paper's experiments: a seed is the same in any batch, and no cell is measured twice."""

import json
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal, spearmanr

from experiments.paper import __main__ as measuring
from experiments.paper import (
    cells,
    long_run,
    lowest,
    seen,
    settings,
    short_run,
    spectrum,
    tails,
    traces,
)
from experiments.paper.cells import Cell
from experiments.paper.percentiles import interval, percentile
from experiments.paper.plan import Task
from experiments.paper.results import Columns, Results
from experiments.paper.rhat import classic
from snaper.diagnostics import stream
from snaper.targets._data import load

PROBLEM = "logistic-regression"
SNAPER = settings.LEARNT[0]


def long(seeds):
    return long_run.measure(PROBLEM, SNAPER, seeds, warmup=40, draws=20)


def short(seeds):
    return short_run.measure(PROBLEM, SNAPER, seeds, warmup=40, max_draws=20)


@pytest.mark.parametrize("measure", [pytest.param(long, marks=pytest.mark.slow), short])
def test_a_seed_is_the_same_alone_and_in_a_batch(measure):
    together, alone = measure(range(2)), measure(range(1, 2))
    assert {*together} == {*alone}
    for name, column in together.items():
        assert len(column) == 2
        np.testing.assert_allclose(np.asarray(column)[1:], alone[name], rtol=1e-3, err_msg=name)


def test_an_interrupted_cell_is_continued(tmp_path):
    cell = Cell("short", PROBLEM, SNAPER.name, 40)
    task = Task(cell, SNAPER, 2)
    assert measuring.blocks(task, tmp_path) == [range(2)]
    cells.append(cell, range(1), short(range(1)), 1.0, tmp_path)
    assert measuring.blocks(task, tmp_path) == [range(1, 2)]
    cells.append(cell, range(1, 2), short(range(1, 2)), 2.0, tmp_path)
    assert measuring.blocks(task, tmp_path) == []

    whole, once = cells.read(cell, tmp_path), short(range(2))
    assert whole["seeds"] == [0, 1]
    assert [(block["seeds"], block["seconds"]) for block in whole["blocks"]] == [(1, 1.0), (1, 2.0)]
    for name, column in whole["columns"].items():
        np.testing.assert_allclose(column, once[name], rtol=1e-3, err_msg=name)


def plain_rhat(draws):
    """Of draws [draw, chain, dim], as Gelman & Rubin, without the root."""
    n, m = draws.shape[:2]
    within = np.mean(np.var(draws, axis=0, ddof=1), axis=0)
    between = np.var(np.mean(draws, axis=0), axis=0, ddof=1)
    pooled = (n - 1) / n * within + between
    return (m + 1) / m * pooled / within - (n - 1) / (m * n)


def walks(num_draws, num_chains, dim=3):
    steps = np.random.default_rng(0).normal(size=(num_draws, num_chains, dim))
    return steps + 0.1 * np.cumsum(steps, axis=0)


def test_classic_rhat_is_the_plain_formula():
    draws = walks(50, 8)
    ratio = long_run._ratio(jnp.swapaxes(jnp.asarray(draws), 0, 1))
    np.testing.assert_allclose(classic(ratio, 8, 50), plain_rhat(draws))
    counts, found = traces.rhat(draws, 10)
    expected = [np.max(plain_rhat(draws[:n])) for n in counts]
    np.testing.assert_allclose(found, expected)


def test_rhat_while_drawing_is_that_of_all_draws():
    draws = jnp.asarray(walks(3 * short_run.SLOTS, short_run.CHAINS))[None]
    watched = jax.vmap(stream.init)(draws[:, 0])
    for i in range(3):
        rows = draws[:, i * short_run.SLOTS : (i + 1) * short_run.SLOTS]
        watched, (found, _) = short_run._look(watched, rows, jnp.zeros((1, 3)))
    np.testing.assert_allclose(found, [np.max(plain_rhat(np.asarray(draws[0])))], rtol=1e-6)


def test_percentiles_beside_infinities():
    values = np.array([3.0, 1.0, np.inf, 2.0])
    assert percentile(values, 0) == 1.0
    assert percentile(values, 50) == 2.5
    assert percentile(values, 90) == np.inf
    assert interval(values, 50) == interval(values, 50)
    assert percentile(np.array([4.0]), 10) == 4.0


def test_lengths_under_exact_dynamics():
    """Where one direction alone counts, 4 tau solves tan y = y, whose first root is 4.4934."""
    assert spectrum.best_alone() == pytest.approx(4.4934 / 4, abs=1e-3)
    assert spectrum.best("chees", 0.01) == pytest.approx(spectrum.best_alone(), rel=0.01)
    assert spectrum.best("chees", 0.5) < 0.6
    assert spectrum.best("snaper", 0.5) == pytest.approx(0.895, abs=2e-3)


@pytest.mark.parametrize(("first", "last"), [(20, 30), (30, 50)])
def test_seeds_just_behind_the_others_are_waited_for(monkeypatch, first, last):
    """95 of 100 are there first, three after half as many draws again, up to the next look, one
    later and one never.
    """
    there = np.array([first] * 95 + [last] * 3 + [last + 10] + [10**6])
    seeds = range(len(there))

    class Batch:
        drawn = 0
        states = SimpleNamespace(chains=SimpleNamespace(x=jnp.zeros((100, 2, 1))))
        centre = None

        def __init__(self, *_, **__):
            pass

        def warm_up(self):
            return SimpleNamespace(gradients=np.full(len(there), 7))

        def draw(self):
            self.drawn += short_run.SLOTS
            return SimpleNamespace(x=self.drawn), SimpleNamespace(gradients=5)

    monkeypatch.setattr(short_run, "Batch", Batch)
    monkeypatch.setattr(
        short_run, "_look", lambda watched, drawn, _: (watched, [np.where(drawn < there, 2, 1)] * 2)
    )
    found = short_run.measure(PROBLEM, SNAPER, seeds, warmup=1)
    np.testing.assert_array_equal(found["draws_split"], np.where(there <= last, there, -1))
    np.testing.assert_array_equal(
        found["gradients_classic"], np.where(there <= last, there // 2, -1)
    )


def test_one_chain_far_out_is_found():
    x = np.random.default_rng(0).normal(size=(5, 8, 200, 3))
    x[2, 3, :100, 1] += 4.0
    moves = np.full((5, 8), 0.9)
    moves[2, 3] = 0.5
    found = tails.summary(PROBLEM, x, moves, np.full(5, 100.0))
    assert np.argmin(found["efficiency"]) == np.argmax(found["fourth_moment"]) == 2
    assert found["loudest_accepts"] == [0.9, 0.9, 0.5, 0.9, 0.9]
    np.testing.assert_allclose(found["loudest_share"][2], 7 / 8, atol=0.02)  # one chain of eight
    alone = np.delete(found["efficiency"], 2)
    assert found["efficiency"][2] < found["together"] < np.min(alone)
    assert "narrow" not in found


def test_the_narrow_place_has_its_share_of_the_posterior():
    """By the density of the observations itself, on another grid."""
    data = load("brownian_bridge")
    steps = np.flatnonzero(data["observed"]) + 1.0
    values = data["values"][data["observed"]]
    log_walk, log_noise = np.linspace(-4.2, 0.2, 45), np.linspace(-9.0, 0.0, 181)
    shared = np.minimum.outer(steps, steps)
    log_p = np.array(
        [
            [
                multivariate_normal.logpdf(
                    values, cov=np.exp(2 * a) * shared + np.exp(2 * b) * np.eye(len(steps))
                )
                - (a**2 + b**2) / 8
                for b in log_noise
            ]
            for a in log_walk
        ]
    )
    p = np.sum(np.exp(log_p - np.max(log_p)), axis=0)
    low = np.log(np.logaddexp(tails.narrow_below(), 0.0))  # of the noise itself
    below = np.interp(low, log_noise, np.cumsum(p) / np.sum(p))
    np.testing.assert_allclose(below, tails.NARROW, rtol=0.1)


def test_rank_correlation():
    a = np.array([3.0, 1.0, 2.0, 2.0, 7.0])
    b = np.array([1.0, 5.0, 4.0, 0.5, 0.0])
    np.testing.assert_allclose(seen.correlation(a, b), spearmanr(a, b).statistic)
    np.testing.assert_allclose(seen.correlation(a, np.exp(a)), 1.0)


def invented(setting, rising):
    """A run on the Brownian bridge whose seeds saw more the worse they look, or the better."""
    seen = np.linspace(0.0, 0.012, 20)
    size = np.linspace(1.0, 2.0, 20)[:: 1 if rising else -1]
    about = {"problem": "brownian-bridge", "setting": setting, "device": "cpu", "seeds": 20}
    loudest = {"loudest_share": [0.5] * 20, "loudest_accepts": [0.9] * 20}
    run = {**about, "warmup": 5, "draws": 7, **loudest, "together": 1.0, "narrow": seen.tolist()}
    return {**run, "efficiency": size.tolist(), "fourth_moment": (3 + 1e3 * seen).tolist()}


def test_the_page_says_of_tails_what_the_numbers_say(tmp_path):
    def told(*runs):
        (tmp_path / "tails.json").write_text(json.dumps({"runs": runs}))
        return seen.section(Results(tmp_path))

    worse, better = invented("beyond", rising=False), invented("snaper", rising=True)
    less = {**worse, "efficiency": [0.5 * size for size in worse["efficiency"]]}
    more = {**less, "setting": "careful", "narrow": [2 * share for share in less["narrow"]]}
    one = told(worse)
    assert "or below: Brownian Bridge (default, coordinates as given). Not so: none." in one
    assert "cannot rank" not in one  # a single sampler is compared with none
    assert "missed most of that place (default, coordinates as given)" in told(worse, more)
    both = told(worse, better)
    assert "Not so: Brownian Bridge (SNAPER, default preset)." in both
    assert "cannot rank" not in both


def test_seeds_that_were_tuned_otherwise_are_told():
    """Of twenty, the lowest two."""
    size = np.linspace(1.0, 2.0, 20)
    same = {name: np.ones(20) for name in (*lowest.LEARNT, "ess_max_worst", "worst")}
    alike = Columns({**same, "min_ess_z2": size, "ess_worst": size}, "")
    np.testing.assert_array_equal(np.flatnonzero(lowest.lowest(alike)), [0, 1])
    told = lowest._said("brownian-bridge", alike)
    assert told.endswith("within 5 % of the others, for 0.68 times the ESS.")
    shorter = {**alike.values, "trajectory_length": np.where(size < 1.1, 0.9, 1.0)}
    told = lowest._said("brownian-bridge", Columns(shorter, ""))
    assert told.endswith("they differ in trajectory length.")

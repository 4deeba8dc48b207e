"""What is kept on the host."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import NUM_CHAINS, normal_model

import snaper
from snaper import chunk, record
from snaper import plan as driver

SIZES = {"chains": NUM_CHAINS, "warmup": 150, "progress": False, "seed": 5}


def held(monkeypatch, **changes):
    """Bytes that the two recorders of a run hold, what is on the device aside."""
    seen = []

    class Noted(driver.Recorder):
        def __init__(self, *args):
            super().__init__(*args)
            seen.append(self)

    monkeypatch.setattr(driver, "Recorder", Noted)
    snaper.sample(normal_model(), **{**SIZES, **changes})
    return [len(pickle.dumps({**vars(recorder), "watch": None})) for recorder in seen]


def test_moments_hold_no_more_of_many_draws_than_of_few(monkeypatch):
    # Warm-up keeps a piece of each stretch, of which a busy machine has more.
    few = held(monkeypatch, keep="moments", draws=50, chunk=50)
    many = held(monkeypatch, keep="moments", draws=2000, chunk=50)
    assert abs(many[1] - few[1]) < 64 and many[0] == few[0]
    assert many[1] < 100 * NUM_CHAINS  # a few sums for each chain
    draws = held(monkeypatch, draws=2000)
    assert draws[1] > 2000 * NUM_CHAINS * 8


def test_warm_up_of_moments_holds_what_chains_share(monkeypatch):
    short = held(monkeypatch, keep="moments", draws=1, warmup=100)[0]
    long = held(monkeypatch, keep="moments", draws=1, warmup=1100)[0]
    assert long - short < 1000 * 4 * 8  # three numbers for each transition, and their frames


@pytest.fixture(scope="module")
def moments():
    return snaper.sample(normal_model(), **SIZES, draws=50, keep="moments")


def test_statistics_that_are_not_kept_say_so(moments):
    assert moments.stats == {}
    assert set(moments.warmup_stats) == {"step_size", "mean_trajectory_length", "criterion"}
    plain = snaper.sample(normal_model(), **SIZES, draws=50)
    for name, values in moments.warmup_stats.items():
        np.testing.assert_array_equal(values, plain.warmup_stats[name])
    with pytest.raises(KeyError, match="No statistic 'lp' was kept: keep='draws' keeps all"):
        _ = moments.stats["lp"]
    assert moments.findings == plain.findings


def test_rows_for_the_host_are_cut_in_few_sizes():
    rows = {"a": jnp.arange(640), "b": jnp.ones((640, 2))}
    if jax.default_backend() == "cpu":  # where they are there already
        assert record._used(rows, 3) is rows
    cut = record._first(rows, 10)
    np.testing.assert_array_equal(cut["a"], np.arange(10))
    assert cut["b"].shape == (10, 2)


def test_memory_on_the_device_does_not_grow_with_draws(monkeypatch):
    """What is alive between stretches, where the buffer is small enough to be filled often."""
    monkeypatch.setattr(chunk, "_BUFFER_BYTES", 2**16)
    target = snaper.Target(lambda x: -0.5 * jnp.sum(x**2), np.zeros(100))
    peaks = {}
    for draws in (50, 500):
        alive, append = [], record.Recorder.append

        def noted(self, *args, alive=alive, append=append):
            append(self, *args)
            alive.append(sum(each.nbytes for each in jax.live_arrays()))

        with monkeypatch.context() as patch:
            patch.setattr(record.Recorder, "append", noted)
            sizes = {"chains": 32, "warmup": 20, "draws": draws, "progress": False}
            snaper.sample(target, preset="paper", **sizes)  # which takes less time to compile
        peaks[draws] = max(alive)
    assert peaks[500] < 1.05 * peaks[50]

"""A word before a run that will not fit."""

import pytest
from helpers import NUM_CHAINS, normal_model

import snaper
from snaper import memory


@pytest.mark.parametrize(
    ("device", "host", "needs", "words"),
    [
        (None, 10, (4, 5), None),
        (None, 10, (4, 7), "keep='moments'"),
        (10, 10, (11, 0), "at_once="),
        (10, 10, (9, 11), "thin="),
        (10, None, (9, 10**9), None),
        (None, None, (10**9, 10**9), None),
    ],
)
def test_what_does_not_fit_is_said(device, host, needs, words, monkeypatch):
    gib = 2**30
    monkeypatch.setattr(memory, "_device_limit", lambda: device and device * gib)
    monkeypatch.setattr(memory, "_host_free", lambda: host and host * gib)
    found = memory.complaint(*(need * gib for need in needs))
    assert found is None if words is None else words in str(found) and str(found).count(".") == 1


def test_a_run_says_so_before_it_begins(monkeypatch, capsys):
    monkeypatch.setattr(memory, "_host_free", lambda: 100)  # fewer than draws take
    snaper.sample(normal_model(), chains=NUM_CHAINS, warmup=5, draws=5, progress=False)
    assert "This run needs at least" in capsys.readouterr().err


def test_draws_need_room_on_the_host_only():
    few, many = (memory.device_bytes(256, 1000, 4, 30, False) for _ in (200, 2000))
    assert few == many
    assert memory.host_bytes(256, 1000, 4, 2000) == 10 * memory.host_bytes(256, 1000, 4, 200)

"""What is shown while a run goes on."""

import io
import sys
from contextlib import redirect_stderr

import pytest

from snaper import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def snapshot(done, phase="sampling"):
    return progress.Snapshot(phase, done, 0.125, 7.5, 0.83, 2)


def show(stream, total, *snapshots, wanted=True, certain=True):
    """The display chosen where standard error is `stream`, after showing snapshots."""
    with redirect_stderr(stream):
        bar = progress.start(total, wanted, certain)
        for one in snapshots:
            bar.show(one.done, lambda one=one: one)
        bar.close()
    return bar


@pytest.mark.parametrize(("total", "chunk"), [(1000, 1), (10_000, 7), (64, 1), (5, 1), (100, 100)])
def test_a_log_has_few_lines_and_ends_at_the_end(total, chunk):
    stream = io.StringIO()
    bar = show(stream, total, *map(snapshot, range(chunk, total, chunk)), snapshot(total))
    lines = stream.getvalue().splitlines()
    assert isinstance(bar, progress.Log)
    assert min(total // chunk, 10) <= len(lines) <= 20
    assert lines[-1].startswith(f"sampling {total}/{total}, ")
    assert " 0 s left" in lines[-1] or len(lines) == 1  # one line tells no pace


def test_a_line_says_where_the_run_stands():
    stream = io.StringIO()
    show(stream, 100, snapshot(10, "warm-up"), snapshot(40, "warm-up"))
    line = stream.getvalue().splitlines()[-1]
    assert line.startswith("warm-up 40/100, ")
    for words in ("draws/s", "s left", "step size 0.125", "7.5 leapfrogs/draw", "accept 0.83"):
        assert words in line
    assert "2 divergences" in line


def test_a_run_that_may_end_early_has_no_end_in_sight():
    stream = io.StringIO()
    show(stream, 100, snapshot(10), snapshot(40), certain=False)
    assert "draws/s, at most " in stream.getvalue().splitlines()[-1]
    stream = Terminal()
    show(stream, 100, snapshot(10), certain=False)
    assert "10/100" in stream.getvalue() and "<" not in stream.getvalue()  # tqdm's mark of an end


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_what_is_not_shown_is_not_asked_for(stream):
    """A snapshot takes a look at the device."""
    asked = []

    def tell(done):
        asked.append(done)
        return snapshot(done)

    with redirect_stderr(stream):
        bar = progress.start(10_000, True)
        for done in range(1, 1000):
            bar.show(done, lambda done=done: tell(done))
        bar.close()
        progress.start(10_000, False).show(1, lambda: tell(-1))
    assert len(asked) < 20 and asked[0] == 1 and asked[-1] == 999


def test_a_terminal_gets_a_bar(monkeypatch):
    monkeypatch.setattr(progress, "_SECONDS", 0.0)
    stream = Terminal()
    bar = show(stream, 100, *map(snapshot, (30, 60, 100)))
    shown = stream.getvalue()
    assert isinstance(bar, progress.Bar)
    assert "\r" in shown and shown.count("\n") <= 1  # one line, redrawn
    for words in ("30/100", "100/100", "100%", "sampling", "step size 0.125"):
        assert words in shown


def test_a_notebook_gets_a_bar(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipykernel", object())
    assert isinstance(show(io.StringIO(), 100), progress.Bar)


@pytest.mark.parametrize(("total", "wanted"), [(100, False), (0, True)])
def test_silence_where_nothing_is_wanted(total, wanted):
    stream = Terminal()
    show(stream, total, snapshot(1), wanted=wanted)
    assert stream.getvalue() == ""

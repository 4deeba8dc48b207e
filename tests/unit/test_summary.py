"""The table that a run prints."""

import numpy as np

from snaper.diagnostics.findings import Finding
from snaper.diagnostics.summary import summarise

RNG = np.random.default_rng(0)


def summary(draws, findings=()):
    return summarise(draws, (100, 200), (1.25, 2.5), list(findings))


def test_rows_are_coordinates_with_their_places():
    table = summary({"a": RNG.normal(size=(4, 5)), "b": RNG.normal(size=(4, 5, 2, 1))})
    assert table.names == ["a", "b[0, 0]", "b[1, 0]"]
    heading = str(table).splitlines()[0]
    assert heading == "4 chains x 5 draws; gradients 100 + 200; 1.2 + 2.5 s (warm-up + sampling)"


def test_few_draws_have_no_effective_sample_size():
    table = summary({"a": RNG.normal(size=(4, 5))})
    assert np.isnan(table["ess"]).all() and np.isnan(table["rhat"]).all()
    row, note = str(table).splitlines()[-2:]
    assert row.split()[-2:] == ["-", "-"]
    assert note == "* 5 draws are too few to tell an effective sample size: draw more."


def test_long_tables_are_cut():
    lines = str(summary({"a": RNG.normal(size=(2, 3, 75))})).splitlines()
    assert len(lines) == 64 and lines[-2] == "... and 15 more"


def test_wide_numbers_stay_apart():
    """Of chains that hardly move, far out: long numbers of every column."""
    far = -4.892e16 * np.arange(1.0, 5.0)[:, None] * (1.0 + 1e-9 * RNG.normal(size=(4, 50)))
    lines = str(summary({"a": far})).splitlines()
    assert len(lines[2].split()) == 1 + len(lines[1].split())


def test_findings_come_last():
    table = summary({"a": RNG.normal(size=(2, 3))}, [Finding("stuck", "Nothing moved.")])
    assert str(table).splitlines()[-1] == "* Nothing moved."

"""Pages of results are what their numbers say."""

import runpy
from pathlib import Path

import pytest

from experiments import metrics_table
from experiments.bench import page as bench
from experiments.paper import figures, page, plan
from experiments.paper.problems import PROBLEMS
from experiments.paper.results import COLUMNS, PRINTED, Results

ROOT = Path(__file__).parents[1]


def test_the_page_on_starts_is_generated():
    module = runpy.run_path(str(ROOT / "experiments" / "starts_table.py"))
    results = ROOT / "docs" / "results"
    assert module["page"](results / "starts.jsonl") == (results / "starts.md").read_text()


def test_the_page_on_metrics_is_generated():
    written = (metrics_table.RESULTS / "metrics.md").read_text(encoding="utf-8")
    assert metrics_table.page() == written, "run `python -m experiments.metrics_table`"


def test_the_page_on_the_paper_is_generated():
    results = Results()
    written = results.root.with_suffix(".md").read_text(encoding="utf-8")
    assert page.text(results) == written, "run `python -m experiments.paper.page`"


def test_the_page_on_speed_is_generated():
    written = bench.RESULTS.with_suffix(".md").read_text(encoding="utf-8")
    assert bench.text() == written, "run `python -m experiments.bench.page`"
    for line in written.splitlines():
        if line.startswith("!["):
            path = bench.RESULTS.parent / line.split("(")[1].rstrip(")")
            assert path.stat().st_size > 0


def test_every_figure_on_the_page_is_there():
    results = Results()
    for each in figures.FIGURES:
        assert each.ready(results)
        for suffix in ("png", "svg"):
            assert (results.root / page.FIGURES / f"{each.name}.{suffix}").stat().st_size > 0


def figure(each):
    """Those of all problems are drawn as those of some, with more in them."""
    slow = [pytest.mark.slow] if each.name.endswith("-all") else []
    return pytest.param(each, id=each.name, marks=slow)


@pytest.mark.parametrize("each", [figure(each) for each in figures.FIGURES])
def test_figures_are_drawn_from_what_is_committed(each, tmp_path):
    figures.save(each.draw(Results()), tmp_path, each.name)
    text = (tmp_path / f"{each.name}.svg").read_text(encoding="utf-8")
    assert "dc:date" not in text
    assert b"Software" not in (tmp_path / f"{each.name}.png").read_bytes()


def test_pages_and_figures_cope_with_nothing_measured(tmp_path):
    results = Results(tmp_path / "none")
    results.root.mkdir()
    path = page.write(results)
    assert path == tmp_path / "none.md"
    assert "nothing measured yet" in path.read_text(encoding="utf-8")
    drawn = {each.name for each in figures.FIGURES if each.ready(results)}
    assert drawn == {file.stem for file in (results.root / page.FIGURES).iterdir()}


def test_printed_numbers_are_complete():
    for name in ("efficiency", "rhat"):
        assert {*PRINTED[name]} == {*PROBLEMS}
        for row in PRINTED[name].values():
            assert [*row] == [*COLUMNS]
            assert all(value > 0 for value in row.values())
    assert {*PRINTED["gradients"]} == {*PROBLEMS}
    for row in PRINTED["gradients"].values():
        assert {*row} == {*COLUMNS} - {"grid"}
        for counts in row.values():
            assert {*counts} == {str(warmup) for warmup in plan.SHORT_WARMUPS}
            assert all(count > 1000 for count in counts.values())

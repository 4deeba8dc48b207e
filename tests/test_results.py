"""Pages of results are what their numbers say."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_page_on_starts_is_generated():
    module = runpy.run_path(str(ROOT / "experiments" / "starts_table.py"))
    results = ROOT / "docs" / "results"
    assert module["page"](results / "starts.jsonl") == (results / "starts.md").read_text()

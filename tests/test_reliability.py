"""The tests that docs/reliability.md names are there."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAMED = sorted(
    set(re.findall(r"(tests/[\w/]+\.py)::(\w+)", (ROOT / "docs/reliability.md").read_text()))
)


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_each_guarantee_has_its_test(file, name):
    tree = ast.parse((ROOT / file).read_text())
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_guarantees_are_read():
    assert len(NAMED) > 20

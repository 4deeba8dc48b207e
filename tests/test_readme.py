"""The README's code runs and does what it says."""

import re
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_the_quickstart_samples(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    statements = [line for line in code.splitlines() if line.strip()]
    assert len(statements) == 12
    names: dict = {}
    exec(compile(code, "README.md", "exec"), names)
    run = names["run"]
    assert "mu" in capsys.readouterr().out
    assert run.draws["z"].shape == (64, 1000, 8)
    assert 3.0 < run.draws["mu"].mean() < 6.0  # 4.4 by long runs elsewhere
    assert run.findings == []


def test_every_make_target_named_exists():
    makefile = (Path(__file__).parents[1] / "Makefile").read_text()
    for target in re.findall(r"^make ([\w-]+)", README, flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)

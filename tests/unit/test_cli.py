"""The command line."""

import subprocess
import sys
from dataclasses import replace

import pytest

import snaper
from snaper import cli, targets


def test_targets_are_listed(capsys):
    assert cli.main(["targets"]) == 0
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading.split() == ["name", "dim", "summary", "source"]
    for line, described in zip(lines, targets.describe(), strict=True):
        assert line.split()[:2] == [described.name, str(described.dim)]
        assert described.summary in line and line.endswith(described.source)


def test_a_target_is_sampled(capsys):
    options = ["--chains", "16", "--warmup", "30", "--draws", "10", "--seed", "3"]
    choices = ["--criterion", "chees", "--preset", "paper"]
    assert cli.main(["sample", "banana", *options, *choices]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("16 chains x 10 draws;") and "x[0]" in printed


def test_what_follows_an_interrupted_run_in_a_script_is_not_begun(monkeypatch, capsys):
    sampled = snaper.run.sample

    def interrupted(*args, **kwargs):
        return replace(sampled(*args, **kwargs, progress=False), interrupted=True)

    monkeypatch.setattr(snaper.run, "sample", interrupted)
    options = ["--chains", "16", "--warmup", "30", "--draws", "10"]
    assert cli.main(["sample", "banana", *options]) == 130
    assert capsys.readouterr().out.startswith("16 chains x 10 draws;")


def test_version_of_the_module_as_a_program():
    command = [sys.executable, "-m", "snaper", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"snaper {snaper.__version__}\n")


BAD = {
    "target": (["sample", "bananas"], "no target named 'bananas'"),
    "criterion": (["sample", "banana", "--criterion", "nuts"], "criterion 'nuts' is unknown"),
    "preset": (["sample", "banana", "--preset", "fast"], "preset 'fast' is unknown"),
    "chains": (["sample", "banana", "--chains", "0"], "chains must be at least 1, not 0"),
}


@pytest.mark.parametrize("what", BAD)
def test_an_error_is_one_line_and_status_2(what, capsys):
    arguments, message = BAD[what]
    assert cli.main(arguments) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and said[0].startswith("snaper: ") and message in said[0]


@pytest.mark.parametrize("arguments", [[], ["sample"], ["sample", "banana", "--draws", "many"]])
def test_wrong_usage_has_status_2(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2 and "usage: snaper" in capsys.readouterr().err

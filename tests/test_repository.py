"""Checks on the repository itself: its lock files, and what no tracked file may hold."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LOCKS = sorted(ROOT.glob("requirements/*.lock"))

# The only two kinds of line in a lock file: a pin, and one of its hashes.
PIN = re.compile(r"([a-z0-9-]+)==[a-z0-9.+]+(?: ; [\w .'<>=!()]+)? \\")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?")

# Spelt so that no pattern matches its own source.
FORBIDDEN = {
    "absolute path": r"(?<![\w.~*)}\]])/(?:home|root|Users|work|opt)/\w",
    "index option": r"--(?:(?:extra|default)-)?index(?:-url)?\b|--find[-]links",
    "index variable": r"\b(?:PIP|UV)_(?:EXTRA_|DEFAULT_)?(?:INDEX|FIND)",
    "index setting": r"^\s*(?:extra-)?index[-]url\s*=",
    "index host": r"\b(?:pypi|pythonhosted)[.]org",
}


def pins(lock: Path) -> dict[str, int]:
    """Number of hashes under each name; fails on any other kind of line."""
    counts: dict[str, int] = {}
    name = ""
    for line in lock.read_text().splitlines():
        if match := PIN.fullmatch(line):
            name = match[1]
            counts.setdefault(name, 0)
        else:
            assert name and HASH.fullmatch(line), f"{lock.name}: {line!r}"
            counts[name] += 1
    return counts


def tracked_files() -> list[Path]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_lock_holds_only_pins_and_hashes(lock: Path) -> None:
    counts = pins(lock)
    assert counts and all(counts.values())


def test_run_lock_pins_every_hard_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.split(r"[^\w.-]", entry)[0] for entry in project["dependencies"]}
    assert names == {"jax", "numpy", "numpyro", "optax"}
    assert names <= pins(ROOT / "requirements/run.lock").keys()


def test_test_lock_pins_what_run_lock_pins() -> None:
    run, test = ((ROOT / f"requirements/{name}.lock").read_text() for name in ("run", "test"))
    assert {*re.findall(r"^\S+==\S+", run, re.M)} <= {*re.findall(r"^\S+==\S+", test, re.M)}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_tracked_text_holds_nothing_of_one_machine(what: str) -> None:
    pattern = re.compile(FORBIDDEN[what], re.M)
    found = []
    for path in tracked_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in pattern.finditer(text)]
    assert not found

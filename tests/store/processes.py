"""Processes to be killed."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def start(*arguments: str, prefix: tuple[str, ...] = ()) -> subprocess.Popen:
    environment = dict(os.environ)
    folders = [str(HERE.parent), str(HERE.parents[1] / "src"), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
    command = [*prefix, sys.executable, str(HERE / "worker.py"), *arguments]
    return subprocess.Popen(
        command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def in_room_of_2_megabytes(folder: Path) -> tuple[str, ...]:
    """Before a command: mounts a file system that this command alone sees."""
    mount = f'mount -t tmpfs -o size=2m none {folder} && exec "$@"'
    return ("unshare", "--user", "--map-root-user", "--mount", "sh", "-ec", mount, "sh")


DROP = "import ctypes, os, sys; ctypes.CDLL(None).prctl(24, 1, 0, 0, 0); "
OBEDIENT = (sys.executable, "-c", DROP + "os.execv(sys.argv[1], sys.argv[1:])")
"""Before a command: permissions of files hold for it even if it is root's."""


def lines_of(process: subprocess.Popen) -> list[list[str]]:
    """What a process said, by words, once it has ended."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return [line.split() for line in out.splitlines()]


def until_safe(process: subprocess.Popen, warmup: int, draws: int) -> None:
    """Wait until so much is on disk."""
    assert process.stdout is not None
    for line in process.stdout:
        words = line.split()
        if words[0] == "safe" and (int(words[1]), int(words[2])) >= (warmup, draws):
            return
    raise AssertionError(process.communicate()[1])

"""What happens to processes: killed, interrupted, out of space, in each other's way."""

import random
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
from helpers import normal_model, one_sentence
from processes import OBEDIENT, in_room_of_2_megabytes, lines_of, start, until_safe
from worker import SIZES

import snaper


@pytest.fixture(scope="module")
def whole():
    """The run that nothing happened to."""
    return snaper.sample(normal_model(), **SIZES)


def assert_part_of(path, whole, warmup, draws):
    """What the store has is the beginning of the run, and holds at least what was said safe."""
    part = snaper.load(path)
    done = part.warmup_stats["lp"].shape[1], part.unconstrained.shape[1]
    assert done >= (warmup, draws)
    np.testing.assert_array_equal(part.warmup_stats["lp"], whole.warmup_stats["lp"][:, : done[0]])
    np.testing.assert_array_equal(part.unconstrained, whole.unconstrained[:, : done[1]])
    np.testing.assert_array_equal(part.draws["scale"], whole.draws["scale"][:, : done[1]])
    assert_readers_agree(path, done)


def assert_readers_agree(path, done):
    """Those that do not know of checkpoints see no more, and no arrays of different lengths."""
    xarray = pytest.importorskip("xarray")
    with xarray.open_datatree(str(path), engine="zarr") as tree:
        assert tree["posterior"].sizes["draw"] <= done[1]
        assert tree["warmup_sample_stats"].sizes["draw"] <= done[0]
        tree.load()


def kill_at_random_moments(path, whole, number, seed):
    """One run that is killed so often, each time by a process that goes on where the last died."""
    moments = random.Random(seed)
    verb, safe, killed = "sample", (0, 0), set()
    while len(killed) < number:
        process = start(verb, str(path))
        until_safe(process, *safe)
        time.sleep(moments.uniform(0.0, 0.3))
        process.kill()
        said, _ = process.communicate(timeout=60)
        lines = [line.split() for line in said.splitlines(keepends=True) if line.endswith("\n")]
        heard = [(int(words[1]), int(words[2])) for words in lines if words[0] == "safe"]
        safe = max([safe, *heard])
        killed.add((len(killed), process.returncode))
        assert_part_of(path, whole, *safe)
        verb = "resume"
        if safe == (SIZES["warmup"], SIZES["draws"]):  # all is there: another run to be killed
            np.testing.assert_array_equal(snaper.load(path).unconstrained, whole.unconstrained)
            shutil.rmtree(path)
            verb, safe = "sample", (0, 0)
    assert any(code == -signal.SIGKILL for _, code in killed)
    if verb == "resume":
        resumed = snaper.resume(path, normal_model(), progress=False)
        np.testing.assert_array_equal(resumed.unconstrained, whole.unconstrained)
        np.testing.assert_array_equal(resumed.stats["energy"], whole.stats["energy"])
        assert resumed.findings == whole.findings


def test_killed(tmp_path, whole):
    kill_at_random_moments(tmp_path / "run.zarr", whole, 3, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_at_20_moments(tmp_path, whole):
    kill_at_random_moments(tmp_path / "run.zarr", whole, 20, seed=2)


def test_interrupted(tmp_path, whole):
    """SIGINT to a process in warm-up, then to another while sampling."""
    path = tmp_path / "run.zarr"
    for verb, safe in (("sample", (20, 0)), ("resume", (60, 20))):
        process = start(verb, str(path))
        until_safe(process, *safe)
        assert_part_of(path, whole, *safe)  # while it is being written
        process.send_signal(signal.SIGINT)
        done = lines_of(process)[-1]
        assert done[0] == "done" and done[2] == "True"  # a run was returned, and says so
        part = snaper.load(path)
        assert part.interrupted and part.findings[0].topic == "interrupted"
        assert part.unconstrained.shape[1] == int(done[1]) < 60
        assert_part_of(path, whole, *safe)
    assert snaper.load(path).unconstrained.shape[1] >= 20
    resumed = snaper.resume(path, normal_model(), progress=False)
    np.testing.assert_array_equal(resumed.unconstrained, whole.unconstrained)
    assert not resumed.interrupted and resumed.findings == whole.findings


def test_two_writers(tmp_path, whole):
    """The second is refused while the first lives, and not after it was killed."""
    path = tmp_path / "run.zarr"
    first = start("sample", str(path))
    until_safe(first, 4, 0)
    first.send_signal(signal.SIGSTOP)  # so that it is still at it
    try:
        with pytest.raises(snaper.StoreError, match=f"written by process {first.pid} on") as caught:
            snaper.resume(path, normal_model(), progress=False)
        assert one_sentence(str(caught.value))
        with pytest.raises(snaper.StoreError, match="exists already: go on with it by"):
            snaper.sample(normal_model(), store=path, **SIZES)
        assert_part_of(path, whole, 4, 0)  # to read it is no matter
    finally:
        first.kill()
        first.communicate(timeout=60)
    resumed = snaper.resume(path, normal_model(), progress=False)
    np.testing.assert_array_equal(resumed.unconstrained, whole.unconstrained)


def assert_room_is_said(process):
    """What was refused, why, and the remedy; what is there is intact, and can be gone on with."""
    said = lines_of(process)
    (refused,) = [" ".join(words[1:]) for words in said if words[0] == "refused"]
    assert one_sentence(refused) and "run.zarr" in refused and "snaper.resume" in refused
    assert said[-1][0] == "intact"
    return refused


def test_disk_full(tmp_path):
    """Of a file system of two megabytes."""
    alone = in_room_of_2_megabytes(tmp_path)
    try:
        may = subprocess.run([*alone, "true"], capture_output=True, timeout=60).returncode == 0
    except FileNotFoundError:
        may = False
    if not may:
        pytest.skip("file systems may not be mounted here")
    process = start("full", str(tmp_path / "run.zarr"), str(tmp_path / "ballast"), prefix=alone)
    assert "(No space left on device)" in assert_room_is_said(process)


@pytest.mark.slow
def test_files_that_may_not_grow(tmp_path):
    """The same where nothing can be mounted."""
    process = start("limited", str(tmp_path / "run.zarr"))
    assert "(File too large)" in assert_room_is_said(process)


def test_read_only_folder(tmp_path):
    """That it cannot be written is said before anything is computed; to read it is no matter."""
    folder = tmp_path / "shelf"
    snaper.sample(normal_model(), store=folder / "run.zarr", **SIZES)
    places = [folder, *folder.rglob("*")]
    for place in places:
        place.chmod(0o555 if place.is_dir() else 0o444)
    try:
        sample, resume, done = lines_of(start("read_only", str(folder), prefix=OBEDIENT))
    finally:
        for place in places:
            place.chmod(0o755)
    for refused in (sample, resume):
        sentence = " ".join(refused[1:])
        assert sentence.startswith("Cannot write") and "(Permission denied)" in sentence
        assert one_sentence(sentence)
    assert done[:2] == ["done", "60"] and not (folder / "new.zarr").exists()

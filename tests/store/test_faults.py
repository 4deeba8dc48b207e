"""What happens to processes: killed, interrupted, out of space, in each other's way."""

import random
import shutil
import signal
import subprocess
import time

import numpy as np
import processes
import pytest
from helpers import normal_model, one_sentence
from processes import OBEDIENT, in_room_of_2_megabytes, lines_of, until_safe
from worker import SIZES

import snaper


@pytest.fixture
def start():
    """Starts processes, none of which outlives the test."""
    begun = []

    def begin(*arguments, **options):
        begun.append(processes.start(*arguments, **options))
        return begun[-1]

    yield begin
    for process in begun:
        process.kill()
        process.communicate(timeout=60)


@pytest.fixture(scope="module")
def whole():
    """The run that nothing happened to."""
    return snaper.sample(normal_model(), **SIZES)


def assert_part_of(path, whole, warmup, draws):
    """What is there is the beginning of the run, and holds at least what was said safe; readers
    that do not know of checkpoints see no more, and no arrays of different lengths.
    """
    done = assert_beginning(path, whole, warmup, draws)
    xarray = pytest.importorskip("xarray")
    with xarray.open_datatree(str(path), engine="zarr") as tree:
        assert tree["posterior"].sizes["draw"] <= done[1]
        assert tree["warmup_sample_stats"].sizes["draw"] <= done[0]
        tree.load()


def assert_beginning(path, whole, warmup, draws):
    part = snaper.load(path)
    done = part.warmup_stats["lp"].shape[1], part.unconstrained.shape[1]
    assert done >= (warmup, draws)
    np.testing.assert_array_equal(part.warmup_stats["lp"], whole.warmup_stats["lp"][:, : done[0]])
    np.testing.assert_array_equal(part.unconstrained, whole.unconstrained[:, : done[1]])
    np.testing.assert_array_equal(part.draws["scale"], whole.draws["scale"][:, : done[1]])
    return done


def kill_at_random_moments(start, path, whole, number, seed):
    """A run that is killed again and again, each time by then in another process, which had gone on
    where the last one died; and another run once that is complete.
    """
    moments, kills, safe = random.Random(seed), 0, (0, 0)
    while kills < number:
        process = start("resume" if path.exists() else "sample", str(path))
        until_safe(process, *safe)
        time.sleep(moments.uniform(0.0, 0.3))
        process.kill()
        said, _ = process.communicate(timeout=60)
        kills += process.returncode == -signal.SIGKILL
        lines = [line.split() for line in said.splitlines(keepends=True) if line.endswith("\n")]
        safe = max(
            [safe, *((int(words[1]), int(words[2])) for words in lines if words[0] == "safe")]
        )
        assert_part_of(path, whole, *safe)
        if safe == (SIZES["warmup"], SIZES["draws"]):
            assert_whole(snaper.load(path), whole)
            shutil.rmtree(path)
            safe = (0, 0)
    if path.exists():
        assert_whole(snaper.resume(path, normal_model(), progress=False), whole)


def assert_whole(run, whole):
    np.testing.assert_array_equal(run.unconstrained, whole.unconstrained)
    np.testing.assert_array_equal(run.stats["energy"], whole.stats["energy"])


def test_killed(tmp_path, whole, start):
    kill_at_random_moments(start, tmp_path / "run.zarr", whole, 3, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_at_20_moments(tmp_path, whole, start):
    kill_at_random_moments(start, tmp_path / "run.zarr", whole, 20, seed=2)


def test_interrupted(tmp_path, whole, start):
    """SIGINT to a process in warm-up, then to another while sampling."""
    path = tmp_path / "run.zarr"
    for verb, safe in (("sample", (20, 0)), ("resume", (60, 20))):
        process = start(verb, str(path))
        until_safe(process, *safe)
        assert_beginning(path, whole, *safe)  # while it is being written
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


def test_two_writers(tmp_path, whole, start):
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


def test_disk_full(tmp_path, start):
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
def test_files_that_may_not_grow(tmp_path, start):
    """The same where nothing can be mounted."""
    process = start("limited", str(tmp_path / "run.zarr"))
    assert "(File too large)" in assert_room_is_said(process)


def test_read_only_folder(tmp_path, start):
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

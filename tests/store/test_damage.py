"""Files that are not what was written are found and named, and nothing in a store is ever run."""

import random
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from helpers import NUM_CHAINS, one_sentence
from problems import labelled

import snaper
from snaper.store import files, tree, writer

SIZES = {"chains": NUM_CHAINS, "warmup": 20, "draws": 20, "progress": False}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "run.zarr"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("snaper.store.arrays._MAX_CHUNK", 10)  # so that files are full
        return path, snaper.sample(labelled(), store=path, **SIZES)


@pytest.fixture
def copied(whole, tmp_path):
    return Path(shutil.copytree(whole[0], tmp_path / "run.zarr"))


KINDS = {
    "checkpoint": ".snaper/checkpoint",
    "description of all": "zarr.json",
    "description of a group": "posterior/zarr.json",
    "description of an array": "sample_stats/energy/zarr.json",
    "draws": "posterior/effect/c/0/1/0",
    "unconstrained draws": "unconstrained_posterior/effect/c/0/0/0",
    "statistics": "sample_stats/lp/c/0/0",
    "numbers of draws": "sample_stats/draw/c/1",
    "statistics of warm-up": "warmup_sample_stats/step_size/c/0/1",
    "labels": "posterior/school/c/0",
    "data": "observed_data/y/c/0",
}
HARM = {
    "shorter": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "altered": lambda data: (
        data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]
    ),
    "missing": None,
}


@pytest.mark.parametrize("harm", HARM)
@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_named(kind, harm, copied):
    path, change = copied / KINDS[kind], HARM[harm]
    if change is None:
        path.unlink()
    else:
        path.write_bytes(change(path.read_bytes()))
    named = copied if (kind, harm) == ("checkpoint", "missing") else path
    said = []
    for attempt in (lambda: snaper.load(copied), lambda: snaper.resume(copied, labelled())):
        with pytest.raises(snaper.StoreError, match=re.escape(str(named))) as caught:
            attempt()
        said.append(str(caught.value))
    assert said[0] == said[1] and one_sentence(said[0])


def test_every_file_is_of_some_kind(whole):
    """And those that are not checked hold nothing."""
    described = tree.unpack(files.read(whole[0], KINDS["checkpoint"]))[0]
    known = {*described["files"], KINDS["checkpoint"], ".snaper/lock"}
    for path, sums in described["sums"].items():
        dims = next(spec[1] for spec in described["specs"] if spec[0] == path)
        for number in range(len(sums)):
            places = [str(number) if dim == "draw" else "0" for dim in dims]
            known.add("/".join([path, "c", *places]))
    assert names_in(whole[0]) == known


def names_in(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_no_flipped_bit_goes_unnoticed(whole, copied):
    """Wherever it is: where it does no harm, the run is the same."""
    chance, found = random.Random(5), 0
    paths = [path for path in sorted(copied.rglob("*")) if path.is_file() and path.name != "lock"]
    for path in chance.choices(paths, k=25):
        data = path.read_bytes()
        place = chance.randrange(len(data))
        path.write_bytes(data[:place] + bytes([data[place] ^ 16]) + data[place + 1 :])
        try:
            run = snaper.load(copied)
            np.testing.assert_array_equal(run.draws["effect"], whole[1].draws["effect"])
            np.testing.assert_array_equal(run.stats["lp"], whole[1].stats["lp"])
        except snaper.StoreError as error:
            assert str(path) in str(error)
            found += 1
        path.write_bytes(data)
    assert found > 20


def rewritten(path, change):
    """A checkpoint that fits its digest, as a stranger would write it."""
    description, arrays = tree.unpack((path / ".snaper/checkpoint").read_bytes())
    change(description, arrays)
    (path / ".snaper/checkpoint").write_bytes(tree.pack(description, arrays))


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a store ran code",))


def pickled(description, arrays):
    arrays["state.chains.x"] = np.array([Bomb()], dtype=object)


def object_array(description, arrays):
    description["specs"][0][3] = "object"


def elsewhere(description, arrays):
    description["specs"][0][0] = "posterior/../../../elsewhere"


def file_elsewhere(description, arrays):
    description["files"]["observed_data/y/c/../../../../elsewhere"] = [0]


def unknown_part(description, arrays):
    description["config"]["part"] = "Popen"


def unknown_function(description, arrays):
    description["config"]["move"] = {"function": "os.system"}


@pytest.mark.parametrize(
    "change", [pickled, object_array, elsewhere, file_elsewhere, unknown_part, unknown_function]
)
def test_a_stranger_s_store_runs_nothing(change, copied):
    rewritten(copied, change)
    with pytest.raises(snaper.StoreError, match="checkpoint is damaged"):
        snaper.load(copied)


def test_another_format_is_refused(copied):
    rewritten(copied, lambda description, arrays: description.update(format=0))
    with pytest.raises(snaper.StoreError, match="has format 0 of snaper") as caught:
        snaper.load(copied)
    assert one_sentence(str(caught.value))


def test_no_code_of_the_store_pickles():
    for module in Path(files.__file__).parent.glob("*.py"):
        said = re.sub(r"allow_pickle=False|Nothing is pickled", "", module.read_text())
        assert "pickle" not in said and "eval(" not in said and "exec(" not in said


def test_writing_stopped_anywhere_leaves_the_checkpoint_before(tmp_path, monkeypatch):
    """As if the process had died at each of some of its writes."""
    monkeypatch.setattr(writer, "SECONDS", 0.0)
    monkeypatch.setattr(writer, "SHARE", float("inf"))
    write, written = files.write, []
    options = SIZES | {"chunk": 10}
    monkeypatch.setattr(files, "write", lambda *args: (write(*args), written.append(args[1])))
    whole = snaper.sample(labelled(), store=tmp_path / "all.zarr", **options)
    names = list(written)

    class Died(BaseException):
        pass

    for last in range(1, len(names), 29):
        path = tmp_path / f"{last}.zarr"
        written.clear()

        def dying(root, name, data, last=last):
            if len(written) == last:
                (root / ".snaper/new").write_bytes(data[: len(data) // 2])
                raise Died
            write(root, name, data)
            written.append(name)

        monkeypatch.setattr(files, "write", dying)
        with pytest.raises(Died):
            snaper.sample(labelled(), store=path, **options)
        monkeypatch.setattr(files, "write", write)
        part = snaper.load(path)
        count = part.unconstrained.shape[1]
        safe = names[:last].count(".snaper/checkpoint") - 1  # the first was before all transitions
        assert part.warmup_stats["lp"].shape[1] + count == min(10 * safe, 40)
        np.testing.assert_array_equal(part.unconstrained, whole.unconstrained[:, :count])
        resumed = snaper.resume(path, labelled(), progress=False)
        np.testing.assert_array_equal(resumed.unconstrained, whole.unconstrained)
        assert names_in(path) == names_in(tmp_path / "all.zarr")
        assert snaper.load(path).target.observed["y"].tolist() == [1.0, 2.0, 3.0]

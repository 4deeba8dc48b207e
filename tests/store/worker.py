"""A process that samples into a store until something happens to it, and says what is safe."""

import os
import resource
import sys
from collections.abc import Callable

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

from helpers import normal_model  # noqa: E402

import snaper  # noqa: E402
from snaper.store import writer  # noqa: E402

SIZES = {"chains": 16, "warmup": 60, "draws": 60, "chunk": 4, "seed": 11, "progress": False}


def always() -> None:
    """A checkpoint after every stretch, and a line about each that is on disk."""
    writer.SECONDS, writer.SHARE = 0.0, float("inf")
    commit = writer.Writer._commit

    def noted(self, course, run):
        commit(self, course, run)
        print("safe", course.warming.done, course.sampling.done, flush=True)

    writer.Writer._commit = noted


def sample(path: str) -> None:
    told(snaper.sample(normal_model(), store=path, **SIZES))


def resume(path: str) -> None:
    told(snaper.resume(path, normal_model(), progress=False))


def told(run: snaper.Run) -> None:
    print("done", run.unconstrained.shape[1], run.interrupted, flush=True)


def full(path: str, ballast: str) -> None:
    """Until there is no room on the disk, and on once there is again."""
    with open(ballast, "wb") as file:
        file.write(b"0" * 1_000_000)
    _run_out_of_room(path, lambda: os.unlink(ballast))


def limited(path: str) -> None:
    """The same for the size of a file."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    _run_out_of_room(path, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limits))


def _run_out_of_room(path: str, make_room: Callable[[], None]) -> None:
    try:
        snaper.sample(normal_model(), store=path, **SIZES | {"draws": 2000, "chunk": 40})
        raise SystemExit("there was room for all")
    except snaper.StoreError as error:
        print("refused", error)
        drawn = error.run
    part, count = snaper.load(path), drawn.unconstrained.shape[1]
    safe = part.unconstrained.shape[1]
    assert 0 < safe < count < 2000 and drawn.interrupted and part.interrupted, (safe, count)
    np.testing.assert_array_equal(part.unconstrained, drawn.unconstrained[:, :safe])
    make_room()
    resumed = snaper.resume(path, normal_model(), draws=count, progress=False)
    np.testing.assert_array_equal(resumed.unconstrained, drawn.unconstrained)
    print("intact", safe)


def read_only(path: str) -> None:
    """In a folder where nothing may be written."""
    for attempt in (
        lambda: snaper.sample(normal_model(), store=f"{path}/new.zarr", **SIZES),
        lambda: snaper.resume(f"{path}/run.zarr", normal_model(), progress=False),
    ):
        try:
            attempt()
            raise SystemExit("it could be written")
        except snaper.StoreError as error:
            print("refused", error)
    told(snaper.load(f"{path}/run.zarr"))


if __name__ == "__main__":
    always()
    verb, *arguments = sys.argv[1:]
    globals()[verb](*arguments)

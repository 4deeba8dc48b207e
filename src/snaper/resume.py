"""Runs on disk: go on with one, look at one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from typing import Any

from . import arguments
from .config import Config
from .criteria import Criterion
from .interrupt import Interrupt
from .models import as_target
from .plan import Plan, least_draws
from .result import Run
from .run import carry_out
from .store import fingerprint, header, layout, standin
from .store.files import Lock, folder
from .store.plain import Yours, encode
from .store.reader import Reader, refuse_missing
from .store.writer import Writer
from .until import Until


def resume(
    path: str | PathLike[str],
    model: Any,
    /,
    *args: Any,
    draws: int | None = None,
    until: Until | None = None,
    criterion: Criterion | None = None,
    progress: bool = True,
    model_kwargs: dict[str, Any] | None = None,
) -> Run:
    """Go on with a run that was sampled with `store=`: after it ended, was interrupted or killed,
    in warm-up or while sampling. The draws are those of a run that never stopped, bit for bit on
    the same devices, with as many cores.

    Another target than the run's own is refused, and so are another version of snaper or JAX.

    Args:
        path: the store.
        model: the target or model as it was given to `snaper.sample`.
        args: arguments of a NumPyro model.
        draws: how many there are to be in all, those that are there included: 400 draws and
            `resume(draws=1000)` make 1000. None for as many as were wanted, so that a finished run
            is returned as it is.
        until: another condition for sampling to end; None for the run's own, if it had one and
            `draws` is not given. One with a function in `of` must be given again.
        criterion: the function that was given to `snaper.sample`, if it was one of your own.
        progress: show progress; changes nothing else.
        model_kwargs: keyword arguments of a NumPyro model.
    """
    target = as_target(model, args, model_kwargs or {})
    with _locked(path) as reader:
        told = reader.description
        fingerprint.compare(reader.root, told["target"], target)
        fingerprint.compare_surroundings(reader.root, told["around"])
        fingerprint.compare_density(reader.root, reader.starts, target)
        config = _with_criterion(reader, criterion)
        plan, is_new = _plan(reader, draws, until)
        course = plan.course(target, config, reader.state(config), progress)
        reader.restore(course, ended=False)
        reader.forget()
        if is_new:
            course.rule, course.looked = None, 0
        for name, values in layout.fixed(target, reader.specs).items():
            reader.arrays.fill(name, values)
        interrupt = Interrupt()
        starts = {name: each for name, each in reader.saved.items() if name.startswith("starts[")}
        onward = header.onward(told, plan)
        course.keeper = Writer(reader.root, reader.arrays, onward, starts, told["files"], interrupt)
        return carry_out(course, interrupt)


def load(
    path: str | PathLike[str],
    model: Any = None,
    /,
    *args: Any,
    model_kwargs: dict[str, Any] | None = None,
) -> Run:
    """A run as its store has it, up to the last checkpoint: finished, interrupted, killed, or still
    being sampled by another process. Every file is checked.

    Draws, statistics, summaries and `to_arviz` need no log density.

    Args:
        path: the store.
        model: the target or model of the run, for `run.target` to be it; None for one that has
            names and data, but no log density.
        args: arguments of a NumPyro model.
        model_kwargs: keyword arguments of a NumPyro model.
    """
    reader = Reader(path)
    told = reader.description
    if model is None:
        data = reader.fixed("observed_data"), reader.fixed("constant_data")
        target = standin.target(str(reader.root), told, *data)
    else:
        target = as_target(model, args, model_kwargs or {})
        fingerprint.compare(reader.root, told["target"], target)
        fingerprint.compare_density(reader.root, reader.starts, target)
    state = reader.state(reader.config)
    course = reader.plan.course(target, reader.config, state, progress=False, followed=False)
    reader.restore(course, ended=True)
    run, findings = course.result(), reader.findings
    run = run if findings is None else replace(run, findings=findings)
    if run.keep == "draws":
        vars(run)["draws"] = reader.draws()  # where it is cached: there is nothing to compute
    return run


@contextmanager
def _locked(path: Any) -> Iterator[Reader]:
    """A store that nobody else writes meanwhile."""
    root = folder(path)
    refuse_missing(root)
    lock = Lock(root)
    try:
        yield Reader(root)
    finally:
        lock.release()


def _with_criterion(reader: Reader, criterion: Criterion | None) -> Config:
    """The configuration, with the user's own criterion where there was one."""
    stored = reader.config.criterion
    if not isinstance(stored, Yours):
        if criterion is not None:
            raise ValueError(
                f"criterion= is for functions of your own, and {reader.root} was drawn with one of "
                "snaper's: leave it out."
            )
        return reader.config
    if criterion is None or encode(criterion, "criterion") != encode(stored):
        raise ValueError(
            f"{reader.root} was drawn with a criterion of your own, {stored.name}, not "
            f"{criterion!r}: pass it as criterion=."
        )
    return replace(reader.config, criterion=criterion)


def _plan(reader: Reader, draws: int | None, until: Until | None) -> tuple[Plan, bool]:
    """What is wanted now, and whether that is something new."""
    plan, done = reader.plan, reader.description["sampling"]["done"]
    if until is not None:
        until = arguments.until(until, plan.chains, plan.chunk)
    if draws is not None and arguments.count("draws", draws, 0) < done:
        raise ValueError(
            f"draws={draws} are fewer than the {done} that {reader.root} has: draws= is how many "
            "there are to be in all."
        )
    if draws is None and (until is None or encode(until) == encode(plan.until)):
        again = plan.until if until is None else until
        if again is not None and isinstance(again.of, Yours):
            raise ValueError(
                f"{reader.root} was to end by a function of your own, {again.of.name}: pass until= "
                "again."
            )
        return replace(plan, until=again), False
    if until is not None and until.of is not None and done:
        judged = None if plan.until is None else encode(plan.until.of, "of")
        if encode(until.of, "of") != judged:
            raise ValueError(
                f"{reader.root} has {done} draws that were not judged by {until.of!r}: leave of= "
                "out of until=, or sample anew with tuning= of snaper.load."
            )
    least = max(least_draws(draws, until, plan.thin), done)
    return replace(plan, least=least, until=until), True

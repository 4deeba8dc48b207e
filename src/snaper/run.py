"""The public driver: `sample`."""

import os
import sys
from contextlib import closing
from typing import Any

import jax

from . import arguments, sampler
from . import progress as display
from .cache import kept_in
from .config import Config
from .course import Course
from .criteria import Criterion
from .diagnostics import functions
from .interrupt import Interrupt
from .keep import TRACES, Draws, Nothing, Statistics
from .lapack import one_thread
from .models import as_target
from .record import Recorder, num_kept
from .result import Run, Tuning
from .slowest import Slowest
from .stretch import Pace, Whole, buffer
from .until import FIRST_LOOK, LONGEST, Count, Until


def sample(
    model: Any,
    /,
    *args: Any,
    chains: int = 64,
    warmup: int = 1000,
    draws: int | None = None,
    seed: Any = 0,
    criterion: str | Criterion | Slowest = "auto",
    preset: str | Config = "default",
    metric: str = "auto",
    target_accept: float = 0.8,
    max_leapfrog: int = 1000,
    init: Any = None,
    tuning: Tuning | None = None,
    superchains: int | None = None,
    until: Until | None = None,
    keep: str = "draws",
    thin: int = 1,
    progress: bool = True,
    chunk: int | None = None,
    at_once: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    model_kwargs: dict[str, Any] | None = None,
) -> Run:
    """Draw from a target with many chains that tune themselves together.

    Args:
        model: a `snaper.Target`, a NumPyro model or a PyMC model.
        args: arguments of a NumPyro model; see `snaper.from_numpyro`.
        chains: how many; all move in lock-step and learn from each other. 64 or more learn best.
        warmup: transitions in which step size, trajectory length, metric and principal direction
            are learnt.
        draws: transitions after that, with everything held; 1000 unless given. With `until`, the
            least there are before it is asked.
        seed: a whole number, or a JAX random key.
        criterion: what trajectories are tuned for: "auto" is "slowest" in the default preset and
            "snaper" in the paper's; also "chees", "chees_rate", "esjd",
            `snaper.criteria.Along(w)`, or a function (see `snaper.criteria`).
        preset: "default", "paper" (the published algorithm to the letter), or a whole
            `snaper.Config`, which then decides criterion, metric, target_accept and max_leapfrog.
        metric: "auto" is dense up to 512 dimensions, where correlations promise to pay, else
            diagonal; or "dense", "diagonal", "identity".
        target_accept: harmonic mean of acceptance over chains that the step size is tuned for.
        max_leapfrog: the most leapfrog steps that one transition may take.
        init: starting points; see `snaper.starts.find`.
        tuning: `run.tuning` of an earlier run to begin with. With warmup=0 it is what is sampled
            with, and chains should begin where that run ended: init=run.unconstrained[:, -1].
        superchains: start so many groups of chains, each group at one point: nested R-hat then
            tells whether the starts are forgotten, even where chains are short. `init` holds the
            groups' points, which must differ.
        until: sample until a condition holds; see `snaper.Until`.
        keep: "draws", or "moments" for `run.moments` alone, in memory that does not grow with
            draws: nothing is kept of each of them, and `run.stats` is empty.
        thin: keep draws number 0, thin, 2 thin, ...; moments and diagnostics are of these.
        progress: show progress; changes nothing else.
        chunk: transitions per compiled stretch; None sizes them to about half a second, or with
            `until` from look to look. Changes no draw.
        at_once: chains whose gradients are computed together; None for all of them. Fewer need less
            memory and more time; all chains still learn together.
        cache: a directory where compiled code is kept for other processes, or None: compiling
            takes seconds. JAX's own settings stay as they are.
        model_kwargs: keyword arguments of a NumPyro model.
    """
    count = arguments.count
    chains, thin, warmup = (
        count("chains", chains, 1),
        count("thin", thin, 1),
        count("warmup", warmup, 0),
    )
    usual = 1000 if until is None else FIRST_LOOK * thin
    least = usual if draws is None else count("draws", draws, 0)
    pace = Pace(None if chunk is None else count("chunk", chunk, 1))
    goal = Count(least) if until is None else arguments.until(until, chains, chunk)
    if keep not in ("draws", "moments"):
        raise ValueError(f"keep must be 'draws' or 'moments', not {keep!r}.")
    groups = None if superchains is None else arguments.groups(superchains, chains)
    target = as_target(model, args, model_kwargs or {})
    chosen = arguments.chosen_config(preset, criterion, metric, target_accept, max_leapfrog)
    if at_once is not None:
        chosen = arguments.in_blocks(chosen, count("at_once", at_once, 1))
    key_start, key_run = jax.random.split(arguments.random_key(seed))
    start = arguments.find_starts(key_start, target, chains, groups, init)
    given = None if tuning is None else arguments.hyperparams(tuning, target, chosen, warmup)
    asked = None if until is None or until.of is None else functions.choose(target, until.of)

    shape = (chains, target.dim, target.dtype)
    if keep == "draws":
        statistics, kept = Statistics(chains), Draws(*shape, num_kept(least, thin))
    else:
        statistics, kept = Statistics(chains, TRACES), Nothing(*shape)
    room = buffer(chains, target, None if until is None else LONGEST)
    too_much = arguments.too_much(target, chosen, chains, room.slots, num_kept(least, thin), keep)
    if too_much is not None:
        print(f"snaper: {too_much}", file=sys.stderr)
    timed = until is None or until.max_seconds is not None or chunk is not None
    course = Course(
        target=target,
        config=chosen,
        state=sampler.init(key_run, target, chosen, start.x, warmup, given),
        warming=Recorder(chains, warmup, 1, statistics),
        sampling=Recorder(chains, goal.max_draws, thin, kept),
        buffer=room,
        pace=pace,
        between=pace if timed else Whole(),
        bar=display.start(warmup + goal.max_draws, progress, certain=until is None),
        goal=goal,
        functions=asked,
        least=least,
        superchains=groups,
        keep=keep,
        tuned=tuning is not None,
        num_replaced=start.num_replaced,
        one_start=start.all_one,
    )
    with Interrupt() as interrupt, kept_in(cache), one_thread():
        with closing(course.bar):
            course.warm_up(interrupt)
            course.draw(interrupt)
        run = course.result()  # Ctrl-C does not lose a finished run either
    for finding in run.findings:
        if finding.severity == "trouble":  # notes are for whoever looks at the run
            print(f"snaper: {finding}", file=sys.stderr)
    return run

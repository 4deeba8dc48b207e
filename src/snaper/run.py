"""The public driver: `sample`."""

import sys
from contextlib import closing, nullcontext
from os import PathLike
from typing import Any

import jax

from . import arguments, sampler
from .bend import bent_by
from .cache import kept_in
from .config import Config
from .course import Course
from .criteria import Criterion
from .interrupt import Interrupt
from .lapack import one_thread
from .models import as_target
from .plan import Plan, least_draws
from .record import num_kept
from .result import Run, Tuning
from .slowest import Slowest
from .store.claim import Claim
from .until import Until


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
    coordinates: str = "auto",
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
    cache: str | PathLike[str] | None = None,
    store: str | PathLike[str] | None = None,
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
        metric: "auto" is dense up to 512 dimensions and low-rank beyond, where correlations
            promise to pay, else diagonal; or "dense" (from points and gradients), "covariance"
            (from points alone), "low-rank", "diagonal", "identity".
        coordinates: "auto" learns from 500 transitions of warm-up or more, in up to 200 dimensions,
            whether widths of coordinates follow others, as those of effects follow their scale, and
            if so samples in units of them; "given" leaves coordinates as they are. Results are in
            the given ones either way, but for `energy`. Other presets and a criterion of your own
            leave coordinates too; those of a `tuning` are gone on with.
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
        store: a new folder, such as "run.zarr", that the run is kept in as it goes on (the extra
            `store`); xarray and ArviZ open it. See `snaper.resume` and `snaper.load`.
        at_once: chains whose gradients are computed together; None for all of them. Fewer need less
            memory and more time, and draws are not spread over cores; all chains still learn
            together.
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
    least = least_draws(None if draws is None else count("draws", draws, 0), until, thin)
    chunk = None if chunk is None else count("chunk", chunk, 1)
    until = None if until is None else arguments.until(until, chains, chunk)
    if keep not in ("draws", "moments"):
        raise ValueError(f"keep must be 'draws' or 'moments', not {keep!r}.")
    learns = arguments.learns_coordinates(coordinates, preset, criterion) and tuning is None
    groups = None if superchains is None else arguments.groups(superchains, chains)
    target = as_target(model, args, model_kwargs or {})
    chosen = arguments.chosen_config(preset, criterion, metric, target_accept, max_leapfrog)
    if at_once is not None:
        chosen = arguments.in_blocks(chosen, count("at_once", at_once, 1))
    key_start, key_run = jax.random.split(arguments.random_key(seed))
    with nullcontext() if store is None else Claim(store) as claim:
        start = arguments.find_starts(key_start, target, chains, groups, init)
        given = None if tuning is None else arguments.hyperparams(tuning, target, chosen, warmup)
        plan = Plan(
            chains=chains,
            warmup=warmup,
            least=least,
            thin=thin,
            until=until,
            chunk=chunk,
            superchains=groups,
            keep=keep,
            tuned=tuning is not None,
            num_replaced=start.num_replaced,
            replaced_for=start.why,
            one_start=start.all_one,
            straighten=learns,
        )
        bend = arguments.given_bend(tuning, target, coordinates, criterion)
        sampled = target if bend is None else bent_by(target, bend)
        x = arguments.straight_starts(bend, start.x)
        state = sampler.init(key_run, sampled, chosen, x, warmup, given)
        course, interrupt = plan.course(target, chosen, state, progress), Interrupt()
        course.bend = bend
        kept = num_kept(least, thin) if keep == "draws" else 0
        too_much = arguments.too_much(target, chosen, chains, course.buffer.slots, kept)
        if too_much is not None:
            print(f"snaper: {too_much}", file=sys.stderr)
        if claim is not None:
            course.keeper = claim.keeper(course, plan, interrupt)
        with kept_in(cache):
            return carry_out(course, interrupt)


def carry_out(course: Course, interrupt: Interrupt) -> Run:
    """Warm up, sample, and tell what went wrong."""
    with interrupt, one_thread():
        with closing(course.bar):
            course.warm_up(interrupt)
            course.draw(interrupt)
        run = course.result()  # Ctrl-C does not lose a finished run either
        course.keeper.finish(course, run)
    for finding in run.findings:
        if finding.severity == "trouble":  # notes are for whoever looks at the run
            print(f"snaper: {finding}", file=sys.stderr)
    return run

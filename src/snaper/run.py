"""The driver: compiled stretches of transitions, sized by wall time, run from Python."""

import operator
import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import chunk as chunks
from . import config, sampler, starts
from . import progress as display
from .adapt import Hyperparams
from .config import Config
from .criteria import Criterion
from .diagnostics import findings
from .interrupt import Interrupt
from .record import Recorder
from .result import Run, Tuning
from .sampler import State
from .target import Target

_SECONDS_PER_CHUNK = 0.5
_FIRST_CHUNK = 8


def sample(
    target: Target,
    *,
    chains: int = 64,
    warmup: int = 1000,
    draws: int = 1000,
    seed: Any = 0,
    criterion: str | Criterion = "snaper",
    preset: str | Config = "default",
    metric: str = "diagonal",
    target_accept: float = 0.8,
    max_leapfrog: int = 1000,
    init: Any = None,
    tuning: Tuning | None = None,
    thin: int = 1,
    progress: bool = True,
    chunk: int | None = None,
) -> Run:
    """Draw from a target with many chains that tune themselves together.

    Args:
        target: the log density.
        chains: how many; all move in lock-step and learn from each other. 64 or more learn best.
        warmup: transitions during which step size, trajectory length, metric and principal
        direction are learnt. draws: transitions after that, with everything held. seed: a whole
        number, or a JAX random key. criterion: what trajectories are tuned for: "snaper", "chees",
        "chees_rate", "esjd",
            `snaper.criteria.Along(w)`, or a function (see `snaper.criteria`).
        preset: "default", "paper" (the published algorithm to the letter), or a whole
        `snaper.Config`, which then
            decides criterion, metric, target_accept and max_leapfrog too.
        metric: "diagonal" or "identity".
        target_accept: harmonic mean of acceptance over chains that the step size is tuned for.
        max_leapfrog: the most leapfrog steps that one transition may take.
        init: starting points; see `snaper.starts.find`.
        tuning: `run.tuning` of an earlier run to begin with; with warmup=0, to sample with.
        thin: keep draws number 0, thin, 2 thin, ...
        progress: show progress; changes nothing else.
        chunk: transitions per compiled stretch; None sizes them to about half a second. Changes no
        draw.
    """
    chains, thin = _count("chains", chains, 1), _count("thin", thin, 1)
    warmup, draws = _count("warmup", warmup, 0), _count("draws", draws, 0)
    if not isinstance(target, Target):
        raise TypeError(f"target must be a snaper.Target, not {type(target).__name__}.")
    chosen = preset
    if not isinstance(chosen, Config):
        chosen = config.preset(chosen, criterion, metric, target_accept, max_leapfrog)
    key_start, key_run = jax.random.split(_key(seed))
    start = starts.find(key_start, target, chains, init)
    given = None if tuning is None else _given(tuning, target)

    clock = [time.monotonic()]
    state = sampler.init(key_run, target, chosen, start.x, warmup, given)
    pace = _Pace(None if chunk is None else _count("chunk", chunk, 1))
    warming = Recorder(chains, target.dim, target.dtype, warmup, 1, keep_draws=False)
    sampling = Recorder(chains, target.dim, target.dtype, draws, thin, keep_draws=True)
    bar = display.start(warmup + draws, progress)
    with Interrupt() as interrupt:
        for phase, recorder in (("warm-up", warming), ("sampling", sampling)):
            for stretch in pace.stretches(recorder, interrupt):
                state = _advance(target, chosen, state, recorder, stretch)
                bar.show(_snapshot(phase, warming, sampling, recorder))
            clock.append(time.monotonic())
    bar.close()

    interrupted = warming.done < warmup or sampling.done < draws
    facts = _facts(start, chosen, tuning is not None, warming, sampling, state, interrupted)
    run = Run(
        target=target,
        config=chosen,
        unconstrained=sampling.x,
        stats=sampling.stats(),
        warmup_stats=warming.stats(),
        tuning=Tuning.of(chosen.adapt.value(state.adapt, jnp.asarray(False))),
        num_gradients=(warming.gradients, sampling.gradients),
        findings=findings.find(facts),
        interrupted=interrupted,
        seconds=(clock[1] - clock[0], clock[2] - clock[1]),
        state=state,
    )
    for finding in run.findings:
        print(f"snaper: {finding}", file=sys.stderr)
    return run


class _Pace:
    """Sizes stretches of transitions so that each takes about half a second, or as many as asked
    for.
    """

    def __init__(self, size: int | None):
        self._fixed = size
        self._size = size or _FIRST_CHUNK
        self._compiled = False

    def stretches(self, recorder: Recorder, interrupt: Interrupt):
        """Sizes of the stretches that remain, until the recorder has all it wants or Ctrl-C."""
        while recorder.done < recorder.wanted and not interrupt.requested:
            size = min(self._size, recorder.wanted - recorder.done)
            began = time.monotonic()
            yield size
            self._learn(size, time.monotonic() - began)

    def _learn(self, size: int, seconds: float) -> None:
        if self._fixed is None and self._compiled:  # the first stretch's time is the compiler's
            ideal = size * _SECONDS_PER_CHUNK / max(seconds, 1e-6)
            self._size = int(np.clip(ideal, 1, 8 * self._size))
        self._compiled = True


def _advance(
    target: Target, config: Config, state: State, recorder: Recorder, num_steps: int
) -> State:
    """A stretch of transitions, recorded. Longer ones than the buffer holds are cut in pieces."""
    num_chains, dim = state.chains.x.shape
    slots = chunks.capacity(num_chains, dim, state.chains.x.dtype.itemsize)
    while num_steps > 0:
        size = min(num_steps, slots * recorder.thin)
        state, record, tally = chunks.advance(
            target, config, state, recorder.done, size, recorder.thin, slots=slots
        )
        recorder.append(record, tally, size)
        num_steps -= size
    return state


def _snapshot(phase: str, warming: Recorder, sampling: Recorder, now: Recorder) -> display.Snapshot:
    last = now.last
    return display.Snapshot(
        phase,
        warming.done + sampling.done,
        float(last.step_size),
        last.leapfrogs,
        last.acceptance,
        int(now.diverging.sum()),
    )


def _facts(
    start: starts.Starts,
    config: Config,
    tuned: bool,
    warming: Recorder,
    sampling: Recorder,
    state: State,
    interrupted: bool,
) -> findings.Facts:
    """The plain numbers that findings are made of."""
    draws = max(sampling.done, 1)
    logp = np.asarray(state.chains.logp)
    return findings.Facts(
        num_chains=logp.size,
        num_replaced=start.num_replaced,
        target_accept=config.adapt.step_size.target,
        max_leapfrog=config.max_leapfrog,
        tuned=tuned,
        warmup_wanted=warming.wanted,
        warmup_done=warming.done,
        draws_wanted=sampling.wanted,
        draws_done=sampling.done,
        interrupted=interrupted,
        reseeded=np.asarray(state.adapt.quarantine.reseeded),
        warmup_step_size=warming.trace("step_size"),
        warmup_length=warming.trace("mean_trajectory_length"),
        accept_prob=sampling.accept_prob / draws,
        accepted=sampling.accepted,
        diverging=sampling.diverging,
        capped=sampling.capped,
        lp=sampling.lp / draws,
        resolution=float(np.median(np.finfo(logp.dtype).eps * np.abs(logp))),
    )


def _key(seed: Any) -> jax.Array:
    """A typed random key from a whole number, a typed key or a raw one."""
    if isinstance(seed, jax.Array) and jnp.issubdtype(seed.dtype, jax.dtypes.prng_key):
        return seed
    if isinstance(seed, jax.Array | np.ndarray) and seed.shape == (2,) and seed.dtype == np.uint32:
        return jax.random.wrap_key_data(jnp.asarray(seed))
    try:
        return jax.random.key(operator.index(seed))
    except TypeError:
        raise TypeError(f"seed must be a whole number or a JAX random key, not {seed!r}.") from None


def _count(name: str, value: Any, least: int) -> int:
    """A whole number, or a word about what is wrong with it."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, not {value!r}.") from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}, not {number}.")
    return number


def _given(tuning: Tuning, target: Target) -> Hyperparams:
    """Values of an earlier run as arrays that fit the target."""
    if np.shape(tuning.mean) != (target.dim,):
        raise ValueError(
            f"tuning is for {np.size(tuning.mean)} dimensions, but the target has {target.dim}: "
            "pass the tuning of a run of the same target."
        )
    return tuning.hyperparams(target.dtype)

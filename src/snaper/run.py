"""The driver: compiled stretches of transitions, sized by wall time, run from Python."""

import operator
import sys
import time
from contextlib import closing
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
from .diagnostics import certificate, findings
from .diagnostics.stream import Look
from .interrupt import Interrupt
from .models import as_target
from .record import Recorder
from .result import Run, Tuning
from .sampler import State
from .starts import Starts
from .target import Target
from .until import FIRST_LOOK, Count, Progress, Stopped, Until
from .watch import Watch

_SECONDS_PER_CHUNK = 0.5
_FIRST_CHUNK = 8


def sample(
    model: Any,
    /,
    *args: Any,
    chains: int = 64,
    warmup: int = 1000,
    draws: int | None = None,
    seed: Any = 0,
    criterion: str | Criterion = "snaper",
    preset: str | Config = "default",
    metric: str = "diagonal",
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
    model_kwargs: dict[str, Any] | None = None,
) -> Run:
    """Draw from a target with many chains that tune themselves together.

    Args:
        model: a `snaper.Target`, a NumPyro model or a PyMC model.
        args: arguments of a NumPyro model; see `snaper.from_numpyro`.
        chains: how many; all move in lock-step and learn from each other. 64 or more learn best.
        warmup: transitions in which step size, trajectory length, metric and principal direction
            are learnt.
        draws: transitions after that, with everything held.
        seed: a whole number, or a JAX random key.
        criterion: what trajectories are tuned for: "snaper", "chees", "chees_rate", "esjd",
            `snaper.criteria.Along(w)`, or a function (see `snaper.criteria`).
        preset: "default", "paper" (the published algorithm to the letter), or a whole
            `snaper.Config`, which then decides criterion, metric, target_accept and max_leapfrog.
        metric: "diagonal" or "identity".
        target_accept: harmonic mean of acceptance over chains that the step size is tuned for.
        max_leapfrog: the most leapfrog steps that one transition may take.
        init: starting points; see `snaper.starts.find`.
        tuning: `run.tuning` of an earlier run to begin with. With warmup=0 it is what is sampled
            with, and chains should begin where that run ended: init=run.unconstrained[:, -1].
        superchains: start so many groups of chains, each group at one point: nested R-hat then
            tells whether the starts are forgotten, even where chains are short. `init` holds the
            groups' points.
        until: sample until a condition holds; see `snaper.Until`.
        keep: "draws", or "moments" for `run.moments` alone, in memory that does not grow with
            draws times dimensions.
        thin: keep draws number 0, thin, 2 thin, ...; moments and diagnostics are of these.
        progress: show progress; changes nothing else.
        chunk: transitions per compiled stretch; None sizes them to about half a second. Changes
            no draw.
        model_kwargs: keyword arguments of a NumPyro model.
    """
    chains, thin = _count("chains", chains, 1), _count("thin", thin, 1)
    warmup = _count("warmup", warmup, 0)
    least = (FIRST_LOOK if until else 1000) if draws is None else _count("draws", draws, 0)
    goal = Count(least) if until is None else _until(until)
    if keep not in ("draws", "moments"):
        raise ValueError(f"keep must be 'draws' or 'moments', not {keep!r}.")
    groups = None if superchains is None else _groups(superchains, chains)
    target = as_target(model, args, model_kwargs or {})
    chosen = _config(preset, criterion, metric, target_accept, max_leapfrog)
    key_start, key_run = jax.random.split(_key(seed))
    start = _start(key_start, target, chains, groups, init)
    given = None if tuning is None else _given(tuning, target)

    clock = [time.monotonic()]
    state = sampler.init(key_run, target, chosen, start.x, warmup, given)
    pace = _Pace(None if chunk is None else _count("chunk", chunk, 1))
    shape = (chains, target.dim, target.dtype)
    warming = Recorder(*shape, warmup, 1)
    sampling = Recorder(*shape, goal.max_draws, thin, least if keep == "draws" else None)
    bar = display.start(warmup + goal.max_draws, progress)
    with Interrupt() as interrupt, closing(bar):
        for stretch in pace.stretches(warming, warmup, interrupt):
            state = _advance(target, chosen, state, warming, stretch)
            bar.show(_snapshot("warm-up", warming, sampling, warming))
        clock.append(time.monotonic())
        watch = sampling.watch = Watch(target, chosen, state, groups, keep == "moments")
        rule = None
        while rule is None and not interrupt.requested:
            for stretch in pace.stretches(
                sampling, goal.next_look(sampling.done, least), interrupt
            ):
                state = _advance(target, chosen, state, sampling, stretch)
                bar.show(_snapshot("sampling", warming, sampling, sampling))
                if goal.out_of_time(_progress(sampling, clock[1])):
                    rule = "max_seconds"
                    break
            else:
                rule = goal.rule(_progress(sampling, clock[1]), watch.look())
        clock.append(time.monotonic())

    stopped = Stopped(rule or "interrupted", sampling.done, sampling.gradients, clock[2] - clock[1])
    facts = _facts(
        start, chosen, target, tuning is not None, warming, sampling, state, goal, stopped
    )
    run = Run(
        target=target,
        config=chosen,
        unconstrained=sampling.x,
        stats=sampling.stats(),
        warmup_stats=warming.stats(),
        tuning=Tuning.of(chosen.adapt.value(state.adapt, jnp.asarray(False))),
        num_gradients=(warming.gradients, sampling.gradients),
        findings=findings.find(facts),
        interrupted=rule is None,
        seconds=(clock[1] - clock[0], clock[2] - clock[1]),
        stopped=stopped,
        superchains=groups,
        keep=keep,
        state=state,
        watch=watch,
        scalar=sampling.scalar if watch.has_scalar else None,
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

    def stretches(self, recorder: Recorder, wanted: int, interrupt: Interrupt):
        """Sizes of the stretches that remain, until the recorder has what is wanted or Ctrl-C."""
        while recorder.done < wanted and not interrupt.requested:
            size = min(self._size, wanted - recorder.done)
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
        first_slot = -(-recorder.done // recorder.thin)
        last = (first_slot + slots - 1) * recorder.thin  # the transition that fills the buffer
        size = min(num_steps, last - recorder.done + 1)
        state, record, tally = chunks.advance(
            target, config, state, recorder.done, size, recorder.thin, slots=slots
        )
        recorder.append(record, tally, size)
        num_steps -= size
    return state


def _progress(sampling: Recorder, began: float) -> Progress:
    return Progress(sampling.done, sampling.gradients, time.monotonic() - began)


def _snapshot(phase: str, warming: Recorder, sampling: Recorder, now: Recorder) -> display.Snapshot:
    last = now.last
    look = None if now.watch is None else now.watch.look()
    return display.Snapshot(
        phase,
        warming.done + sampling.done,
        float(last.step_size),
        last.leapfrogs,
        last.acceptance,
        int(now.diverging.sum()),
        None if look is None else look.worst()[0],
        look is not None and look.nested_rhat is not None,
    )


def _facts(
    start: Starts,
    config: Config,
    target: Target,
    tuned: bool,
    warming: Recorder,
    sampling: Recorder,
    state: State,
    goal: Count | Until,
    stopped: Stopped,
) -> findings.Facts:
    """The plain numbers that findings are made of."""
    draws = max(sampling.done, 1)
    logp = np.asarray(state.chains.logp)
    watch = sampling.watch
    look = None if watch is None else watch.look()
    bound = certificate.bound(sampling.scalar) if watch is not None and watch.has_scalar else None
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
        interrupted=stopped.rule == "interrupted",
        reseeded=np.asarray(state.adapt.quarantine.reseeded),
        warmup_step_size=warming.trace("step_size"),
        warmup_length=warming.trace("mean_trajectory_length"),
        warmup_cap=int(config.cap(state.num_warmup - 1, state.num_one_step, jnp.asarray(True))),
        unusable=_unusable(warming.trace("criterion")),
        accept_prob=sampling.accept_prob / draws,
        accepted=sampling.accepted,
        diverging=sampling.diverging,
        capped=sampling.capped,
        lp=sampling.lp / draws,
        resolution=float(np.median(np.finfo(logp.dtype).eps * np.abs(logp))),
        mixing=None if look is None else _mixing(target, look),
        limit=_limit(goal, stopped),
        tightness=float("nan") if bound is None else bound.tightness,
    )


def _unusable(criterion: np.ndarray) -> float:
    """Share of a trace that is zero or not finite."""
    return float(np.mean(~np.isfinite(criterion) | (criterion == 0))) if criterion.size else 0.0


def _mixing(target: Target, look: Look) -> findings.Mixing:
    rhat, where = look.worst()
    constant = np.asarray(look.constant) & (int(look.num_draws) > 1)
    still = np.flatnonzero(constant.any(axis=0))
    return findings.Mixing(
        int(look.num_draws),
        rhat,
        look.nested_rhat is not None,
        target.coordinate_name(where),
        float(np.min(np.minimum(look.ess, look.ess_squares))),
        tuple(target.coordinate_name(int(i)) for i in still[:3]),
        np.any(constant, axis=1),
    )


def _limit(goal: Count | Until, stopped: Stopped) -> str | None:
    """What sampling ran into before it converged, and what it was asked for."""
    if not isinstance(goal, Until) or not stopped.rule.startswith("max_"):
        return None
    asked = {"rhat": goal.rhat, "ess": goal.ess}
    wanted = " and ".join(f"{name}={value}" for name, value in asked.items() if value is not None)
    return f"{stopped.rule}={getattr(goal, stopped.rule)}" + (f" before {wanted}" if wanted else "")


def _start(
    key: jax.Array, target: Target, chains: int, superchains: int | None, init: Any
) -> Starts:
    """A point for every chain; chains of one superchain have the same."""
    if superchains is None:
        return starts.find(key, target, chains, init)
    found = starts.find(key, target, superchains, init)
    size = chains // superchains
    return Starts(jnp.repeat(found.x, size, axis=0), size * found.num_replaced)


def _groups(superchains: Any, chains: int) -> int:
    """How many superchains, if that many chains can be grouped so."""
    number = _count("superchains", superchains, 2)
    if chains % number:
        raise ValueError(f"superchains must divide chains, but {number} does not divide {chains}.")
    return number


def _until(until: Any) -> Until:
    if isinstance(until, Until):
        return until
    raise TypeError(
        f"until must be a snaper.Until, such as snaper.Until(rhat=1.01), not {until!r}."
    )


def _config(preset: str | Config, *choices: Any) -> Config:
    """The sampler asked for: a preset with the other choices, or a Config that makes them all."""
    if not isinstance(preset, Config):
        return config.preset(preset, *choices)
    names = ("criterion", "metric", "target_accept", "max_leapfrog")
    defaults = ("snaper", "diagonal", 0.8, 1000)
    for name, choice, usual in zip(names, choices, defaults, strict=True):
        if choice is not usual and choice != usual:
            raise ValueError(
                f"preset is a whole Config, which decides {name} too: leave {name}= out."
            )
    return preset


def _key(seed: Any) -> jax.Array:
    """A typed random key from a whole number, a typed key or a raw one."""
    if isinstance(seed, jax.Array) and jnp.issubdtype(seed.dtype, jax.dtypes.prng_key):
        if seed.shape == ():
            return seed
        raise ValueError(f"seed must be one random key, not an array of keys {seed.shape}.")
    if isinstance(seed, jax.Array | np.ndarray) and seed.shape == (2,) and seed.dtype == np.uint32:
        return jax.random.wrap_key_data(jnp.asarray(seed))
    try:
        number = operator.index(seed)
    except TypeError:
        raise TypeError(f"seed must be a whole number or a JAX random key, not {seed!r}.") from None
    if not -(2**63) <= number < 2**64:
        raise ValueError(f"seed must fit into 64 bits, and {number} does not.")
    high, low = divmod(number % 2**64, 2**32)
    key = jax.random.key(np.uint32(low))  # JAX without x64 would drop the upper half
    return jax.random.fold_in(key, high) if high else key


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
    if not isinstance(tuning, Tuning):
        raise TypeError(f"tuning must be the tuning of a run, not {type(tuning).__name__}.")
    for name in ("metric", "mean", "direction"):
        if np.shape(tuning[name]) != (target.dim,):
            raise ValueError(
                f"tuning holds a {name} of shape {np.shape(tuning[name])}, but the target has"
                f" {target.dim} dimensions: pass the tuning of a run of the same target."
            )
    return tuning.hyperparams(target.dtype)

"""A run under way: its phases, and what it comes to."""

import time
from dataclasses import dataclass, field
from typing import Protocol

import jax
import numpy as np

from . import cores, sampler, straighten
from .bend import Bend, bent_by, reported, straight
from .config import Config
from .diagnostics import certificate, findings
from .diagnostics.bounds import at_bounds
from .diagnostics.energy import Energy, energy
from .diagnostics.functions import Functions
from .diagnostics.slope import unexplained
from .interrupt import Interrupt
from .keep import Draws, Nothing, Statistics
from .progress import Display, Snapshot
from .record import Recorder
from .result import Run, Tuning
from .sampler import State
from .straighten import Looks
from .stretch import Pace, Recording, Whole, advance, survey
from .target import NotAtHand, Target
from .until import Count, Progress, Stopped, Until
from .watch import Watch

NAMED = 3  # coordinates that widths follow, at most


class Keeper(Protocol):
    """Keeps a run safe while it goes on."""

    def after_stretch(self, course: "Course") -> None: ...

    def finish(self, course: "Course", run: Run) -> None: ...


class Nobody:
    """Keeps nothing."""

    def after_stretch(self, course: "Course") -> None:
        pass

    def finish(self, course: "Course", run: Run) -> None:
        pass


@dataclass
class Course:
    """What is fixed of a run, and how far it has come."""

    target: Target
    config: Config
    state: State  # in coordinates that may be bent
    warming: Recorder[Statistics]
    sampling: Recorder[Draws | Nothing]
    buffer: Recording
    pace: Pace
    between: Pace | Whole  # looks
    bar: Display
    goal: Count | Until
    functions: Functions | None  # that the goal is about, if not about coordinates
    least: int  # draws before the first look at the goal
    superchains: int | None
    keep: str
    tuned: bool  # began with given values
    num_replaced: int  # starting points
    replaced_for: str  # what was wrong with the first of them
    one_start: bool  # shared by all chains
    looks: Looks  # at coordinates
    bend: Bend | None = None  # that chains are sampled in; None for those of the target
    tuned_from: int = 0  # the transition of warm-up since which all else is learnt
    keeper: Keeper = field(default_factory=Nobody)
    clock: list[float] = field(default_factory=lambda: [time.monotonic()])
    looked: int = 0  # draws at the last look at the goal
    rule: str | None = None  # that ended sampling
    began: State = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.state

    def warm_up(self, interrupt: Interrupt) -> None:
        """Learn, until warm-up is over or Ctrl-C."""
        after, span = self.looks
        for look in (look for look in after if look > self.warming.done):
            self._warm(look - span, interrupt)
            if not interrupt.requested:
                self._straighten(span)
        self._warm(self.warming.wanted, interrupt)
        if len(self.clock) == 1:  # where sampling goes on, that has begun before
            self.clock.append(time.monotonic())

    def _warm(self, wanted: int, interrupt: Interrupt) -> None:
        for size in self.pace.stretches(self.warming, wanted, interrupt):
            self._advance("warm-up", self.warming, size)

    def _straighten(self, span: int) -> None:
        """So many transitions of warm-up; where they teach better coordinates, chains go on in
        these, and learn all else anew.
        """
        self.state, places = survey(
            self.sampled, self.config, self.state, self.warming, span, self.buffer
        )
        blocks = min(
            len(places[0]),
            getattr(self.config.move, "at_once", None) or sampler.BLOCK,
            sampler.BLOCK,
        )
        learnt = straighten.learn(self.target, places, self.bend, blocks)
        self.warming.gradients += -(-learnt.num_points // len(places[0]))
        if learnt.bend is not self.bend:
            self._go_on_in(learnt.bend)
        self._after_stretch("warm-up", self.warming)

    def _go_on_in(self, bend: Bend | None) -> None:
        """These coordinates, unless a chain stands where they have none."""
        x, _ = self._reported()
        sampled = self.target if bend is None else bent_by(self.target, bend)
        chains = sampler.evaluate(sampled, x if bend is None else straight(bend, x))
        if np.isfinite(chains.logp).all() and np.isfinite(chains.grad).all():
            done, before = self.warming.done, self.state
            key = jax.random.fold_in(before.key, done)
            left = self.warming.wanted - done
            # None is passed as it is at first: else this is compiled again.
            state = sampler.begin(key, self.config, chains, left, None)
            moved = before.adapt.quarantine.reseeded
            adapt = state.adapt
            quarantine = adapt.quarantine._replace(reseeded=moved)
            self.state = state._replace(adapt=adapt._replace(quarantine=quarantine))
            self.bend, self.tuned_from = bend, done

    @property
    def sampled(self) -> Target:
        """The target in the coordinates of the state."""
        return self.target if self.bend is None else bent_by(self.target, self.bend)

    def _reported(self) -> tuple[jax.Array, jax.Array]:
        """Where chains are, and log densities there, in the target's coordinates."""
        return reported(self.sampled, self.state.chains.x, self.state.chains.logp)

    def draw(self, interrupt: Interrupt) -> None:
        """Sample with what was learnt, until the goal is reached, a limit met, or Ctrl-C."""
        watch = self.sampling.watch = self.sampling.watch or self.new_watch()
        if self.rule is None and not interrupt.requested:
            self.buffer = cores.drawing(self.sampled, self.config, self.state, self.buffer)
        while self.rule is None and not interrupt.requested:
            look_at = self.goal.next_look(self.looked, self.least)
            pace = self.pace if self.sampling.done < self.least else self.between
            late = False
            for size in pace.stretches(self.sampling, look_at, interrupt):
                self._advance("sampling", self.sampling, size)
                late = self.goal.out_of_time(self._progress())
                if late:
                    look_at = min(look_at, self.least)  # from where on any look counts
                    break
            if self.sampling.done >= look_at:  # not so after Ctrl-C
                self.looked = self.sampling.done
                self.rule = self.goal.rule(self._progress(), watch.asked())
            if late and self.rule is None:
                self.rule = "max_seconds"
        self.clock.append(time.monotonic())

    def new_watch(self) -> Watch:
        """Over draws that are to come."""
        named = self.keep == "moments"
        return Watch(
            self.target,
            self.config,
            self.state,
            self.superchains,
            named,
            self.functions,
            self.bend,
        )

    def _advance(self, phase: str, recorder: Recorder, size: int) -> None:
        self.state = advance(self.sampled, self.config, self.state, recorder, size, self.buffer)
        self._after_stretch(phase, recorder)

    def _after_stretch(self, phase: str, recorder: Recorder) -> None:
        done = self.warming.done + self.sampling.done
        self.bar.show(done, lambda: self._snapshot(phase, recorder))
        self.keeper.after_stretch(self)

    def seconds(self) -> tuple[float, float]:
        """Of warm-up and of sampling, so far."""
        began, *ends = self.clock
        warm, end = (*ends, time.monotonic(), time.monotonic())[:2]
        return warm - began, end - warm

    def result(self) -> Run:
        """All of it, for the user."""
        warming, sampling, watch = self.warming, self.sampling, self.sampling.watch
        assert watch is not None
        seconds = self.seconds()
        stopped = Stopped(self.rule or "interrupted", sampling.done, sampling.gradients, seconds[1])
        return Run(
            target=self.target,
            config=self.config,
            unconstrained=sampling.kept.x,
            stats=sampling.kept.stats(),
            warmup_stats=warming.kept.stats(),
            tuning=self._tuning(),
            num_gradients=(warming.gradients, sampling.gradients),
            findings=findings.find(self._facts(stopped)),
            interrupted=self.rule is None,
            seconds=seconds,
            stopped=stopped,
            superchains=self.superchains,
            keep=self.keep,
            state=self.state,
            watch=watch,
            scalar=sampling.kept.scalar if watch.has_scalar else None,
        )

    def _tuning(self) -> Tuning:
        unlearnt = self.tuned and self.warming.done == 0
        metric = self.config.adapt.metric
        choice = "as given" if unlearnt else metric.describe(self.state.adapt.metric)
        if self.bend is not None:
            choice += f"; in units of widths that follow {self._names(self.bend.pivots)}"
            if self.bend.anchors.size:
                choice += f", from centres that move with {self._names(self.bend.anchors)}"
        return Tuning.of(sampler.learnt(self.config, self.state), choice, self.bend)

    def _names(self, places: np.ndarray) -> str:
        names = [self.target.coordinate_name(int(place)) for place in places]
        others = f" and {len(names) - NAMED} others" if len(names) > NAMED else ""
        return f"{', '.join(names[:NAMED])}{others}"

    def _progress(self) -> Progress:
        elapsed = time.monotonic() - self.clock[1]
        return Progress(self.sampling.done, self.sampling.gradients, elapsed)

    def _snapshot(self, phase: str, now: Recorder) -> Snapshot:
        last = now.last
        judged = None if now.watch is None else now.watch.asked()
        return Snapshot(
            phase,
            self.warming.done + self.sampling.done,
            float(last.step_size),
            last.leapfrogs,
            last.acceptance,
            int(now.diverging.sum()),
            None if judged is None else judged.worst()[0],
            judged is not None and judged.nested,
        )

    def _facts(self, stopped: Stopped) -> findings.Facts:
        """The plain numbers that findings are made of."""
        warming, sampling, state, config = self.warming, self.sampling, self.state, self.config
        draws = max(sampling.done, 1)
        x, logp = map(np.asarray, self._reported())
        watch = sampling.watch
        mixing = None if watch is None else watch.coordinates()
        asked = None if watch is None or self.functions is None else watch.asked()
        bound = None if watch is None else watch.bound(sampling.kept.scalar)
        return findings.Facts(
            num_chains=logp.size,
            num_replaced=self.num_replaced,
            replaced_for=self.replaced_for,
            target_accept=config.adapt.step_size.target,
            max_leapfrog=config.max_leapfrog,
            tuned=self.tuned,
            warmup_wanted=warming.wanted,
            warmup_done=warming.done,
            draws_wanted=sampling.wanted,
            draws_done=sampling.done,
            interrupted=stopped.rule == "interrupted",
            reseeded=np.asarray(state.adapt.quarantine.reseeded),
            warmup_step_size=warming.kept.trace("step_size")[self.tuned_from :],
            warmup_length=warming.kept.trace("mean_trajectory_length")[self.tuned_from :],
            warmup_cap=int(sampler.last_cap(config, state)),
            unusable=_unusable(warming.kept.trace("criterion")[self.tuned_from :]),
            warmup_diverging=int(warming.diverging.sum()),
            accept_prob=sampling.accept_prob / draws,
            accepted=sampling.accepted,
            diverging=sampling.diverging,
            capped=sampling.capped,
            lp=sampling.lp / draws,
            resolution=float(np.median(np.finfo(logp.dtype).eps * np.abs(logp))),
            one_start=self.one_start,
            held_short=bool(sampler.is_held_short(config, state)),
            flat=self._flat(),
            outward=_outward(state),
            ends=x,
            mixing=mixing,
            asked=asked,
            converged=stopped.rule == "converged",
            limit=_limit(self.goal, stopped),
            tightness=bound.tightness if isinstance(bound, certificate.Bound) else float("nan"),
            at_bounds=self._at_bounds(x),
            unexplained=self._unexplained(x),
            energy=self._energy(),
        )

    def _energy(self) -> Energy | None:
        """Where it changes too little, and all draws are kept."""
        kept = self.sampling.kept
        return energy(kept.stats()["energy"], kept.x) if kept.x.shape[1] else None

    def _at_bounds(self, ends: np.ndarray) -> dict[str, float]:
        """Of all draws that are kept, or of where chains are."""
        x = self.sampling.kept.x
        try:
            return at_bounds(self.target, x.reshape(-1, x.shape[-1]) if x.shape[1] else ends)
        except NotAtHand:  # a run that is only looked at
            return {}

    def _unexplained(self, ends: np.ndarray) -> np.ndarray:
        """What gradients leave unexplained, next to where chains are after their draws."""
        try:
            return unexplained(self.target, ends) if self.sampling.done else np.zeros(0)
        except (NotAtHand, jax.errors.JaxRuntimeError):  # a run is worth more than a finding
            return np.zeros(0)

    def _flat(self) -> np.ndarray:
        """Which coordinates no chain felt a gradient in, where it began and where it ended."""
        both = np.concatenate([self.began.chains.grad, self.state.chains.grad])
        return np.all(both == 0.0, axis=0)


def _outward(state: State) -> np.ndarray:
    """Share of chains that are pulled away from the middle of all, in each coordinate.

    Under a proper density the mean of (x - m) times the gradient is -1 for any m.
    """
    x, grad = np.asarray(state.chains.x, float), np.asarray(state.chains.grad)  # x + x may overflow
    return np.mean(np.sign(x - np.median(x, axis=0)) * np.sign(grad) > 0, axis=0)


def _unusable(criterion: np.ndarray) -> float:
    """Share of a trace that is zero or not finite."""
    return float(np.mean(~np.isfinite(criterion) | (criterion == 0))) if criterion.size else 0.0


def _limit(goal: Count | Until, stopped: Stopped) -> str | None:
    """What sampling ran into before it converged, and what it was asked for; None where a limit is
    all that it was asked for.
    """
    if not isinstance(goal, Until) or not stopped.rule.startswith("max_"):
        return None
    asked = {"rhat": goal.rhat, "ess": goal.ess}
    wanted = " and ".join(f"{name}={value}" for name, value in asked.items() if value is not None)
    return f"{stopped.rule}={getattr(goal, stopped.rule)} before {wanted}" if wanted else None

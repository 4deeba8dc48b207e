"""Sentences about what went wrong in a run, each with a next step. A good run has none."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from . import certificate
from .energy import USUAL, Energy
from .judged import Judged

FEW_CHAINS = 16
APART = 1.2  # the R-hat above which chains that had time enough disagree
TIME_ENOUGH = 100  # draws
SHORT_WARMUP = 50
ENOUGH_TO_MOVE = 20  # draws in which a good chain moves, even among thousands
UNHEARD_OF = 1e20  # a log density
OUTWARD = 0.85  # the share of chains pulled outward that no proper density comes near,
ENOUGH_OUTWARD = 64  # among so many: once in 1e9, if each is as likely to be pulled inward


@dataclass(frozen=True)
class Finding:
    """One thing the user should know. `topic` is a stable word for programs, `sentence` is for
    people.
    """

    topic: str
    sentence: str
    severity: Literal["trouble", "note"] = "trouble"  # a note is of what cannot be told

    def __str__(self) -> str:
        return self.sentence


def _none() -> np.ndarray:
    return np.zeros(0)


@dataclass(frozen=True)
class Facts:
    """What findings are made of: plain numbers of a finished run."""

    num_chains: int
    num_replaced: int  # starting points
    target_accept: float | None  # None where the step size was held
    max_leapfrog: int
    tuned: bool  # began with given values
    warmup_wanted: int
    warmup_done: int
    draws_wanted: int
    draws_done: int
    interrupted: bool
    reseeded: np.ndarray  # per chain
    warmup_step_size: np.ndarray
    warmup_length: np.ndarray
    accept_prob: np.ndarray  # per chain, mean over sampling
    accepted: np.ndarray  # per chain, count in sampling
    diverging: np.ndarray
    capped: int
    lp: np.ndarray  # per chain, mean over sampling
    resolution: float  # of the log density, in its own units
    replaced_for: str = ""  # what was wrong with the first of them
    one_start: bool = False  # shared by all chains
    held_short: bool = False  # steps, by the trajectory's length and not by acceptance
    flat: np.ndarray = field(default_factory=_none)  # which coordinates no chain felt a gradient in
    outward: np.ndarray = field(default_factory=_none)  # share of chains pulled so, per coordinate
    ends: np.ndarray = field(default_factory=_none)  # where chains stand at last, [chain, dim]
    mixing: Judged | None = None  # how chains compare in all coordinates
    asked: Judged | None = None  # and in functions, if these decide when to stop
    converged: bool = False  # so that sampling stopped
    limit: str | None = None  # what sampling ran into before it converged
    warmup_cap: float = float("inf")  # on leapfrog steps, at the end of warm-up
    unusable: float = 0.0  # share of warm-up in which the criterion was zero or not finite
    warmup_diverging: int = 0  # transitions of all chains
    tightness: float = float("nan")  # of the criterion's bound, where that can be told
    energy: Energy | None = None  # where it changes too little


def find(facts: Facts) -> list[Finding]:
    """All findings of a run, most basic first."""
    return [*_before(facts), *_warmup(facts), *(_sampling(facts) if facts.draws_done else ())]


def _before(facts: Facts) -> Iterator[Finding]:
    if facts.interrupted:
        yield Finding(
            "interrupted",
            f"Interrupted after {facts.warmup_done} of {facts.warmup_wanted} warm-up transitions "
            f"and {facts.draws_done} of {facts.draws_wanted} draws: the results hold what was "
            "drawn until then.",
        )
    if facts.num_replaced:
        yield Finding(
            "starts",
            f"{facts.num_replaced} of {facts.num_chains} starting points were replaced, since for "
            f"the first {facts.replaced_for}: give init= points inside the support, or mend the "
            "log density there, if that is unexpected.",
        )
    if facts.num_chains < FEW_CHAINS:
        chance, least = "", ""
        if facts.converged:
            chance, least = (
                ", and they may have agreed by chance when sampling stopped",
                " and draws=",
            )
        yield Finding(
            "few-chains",
            f"With {facts.num_chains} chain{'s' if facts.num_chains > 1 else ''} adaptation learns "
            f"more slowly{chance}: use {FEW_CHAINS} or more, or a longer warmup={least}.",
        )
    if facts.one_start and facts.num_chains > 1 and facts.draws_done:
        yield Finding(
            "one-start",
            f"All {facts.num_chains} chains began at one point, so R-hat cannot tell whether that "
            "start is forgotten: use dispersed starts (init=None) or superchains= to see it.",
            "note",
        )


def _warmup(facts: Facts) -> Iterator[Finding]:
    moved = int(np.count_nonzero(facts.reseeded))
    if moved:
        yield Finding(
            "reseeded",
            f"{moved} of {facts.num_chains} chains ({_names(facts.reseeded > 0)}) were lost "
            "outside the bulk during warm-up and restarted from others: check for a second mode "
            "or a badly scaled start.",
        )
    if facts.interrupted and not facts.draws_done:
        return
    if facts.warmup_wanted == 0:
        if not facts.tuned:
            yield Finding(
                "no-warmup",
                "warmup=0 without tuning= samples with untuned step size and trajectory length: "
                "pass tuning= of an earlier run.",
            )
        return
    if facts.warmup_done < SHORT_WARMUP:
        yield Finding(
            "short-warmup",
            f"A warm-up of {facts.warmup_done} transitions is too short to learn anything: use"
            " warmup=500 or more.",
        )
        return
    if facts.unusable > 0.1:
        yield Finding(
            "criterion",
            f"The criterion was zero or not finite in {facts.unusable:.0%} of warm-up, so the "
            "trajectory length was not learnt: check criterion=, or the scale of the parameters.",
        )
    step_size, length = facts.warmup_step_size[-1], facts.warmup_length[-1]
    if not (0.0 < step_size < np.inf and 0.0 < length < np.inf):
        yield Finding(
            "overflow",
            f"Warm-up ended with a step size of {step_size:g} and a trajectory length of "
            f"{length:g}, since squares of positions or gradients overflowed: begin nearer to the "
            "bulk, rescale the parameters, or switch JAX to float64 (jax_enable_x64).",
        )
        return
    last = max(facts.warmup_done // 20, 1)
    steps = facts.warmup_length[-last:].mean() / facts.warmup_step_size[-last:].mean()
    if facts.warmup_cap < facts.max_leapfrog and steps > 0.8 * facts.warmup_cap:
        yield Finding(
            "held-back",
            f"Trajectories were held back by the cap on leapfrog steps, which grows with warm-up "
            f"and was {facts.warmup_cap:.0f} at its end: use a longer warmup=.",
        )
    for name, trace in (
        ("step size", facts.warmup_step_size),
        ("trajectory length", facts.warmup_length),
    ):
        change = max(_late_change(trace), 1.0 / _late_change(trace))
        if change > 1.5:
            yield Finding(
                "not-settled",
                f"The {name} still changed by a factor of {change:.1f} late in warm-up "
                f"({facts.warmup_done} transitions): use a longer warmup=.",
            )


def _sampling(facts: Facts) -> Iterator[Finding]:
    total = facts.num_chains * facts.draws_done
    divergences = int(facts.diverging.sum())
    if divergences > 0.001 * total:
        yield Finding(
            "divergences",
            f"{divergences} of {total} transitions ({divergences / total:.1%}) diverged or left "
            "the support, so regions of high curvature or its edges are missed: reparameterise the "
            "model, give constraints= for its bounds, or raise target_accept=.",
        )
    if facts.capped > 0.01 * facts.draws_done:
        yield Finding(
            "leapfrog-cap",
            f"{facts.capped} of {facts.draws_done} transitions reached the cap of "
            f"{facts.max_leapfrog} leapfrog steps: rescale or reparameterise the model, or raise "
            "max_leapfrog=.",
        )
    enough = facts.draws_done >= ENOUGH_TO_MOVE
    stuck = (facts.accepted < 0.01 * facts.draws_done) & enough
    if stuck.any():
        yield Finding(
            "stuck",
            f"{int(stuck.sum())} of {facts.num_chains} chains ({_names(stuck)}) hardly moved "
            f"while sampling, where the log density is about {np.median(facts.lp[stuck]):.3g}: do "
            "not use their draws, and look at the log density around them.",
        )
    outside = _outside(facts.lp) & ~stuck
    if outside.any():
        yield Finding(
            "outside",
            f"{int(outside.sum())} of {facts.num_chains} chains ({_names(outside)}) stayed far "
            "below the others in log density: use a longer warmup=, or starts nearer to the bulk.",
        )
    yield from _acceptance(facts, stuck)
    if facts.mixing is not None:
        yield from _mixing(facts, facts.mixing, stuck)
    height = float(np.median(facts.lp))
    if height > UNHEARD_OF:
        yield Finding(
            "unbounded",
            f"The log density is about {height:.2g} where chains are, so it seems to grow without "
            "bound: check its sign, and give every parameter a proper prior.",
        )
    elif facts.resolution > 0.1:
        yield Finding(
            "precision",
            f"The log density is so large that its last digit is worth {facts.resolution:.2g}, "
            "too coarse for acceptance: subtract a constant from it, or switch JAX to float64 "
            "(jax_enable_x64).",
        )


def _acceptance(facts: Facts, stuck: np.ndarray) -> Iterator[Finding]:
    wanted = facts.target_accept
    if wanted is None or stuck.all():
        return
    acceptance = float(facts.accept_prob[~stuck].mean())
    if wanted - 0.15 <= acceptance <= 1 - 0.1 * (1 - wanted):
        return
    if acceptance > wanted and facts.held_short:
        return
    said = f"Mean acceptance was {acceptance:.2f} where {wanted:g} or a little more was wanted"
    if acceptance > wanted and facts.warmup_done >= SHORT_WARMUP and not _growing(facts):
        # The harmonic mean: few chains that fail altogether outweigh all that do not.
        total = facts.num_chains * facts.warmup_done
        step_size = np.median(facts.warmup_step_size[-15:])  # of which a few are of kicks on trial
        yield Finding(
            "acceptance",
            f"{said}: few transitions that fail altogether ({facts.warmup_diverging} of {total} "
            "diverged or left the support in warm-up) keep the step size at "
            f"{step_size:.2g}; reparameterise the model, or give constraints= for "
            "the bounds of parameters.",
        )
    else:
        yield Finding("acceptance", f"{said}: the step size has not settled; use a longer warmup=.")


def _mixing(facts: Facts, mixing: Judged, stuck: np.ndarray) -> Iterator[Finding]:
    if facts.draws_done >= ENOUGH_TO_MOVE:
        constant = _constant(mixing, stuck, "how the log density depends on it, and its scale")
        if constant is None and facts.asked is not None:
            constant = _constant(facts.asked, stuck, "of=, or ask for what changes more often")
        if constant is not None:
            yield constant
    yield from _held_by_nothing(facts, mixing)
    rhat, worst = mixing.worst()
    if facts.limit is not None:
        state = _state(facts.asked or mixing)
        yield Finding("limit", f"Sampling ran into {facts.limit}: {state}.")
    elif mixing.num_draws >= TIME_ENOUGH and rhat > APART:
        yield Finding(
            "not-mixed",
            f"The {mixing.kind} of {worst} is {rhat:.3g} after {mixing.num_draws} draws, and "
            f"chains stand at {_range(facts.ends, mixing.worst_index())}: look for separate modes, "
            "or a direction that the log density hardly depends on, or draw more.",
        )
    elif mixing.num_draws >= TIME_ENOUGH and np.isnan(rhat) and not mixing.worst_is_constant():
        yield Finding(
            "overflow",
            f"{worst} overflowed or was not finite, so that it has no {mixing.kind}, and chains "
            f"stand at {_range(facts.ends, mixing.worst_index())}: check its scale, and give it a "
            "prior if it has none.",
        )
    if facts.energy is not None:
        name = mixing.name(facts.energy.coordinate)
        yield Finding(
            "energy",
            f"The energy changes little from draw to draw (E-BFMI {facts.energy.information:.2g}, "
            f"where {USUAL:g} and more is usual), as if {name} ruled the width of other "
            "parameters, so that its extremes are missed: write those as multiples of it (a "
            "non-centred form).",
        )
    if facts.tightness < certificate.TIGHT:
        yield Finding(
            "loose-bound",
            "The scalar that trajectories were tuned for has an effective sample size of "
            f"only {facts.tightness:.0%} of its bound ({certificate.TIGHT:.0%} and more is usual), "
            "so the trajectory length may be far from the best: reparameterise the model, or "
            "compare criterion='chees_rate'.",
        )


def _held_by_nothing(facts: Facts, mixing: Judged) -> Iterator[Finding]:
    """Coordinates that the log density leaves alone, or drives away."""
    flat = np.flatnonzero(facts.flat)
    if flat.size:
        names = ", ".join(mixing.name(int(i)) for i in flat[:3])
        yield Finding(
            "flat",
            f"The gradient with respect to {names}{', ...' if flat.size > 3 else ''} is zero where "
            "chains began and where they ended, so nothing leads them there: check that the log "
            "density depends on it smoothly, and give it a prior.",
        )
    if facts.num_chains >= ENOUGH_OUTWARD and np.any(facts.outward >= OUTWARD):
        worst = int(np.argmax(facts.outward))
        yield Finding(
            "unbounded",
            f"The log density grows outward along {mixing.name(worst)} in "
            f"{facts.outward[worst]:.0%} of chains, which stand at {_range(facts.ends, worst)}: "
            "it may have no maximum, so check its sign, and the prior.",
        )


def _range(ends: np.ndarray, coordinate: int) -> str:
    values = ends[:, coordinate]
    return f"{values.min():.3g} to {values.max():.3g}"


def _constant(judged: Judged, stuck: np.ndarray, check: str) -> Finding | None:
    """What never changed in a chain that moved."""
    constant = judged.constant & ~stuck[:, None]
    if judged.num_draws < 2 or not constant.any():
        return None
    names = [judged.name(int(i)) for i in np.flatnonzero(np.any(constant, axis=0))[:3]]
    chains = np.asarray(np.any(constant, axis=1))
    return Finding(
        "constant",
        f"{', '.join(names)} never changed in {int(chains.sum())} of {chains.size} chains "
        f"({_names(chains)}), which leaves no effective draws: check {check}.",
    )


def _state(judged: Judged) -> str:
    """Where a run stands that was to converge, and what to do."""
    rhat, worst = judged.worst()
    ess, least = judged.least()
    draws = f"{judged.num_draws} draw{'s' if judged.num_draws > 1 else ''}"
    if np.isnan(rhat) and judged.num_draws < 3:
        return f"R-hat cannot be told of {draws}; raise the limit, or lower thin="
    if np.isnan(rhat):
        never = "never changed" if judged.worst_is_constant() else "overflowed or was not finite"
        return (
            f"after {draws} {worst} has no {judged.kind}, since it {never}; check how it is "
            "computed, and its scale"
        )
    return (
        f"after {draws} the {judged.kind} of {worst} is {rhat:.3g} and the least effective sample "
        f"size, of {least}, is {ess:.0f}; look for separate modes, use a longer warmup=, or raise "
        "the limit"
    )


def _late_change(trace: np.ndarray) -> float:
    """Factor from the third quarter of a trace to the last."""
    quarter = trace.size // 4
    logs = np.log(trace.astype(float))
    return float(np.exp(logs[-quarter:].mean() - logs[-2 * quarter : -quarter].mean()))


def _growing(facts: Facts) -> bool:
    """Whether the step size still was, late in warm-up."""
    return _late_change(facts.warmup_step_size) > 1.1


def _outside(lp: np.ndarray) -> np.ndarray:
    """Chains whose mean log density is far below the median chain's."""
    lp = np.clip(lp.astype(float), -1e300, 1e300)  # a density without bound may overflow
    below = np.median(lp) - lp
    return below > 10.0 + 30.0 * np.median(np.abs(below))


def _names(which: np.ndarray) -> str:
    """Numbers of the chains marked, abbreviated."""
    numbers = np.flatnonzero(which)
    text = ", ".join(str(number) for number in numbers[:6])
    more = ", ..." if numbers.size > 6 else ""
    return f"number{'s' if numbers.size > 1 else ''} {text}{more}"

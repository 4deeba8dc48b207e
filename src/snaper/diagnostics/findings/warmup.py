"""Whether warm-up could learn anything, and has."""

from collections.abc import Iterator

import numpy as np

from .facts import Facts
from .finding import Finding

SHORT_WARMUP = 50


def learnt(facts: Facts) -> Iterator[Finding]:
    """What was not, and why."""
    if facts.interrupted and not facts.draws_done:
        return
    if facts.warmup_wanted == 0:
        yield from _no_warmup(facts)
    elif facts.warmup_done < SHORT_WARMUP:
        yield Finding(
            "short-warmup",
            f"A warm-up of {facts.warmup_done} transitions is too short to learn anything: use"
            " warmup=500 or more.",
        )
    else:
        yield from _criterion(facts)
        yield from _step_size_and_length(facts)


def step_size_settled(facts: Facts) -> bool:
    """Whether warm-up was long enough for the step size to stop growing."""
    return facts.warmup_done >= SHORT_WARMUP and not _late_change(facts.warmup_step_size) > 1.1


def _no_warmup(facts: Facts) -> Iterator[Finding]:
    if not facts.tuned:
        yield Finding(
            "no-warmup",
            "warmup=0 without tuning= samples with untuned step size and trajectory length: "
            "pass tuning= of an earlier run.",
        )


def _criterion(facts: Facts) -> Iterator[Finding]:
    if facts.unusable > 0.1:
        yield Finding(
            "criterion",
            f"The criterion was zero or not finite in {facts.unusable:.0%} of warm-up, so the "
            "trajectory length was not learnt: check criterion=, or the scale of the parameters.",
        )


def _step_size_and_length(facts: Facts) -> Iterator[Finding]:
    step_size, length = facts.warmup_step_size[-1], facts.warmup_length[-1]
    if not (0.0 < step_size < np.inf and 0.0 < length < np.inf):
        yield Finding(
            "overflow",
            f"Warm-up ended with a step size of {step_size:g} and a trajectory length of "
            f"{length:g}, since squares of positions or gradients overflowed: begin nearer to the "
            "bulk, rescale the parameters, or switch JAX to float64 (jax_enable_x64).",
        )
    else:
        yield from _held_back(facts)
        yield from _not_settled(facts)


def _held_back(facts: Facts) -> Iterator[Finding]:
    last = max(facts.warmup_done // 20, 1)
    steps = facts.warmup_length[-last:].mean() / facts.warmup_step_size[-last:].mean()
    if facts.warmup_cap < facts.max_leapfrog and steps > 0.8 * facts.warmup_cap:
        yield Finding(
            "held-back",
            f"Trajectories were held back by the cap on leapfrog steps, which grows with warm-up "
            f"and was {facts.warmup_cap:.0f} at its end: use a longer warmup=.",
        )


def _not_settled(facts: Facts) -> Iterator[Finding]:
    for name, trace in (
        ("step size", facts.warmup_step_size),
        ("trajectory length", facts.warmup_length),
    ):
        factor = _late_change(trace)
        change = max(factor, 1.0 / factor)
        if change > 1.5:
            yield Finding(
                "not-settled",
                f"The {name} still changed by a factor of {change:.1f} late in warm-up "
                f"({facts.warmup_done} transitions): use a longer warmup=.",
            )


def _late_change(trace: np.ndarray) -> float:
    """Factor from the third quarter of a trace to the last."""
    quarter = trace.size // 4
    logs = np.log(trace.astype(float))
    return float(np.exp(logs[-quarter:].mean() - logs[-2 * quarter : -quarter].mean()))

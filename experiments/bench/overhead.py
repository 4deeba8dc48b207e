"""Time of warm-up and of sampling against the time of their gradients alone."""

import jax
import numpy as np

import snaper
from snaper import Run, targets

from .problems import start
from .timing import ROUNDS, Bare, in_turn

# What is asked for: the default, and what is nearer to the paper: longer trajectories.
SAMPLERS = {
    "default": {},
    "snaper": {"criterion": "snaper", "metric": "diagonal"},
}
COORDINATES = {"default": "auto", "snaper": "given"}
MOST = {"warm-up": 1000, "sampling": 2000}  # transitions of a timed phase


def measure(problem: str, chains: int, sampler: str = "default", budget: float = 4.0) -> dict:
    """Ideal over actual of both phases, from phases of about `budget` seconds each.

    The ideal of a transition of l steps is l - 1 bare gradients and one of the density with its
    gradient, each as fast as in a loop of known length; the actual is what `sample` takes, from the
    first transition of a phase to draws in the host's memory.
    """
    target = targets.get(problem)
    x = start(problem, chains)
    size = {"chains": chains, "progress": False, "coordinates": COORDINATES[sampler]}
    size |= SAMPLERS[sampler]
    per_gradient = Bare(target, x).gradient()
    affordable = int(np.clip(2 * budget / (20 * per_gradient), 60, MOST["warm-up"]))
    tuned = snaper.sample(target, warmup=affordable, draws=20, init=x, seed=1, **size)
    here = tuned.unconstrained[:, -1]
    bare = Bare(target, jax.numpy.asarray(here))
    rows = {}
    for phase in ("warm-up", "sampling"):

        def run(count: int, phase: str = phase) -> Run:
            if phase == "warm-up":
                return snaper.sample(target, warmup=count, draws=0, init=x, seed=2, **size)
            given = {"init": here, "tuning": tuned.tuning}
            return snaper.sample(target, warmup=0, draws=count, seed=2, **given, **size)

        rows[phase] = _phase(run, phase, bare, budget)
    return {
        "problem": problem,
        "chains": chains,
        "sampler": sampler,
        "dim": target.dim,
        "metric": tuned.tuning.choice.split(":")[0].split(",")[0],
        **rows,
    }


def _phase(run, phase: str, bare: Bare, budget: float) -> dict:
    which = 0 if phase == "warm-up" else 1
    count = 60
    run(count)  # compiles
    while True:  # as many transitions as there is time for
        took = run(count).seconds[which]
        if took > 0.4 * budget or count == MOST[phase]:
            break
        count = int(min(count * np.clip(0.8 * budget / took, 1.2, 8), MOST[phase]))
    lengths: list[np.ndarray] = []

    def actual() -> float:
        found = run(count)
        stats = found.warmup_stats if which == 0 else found.stats
        lengths.append(stats["n_steps"][0])
        return found.seconds[which]

    times = in_turn(bare.gradient, actual, bare.both, rounds=ROUNDS)
    steps = lengths[0].astype(float)
    ideal = np.sum(steps - 1) * times[:, 0] + steps.size * times[:, 2]
    return {
        "transitions": count,
        "gradients": int(steps.sum()),
        "gradient_seconds": float(np.median(times[:, 0])),
        "both_seconds": float(np.median(times[:, 2])),
        "seconds": float(np.median(times[:, 1])),
        "ratios": [float(ratio) for ratio in ideal / times[:, 1]],
        "best": float(np.sum(steps - 1) * times[:, 0].min() + steps.size * times[:, 2].min())
        / float(times[:, 1].min()),
    }

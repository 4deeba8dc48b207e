"""What learning the metric costs, of a whole run."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import snaper
from snaper import chunk, config, sampler
from snaper.config import Config
from snaper.lapack import one_thread

from . import problems
from .timing import in_turn, seconds

BUDGET = 30.0  # seconds
ROUNDS = (4, 40)


@dataclass(frozen=True)
class Twice:
    """A learner of metrics that does all its work twice, one after the other, and uses it once."""

    learner: Any

    def init(self, *args):
        return self.learner.init(*args), self.learner.init(*args)

    def update(self, states, *args):
        return _in_turn(states, lambda state: self.learner.update(state, *args))

    def due(self, *args):
        return self.learner.due(*args)

    def renew(self, states, *args):
        return _in_turn(states, lambda state: self.learner.renew(state, *args))

    def value(self, states, *args):
        return self.learner.value(states[0], *args)

    def width(self, *args):
        return self.learner.width(*args)


def _in_turn(states: tuple, work: Callable) -> tuple:
    """The second waits for the first, of which it takes nothing: operations that do not need each
    other may run beside each other on a GPU, and would seem to cost nothing.
    """
    first = work(states[0])
    done = sum(jnp.sum(leaf) for leaf in jax.tree.leaves(first)) > -jnp.inf
    after = jax.tree.map(lambda leaf: jnp.where(done, leaf, jnp.zeros_like(leaf)), states[1])
    return first, work(after)


def measure(problem: str, chains: int, warmup: int = 1000, draws: int = 1000) -> dict:
    """Seconds of a call, from beginning to result; and of its warm-up alone, as it is and with all
    that the metric's learner does done twice. What the two differ by is its share: of the fastest
    rounds, since what a machine does besides only adds.
    """
    target, chosen = problems.target(problem), config.default()
    twice = replace(chosen, adapt=replace(chosen.adapt, metric=Twice(chosen.adapt.metric)))
    sizes = {"chains": chains, "warmup": warmup, "draws": draws, "progress": False}
    sizes["coordinates"] = "given"  # as the timed warm-ups have them
    x = problems.start(problem, chains)

    def run() -> snaper.Run:
        return snaper.sample(target, init=x, seed=1, **sizes)

    run()
    calls = [partial(_warm_up, target, each, jnp.asarray(x), warmup) for each in (chosen, twice)]
    gradients = [int(call().gradients) for call in calls]
    if len({*gradients}) > 1:
        raise RuntimeError(f"{problem} took {gradients} gradients: the two are not the same run.")
    timed = [partial(seconds, call) for call in (run, *calls)]
    rounds = int(np.clip(BUDGET / sum(call() for call in timed), *ROUNDS))
    whole, once, again = in_turn(*timed, rounds=rounds).T
    return {
        "problem": problem,
        "chains": chains,
        "dim": target.dim,
        "transitions": [warmup, draws],
        "run_seconds": whole.tolist(),
        "warmup_seconds": once.tolist(),
        "twice_seconds": again.tolist(),
        "warmup_gradients": gradients,
        "in_turn": True,
        "share": float((again.min() - once.min()) / whole.min()),
    }


def _warm_up(target: snaper.Target, chosen: Config, x: jax.Array, count: int) -> chunk.Tally:
    """All of it, of which one transition is recorded."""
    state = sampler.init(jax.random.key(1), target, chosen, x, count)
    record = chunk.empty(target, chosen, state, count)
    with one_thread():  # as in a run
        return jax.block_until_ready(
            chunk.compiled(state)(target, chosen, state, record, 0, count, count)[2]
        )

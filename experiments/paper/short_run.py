"""Gradients until R-hat falls below 1.01 after a short warm-up."""

import jax
import jax.numpy as jnp
import numpy as np

from snaper.diagnostics import stream

from .batch import SLOTS, Batch
from .problems import CHAINS, Problem
from .rhat import classic
from .settings import Setting

THRESHOLD = 1.01
MAX_DRAWS = 30_000
# Five times what most seeds take.
FEWER_DRAWS: dict[str | Problem, int] = {"stochastic-volatility": 10_000}
ENOUGH = 0.95  # of the seeds,
LONGER = 1.5  # and so many times the draws that they took; others are counted as not there yet
RULES = ("classic", "split")


def measure(
    problem: str | Problem,
    setting: Setting,
    seeds: range,
    warmup: int,
    max_draws: int | None = None,
) -> dict[str, np.ndarray]:
    """One number per seed, by name; -1 where R-hat was still above the threshold at the end."""
    max_draws = max_draws or FEWER_DRAWS.get(problem, MAX_DRAWS)
    batch = Batch(problem, setting, seeds, warmup, short=True)
    warming = batch.warm_up()
    centre = batch.centre
    watched = jax.vmap(stream.init)(batch.states.chains.x)
    gradients = np.zeros(len(seeds), int)
    stopped = {
        f"{kind}_{rule}": np.full(len(seeds), -1)
        for kind in ("gradients", "draws")
        for rule in RULES
    }
    draws, waiting = 0, True
    while draws < max_draws:
        draws += SLOTS
        record, tally = batch.draw()
        gradients += np.asarray(tally.gradients)
        watched, found = _look(watched, record.x, centre)
        for rule, rhat in zip(RULES, found, strict=True):
            now = (stopped[f"draws_{rule}"] < 0) & (np.asarray(rhat) < THRESHOLD)
            stopped[f"draws_{rule}"][now] = draws
            stopped[f"gradients_{rule}"][now] = gradients[now]
        done = np.array([stopped[f"draws_{rule}"] > 0 for rule in RULES])
        if np.all(done):
            break
        if waiting and np.all(np.mean(done, axis=1) >= ENOUGH):
            waiting, max_draws = False, min(max_draws, int(LONGER * draws))
    return {"warmup_gradients": np.asarray(warming.gradients), **stopped}


@jax.jit
def _look(watched, x, centres):
    """The largest R-hat of each seed, by each rule, with the draws x [seed, slot, chain, dim]."""

    def one(watched, x, centre):
        watched, _ = stream.update(watched, x, SLOTS, centre, centre, scalar=stream.nobody)
        look = stream.look(watched, centre, superchains=CHAINS)
        count = look.num_draws.astype(x.dtype)
        excess = look.nested_rhat**2 - 1.0  # variance of the means over the variance within
        largest = classic(excess, CHAINS, count)
        return watched, (jnp.max(largest), jnp.max(look.rhat))

    return jax.vmap(one)(watched, x, centres)

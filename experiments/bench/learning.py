"""What learning the metric costs, of a whole run."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

import snaper
from snaper import chunk, config, targets
from snaper.config import Config
from snaper.sampler import State
from snaper.when import when

from .problems import start
from .timing import in_turn, seconds


def measure(problem: str, chains: int, warmup: int = 1000, draws: int = 1000) -> dict:
    """Seconds of a call, from beginning to result, and of its metric's updates alone: all of
    warm-up's, each at its number, from the chains as they stand at last.
    """
    target, chosen = targets.get(problem), config.default()
    sizes = {"chains": chains, "warmup": warmup, "draws": draws, "progress": False}
    x = start(problem, chains)

    def run() -> snaper.Run:
        return snaper.sample(target, init=x, seed=1, **sizes)

    state = run().state
    options = chunk.COMMAND_BUFFERS if jax.default_backend() == "gpu" else None  # as in a run
    compiled = jax.jit(_updates, static_argnums=0, compiler_options=options)
    updates = partial(compiled, chosen, state, warmup)
    jax.block_until_ready(updates())
    times = in_turn(partial(seconds, run), partial(seconds, updates), rounds=3)
    return {
        "problem": problem,
        "chains": chains,
        "dim": target.dim,
        "transitions": [warmup, draws],
        "run_seconds": [float(value) for value in times[:, 0]],
        "metric_seconds": [float(value) for value in times[:, 1]],
        "share": float(np.median(times[:, 1] / times[:, 0])),
    }


def _updates(chosen: Config, state: State, count: int):
    adapt, chains = state.adapt, state.chains
    weight = jnp.ones_like(chains.logp)

    learner = chosen.adapt.metric

    def update(carry):
        step, _, metric = carry
        metric = learner.update(metric, chains.x, chains.grad, weight, adapt.moments, step)
        return step + 1, learner.due(metric, step), metric

    def until_due(carry):
        """As in a run, where what is seldom done is outside of the innermost loop."""
        start = (carry[0], jnp.zeros((), bool), carry[1])
        step, due, metric = jax.lax.while_loop(
            lambda carry: (carry[0] < count) & ~carry[1], update, start
        )
        return step, when(due, learner.renew, metric, adapt.moments)

    first = (jnp.zeros((), jnp.int32), learner.init(adapt.moments))
    return jax.lax.while_loop(lambda carry: carry[0] < count, until_due, first)[1]

"""Time of a transition, memory and compilation, as chains and dimensions grow."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

import snaper
from snaper import chunk, config, sampler

from .timing import Bare, in_turn, seconds

CHAINS = (64, 256, 1024, 4096, 16384)  # of 100 dimensions
DIMS = (10, 100, 1000, 10_000)  # of 64 chains
STEPS = 8  # leapfrog steps of a transition, about
SLOTS = 4


def target(dim: int) -> snaper.Target:
    """A normal whose widths span a decade."""
    precision = np.geomspace(1.0, 100.0, dim).astype(np.float32)
    return snaper.Target(_log_density, jnp.zeros(dim, jnp.float32), precision)


def _log_density(x: jax.Array, precision: jax.Array) -> jax.Array:
    return -0.5 * jnp.sum(precision * x**2)


def measure(chains: int, dim: int) -> dict:
    """Of sampling with the metric and criterion of the default."""
    normal, chosen = target(dim), config.default()
    x = jax.random.normal(jax.random.key(0), (chains, dim), jnp.float32)
    scale = np.geomspace(1.0, 0.1, dim)
    tuning = snaper.Tuning(0.3 * dim**-0.25, STEPS * 0.3 * dim**-0.25, scale, 0 * scale, scale)
    given = tuning.hyperparams(np.float32)
    state = sampler.init(jax.random.key(1), normal, chosen, x * scale, 0, given)
    record = chunk.empty(normal, chosen, state, SLOTS)
    lowered = chunk.compiled(state).lower(normal, chosen, state, record, 0, 1, 1)
    compile_seconds = seconds(lambda: bool(lowered.compile()))
    memory = lowered.compile().memory_analysis()
    bare = Bare(normal, x)
    count = int(np.clip(0.3 / (STEPS * bare.gradient()), 10, 2000))

    def advance():
        new = chunk.empty(normal, chosen, state, SLOTS)
        return chunk.compiled(state)(normal, chosen, state, new, 0, count, count)

    steps = int(advance()[2].gradients)
    times = in_turn(bare.gradient, partial(seconds, advance), bare.both)
    ideal = (steps - count) * times[:, 0] + count * times[:, 2]
    return {
        "chains": chains,
        "dim": dim,
        "transition_seconds": float(np.min(times[:, 1])) / count,
        "steps": steps / count,
        "ratios": [float(ratio) for ratio in ideal / times[:, 1]],
        "compile_seconds": compile_seconds,
        "bytes": memory.temp_size_in_bytes
        + memory.argument_size_in_bytes
        + memory.output_size_in_bytes
        - memory.alias_size_in_bytes,
    }

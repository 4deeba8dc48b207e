"""Where the time of a transition goes, from bare gradients to `sample`."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

import snaper
from snaper import chunk, config, hmc, sampler, stretch, targets

from .problems import start
from .timing import Bare, in_turn, seconds


def measure(problem: str, chains: int, count: int = 300, warmup: int = 500) -> dict:
    """Microseconds of one transition, by how much of it there is."""
    target, chosen = targets.get(problem), config.default()
    x = start(problem, chains)
    size = {"chains": chains, "progress": False, "coordinates": "given"}  # as what is timed has
    tuned = snaper.sample(target, warmup=warmup, draws=10, init=x, seed=1, **size)
    sampling, bare = tuned.state, Bare(target, tuned.state.chains.x)
    warming = sampling._replace(num_warmup=sampling.step + count)
    options = chunk.COMMAND_BUFFERS if jax.default_backend() == "gpu" else None
    step = jax.jit(_step, static_argnums=1, compiler_options=options)
    found = {}
    for phase, state in {"warm-up": warming, "sampling": sampling}.items():
        buffer = stretch.Buffer(count)
        advance = partial(buffer.advance, target, chosen, state, 0, count, 1)
        _, record, _ = advance()
        steps = np.asarray(record.info.n_steps)[:count]
        hyper = chosen.adapt.value(state.adapt, jnp.asarray(False))
        arguments = (target, state, hyper, jnp.asarray(steps))
        calls = {
            "integrate": partial(jax.jit(_integrate, compiler_options=options), *arguments),
            "move": partial(jax.jit(_move, compiler_options=options), *arguments),
            "step": partial(step, target, chosen, state, count),
            "advance": advance,
        }
        for call in calls.values():
            jax.block_until_ready(call())
        timed = [partial(seconds, call) for call in calls.values()]
        times = in_turn(bare.gradient, bare.both, *timed)
        ideal = (steps.sum() - count) * times[:, 0] + count * times[:, 1]
        every = np.column_stack([ideal, times[:, 2:]]) / count
        if phase == "sampling":
            given = {"init": np.asarray(state.chains.x), "tuning": tuned.tuning}
            run = partial(snaper.sample, target, warmup=0, draws=count, seed=2, **given, **size)
            whole = in_turn(partial(_sampling_seconds, run))[1:, 0] / count
            found["sample"] = [float(value) for value in 1e6 * whole]
        found[phase] = {
            name: [float(value) for value in 1e6 * column]
            for name, column in zip(["ideal", *calls], every.T, strict=True)
        }
        found[phase]["mean_steps"] = float(steps.mean())
    return {"problem": problem, "chains": chains, "dim": target.dim, **found}


def _sampling_seconds(run) -> float:
    return run().seconds[1]


def _integrate(target, state, hyper, steps):
    """The leapfrog steps alone."""
    short = 1e-9 * hyper.step_size

    def body(i, carry):
        return hmc.leapfrog(target.logp, *carry, short, hyper.metric, steps[i])[:2]

    return jax.lax.fori_loop(0, steps.size, body, (state.chains, jnp.ones_like(state.chains.x)))


def _move(target, state, hyper, steps):
    """With momenta, acceptance and rejection."""

    def body(i, chains):
        key = jax.random.fold_in(state.key, i)
        rounding = jnp.zeros((), chains.x.dtype)
        arguments = (hyper.step_size, hyper.metric, steps[i], rounding)
        noise = hmc.noise(key, chains.x)
        return hmc.step(noise, target.logp, chains, *arguments)[0]

    return jax.lax.fori_loop(0, steps.size, body, state.chains)


def _step(target, chosen, state, count):
    """Whole transitions, unrecorded."""
    body = partial(sampler.step, target, chosen)
    return jax.lax.fori_loop(0, count, lambda _, state: body(state)[0], state)

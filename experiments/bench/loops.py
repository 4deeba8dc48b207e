"""Which loop of leapfrog steps costs least where its length is known on the device only."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from snaper import chunk, targets

from .problems import start
from .timing import _TINY, Bare, in_turn, seconds

TURNS = 400  # transitions of one timed call


def one_by_one(body, count, carry):
    return jax.lax.fori_loop(0, count, body, carry)


def masked(size, body, count, carry):
    """Whole groups of steps, of which those beyond the last change nothing."""

    def group(i, carry):
        for k in range(size):
            new = body(None, carry)
            carry = jax.tree.map(partial(jnp.where, size * i + k < count), new, carry)
        return carry

    return jax.lax.fori_loop(0, -(-count // size), group, carry)


def halved(size, unroll, body, count, carry):
    """Whole groups, and what is left as groups of half the size, a quarter, ..."""

    def turns(size, carry):
        return jax.lax.fori_loop(0, size, body, carry, unroll=size if unroll else None)

    carry = jax.lax.fori_loop(0, count // size, lambda _, carry: turns(size, carry), carry)
    while size > 1:
        size //= 2
        carry = jax.lax.cond(count & size > 0, partial(turns, size), lambda carry: carry, carry)
    return carry


LOOPS = {
    "one by one": one_by_one,
    "masked, 4": partial(masked, 4),
    "masked, 8": partial(masked, 8),
    "halved, 8": partial(halved, 8, False),
    "halved, 8, unrolled": partial(halved, 8, True),
    "halved, 16, unrolled": partial(halved, 16, True),
    "halved, 32": partial(halved, 32, False),
}


def measure(problem: str, chains: int, mean_steps: int) -> dict:
    """Ideal over actual of every loop, with the compiler's usual options and with command buffers,
    for numbers of steps spread evenly from 1 to twice their mean.
    """
    target = targets.get(problem)
    x = start(problem, chains)
    bare = Bare(target, x)
    lengths = np.random.default_rng(0).permutation(np.arange(TURNS) % (2 * mean_steps - 1) + 1)
    steps = jnp.asarray(lengths, jnp.int32)

    def transitions(loop, target, x, steps):
        gradient = jax.vmap(jax.grad(target.logp))
        both = jax.vmap(jax.value_and_grad(target.logp))

        def transition(i, carry):
            x, total = carry
            x = loop(lambda _, x: x + _TINY * gradient(x), steps[i] - 1, x)
            value, grad = both(x)
            return x + _TINY * grad, total + value

        return jax.lax.fori_loop(0, steps.size, transition, (x, jnp.zeros_like(x[:, 0])))

    buffers = chunk.COMMAND_BUFFERS if jax.default_backend() == "gpu" else None
    found = {}
    for name, loop in LOOPS.items():
        for told, options in {"": None, ", command buffers": buffers}.items():
            if told and options is None:
                continue
            compiled = jax.jit(partial(transitions, loop), compiler_options=options)
            call = partial(compiled, target, x, steps)
            compile_seconds = seconds(call)
            times = in_turn(bare.gradient, partial(seconds, call), bare.both)
            ideal = (lengths.sum() - TURNS) * times[:, 0] + TURNS * times[:, 2]
            found[name + told] = {
                "ratio": float(np.median(ideal / times[:, 1])),
                "first_seconds": compile_seconds,
            }
    return {"problem": problem, "chains": chains, "mean_steps": mean_steps, "loops": found}

"""Many seeds at once: one compiled program advances all of them by some transitions."""

from dataclasses import replace
from functools import cache, partial

import jax
import jax.numpy as jnp

from snaper import chunk, sampler
from snaper.bend import plain
from snaper.sampler import State

from . import problems, settings
from .problems import Problem
from .settings import Numbers, Setting

SLOTS = 10  # draws that one call brings
SEEDS_OF_ONE = State(
    key=0, step=None, began=None, num_one_step=None, num_warmup=None, chains=0, adapt=0
)
"""Which axis of a state counts seeds; the number of the transition is shared."""


class Batch:
    """The runs of some seeds with one setting, at the start of warm-up."""

    def __init__(
        self, problem: str | Problem, setting: Setting, seeds: range, warmup: int, short: bool
    ):
        self.setting, self.warmup = setting, warmup
        chosen = problems.get(problem) if isinstance(problem, str) else problem
        self._target, self._original = chosen.target, chosen.original
        self._is_bent = plain(chosen.target)[1] is not None  # records are of the plain one then
        self._numbers = setting.numbers(short)
        keys = jax.vmap(jax.random.key)(jnp.asarray(seeds))
        self.states = _start(setting.preset, self._target, keys, chosen.start, warmup)

    def warm_up(self) -> chunk.Tally:
        """All of warm-up."""
        self.states, _, tally = self._advance(0, self.warmup, self.warmup)
        return tally

    def draw(self) -> tuple[chunk.Record, chunk.Tally]:
        """SLOTS more draws: records [seed, slot, ...], in the problem's original coordinates."""
        self.states, record, tally = self._advance(0, SLOTS, 1)
        return record if self._is_bent else replace(record, x=self._original(record.x)), tally

    @property
    def centre(self) -> jax.Array:
        """About where the draws of each seed are, [seed, dim], in original coordinates."""
        return self._original(self.states.adapt.moments.mean)

    def _advance(self, first: int, num_steps: int, thin: int):
        preset = self.setting.preset
        return _compiled()(preset, self._target, self._numbers, self.states, first, num_steps, thin)


@partial(jax.jit, static_argnums=0)
def _start(preset: str, target, keys, x, warmup):
    base = settings.base(preset)
    start = jax.vmap(lambda key: sampler.init(key, target, base, x, warmup), out_axes=SEEDS_OF_ONE)
    return start(keys)


@cache
def _compiled():
    options = chunk.COMMAND_BUFFERS if jax.default_backend() == "gpu" else None
    return jax.jit(_advance, static_argnums=0, compiler_options=options)


def _advance(preset: str, target, numbers: Numbers, states: State, first, num_steps, thin):
    config = settings.config(preset, numbers)
    # The plain functions: these settings hold traced numbers.
    empty, advance = chunk.empty.__wrapped__, chunk.advance.__wrapped__

    def one(state):
        record = empty(target, config, state, SLOTS)
        return advance(target, config, state, record, first, num_steps, thin)

    return jax.vmap(one, in_axes=(SEEDS_OF_ONE,), out_axes=(SEEDS_OF_ONE, 0, 0))(states)

"""The compiled part of a run: a stretch of transitions, recorded into buffers of fixed size."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from . import sampler
from ._types import PerChain, Positions, Scalar
from .bend import plain, reported
from .config import Config
from .sampler import Info, State
from .target import Target

_BUFFER_BYTES = 32 * 2**20
_MAX_SLOTS = 4096
PER_CHAIN = 7  # statistics, at most
_NOISE_BYTES = 2**20
_MAX_AHEAD = 64

# Loops and branches that depend on numbers of the device stay there, without a word to the host;
# small operations that do not need each other's results run beside each other.
COMMAND_BUFFERS = {
    "xla_gpu_enable_command_buffer": "FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CUDNN,CONDITIONAL,WHILE,"
    "DYNAMIC_SLICE_FUSION",
    "xla_gpu_command_buffer_scheduling_mode": "CONCURRENT",
}


class Tally(NamedTuple):
    """Sums over every transition of a stretch, whether recorded or not."""

    gradients: Scalar
    capped: Scalar  # transitions at the cap on leapfrog steps
    lp: PerChain
    accept_prob: PerChain
    accepted: PerChain
    diverging: PerChain

    @classmethod
    def none(cls, like: PerChain) -> "Tally":
        """Of no transition yet."""
        zero, zeros = jnp.zeros((), jnp.int32), jnp.zeros(like.shape, jnp.int32)
        return cls(zero, zero, jnp.zeros_like(like), jnp.zeros_like(like), zeros, zeros)

    def after(self, info: Info, max_leapfrog: int) -> "Tally":
        """With one transition more."""
        return Tally(
            self.gradients + jnp.max(info.n_steps),  # chains move in lock-step
            # Pairs of steps end one short of an odd cap.
            self.capped + jnp.any((info.n_steps | 1) >= max_leapfrog).astype(jnp.int32),
            self.lp + info.lp,
            self.accept_prob + info.acceptance_rate,
            self.accepted + info.is_accepted.astype(jnp.int32),
            self.diverging + info.diverging.astype(jnp.int32),
        )


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["x", "shared", "per_chain"],
    meta_fields=["kinds"],
)
@dataclass(frozen=True)
class Record:
    """Recorded transitions: the first axis counts slots of the buffer. Statistics lie together,
    since each array that is written takes time of its own.
    """

    x: jax.Array
    shared: jax.Array  # [slot, statistic]
    per_chain: jax.Array  # [slot, statistic, chain]
    kinds: tuple[tuple[bool, str], ...]  # of the fields of `Info`: whether per chain, and its dtype

    @classmethod
    def of(cls, x: Positions, info: Info) -> "Record":
        """One transition."""
        wide = jnp.result_type(info.step_size, info.lp, info.energy)
        kinds = tuple((leaf.ndim > 0, leaf.dtype.name) for leaf in info)
        shared = jnp.stack([leaf.astype(wide) for leaf in info if leaf.ndim == 0])
        per_chain = jnp.stack([leaf.astype(wide) for leaf in info if leaf.ndim > 0])
        return cls(x, shared, per_chain, kinds)

    @property
    def info(self) -> Info:
        """The statistics, each with its own dtype."""
        place = {False: 0, True: 0}
        fields = []
        for many, dtype in self.kinds:
            rows = self.per_chain[..., place[many], :] if many else self.shared[..., place[many]]
            fields.append(rows.astype(dtype))
            place[many] += 1
        return Info(*fields)


def capacity(num_chains: int, dim: int, itemsize: int) -> int:
    """Slots of the recording buffer: bounded memory, whatever the number of draws."""
    bytes_per_slot = num_chains * (dim + PER_CHAIN) * itemsize
    return int(min(max(_BUFFER_BYTES // bytes_per_slot, 1), _MAX_SLOTS))


@partial(jax.jit, static_argnames=("config", "slots"))
def empty(target: Target, config: Config, state: State, slots: int) -> Record:
    """A buffer for chains like these."""
    moved, info = jax.eval_shape(partial(sampler.step, target, config), state)
    row = jax.eval_shape(Record.of, moved.chains.x, info)
    return jax.tree.map(lambda leaf: jnp.zeros((slots, *leaf.shape), leaf.dtype), row)


def _advance(
    target: Target,
    config: Config,
    state: State,
    record: Record,
    first: Scalar,
    num_steps: Scalar,
    thin: Scalar,
    first_chain: Scalar | int = 0,
) -> tuple[State, Record, Tally]:
    """`num_steps` transitions, of which those whose number since `first` = 0 is a multiple of
    `thin` are recorded, in place of what `record` held.

    `first_chain` is the number of the first, where these are part of a run's chains. Numbers are
    traced, so that one compiled function serves warm-up and sampling of any length. A
    slot is written until the transition that it is for, which is the last to write it; a slot whose
    transition is not reached holds a leftover and is not read.
    """
    first_slot = -(-first // thin)
    ahead = min(_ahead(state.chains.x), record.shared.shape[0])  # short stretches need little

    def transition(noises, began, carry):
        done, _, state, record, tally = carry
        noise = jax.tree.map(lambda each: each[done - began], noises)
        state, info = sampler.transition(target, config, state, noise)
        slot = -(-(first + done) // thin) - first_slot
        x, lp = _apart(target, state.chains.x, info.lp)
        info = info._replace(lp=lp)
        row = Record.of(x, info)
        record = jax.tree.map(
            lambda rows, new: jax.lax.dynamic_update_index_in_dim(rows, new, slot, 0), record, row
        )
        tally = tally.after(info, config.max_leapfrog)
        return done + 1, sampler.due(config, state), state, record, tally

    def until_due(noises, began, end, carry):
        """What is seldom done is kept out of the innermost loop, which must be quick."""
        carry = jax.lax.while_loop(
            lambda carry: (carry[0] < end) & ~carry[1],
            partial(transition, noises, began),
            (carry[0], jnp.zeros((), bool), *carry[1:]),
        )
        done, _, state, record, tally = carry
        return done, sampler.renew(config, state), record, tally

    def batch(carry):
        """As many transitions as their noise is drawn for at once."""
        began, state = carry[:2]
        noises = _noises(config, state, ahead, first_chain)
        end = jnp.minimum(began + ahead, num_steps)
        return jax.lax.while_loop(
            lambda carry: carry[0] < end, partial(until_due, noises, began, end), carry
        )

    none, tally = jnp.zeros((), jnp.int32), Tally.none(state.chains.logp)
    carry = jax.lax.while_loop(
        lambda carry: carry[0] < num_steps, batch, (none, state, record, tally)
    )
    return carry[1:]


def _apart(target: Target, x: Positions, lp: PerChain) -> tuple[Positions, PerChain]:
    """As they are reported. Compiled together with the writing of a record they may be rounded in a
    way that depends on its size, and draws would with them.
    """
    if plain(target)[1] is None:
        return x, lp
    barrier = jax.lax.optimization_barrier
    return barrier(reported(target, *barrier((x, lp))))


def _noises(config: Config, state: State, count: int, first_chain) -> sampler.Noise:
    """Of so many transitions to come, at once; with generators of other kinds one by one, since
    there the numbers of a key depend on the keys beside it.
    """
    draw = partial(sampler.noise, config, state, first=first_chain)
    numbers = state.step + jnp.arange(count, dtype=jnp.int32)
    together = jax.random.key_impl(state.key) == "threefry2x32"
    return jax.vmap(draw)(numbers) if together else jax.lax.map(draw, numbers)


def _ahead(x: jax.Array) -> int:
    """For how many transitions of chains like these noise is drawn at once."""
    return int(min(max(_NOISE_BYTES // (x.size * x.dtype.itemsize), 1), _MAX_AHEAD))


def compiling(options: dict[str, str] | None = None):
    """`_advance`, compiled with these options of XLA's, the buffer written where it is: a new one
    for each stretch takes as long as many transitions.
    """
    return jax.jit(
        _advance, static_argnames="config", donate_argnames="record", compiler_options=options
    )


advance = compiling()
_advance_on_gpu = compiling(COMMAND_BUFFERS)


def compiled(state: State):
    """`advance`, compiled for where the chains are."""
    on_gpu = {device.platform for device in state.chains.x.devices()} == {"gpu"}
    return _advance_on_gpu if on_gpu else advance

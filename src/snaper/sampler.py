"""SGA-HMC (Sountsov & Hoffman 2021, Algorithm 1): the whole algorithm on one screen."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from . import criteria, hmc
from ._types import Key, PerChain, Positions, Scalar
from .adapt import AdaptState, Hyperparams
from .config import Config
from .hmc import Chains
from .target import Target
from .when import when

EXPERIENCE = 1000  # transitions that given hyperparameters count as, so that they are not unlearnt
BLOCK = 256  # chains whose starts are looked at together


class State(NamedTuple):
    """All that the next transition depends on."""

    key: Key
    step: Scalar
    began: Scalar  # the number of the first
    num_one_step: Scalar
    num_warmup: Scalar
    chains: Chains
    adapt: AdaptState


class Info(NamedTuple):
    """What a transition tells about itself; never fed back."""

    step_size: Scalar
    trajectory_length: Scalar  # the time integrated; for trees, per chain
    mean_trajectory_length: Scalar
    n_steps: Scalar  # for trees, per chain
    criterion: Scalar  # NaN after warm-up, where none is climbed
    lp: PerChain
    acceptance_rate: PerChain
    is_accepted: PerChain
    diverging: PerChain
    energy: PerChain


class Noise(NamedTuple):
    """What chance decides of a transition; it depends on the key and the transition's number."""

    jitter: Scalar
    move: Any  # of whatever has the place of HMC
    lost: Key  # for chains that are lost


def init(
    key: Key,
    target: Target,
    config: Config,
    x: Positions | None = None,
    num_warmup: int | Scalar = 1000,
    given: Hyperparams | None = None,
) -> State:
    """Chains at x [chain, dim], about to warm up, from `given` hyperparameters if there are any.

    Without x, 64 chains at dispersed points that are not screened.
    """
    chains = evaluate(target, target.disperse(key, 64) if x is None else x)
    return begin(key, config, chains, num_warmup, given)


@partial(jax.jit, static_argnums=1)
def begin(
    key: Key,
    config: Config,
    chains: Chains,
    num_warmup: int | Scalar,
    given: Hyperparams | None = None,
) -> State:
    """The same, where density and gradient are known."""
    experience = 0 if given is None else EXPERIENCE
    num_warmup = jnp.asarray(num_warmup, jnp.int32)
    share = (config.one_step_share * num_warmup.astype(jnp.float32)).astype(jnp.int32)
    held = jnp.minimum(config.one_step, share) if given is None else jnp.zeros_like(num_warmup)
    memory = criteria.remember(config.criterion, chains.x, given and given.direction)
    adapt = config.adapt.init(jax.random.fold_in(key, 2**32 - 1), chains, given, memory)
    step = jnp.full_like(num_warmup, experience)
    return State(key, step, step, held, num_warmup + experience, chains, adapt)


@jax.jit
def evaluate(target: Target, x: Positions) -> Chains:
    """Chains at the given points, with density and gradient there."""
    # Once per run: time is no object, and memory is what larger blocks would need more of.
    return hmc.init(target.logp, x, None if len(x) <= BLOCK else BLOCK)


def step(target: Target, config: Config, state: State) -> tuple[State, Info]:
    """One transition: choose hyperparameters, move every chain, learn from the move."""
    state, info = transition(target, config, state, noise(config, state, state.step))
    return renew(config, state), info


def noise(config: Config, state: State, step: Scalar, first: Scalar | int = 0) -> Noise:
    """Of transition number `step`, for chains from number `first` on. That of many transitions can
    be drawn at once, which is faster.
    """
    x = state.chains.x
    key_jitter, key_steps = jax.random.split(state.key)
    key_move, key_lost = jax.random.split(jax.random.fold_in(key_steps, step))
    jitter = config.jitter(key_jitter, step, x.dtype)
    return Noise(jitter, config.move.noise(key_move, x, first), key_lost)


def transition(target: Target, config: Config, state: State, noise: Noise) -> tuple[State, Info]:
    """All of a step but what is `due` seldom."""
    warming = state.step < state.num_warmup  # traced: another length compiles nothing
    one_step = warming & (state.step < state.num_one_step)
    hyper = config.adapt.value(state.adapt, warming)

    dtype = hyper.step_size.dtype
    jitter = jnp.where(one_step, 1.0, noise.jitter)
    length = jnp.where(one_step, hyper.step_size, hyper.trajectory_length)
    cap = config.cap(state.step, state.num_one_step, warming)
    longest = jnp.where(one_step, jnp.inf, _longest(config, hyper))
    step_size = jnp.minimum(hyper.step_size, longest)
    unit = config.clock.unit(hyper.alternation)
    steps = config.clock.steps(jitter, length, step_size, cap.astype(dtype), unit)
    num_leapfrog = jnp.where(one_step, 1, steps.astype(jnp.int32))
    t = num_leapfrog.astype(dtype) * step_size
    rounding = jnp.where(warming, config.rounding, 0.0).astype(dtype)

    chains, move = config.move(
        noise.move,
        target.logp,
        state.chains,
        step_size,
        hyper.metric,
        num_leapfrog,
        rounding,
        hyper.alternation,
    )

    told = config.clock.told(jitter, length, t)
    age = state.step + 1 - state.began
    seen = (move, told, one_step, longest, cap, state.step, age, noise.lost)
    before = (state.adapt, chains, jnp.full((), jnp.nan, dtype))
    adapt, kept, criterion = config.adapt.learn(warming, partial(_learn, config), before, *seen)
    info = Info(
        step_size,
        move.num_leapfrog.astype(dtype) * step_size,
        hyper.trajectory_length,
        move.num_leapfrog,
        criterion,
        chains.logp,
        move.accept_prob,
        move.accepted,
        move.diverging,
        move.energy,
    )
    return state._replace(step=state.step + 1, chains=kept, adapt=adapt), info


@partial(jax.jit, static_argnums=0)
def learnt(config: Config, state: State) -> Hyperparams:
    """What draws run with."""
    hyper = config.adapt.value(state.adapt, jnp.asarray(False))
    return hyper._replace(step_size=jnp.minimum(hyper.step_size, _longest(config, hyper)))


@partial(jax.jit, static_argnums=0)
def is_held_short(config: Config, state: State) -> Scalar:
    """Whether draws have shorter steps than acceptance asks for, since trajectories are short."""
    hyper = config.adapt.value(state.adapt, jnp.asarray(False))
    return hyper.step_size > _longest(config, hyper)


@partial(jax.jit, static_argnums=0)
def last_cap(config: Config, state: State) -> Scalar:
    """The most leapfrog steps of warm-up's last transition."""
    return config.cap(state.num_warmup - 1, state.num_one_step, jnp.asarray(True))


def due(config: Config, state: State) -> Scalar:
    """Whether `renew` has something to do after a transition."""
    last, age = state.step - 1, state.step - state.began
    return (last < state.num_warmup) & config.adapt.due(state.chains.x.shape[-1], last, age)


def renew(config: Config, state: State) -> State:
    """Learn what is too costly to learn after every transition, if it is time for that."""
    age = state.step - state.began
    return state._replace(adapt=when(due(config, state), config.adapt.renew, state.adapt, age))


def _longest(config: Config, hyper: Hyperparams) -> Scalar:
    """The longest step that trajectories have room for."""
    unit = config.clock.unit(hyper.alternation)
    return config.clock.longest(hyper.trajectory_length, unit)


def _learn(config: Config, before, transition, told, one_step, longest, cap, step, age, key):
    """Learners, chains of which none is lost, and the criterion, after a transition."""
    adapt, chains, _ = before
    hyper = config.adapt.value(adapt, jnp.asarray(True))
    statistics = config.adapt.statistics(adapt, transition, chains, step)
    memory, climb = criteria.climb(
        config.criterion,
        adapt.memory,
        transition,
        told,
        statistics,
        hyper,
        0.5 * config.clock.unit(hyper.alternation) * jnp.minimum(hyper.step_size, longest),
        one_step,
        step,
    )
    learnt, kept = config.adapt.update(
        key, adapt, transition, chains, climb, memory, one_step, longest, cap, step, age
    )
    after = (learnt, kept, climb[0])
    return jax.tree.map(lambda new, old: new.astype(old.dtype), after, before)

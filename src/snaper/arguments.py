"""What users pass to `sample`, checked: one sentence for what does not fit."""

import operator
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import config, criteria, hmc, memory, starts
from .adapt import (
    AutoMetric,
    DenseMetric,
    HeldMetric,
    Hyperparams,
    LowRankMetric,
    MetricLearner,
)
from .bend import Bend, straight
from .config import Config
from .metric import Dense
from .result import Tuning
from .slowest import Slowest
from .starts import Starts
from .target import Target
from .until import Until

MOST_ROUNDING = 0.05


def count(name: str, value: Any, least: int) -> int:
    """A whole number, or a word about what is wrong with it."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, not {value!r}.") from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}, not {number}.")
    return number


def random_key(seed: Any) -> jax.Array:
    """A typed random key from a whole number, a typed key or a raw one."""
    if isinstance(seed, jax.Array) and jnp.issubdtype(seed.dtype, jax.dtypes.prng_key):
        if seed.shape == ():
            return seed
        raise ValueError(f"seed must be one random key, not an array of keys {seed.shape}.")
    if isinstance(seed, jax.Array | np.ndarray) and seed.shape == (2,) and seed.dtype == np.uint32:
        return jax.random.wrap_key_data(jnp.asarray(seed))
    try:
        number = operator.index(seed)
    except TypeError:
        raise TypeError(f"seed must be a whole number or a JAX random key, not {seed!r}.") from None
    if not -(2**63) <= number < 2**64:
        raise ValueError(f"seed must fit into 64 bits, and {number} does not.")
    high, low = divmod(number % 2**64, 2**32)
    key = jax.random.key(np.uint32(low))  # JAX without x64 would drop the upper half
    return jax.random.fold_in(key, high) if high else key


def chosen_config(preset: str | Config, *choices: Any) -> Config:
    """The sampler asked for: a preset with the other choices, or a Config that makes them all."""
    if not isinstance(preset, Config):
        return config.preset(preset, *choices)
    names = ("criterion", "metric", "target_accept", "max_leapfrog")
    defaults = ("auto", "auto", 0.8, 1000)
    for name, choice, usual in zip(names, choices, defaults, strict=True):
        if choice is not usual and choice != usual:
            raise ValueError(
                f"preset is a whole Config, which decides {name} too: leave {name}= out."
            )
    return preset


def learns_coordinates(coordinates: Any, preset: str | Config, criterion: Any) -> bool:
    """Whether a run is to learn its coordinates: not where a criterion is about those given."""
    if coordinates not in ("auto", "given"):
        raise ValueError(f"coordinates must be 'auto' or 'given', not {coordinates!r}.")
    named = isinstance(criterion, str | Slowest) or criterion in criteria.FORMULAS.values()
    return coordinates == "auto" and preset == "default" and named


def given_bend(
    tuning: Tuning | None, target: Target, coordinates: str, criterion: Any
) -> Bend | None:
    """The coordinates of an earlier run, in the target's precision."""
    if tuning is None or tuning.bend is None:
        return None
    if coordinates == "given":
        raise ValueError(
            "tuning was learnt in other coordinates than those given (tuning.bend): leave "
            "coordinates= out, or tuning=."
        )
    if not (isinstance(criterion, str | Slowest) or criterion in criteria.FORMULAS.values()):
        raise ValueError(
            "criterion is a function of the coordinates given, but tuning was learnt in others "
            "(tuning.bend): leave criterion= out, or tuning=."
        )

    def array(each: Any) -> jax.Array:
        floating = np.issubdtype(each.dtype, np.floating)
        return jnp.asarray(each, target.dtype if floating else None)

    return jax.tree.map(array, tuning.bend)


def straight_starts(bend: Bend | None, x: jax.Array) -> jax.Array:
    """Starting points in the coordinates of an earlier run."""
    if bend is None:
        return x
    z = straight(bend, x)
    if not np.isfinite(z).all():
        raise ValueError(
            "init has points that the coordinates of tuning (tuning.bend) do not reach: begin "
            "where that run ended, with init=run.unconstrained[:, -1]."
        )
    return z


def in_blocks(chosen: Config, at_once: int) -> Config:
    """With the gradients of so many chains at a time."""
    if not isinstance(chosen.move, hmc.Move):
        raise ValueError("at_once is for trajectories of HMC: leave it out with this preset.")
    return replace(chosen, move=replace(chosen.move, at_once=at_once))


def too_much(target: Target, chosen: Config, chains: int, slots: int, draws: int) -> str | None:
    """What will not fit into memory, if something will not."""
    size = (chains, target.dim, target.dtype.itemsize)
    on_device = memory.device_bytes(
        *size, slots, _holds(chosen.adapt.metric, (target.dim, target.dim))
    )
    return memory.complaint(on_device, memory.host_bytes(*size, draws))


def until(until: Any, chains: int, chunk: int | None) -> Until:
    """A condition that so many chains can fulfil; looks are `chunk` draws apart if not told."""
    if not isinstance(until, Until):
        raise TypeError(
            f"until must be a snaper.Until, such as snaper.Until(rhat=1.01), not {until!r}."
        )
    for name in ("rhat", "ess"):
        value = getattr(until, name)
        if value is not None and chains == 1:
            raise ValueError(
                f"Until({name}={value}) is told by how much chains differ, which 1 chain does "
                "not: use chains=16 or more, or draws= alone."
            )
    return until if until.every else replace(until, every=chunk)


def groups(superchains: Any, chains: int) -> int:
    """How many superchains, if that many chains can be grouped so."""
    number = count("superchains", superchains, 2)
    if chains % number:
        raise ValueError(f"superchains must divide chains, but {number} does not divide {chains}.")
    return number


def find_starts(
    key: jax.Array, target: Target, chains: int, superchains: int | None, init: Any
) -> Starts:
    """A point for every chain; chains of one superchain have the same."""
    if superchains is None:
        return starts.find(key, target, chains, init)
    found = starts.find(key, target, superchains, init, "superchain")
    different = len(np.unique(np.asarray(found.x), axis=0))
    if different < superchains:
        why = f", {found.num_replaced} unusable ones aside" if found.num_replaced else ""
        raise ValueError(
            f"superchains={superchains} must begin at as many different points, but init gives "
            f"{different}{why}: give one usable point for each, or leave init= out."
        )
    size = chains // superchains
    return Starts(jnp.repeat(found.x, size, axis=0), size * found.num_replaced, found.why)


def hyperparams(tuning: Tuning, target: Target, config: Config, warmup: int) -> Hyperparams:
    """Values of an earlier run as arrays that fit the target, and that the sampler can use."""
    if not isinstance(tuning, Tuning):
        raise TypeError(f"tuning must be the tuning of a run, not {type(tuning).__name__}.")
    dim, shape = target.dim, np.shape(tuning.metric)
    kind = {1: "diagonal", 2: "dense" if shape[-1] == dim else "low-rank"}.get(len(shape))
    for name in ("metric", "mean", "direction"):
        found = np.shape(tuning[name])
        if found[:1] != (dim,) or len(found) > 1 + (name == "metric"):
            raise ValueError(
                f"tuning holds a {name} of shape {found}, but the target has {dim} dimensions: pass"
                " the tuning of a run of the same target."
            )
    if kind != "diagonal" and warmup == 0 and not _holds(config.adapt.metric, shape):
        raise ValueError(
            f"tuning holds a {kind} metric, whose step size is too long for the one chosen here: "
            f"use metric={kind!r}, or warm up."
        )
    given = tuning.hyperparams(target.dtype)
    off = given.metric.rounding() if isinstance(given.metric, Dense) else 0.0
    if not off < MOST_ROUNDING:
        raise ValueError(
            f"tuning holds a metric that {target.dtype.name} rounds by {off:.2g} of the variance in"
            " a direction, so that draws would be wrong: pass the tuning of a run of the same "
            "precision, or use a wider type."
        )
    return given


def _holds(learner: MetricLearner, shape: tuple[int, ...]) -> bool:
    """Whether a metric with numbers of this shape can be gone on with, or is of no concern."""
    if isinstance(learner, AutoMetric):
        learner = learner.learner(shape[0])
    if isinstance(learner, LowRankMetric):
        return shape == (shape[0], 1 + learner.rank_in(shape[0]))
    return isinstance(learner, HeldMetric) or (
        isinstance(learner, DenseMetric) and shape[0] == shape[1]
    )

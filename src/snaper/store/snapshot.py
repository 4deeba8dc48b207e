"""A run under way as JSON and arrays, and back."""

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .. import sampler
from ..bend import Bend
from ..config import Config
from ..course import Course
from ..diagnostics.pooled import Pooled
from ..hmc import Chains
from ..level import Level
from ..record import Recorder
from ..sampler import State
from ..watch import Past, Watch
from .tree import flatten, rebuild

Arrays = dict[str, np.ndarray]
_LEVEL = "bend.levels."


def take(course: Course) -> tuple[dict[str, Any], Arrays]:
    """All that a run has come to, but what is kept of each transition."""
    arrays = flatten(course.state, "state")
    for number, level in enumerate(course.bend.levels if course.bend else ()):
        arrays |= flatten(level._asdict(), f"{_LEVEL}{number}")
    description: dict[str, Any] = {
        "key": str(jax.random.key_impl(course.state.key)),
        "rule": course.rule,
        "looked": course.looked,
        "tuned_from": course.tuned_from,
        "seconds": course.seconds(),
    }
    for name, recorder in _recorders(course).items():
        held = _sums(recorder)
        arrays |= {f"{name}.{key}": each for key, each in held.items() if np.ndim(each)}
        description[name] = {key: each for key, each in held.items() if not np.ndim(each)}
    watch = course.sampling.watch
    if watch is not None and course.sampling.done:
        arrays |= flatten(watch.past, "watch")
    return description, arrays


def state(config: Config, description: dict[str, Any], arrays: Arrays, dtype: Any) -> State:
    """Where the chains are, and what they have learnt."""
    x = arrays["state.chains.x"]
    key = jax.random.key(0, impl=description["key"])
    points: Any = jax.ShapeDtypeStruct(x.shape, dtype)
    values: Any = jax.ShapeDtypeStruct(x.shape[:1], dtype)
    chains = Chains(points, values, points)
    like = jax.eval_shape(lambda key, chains: sampler.begin(key, config, chains, 0), key, chains)
    return rebuild(like, arrays, "state", description["key"])


def _bend(arrays: Arrays) -> Bend | None:
    levels: list[Level] = []
    while fields := {
        name: jnp.asarray(arrays[where])
        for name in Level._fields
        if (where := f"{_LEVEL}{len(levels)}['{name}']") in arrays
    }:
        levels.append(Level(**fields))
    return Bend(tuple(levels)) if levels else None


def restore(course: Course, description: dict[str, Any], arrays: Arrays, ended: bool) -> None:
    """Give a run's past back to it. One that has `ended` is not to go on from its state."""
    for name, recorder in _recorders(course).items():
        for key, each in _sums(recorder).items():
            value = arrays[f"{name}.{key}"] if np.ndim(each) else description[name][key]
            setattr(recorder, key, np.array(value) if np.ndim(each) else value)
    course.bend = _bend(arrays)
    course.rule, course.looked = description["rule"], description["looked"]
    course.tuned_from = description["tuned_from"]
    warm, sampled = description["seconds"]
    now = time.monotonic()
    course.clock = [now - warm - sampled]
    if course.warming.done >= course.warming.wanted:
        course.clock.append(now - sampled)
    if course.sampling.done or ended:
        course.sampling.watch = _watch(course, arrays, description["named"])


def _watch(course: Course, arrays: Arrays, named: dict[str, list[int]]) -> Watch:
    """Over the draws so far. Shapes of named values are given, since the target may be unable to
    tell them.
    """
    watch = Watch(
        course.target,
        course.config,
        course.state,
        course.superchains,
        False,
        course.functions,
        course.bend,
    )
    pooled = None
    if course.keep == "moments":
        zeros = {name: jnp.zeros(shape, course.target.dtype) for name, shape in named.items()}
        pooled = Pooled(jnp.zeros((), jnp.int32), zeros, zeros)
    like: Past = watch.past._replace(named=pooled)
    watch.past = rebuild(like, arrays, "watch") if course.sampling.done else like
    return watch


def _recorders(course: Course) -> dict[str, Recorder[Any]]:
    return {"warming": course.warming, "sampling": course.sampling}


def _sums(recorder: Recorder[Any]) -> dict[str, Any]:
    """Numbers and arrays of numbers that a recorder adds up."""
    asked_for = ("wanted", "thin")
    return {
        name: value
        for name, value in vars(recorder).items()
        if isinstance(value, int | np.ndarray) and name not in asked_for
    }

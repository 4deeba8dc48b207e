"""NumPyro models as targets."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import handlers
from numpyro.infer.util import constrain_fn, potential_energy, unconstrain_fn

from .. import surroundings
from .._types import Key, Scalar
from ..target import STATIC, Labels, Target
from . import _sites
from ._call import Call

_NEEDS_VALUES = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)


def build(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Target:
    if not callable(function):
        raise TypeError(f"A NumPyro model is a function, not {type(function).__name__}.")
    _check_signature(function, args, kwargs)
    try:
        return _target(Call.of(function, args, kwargs))
    except _NEEDS_VALUES:
        try:
            return _target(Call.of(function, args, kwargs, frozen=True))
        except _NEEDS_VALUES:
            _refuse_series(args, kwargs)
            raise


def _refuse_series(args: tuple, kwargs: dict[str, Any]) -> None:
    """Columns of tables look like arrays and are none."""
    for value in (*args, *kwargs.values()):
        if hasattr(value, "to_numpy"):
            kind = f"{type(value).__module__.partition('.')[0]} {type(value).__name__}"
            raise TypeError(
                f"The NumPyro model computes with a {kind}, which JAX cannot: give it "
                ".to_numpy() of that instead."
            ) from None


def _check_signature(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> None:
    """Most often a log density is what has arguments left over."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # not every callable has one
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as problem:
        raise TypeError(
            f"The NumPyro model does not fit its arguments ({problem}): give them after the model, "
            "and wrap a log density as snaper.Target(log_density, like)."
        ) from None


def _target(call: Call) -> Target:
    call = replace(call, reads=surroundings.digest(_sites.computed, call))
    sites = _sites.find(call)
    names = tuple(parameter.name for parameter in sites.parameters)
    depth = sites.depth if sites.discrete else None
    model = _Numpyro(call, names, sites.flat, depth, sites.observed_arguments)
    coords = {plate: np.arange(size) for plate, size in sites.plates}
    labels = Labels(dict(sites.dims), coords)
    return Target.of_model(model, sites.parameters, sites.dtype, labels, sites.observed)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Numpyro:
    """The model behind the interface of `snaper.target.Model`."""

    call: Call
    names: tuple[str, ...] = field(metadata=STATIC)
    flat: tuple[str, ...] = field(metadata=STATIC)
    enumerated: int | None = field(metadata=STATIC)  # depth of plates, if sites are summed out
    observed: tuple[int, ...] = field(metadata=STATIC)  # places among all arguments

    @property
    def data(self) -> tuple[Any, ...]:
        return self.call.arrays

    @property
    def named_data(self) -> dict[str, Any]:
        """Under the names of the model's parameters, but for what a site observes as it is, which
        has the site's name.
        """
        return self.call.named_data(without=self.observed)

    @property
    def _seeded(self) -> Callable[..., Any]:
        """For statements that want a key; no latent site draws with it."""
        return handlers.seed(self.call.function, 0)

    def log_density(self, free: list[jax.Array]) -> Scalar:
        params, model = dict(zip(self.names, free, strict=True)), self._seeded
        if self.enumerated is not None:
            from numpyro.contrib.funsor import config_enumerate, enum

            model = enum(config_enumerate(model), -self.enumerated - 1)
        arguments, enum_ = self.call.arguments(), self.enumerated is not None
        return jnp.asarray(-potential_energy(model, *arguments, params, enum=enum_))

    def constrain(self, free: list[jax.Array]) -> dict[str, jax.Array]:
        params = dict(zip(self.names, free, strict=True))
        arguments = self.call.arguments()
        return constrain_fn(self._seeded, *arguments, params, return_deterministic=True)

    def unconstrain(self, values: list[jax.Array]) -> list[jax.Array]:
        params = dict(zip(self.names, values, strict=True))
        free = unconstrain_fn(self._seeded, *self.call.arguments(), params)
        return [free[name] for name in self.names]

    def sample_prior(self, key: Key, num_draws: int) -> dict[str, jax.Array]:
        if self.flat:
            raise ValueError(
                f"Site {self.flat[0]!r} has an improper prior, which cannot be drawn from: give "
                "init= a point."
            )
        return _draw_prior(self, key, num_draws)


@partial(jax.jit, static_argnums=2)
def _draw_prior(model: _Numpyro, key: Key, num_draws: int) -> dict[str, jax.Array]:
    args, kwargs = model.call.arguments()

    def draw(key):
        trace = handlers.trace(handlers.seed(model.call.function, key)).get_trace(*args, **kwargs)
        return {name: trace[name]["value"] for name in model.names}

    return jax.vmap(draw)(jax.random.split(key, num_draws))

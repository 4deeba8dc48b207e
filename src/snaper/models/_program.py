"""A PyMC model as JAX functions of its value variables and its data."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pymc as pm
from pymc.util import get_default_varnames
from pytensor.tensor.basic import constant
from pytensor.tensor.type import TensorType, tensor

from ..target import Parameter
from ._pytensor import jaxify, quietly, shared_inputs

Arrays = dict[str, jax.Array]


class Program:
    """JAX functions of a PyMC model. It compares by identity, so a model must keep its program for
    compiled code to be shared, and it does not refer to the model, which can so be forgotten.

    Args:
        frozen: make data constants, for graphs whose shapes depend on values of the data.
    """

    def __init__(self, model: pm.Model, frozen: bool):
        self._variables = sorted(model.free_RVs, key=lambda variable: variable.name)
        self._check_bounds = model.check_bounds
        shapes = model.eval_rv_shapes()
        values = [model.rvs_to_values[variable] for variable in self._variables]
        self.parameters = [
            Parameter(variable.name, _ints(shapes[variable.name]), _ints(shapes[value.name]))
            for variable, value in zip(self._variables, values, strict=True)
        ]
        self.dtype = np.result_type(
            *(jax.dtypes.canonicalize_dtype(value.type.dtype) for value in values)
        )
        shown = get_default_varnames(model.unobserved_value_vars, include_transformed=False)
        self._names = [variable.name for variable in shown]
        self._free = [
            tensor(dtype=value.type.dtype, shape=parameter.unconstrained_shape)
            for value, parameter in zip(values, self.parameters, strict=True)
        ]
        logp = model.logp()
        moved = [
            variable if move is None else move.forward(variable, *variable.owner.inputs)
            for variable in self._variables
            for move in [model.rvs_to_transforms[variable]]
        ]
        _refuse_random_numbers([logp, *shown])
        self._split_shared(model, [logp, *shown, *moved], frozen)
        self._given = dict(zip(values, self._free, strict=True))
        self._log_density = self._function(self._free, [logp], self._given)
        self._constrain = self._function(self._free, shown, self._given)
        self._moved = moved
        self._objects, self._facts = _objects(model), _facts(model, self._shared.values())

    def fits(self, model: pm.Model) -> bool:
        """Whether the model is still what it was, but for values of its data."""
        objects = _objects(model)
        return (
            len(objects) == len(self._objects)
            and all(new is old for new, old in zip(objects, self._objects, strict=True))
            and _facts(model, self._shared.values()) == self._facts
        )

    def data(self) -> dict[str, np.ndarray]:
        """Present values of the model's data."""
        return {name: variable.get_value() for name, variable in self._shared.items()}

    def log_density(self, free: Sequence[jax.Array], data: Arrays) -> jax.Array:
        with quietly():
            return jnp.asarray(self._log_density(*free, *self._ordered(data))[0])

    def constrain(self, free: Sequence[jax.Array], data: Arrays) -> Arrays:
        with quietly():
            shown = map(jnp.asarray, self._constrain(*free, *self._ordered(data)))
            return dict(zip(self._names, shown, strict=True))

    def unconstrain(self, values: Sequence[jax.Array], data: Arrays) -> list[jax.Array]:
        with quietly():
            return list(self._unconstrain(*values, *self._ordered(data)))

    def sample_prior(self, seed: int, num_draws: int) -> dict[str, np.ndarray]:
        flat = [var.name for var in self._variables if var.owner.op.name in ("flat", "half_flat")]
        if flat:
            raise ValueError(
                f"Variable {flat[0]!r} has an improper prior, which cannot be drawn from: give "
                "init= a point."
            )
        # Interpreted, since compilation would take longer than the draws.
        draws = pm.draw(self._variables, num_draws, random_seed=seed, mode="FAST_COMPILE")
        return {
            parameter.name: np.reshape(draw, (num_draws, *parameter.shape))
            for parameter, draw in zip(self.parameters, draws, strict=True)
        }

    @cached_property
    def _unconstrain(self) -> Callable[..., Sequence[jax.Array]]:
        values = [
            tensor(dtype=variable.type.dtype, shape=parameter.shape)
            for variable, parameter in zip(self._variables, self.parameters, strict=True)
        ]
        return self._function(values, self._moved, dict(zip(self._variables, values, strict=True)))

    def _split_shared(self, model: pm.Model, outputs: list[Any], frozen: bool) -> None:
        """Shared variables become arguments, or constants if JAX needs their values for shapes."""
        lengths = set(model.dim_lengths.values())
        self._shared, self._arguments, self._constants = {}, [], {}
        for variable in shared_inputs(outputs):
            if not isinstance(variable.type, TensorType):
                continue  # the state of a random number generator, which only `moved` refers to
            value = variable.get_value()
            if frozen or variable in lengths:
                self._constants[variable] = constant(value)
            else:
                self._shared[variable.name or f"shared_{len(self._shared)}"] = variable
                self._arguments.append(tensor(dtype=value.dtype, shape=value.shape))

    def _function(
        self, inputs: list[Any], outputs: list[Any], given: dict[Any, Any]
    ) -> Callable[..., Sequence[jax.Array]]:
        arguments = dict(zip(self._shared.values(), self._arguments, strict=True))
        replace = {**self._constants, **arguments, **given}
        return jaxify([*inputs, *self._arguments], outputs, replace, self._check_bounds)

    def _ordered(self, data: Arrays) -> list[jax.Array]:
        return [data[name] for name in self._shared]


def _refuse_random_numbers(outputs: list[Any]) -> None:
    if not all(isinstance(variable.type, TensorType) for variable in shared_inputs(outputs)):
        raise ValueError(
            "The model draws random numbers as its log density is computed, as pm.Minibatch does, "
            "but HMC needs the same log density at every step: give it all of the data."
        )


def _ints(shape: Sequence[Any]) -> tuple[int, ...]:
    return tuple(int(size) for size in shape)


def _objects(model: pm.Model) -> list[Any]:
    """What the graphs of a model are made of; kept, so that their identity stays theirs."""
    variables = [*model.basic_RVs, *model.deterministics, *model.potentials]
    values = [model.rvs_to_values[variable] for variable in model.basic_RVs]
    transforms = [model.rvs_to_transforms.get(variable) for variable in model.basic_RVs]
    return [*variables, *values, *transforms]


def _facts(model: pm.Model, shared: Iterable[Any]) -> tuple[Any, ...]:
    """All else that a program depends on, but the values of data."""
    return (
        jnp.result_type(float),  # of constants
        model.check_bounds,
        *(np.shape(variable.get_value()) for variable in shared),
        *(int(length.eval()) for length in model.dim_lengths.values()),
    )

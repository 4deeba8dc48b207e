"""PyMC models as targets."""

from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp
import numpy as np

from .._types import Key, Scalar
from ..digits import kept
from ..target import STATIC, Labels, Target

try:
    import pymc as pm
except ImportError:
    raise ImportError(
        "PyMC models need the package pymc, which is not installed: install snaper[pymc]."
    ) from None

from pymc.backends.arviz import (
    coords_and_dims_for_inferencedata,
    find_constants,
    find_observations,
)

from ._program import Program

_programs: WeakKeyDictionary[pm.Model, Program] = WeakKeyDictionary()


def build(model: Any) -> Target:
    if not isinstance(model, pm.Model):
        raise TypeError(f"from_pymc needs a PyMC model, not {type(model).__name__}.")
    _check(model)
    program = _programs.get(model)
    if program is not None and program.fits(model):
        return _target(model, program)
    return _with_data(model) or _target(model, Program(model, frozen=True))


def _with_data(model: pm.Model) -> Target | None:
    """The target with the model's data as arguments, or None where JAX must know their values."""
    try:
        program = Program(model, frozen=False)
        target = _target(model, program)
        jax.eval_shape(target.constrain, jax.ShapeDtypeStruct((target.dim,), target.dtype))
    except Exception:  # of many kinds; those that have other reasons come again without data
        return None
    _programs[model] = program
    return target


def _check(model: pm.Model) -> None:
    if not model.free_RVs:
        raise ValueError("The model has no free variable, so there is nothing to sample.")
    if model.discrete_value_vars:
        name = model.values_to_rvs[model.discrete_value_vars[0]].name
        raise ValueError(
            f"Variable {name!r} is discrete, but HMC needs continuous ones: sum over it, for "
            "example with pymc_extras.marginalize, or observe it."
        )


def _target(model: pm.Model, program: Program) -> Target:
    coords, dims = coords_and_dims_for_inferencedata(model)
    labels = Labels(
        {
            name: tuple(axis or f"{name}_dim_{place}" for place, axis in enumerate(axes))
            for name, axes in dims.items()
        },
        {axis: np.asarray(places) for axis, places in coords.items()},
    )
    data = {name: kept(value, name) for name, value in program.data().items()}
    constants = {name: np.asarray(value) for name, value in find_constants(model).items()}
    wrapped, observed = _PyMC(data, constants, program), find_observations(model)
    return Target.of_model(wrapped, program.parameters, program.dtype, labels, observed)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _PyMC:
    """The model behind the interface of `snaper.target.Model`."""

    data: dict[str, jax.Array]
    named_data: dict[str, np.ndarray]  # by PyMC's names, for output alone
    program: Program = field(metadata=STATIC)

    def log_density(self, free: list[jax.Array]) -> Scalar:
        return self.program.log_density(free, self.data)

    def constrain(self, free: list[jax.Array]) -> dict[str, jax.Array]:
        return self.program.constrain(free, self.data)

    def unconstrain(self, values: list[jax.Array]) -> list[jax.Array]:
        return self.program.unconstrain(values, self.data)

    def sample_prior(self, key: Key, num_draws: int) -> dict[str, np.ndarray]:
        return self.program.sample_prior(int(jax.random.bits(key, dtype=jnp.uint32)), num_draws)

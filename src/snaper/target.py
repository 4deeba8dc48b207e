"""The log density to sample, seen by the sampler as a function of one flat unconstrained vector."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ._types import Scalar, Vector


class Parameter(NamedTuple):
    """One named array among the parameters, and its place in the flat vector."""

    name: str
    shape: tuple[int, ...]  # as the log density sees it
    unconstrained_shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return int(np.prod(self.unconstrained_shape, dtype=int))


@jax.tree_util.register_pytree_node_class
class Target:
    """A log density over named parameters.

    A target is a pytree: its data are leaves, so that they are arguments of whatever is compiled,
    and two targets with one log density and equal shapes share compiled code.

    Args:
        log_density: `log_density(params)`, or `log_density(params, data)` where data are given, of
        ONE point:
            returns a scalar. `params` has the structure of `like`.
        like: an example of the parameters: any pytree of floating-point arrays or numbers; only
        shapes and
            dtypes matter.
        data: any pytree of arrays, handed to the log density unchanged.
        constraints: for parameters that do not range over all reals, a dict from the parameter's
        name to a
            constraint of `numpyro.distributions.constraints`. The log density is then written for
            the constrained parameters; the Jacobian of the change of variables is added here.
    """

    def __init__(
        self,
        log_density: Callable[..., Any],
        like: Any,
        data: Any = None,
        constraints: dict[str, Any] | None = None,
    ):
        if not callable(log_density):
            raise TypeError(f"log_density must be a function, not {type(log_density).__name__}.")
        leaves, self._structure = jax.tree_util.tree_flatten_with_path(like)
        if not leaves:
            raise ValueError("like holds no parameters: give at least one floating-point array.")
        names = [_name(path) for path, _ in leaves]
        self._dtype = jnp.result_type(
            *(_floating(name, leaf) for name, (_, leaf) in zip(names, leaves, strict=True))
        )
        self._transforms = _transforms(constraints or {}, names)
        self._parameters = tuple(
            Parameter(name, shape, shape if move is None else tuple(move.inverse_shape(shape)))
            for name, shape, move in zip(
                names, (np.shape(leaf) for _, leaf in leaves), self._transforms, strict=True
            )
        )
        self._log_density = log_density
        self._data = jax.tree.map(jnp.asarray, data)
        jax.eval_shape(
            _logp, self, jax.ShapeDtypeStruct((self.dim,), self._dtype)
        )  # fails on bad input

    @property
    def dim(self) -> int:
        """Number of unconstrained coordinates."""
        return sum(parameter.size for parameter in self._parameters)

    @property
    def dtype(self) -> np.dtype:
        """Floating-point type of positions, as `like` and JAX's x64 switch decide."""
        return self._dtype

    @property
    def data(self) -> Any:
        return self._data

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self._parameters

    def logp(self, x: Vector) -> Scalar:
        """Log density at one flat unconstrained vector."""
        return _logp(self, x)

    def constrain(self, x: Vector) -> dict[str, jax.Array]:
        """Named parameters, as the log density sees them, at one flat unconstrained vector."""
        values, _ = self._values(x)
        return {
            parameter.name: value for parameter, value in zip(self._parameters, values, strict=True)
        }

    def leaves(self, params: Any) -> list[Any]:
        """The arrays of parameters structured like `like`, in the order of `parameters`."""
        return self._structure.flatten_up_to(params)

    def flatten(self, params: Any) -> Vector:
        """The flat unconstrained vector of parameters shaped like `like`."""
        leaves = self.leaves(params)
        parts = []
        for parameter, leaf, move in zip(self._parameters, leaves, self._transforms, strict=True):
            value = jnp.asarray(leaf, self._dtype)
            if value.shape != parameter.shape:
                raise ValueError(
                    f"{parameter.name} has shape {value.shape} where the target's like has "
                    f"{parameter.shape}."
                )
            parts.append(jnp.ravel(value if move is None else move.inv(value)))
        return jnp.concatenate(parts)

    def coordinate_name(self, index: int) -> str:
        """Name of one flat coordinate, such as theta[3]."""
        for parameter in self._parameters:
            if index < parameter.size:
                if not parameter.unconstrained_shape:
                    return parameter.name
                place = np.unravel_index(index, parameter.unconstrained_shape)
                return f"{parameter.name}[{', '.join(str(int(i)) for i in place)}]"
            index -= parameter.size
        raise IndexError(index)

    def _values(self, x: Vector) -> tuple[list[jax.Array], Scalar]:
        """Constrained leaves in order, and the log determinant of the change of variables."""
        if x.shape != (self.dim,):
            raise ValueError(
                f"x has shape {x.shape}, but one point of this target has {(self.dim,)}."
            )
        ends = np.cumsum([parameter.size for parameter in self._parameters])[:-1]
        values, log_det = [], jnp.zeros((), x.dtype)
        for part, parameter, move in zip(
            jnp.split(x, ends), self._parameters, self._transforms, strict=True
        ):
            y = part.reshape(parameter.unconstrained_shape)
            value = y if move is None else move(y)
            if move is not None:
                log_det += jnp.sum(move.log_abs_det_jacobian(y, value))
            values.append(value)
        return values, log_det

    def tree_flatten(self):
        return (self._data, self._transforms), (
            self._log_density,
            self._structure,
            self._parameters,
            self._dtype,
        )

    @classmethod
    def tree_unflatten(cls, static, leaves):
        target = object.__new__(cls)
        target._data, target._transforms = leaves
        target._log_density, target._structure, target._parameters, target._dtype = static
        return target


@jax.jit  # traces the user's function once, however often it is differentiated and mapped
def _logp(target: Target, x: Vector) -> Scalar:
    values, log_det = target._values(x)
    params = jax.tree.unflatten(target._structure, values)
    data = () if target.data is None else (target.data,)
    value = jnp.asarray(target._log_density(params, *data))
    if value.shape != ():
        raise ValueError(
            f"log_density must return one number for one point, but returned shape {value.shape}: "
            "sum over its terms, and leave the chains to snaper."
        )
    if not jnp.issubdtype(value.dtype, jnp.floating):
        raise TypeError(
            f"log_density must return a real floating-point number, but returned {value.dtype}."
        )
    return value.astype(x.dtype) + log_det


def _name(path) -> str:
    """Dotted name of a leaf; a bare array is called x."""
    parts = [
        str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key)))) for key in path
    ]
    return ".".join(parts) or "x"


def _floating(name: str, leaf: Any) -> Any:
    """The dtype of a leaf of `like`, or a word about what is wrong with it."""
    dtype = (
        jax.dtypes.canonicalize_dtype(jnp.result_type(leaf))
        if np.ndim(leaf) == 0
        else jnp.asarray(leaf).dtype
    )
    if not jnp.issubdtype(dtype, jnp.floating):
        raise TypeError(
            f"Parameter {name} in like has dtype {dtype}, and gradients need real numbers: write "
            "it as a float, for example 0.0."
        )
    return dtype


def _transforms(constraints: dict[str, Any], names: list[str]) -> tuple[Any, ...]:
    """A bijection from the reals for every constrained parameter, None for the others."""
    unknown = sorted(set(constraints) - set(names))
    if unknown:
        raise ValueError(
            f"constraints names {unknown[0]!r}, which is not among the parameters {names}."
        )
    if not constraints:
        return (None,) * len(names)
    from numpyro.distributions import biject_to

    return tuple(biject_to(constraints[name]) if name in constraints else None for name in names)

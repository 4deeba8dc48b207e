"""The log density to sample, seen by the sampler as a function of one flat unconstrained vector."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from . import surroundings
from ._types import Key, Positions, Scalar, Vector
from .digits import kept

WIDTH = 2.0  # of dispersed points, to either side
STATIC = {"static": True}  # of a dataclass' field: part of the code, not of the data
_NUMERIC = frozenset("biufc")  # kinds of NumPy's dtypes


class NotAtHand(ValueError):
    """Asked of a target in name alone, whose log density nobody gave."""


class Parameter(NamedTuple):
    """One named array among the parameters, and its place in the flat vector."""

    name: str
    shape: tuple[int, ...]  # as the log density sees it
    unconstrained_shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return int(np.prod(self.unconstrained_shape, dtype=int))


class Model(Protocol):
    """What a target is made of: a pytree whose leaves are data.

    Lists hold one array for each parameter, in order: `free` ones unconstrained, `values` as the
    log density sees them.
    """

    @property
    def data(self) -> Any: ...

    @property
    def named_data(self) -> dict[str, Any]:
        """Those that have names; for output alone."""
        ...

    def log_density(self, free: list[jax.Array]) -> Scalar:
        """At one point of the unconstrained space, the Jacobian included."""
        ...

    def constrain(self, free: list[jax.Array]) -> dict[str, jax.Array]:
        """The values by name, and all that is computed from them."""
        ...

    def unconstrain(self, values: list[jax.Array]) -> list[jax.Array]: ...

    def sample_prior(self, key: Key, num_draws: int) -> Any:
        """Values structured as users write them, with a leading axis for the draws."""
        ...


@dataclass(frozen=True, eq=False)
class Labels:
    """Names of axes and of places along them, for output alone: all compare equal, so that targets
    that differ in nothing else share compiled code.
    """

    dims: dict[str, tuple[str, ...]] = field(default_factory=dict)
    coords: dict[str, np.ndarray] = field(default_factory=dict)

    def __eq__(self, other):
        return isinstance(other, Labels)

    def __hash__(self):
        return 0


@jax.tree_util.register_pytree_node_class
class Target:
    """A log density over named parameters.

    A target is a pytree: its data are leaves, so that they are arguments of whatever is compiled,
    and two targets with one log density and equal shapes share compiled code.

    Args:
        log_density: `log_density(params)`, or `log_density(params, data)` where data are given, of
            ONE point: returns a scalar. `params` has the structure of `like`.
        like: an example of the parameters: any pytree of floating-point arrays or numbers; only
            shapes and dtypes matter.
        data: any pytree of arrays, handed to the log density unchanged. What the function reads
            from its surroundings instead is as it was when the target was made, and where it has
            changed since another target was, all is compiled anew. (Numbers written into an array
            in its place may go unseen, since JAX knows arrays by identity: make another array.)
        constraints: for parameters that do not range over all reals, a dict from the parameter's
            name to a constraint of `numpyro.distributions.constraints`. The log density is then
            written for the constrained parameters; the Jacobian of the change of variables is
            added here.
        sample_prior: `sample_prior(key)` draws one `params` from the prior, for
            `sample(..., init="prior-mean")`.
        dims: names of the axes of parameters and observed data, by name; for output alone.
        coords: labels along such axes, by the axis' name; for output alone.
        observed: observed data by name; for output alone.
    """

    def __init__(
        self,
        log_density: Callable[..., Any],
        like: Any,
        data: Any = None,
        constraints: dict[str, Any] | None = None,
        *,
        sample_prior: Callable[[Key], Any] | None = None,
        dims: dict[str, Sequence[str]] | None = None,
        coords: dict[str, Any] | None = None,
        observed: dict[str, Any] | None = None,
    ):
        if not callable(log_density):
            raise TypeError(f"log_density must be a function, not {type(log_density).__name__}.")
        leaves, structure = jax.tree_util.tree_flatten_with_path(like)
        if not leaves:
            raise ValueError("like holds no parameters: give at least one floating-point array.")
        names = _names([path for path, _ in leaves])
        shapes = [np.shape(leaf) for _, leaf in leaves]
        dtype = jnp.result_type(
            *(_floating(name, leaf) for name, (_, leaf) in zip(names, leaves, strict=True))
        )
        transforms = _transforms(constraints or {}, names, dtype)
        parameters = tuple(
            Parameter(name, shape, shape if move is None else _free_shape(name, shape, move, dtype))
            for name, shape, move in zip(names, shapes, transforms, strict=True)
        )
        data = jax.tree_util.tree_map_with_path(_array, data)
        model = _Written(data, transforms, log_density, structure, tuple(names), sample_prior)
        free = [jax.ShapeDtypeStruct(each.unconstrained_shape, dtype) for each in parameters]
        model = replace(model, reads=surroundings.digest(_Written.log_density, model, free))
        self._set(model, structure, parameters, dtype, _labels(dims, coords), observed or {})

    @classmethod
    def of_model(
        cls,
        model: Model,
        parameters: Sequence[Parameter],
        dtype: Any,
        labels: Labels,
        observed: dict[str, Any],
    ) -> "Target":
        """A target whose parameters form a dict; `parameters` are sorted by name, as its leaves
        are.
        """
        target = object.__new__(cls)
        structure = jax.tree.structure({parameter.name: 0.0 for parameter in parameters})
        target._set(model, structure, tuple(parameters), dtype, labels, observed)
        return target

    def _set(self, model, structure, parameters, dtype, labels, observed) -> None:
        self._model: Model = model
        self._structure = structure
        self._parameters: tuple[Parameter, ...] = parameters
        self._dtype = np.dtype(dtype)
        self._labels: Labels = labels
        self._observed = {name: _numbers(name, value) for name, value in observed.items()}
        jax.eval_shape(_logp, self, jax.ShapeDtypeStruct((self.dim,), dtype))  # fails on bad input

    @property
    def dim(self) -> int:
        """Number of unconstrained coordinates."""
        return sum(parameter.size for parameter in self._parameters)

    @property
    def dtype(self) -> np.dtype:
        """Floating-point type of positions, as the model and JAX's x64 switch decide."""
        return self._dtype

    @property
    def data(self) -> Any:
        """The arrays that the log density depends on."""
        return self._model.data

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self._parameters

    @property
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Names of axes, by the name of what has them."""
        return dict(self._labels.dims)

    @property
    def coords(self) -> dict[str, np.ndarray]:
        """Labels along axes, by the axis' name."""
        return dict(self._labels.coords)

    @property
    def observed(self) -> dict[str, np.ndarray]:
        """Observed data by name."""
        return dict(self._observed)

    @property
    def constants(self) -> dict[str, np.ndarray]:
        """Data that have names and are not observed."""
        named = self._model.named_data
        return {
            name: np.asarray(value)
            for name, value in named.items()
            if name not in self._observed and _is_numeric(value)
        }

    def logp(self, x: Vector) -> Scalar:
        """Log density at one flat unconstrained vector."""
        return _logp(self, x)

    def constrain(self, x: Vector) -> dict[str, jax.Array]:
        """Named parameters, as the log density sees them, at one flat unconstrained vector; with
        them whatever the model computes from them under a name.
        """
        with full_precision():
            return self._model.constrain(self._free(x))

    def leaves(self, params: Any) -> list[Any]:
        """The arrays of parameters structured like `like`, in the order of `parameters`."""
        return self._structure.flatten_up_to(params)

    def structured(self, leaves: list[Any]) -> Any:
        """Parameters structured like `like`, of such arrays."""
        return self._structure.unflatten(leaves)

    def flatten(self, params: Any) -> Vector:
        """The flat unconstrained vector of parameters shaped like `like`."""
        values = []
        for parameter, leaf in zip(self._parameters, self.leaves(params), strict=True):
            value = jnp.asarray(leaf, self._dtype)
            if value.shape != parameter.shape:
                raise ValueError(
                    f"{parameter.name} has shape {value.shape} where the target's like has "
                    f"{parameter.shape}."
                )
            values.append(value)
        free = self._model.unconstrain(values)
        return jnp.concatenate([jnp.ravel(part) for part in free]).astype(self._dtype)

    def sample_prior(self, key: Key, num_draws: int | None = None) -> Any:
        """Parameters drawn from the prior, structured like `like`; with num_draws, so many along a
        leading axis.
        """
        draws = self._model.sample_prior(key, 1 if num_draws is None else num_draws)
        return draws if num_draws is not None else jax.tree.map(lambda draw: draw[0], draws)

    def disperse(self, key: Key, num_points: int) -> Positions:
        """Points spread evenly over (-WIDTH, WIDTH) in unconstrained space."""
        shape = (num_points, self.dim)
        return jax.random.uniform(key, shape, self._dtype, minval=-WIDTH, maxval=WIDTH)

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

    def _free(self, x: Vector) -> list[jax.Array]:
        """One unconstrained array for each parameter."""
        if x.shape != (self.dim,):
            raise ValueError(
                f"x has shape {x.shape}, but one point of this target has {(self.dim,)}."
            )
        ends = np.cumsum([parameter.size for parameter in self._parameters])[:-1]
        return [
            part.reshape(parameter.unconstrained_shape)
            for part, parameter in zip(jnp.split(x, ends), self._parameters, strict=True)
        ]

    def tree_flatten(self):
        return (self._model, self._observed), (
            self._structure,
            self._parameters,
            self._dtype,
            self._labels,
        )

    @classmethod
    def tree_unflatten(cls, static, leaves):
        target = object.__new__(cls)
        target._model, target._observed = leaves
        target._structure, target._parameters, target._dtype, target._labels = static
        return target


@jax.jit  # traces the user's function once, however often it is differentiated and mapped
def _logp(target: Target, x: Vector) -> Scalar:
    with full_precision():
        return target._model.log_density(target._free(x)).astype(x.dtype)


def full_precision() -> AbstractContextManager[Any]:
    """In products of matrices that do not say otherwise, unless JAX's own setting does: a GPU keeps
    three digits of single precision by default and a TPU two, of which log densities lose most.
    """
    asked = getattr(jax.config, "jax_default_matmul_precision", None)
    return jax.default_matmul_precision("highest") if asked is None else nullcontext()


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Written:
    """A log density as a user writes it, with a bijection for each constrained parameter."""

    data: Any
    transforms: tuple[Any, ...]  # None for an unconstrained parameter
    function: Callable[..., Any] = field(metadata=STATIC)
    structure: Any = field(metadata=STATIC)
    names: tuple[str, ...] = field(metadata=STATIC)
    prior: Callable[[Key], Any] | None = field(metadata=STATIC)
    reads: str = field(default="", metadata=STATIC)  # the function, from its surroundings

    @property
    def named_data(self) -> dict[str, Any]:
        if not isinstance(self.data, dict):
            return {}
        leaves, _ = jax.tree_util.tree_flatten_with_path(self.data)
        return {dotted(path): leaf for path, leaf in leaves}

    def log_density(self, free: list[jax.Array]) -> Scalar:
        values = self._values(free)
        log_det = jnp.zeros((), free[0].dtype)
        for y, value, move in zip(free, values, self.transforms, strict=True):
            if move is not None:
                log_det += jnp.sum(move.log_abs_det_jacobian(y, value))
        data = () if self.data is None else (self.data,)
        params = jax.tree.unflatten(self.structure, values)
        value = _one_number(self.function(params, *data))
        return value.astype(log_det.dtype) + log_det

    def constrain(self, free: list[jax.Array]) -> dict[str, jax.Array]:
        return dict(zip(self.names, self._values(free), strict=True))

    def unconstrain(self, values: list[jax.Array]) -> list[jax.Array]:
        return [
            value if move is None else move.inv(value)
            for value, move in zip(values, self.transforms, strict=True)
        ]

    def sample_prior(self, key: Key, num_draws: int) -> Any:
        if self.prior is None:
            raise ValueError(
                "This target has no prior to draw from: build it as "
                "Target(..., sample_prior=function), or give init= a point."
            )
        return _draw_many(self.prior, key, num_draws)

    def _values(self, free: list[jax.Array]) -> list[jax.Array]:
        return [
            y if move is None else move(y) for y, move in zip(free, self.transforms, strict=True)
        ]


@partial(jax.jit, static_argnums=(0, 2))
def _draw_many(draw: Callable[[Key], Any], key: Key, num_draws: int) -> Any:
    return jax.vmap(draw)(jax.random.split(key, num_draws))


def _one_number(returned: Any) -> Scalar:
    """What a log density returned, or a word about what is wrong with it."""
    try:
        value = jnp.asarray(returned)
    except (TypeError, ValueError):
        kind = type(returned).__name__
        raise TypeError(f"log_density must return a number, but returned {kind}.") from None
    if value.shape != ():
        raise ValueError(
            f"log_density must return one number for one point, but returned shape {value.shape}: "
            "sum over its terms, and leave the chains to snaper."
        )
    if not jnp.issubdtype(value.dtype, jnp.floating):
        raise TypeError(
            f"log_density must return a real floating-point number, but returned {value.dtype}."
        )
    return value


def _array(path: Sequence[Any], leaf: Any) -> jax.Array:
    """A leaf of the data, on the device."""
    try:
        return kept(leaf, dotted(path))
    except TypeError:
        kind = type(leaf).__name__
        raise TypeError(f"data must hold arrays and numbers, not {kind} {leaf!r}.") from None


def _names(paths: list[Any]) -> list[str]:
    """A name for every leaf, no two alike."""
    names = [dotted(path) or "x" for path in paths]  # a bare array is called x
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"like holds two parameters named {name!r}: rename one of them.")
    return names


def dotted(path: Sequence[Any]) -> str:
    """The name of a leaf of a pytree; empty where the pytree is a bare array."""
    return ".".join(
        str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key)))) for key in path
    )


def _floating(name: str, leaf: Any) -> Any:
    """The dtype of a leaf of `like`, or a word about what is wrong with it."""
    try:
        dtype = jax.dtypes.canonicalize_dtype(jnp.result_type(leaf))
    except (TypeError, ValueError):
        dtype = type(leaf).__name__
    if str(dtype) not in ("float32", "float64"):
        raise TypeError(
            f"Parameter {name} in like has dtype {dtype}, where float32 or float64 is needed: "
            "write it as a float, for example 0.0."
        )
    return dtype


def _transforms(constraints: dict[str, Any], names: list[str], dtype: Any) -> tuple[Any, ...]:
    """A bijection from the reals for every constrained parameter, None for the others."""
    unknown = sorted(set(constraints) - set(names))
    if unknown:
        raise ValueError(
            f"constraints names {unknown[0]!r}, which is not among the parameters {names}."
        )
    return tuple(
        _transform(name, constraints[name], dtype) if name in constraints else None
        for name in names
    )


def _transform(name: str, constraint: Any, dtype: Any) -> Any:
    """NumPyro's bijection onto a constraint, its bounds of the parameters' dtype."""
    from numpyro.distributions import biject_to  # here, since it takes a second

    try:
        move = biject_to(constraint)
    except NotImplementedError:
        raise TypeError(
            f"constraints[{name!r}] must be a constraint of numpyro.distributions.constraints that "
            f"reals map onto, such as positive or interval(0, 1), not {constraint!r}."
        ) from None
    return jax.tree.map(lambda bound: jnp.asarray(bound, dtype), move)


def _free_shape(name: str, shape: tuple[int, ...], move: Any, dtype: Any) -> tuple[int, ...]:
    """Shape of the unconstrained array behind a parameter."""
    try:
        free = tuple(move.inverse_shape(shape))
        if jax.eval_shape(move, jax.ShapeDtypeStruct(free, dtype)).shape == shape:
            return free
    except (ValueError, IndexError, TypeError):
        pass
    raise ValueError(
        f"constraints[{name!r}] does not fit the parameter's shape {shape}: give like= and bounds "
        "shapes that agree."
    )


def _is_numeric(value: Any) -> bool:
    """Whether it is a number or an array of them; random keys, say, are not."""
    dtype = getattr(value, "dtype", np.dtype(type(value)))
    return getattr(dtype, "kind", None) in _NUMERIC


def _numbers(name: str, value: Any) -> np.ndarray:
    """Observed data as an array that may be a leaf."""
    array = np.asarray(value)
    if array.dtype.kind not in _NUMERIC:
        raise TypeError(f"observed[{name!r}] must hold numbers, not {array.dtype}.")
    return array


def _labels(dims: dict[str, Sequence[str]] | None, coords: dict[str, Any] | None) -> Labels:
    return Labels(
        {name: tuple(axes) for name, axes in (dims or {}).items()},
        {axis: np.asarray(places) for axis, places in (coords or {}).items()},
    )

"""Functions of a draw's named parameters, followed on the device while draws pass by."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from .._types import Positions, Scalar, Vector
from ..target import Target
from .entries import entries

Of = Callable[[dict[str, jax.Array]], Any]
"""From parameters by name, as the log density sees them, to a number, an array or a dict."""


@dataclass(frozen=True)
class Functions:
    """What is followed, and a name for each of its numbers."""

    of: Of
    names: tuple[str, ...]


@dataclass(frozen=True)
class _Parameters:
    """The function that returns some of the parameters."""

    names: tuple[str, ...]

    def __call__(self, params: dict[str, jax.Array]) -> dict[str, jax.Array]:
        return {name: params[name] for name in self.names}


def choose(target: Target, of: Any) -> Functions:
    """Functions of a target's parameters: names among them, or a function by itself. One sentence
    for what cannot be followed.
    """
    point = jax.ShapeDtypeStruct((target.dim,), target.dtype)
    known = [*jax.eval_shape(target.constrain, point)]
    if not callable(of):
        of = _Parameters(_known(of, known))
    elif getattr(of, "__hash__", None) is None:
        raise TypeError(f"of must be a function that can be hashed, which {of!r} cannot.")
    try:
        returned = jax.eval_shape(lambda x: _returned(of, target, x), point)
    except KeyError as error:
        raise ValueError(
            f"of asks for {error}, but a draw is a dict of {', '.join(known)}."
        ) from error
    except jax.errors.JAXTypeError as error:
        raise TypeError(
            f"of must be computed by jax.numpy alone, but {_name(of)} asks for values before they "
            f"are known ({type(error).__name__})."
        ) from error
    names = []
    for path, value in jax.tree_util.tree_flatten_with_path(returned)[0]:
        parts = [jax.tree_util.keystr((key,), simple=True) for key in path]
        if not isinstance(returned, dict):
            parts = [_name(of), *parts]
        names += entries(".".join(parts), value.shape)
    if not names:
        raise ValueError("of must return at least one number, but returned none.")
    return Functions(of, tuple(names))


def _known(names: Any, known: list[str]) -> tuple[str, ...]:
    """Names of parameters, or a word about what is wrong with them."""
    chosen = (names,) if isinstance(names, str) else names
    told = isinstance(chosen, list | tuple) and all(isinstance(name, str) for name in chosen)
    if not told or not chosen:
        raise TypeError(f"of must hold names of parameters or be a function, not {names!r}.")
    for name in chosen:
        if name not in known:
            raise ValueError(f"of names {name!r}, which is not among {', '.join(known)}.")
    return tuple(chosen)


def _name(of: Of) -> str:
    name = getattr(of, "__name__", "<lambda>")
    return "function" if name == "<lambda>" else name


def _returned(of: Of, target: Target, x: Vector) -> Any:
    """The function at one point, its values as real numbers of the target's type."""

    def number(value: Any) -> jax.Array:
        try:
            array = jnp.asarray(value)
        except (TypeError, ValueError):
            array = None
        if array is None or jnp.iscomplexobj(array):
            kind = type(value).__name__ if array is None else array.dtype
            raise TypeError(f"of must return real numbers, arrays or a dict of them, not {kind}.")
        return array.astype(target.dtype)

    return jax.tree.map(number, of(target.constrain(x)))


@partial(jax.jit, static_argnames="of")
def at(target: Target, x: Positions, of: Of) -> jax.Array:
    """Values [chain, value] of chains at x."""

    def one(x: Vector) -> Vector:
        return jnp.concatenate([jnp.ravel(v) for v in jax.tree.leaves(_returned(of, target, x))])

    return jax.vmap(one)(x)


@jax.jit
def centre(values: jax.Array) -> Vector:
    """Numbers in the middle of the values, relative to which float32 keeps its digits. Not their
    means: of a long tail these may be so large that nothing smaller is left beside them.
    """
    middle = jnp.median(values, axis=0)
    return jnp.where(jnp.isfinite(middle), middle, 0.0)


@partial(jax.jit, static_argnames="of")
def rows(target: Target, x: jax.Array, count: Scalar, of: Of) -> jax.Array:
    """Values [slot, chain, value] of the first `count` rows of x [slot, chain, dim], one row at a
    time: what the model computes on the way may be large.
    """
    like = jax.eval_shape(lambda x: at(target, x, of), x[0])
    values = jnp.zeros((x.shape[0], *like.shape), like.dtype)

    def body(row, values):
        return values.at[row].set(at(target, x[row], of))

    return jax.lax.fori_loop(0, count, body, values)

"""A model function with its arguments, as a pytree."""

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import numpy as np

from ..digits import kept
from ..target import STATIC, dotted


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Call:
    """`function(*args, **kwargs)`, to be made later. Arrays and floats among the arguments are
    leaves; sizes, flags, names and whatever else are part of the code.
    """

    arrays: tuple[Any, ...]
    function: Callable[..., Any] = field(metadata=STATIC)
    layout: Any = field(metadata=STATIC)
    constants: tuple["_Constant | None", ...] = field(metadata=STATIC)  # None: take an array
    reads: str = field(default="", metadata=STATIC)  # the function, from its surroundings

    @classmethod
    def of(
        cls, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any], frozen: bool = False
    ) -> "Call":
        """A call; a frozen one has no leaves."""
        while isinstance(function, partial):  # so that what it holds are arguments as well
            args, kwargs = (*function.args, *args), {**function.keywords, **kwargs}
            function = function.func
        leaves, layout = jax.tree.flatten((args, kwargs))
        is_array = [not frozen and _is_data(leaf) for leaf in leaves]
        arrays = [kept(leaf) for leaf, yes in zip(leaves, is_array, strict=True) if yes]
        constants = [
            None if yes else _Constant.of(leaf) for leaf, yes in zip(leaves, is_array, strict=True)
        ]
        return cls(tuple(arrays), function, layout, tuple(constants))

    def named_data(self, without: Collection[int]) -> dict[str, Any]:
        """Arrays and floats among the arguments, be they leaves or constants, by the names of the
        function's parameters; less those with the given places in the flattened arguments.
        """
        args, kwargs = self.arguments()
        names = _positional(self.function, len(args))
        named = {}
        found, _ = jax.tree_util.tree_flatten_with_path((args, kwargs))
        for place, ((kind, which, *inside), leaf) in enumerate(found):
            if place not in without and _is_data(leaf):
                name = names[which.idx] if kind.idx == 0 else which.key
                named[".".join(filter(None, [name, dotted(inside)]))] = leaf
        return named

    def arguments(self) -> tuple[tuple, dict[str, Any]]:
        arrays = iter(self.arrays)
        return self.layout.unflatten(
            [next(arrays) if constant is None else constant.value for constant in self.constants]
        )


@dataclass(frozen=True)
class _Constant:
    """An argument that is part of the code: equal to another where the two cannot be told apart."""

    value: Any = field(compare=False)
    key: Any

    @classmethod
    def of(cls, value: Any) -> "_Constant":
        if isinstance(value, np.ndarray):
            value = value.copy()  # what was compiled must not change under our hands
            return cls(value, (value.dtype.str, value.shape, value.tobytes()))
        if isinstance(value, jax.Array):
            return cls(value, id(value))
        try:
            hash(value)
        except TypeError:
            return cls(value, object())  # it may change: equal to nothing
        return cls(value, (type(value), value))  # 1 == 1.0 == True, but not to a model


def _positional(function: Callable[..., Any], count: int) -> list[str]:
    """Names of the first parameters; those of *args, and of what has no signature, are numbered."""
    try:
        parameters = [*inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):
        parameters = []
    several = [each.name for each in parameters if each.kind is each.VAR_POSITIONAL]
    single = [
        each.name
        for each in parameters
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    rest = [*several, "argument"][0]
    return [*single, *(f"{rest}_{number}" for number in range(count))][:count]


def _is_data(leaf: Any) -> bool:
    if isinstance(leaf, np.ndarray):
        return leaf.dtype.kind in "biufc"
    return isinstance(leaf, jax.Array | float | np.floating)

"""A model function with its arguments, as a pytree."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..target import STATIC


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
        arrays = [jnp.asarray(leaf) for leaf, yes in zip(leaves, is_array, strict=True) if yes]
        constants = [
            None if yes else _Constant.of(leaf) for leaf, yes in zip(leaves, is_array, strict=True)
        ]
        return cls(tuple(arrays), function, layout, tuple(constants))

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


def _is_data(leaf: Any) -> bool:
    if isinstance(leaf, np.ndarray):
        return leaf.dtype.kind in "biufc"
    return isinstance(leaf, jax.Array | float | np.floating)

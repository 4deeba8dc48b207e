"""What is chosen for a run as JSON, and back."""

from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from .. import adapt, clock, config, criteria, hmc, jitter, nuts, plan, slowest, until

_PARTS = {
    name: part
    for module in (adapt, clock, config, criteria, hmc, jitter, nuts, plan, slowest, until)
    for name, part in vars(module).items()
    if isinstance(part, type) and is_dataclass(part)
}
_FUNCTIONS = {
    **criteria.FORMULAS,
    "fisher": adapt.fisher,
    "plain": adapt.plain,
}
_GIVEN_AGAIN = ("criterion", "of")  # fields that may hold a user's function


@dataclass(frozen=True)
class Yours:
    """Stands in for a user's function, of which a store holds the name alone."""

    name: str

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(f"{self.name} is not in the store: pass it to snaper.resume again.")


def encode(value: Any, where: str = "") -> Any:
    """As JSON. Only what this package knows to build again is allowed."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [encode(each, where) for each in value]
    name = type(value).__name__
    if _PARTS.get(name) is type(value):
        held = {each.name: encode(getattr(value, each.name), each.name) for each in fields(value)}
        return {"part": name, **held}
    for name, function in _FUNCTIONS.items():
        if value is function:
            return {"function": name}
    if isinstance(value, Yours):
        return {"yours": value.name}
    if callable(value) and where in _GIVEN_AGAIN:
        return {"yours": _name(value)}
    raise ValueError(
        f"store= cannot hold {where}={value!r}, which is not a part of snaper: leave store= out, "
        "or use a part of snaper."
    )


def _name(function: Any) -> str:
    """The same in every process, as an address is not."""
    function = getattr(function, "func", function)  # of a partial
    return getattr(function, "__qualname__", type(function).__qualname__)


def decode(value: Any) -> Any:
    """From JSON. Fields are set as they were, not by constructors, which may round them anew; one
    that was not there then is as it is by default.
    """
    if isinstance(value, list):
        return tuple(decode(each) for each in value)
    if not isinstance(value, dict):
        return value
    if "function" in value:
        return _FUNCTIONS[value["function"]]
    if "yours" in value:
        return Yours(str(value["yours"]))
    kind = _PARTS[value["part"]]
    made = object.__new__(kind)
    for each in fields(kind):
        held = decode(value[each.name]) if each.name in value else _default(each)
        object.__setattr__(made, each.name, held)
    return made


def _default(field: Any) -> Any:
    if field.default is MISSING:
        raise KeyError(field.name)
    return field.default

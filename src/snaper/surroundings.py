"""What a function reads from its surroundings, told by what it computes."""

import hashlib
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def digest(function: Callable[..., Any], *args: Any) -> str:
    """Of all that a function does with arguments of these shapes, the numbers among it that come
    from elsewhere. Compiled code is found again by the function alone: where this is another than
    it was, something that the function reads has changed meanwhile.
    """
    anew = jax.make_jaxpr(lambda *args: function(*args))  # JAX remembers what it knows by name
    return _of(anew(*args), {}).hex()


def _of(program: ClosedJaxpr | Jaxpr, known: dict[int, bytes]) -> bytes:
    """Of operations in their order; programs within programs are often the same one."""
    if id(program) not in known:
        hashed = hashlib.sha256()
        for part in _parts(program, known):
            hashed.update(part)
        known[id(program)] = hashed.digest()
    return known[id(program)]


def _parts(program: ClosedJaxpr | Jaxpr, known: dict[int, bytes]):
    jaxpr, consts = program, ()
    if isinstance(program, ClosedJaxpr):
        jaxpr, consts = program.jaxpr, program.consts
    yield from map(_array, consts)
    numbers: dict[Any, int] = {}

    def variable(each: Any) -> bytes:
        if isinstance(each, Literal):
            return _array(each.val)
        return f"{numbers.setdefault(each, len(numbers))}:{each.aval};".encode()

    yield from map(variable, [*jaxpr.constvars, *jaxpr.invars])
    for equation in jaxpr.eqns:
        yield equation.primitive.name.encode()
        for name, value in sorted(equation.params.items()):
            yield name.encode()
            yield from _setting(value, known)
        yield from map(variable, [*equation.invars, *equation.outvars])
    yield from map(variable, jaxpr.outvars)


def _setting(value: Any, known: dict[int, bytes]):
    """Of a parameter of an operation."""
    if isinstance(value, ClosedJaxpr | Jaxpr):
        yield _of(value, known)
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _setting(each, known)
    elif isinstance(value, np.ndarray | jax.Array):
        yield _array(value)
    elif callable(value) and not isinstance(value, type):  # says no more than its name
        yield getattr(value, "__name__", type(value).__name__).encode()
    else:
        yield _ADDRESS.sub("", repr(value)).encode()


def _array(value: Any) -> bytes:
    if hasattr(value, "dtype") and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    array = np.asarray(value)
    return f"{array.dtype}{array.shape}".encode() + array.tobytes()

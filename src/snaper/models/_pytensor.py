"""PyTensor graphs as JAX functions, with JAX's settings left alone."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp


@contextmanager
def _switches_kept() -> Iterator[None]:
    """Importing PyTensor's JAX backend sets JAX's x64 switch for the whole process."""
    x64 = jax.config.values["jax_enable_x64"]
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", x64)


with _switches_kept():
    from pymc.distributions import multivariate
    from pymc.logprob.utils import CheckParameterValue
    from pytensor.compile.mode import JAX
    from pytensor.compile.sharedvalue import SharedVariable
    from pytensor.graph.fg import FunctionGraph
    from pytensor.graph.replace import clone_replace
    from pytensor.graph.traversal import graph_inputs
    from pytensor.link.jax.dispatch import scalar as _registers_erfcx  # noqa: F401 (before ours)
    from pytensor.link.jax.dispatch.basic import jax_funcify
    from pytensor.scalar.math import Erfcx


def _positive_definite(op, **_) -> Callable[[jax.Array], jax.Array]:
    return lambda matrix: jnp.all(jnp.isfinite(jnp.linalg.cholesky(matrix)))


# PyMC 5 has an operation of its own, which PyTensor does not know.
_matrix_check = getattr(multivariate, "PosDefMatrix", None)
if _matrix_check is not None and _matrix_check not in jax_funcify.registry:
    register: Any = jax_funcify.register
    register(_matrix_check)(_positive_definite)

_erfcx = getattr(jax.scipy.special, "erfcx", None)  # PyTensor asks another package for it
if _erfcx is not None:
    register = jax_funcify.register
    register(Erfcx)(lambda op, **_: _erfcx)


_ZERO_SUM = "mean(value, axis=n_zerosum_axes) = 0"


def _trust_zero_sums(graph: FunctionGraph) -> None:
    """Leave out PyMC's check that zero-sum variables sum to zero: their transform sees to that, but
    for rounding, which in single precision is far more than the 1e-9 that PyMC allows.
    """
    for node in graph.toposort():
        if isinstance(node.op, CheckParameterValue) and node.op.msg == _ZERO_SUM:
            graph.replace(node.outputs[0], node.inputs[0])


@contextmanager
def quietly() -> Iterator[None]:
    """Without the warnings that graphs written for float64 give rise to where x64 is off, nor those
    about assertions, which become conditions of a finite log density.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Explicitly requested dtype", UserWarning)
        warnings.filterwarnings("ignore", "Skipping ", UserWarning)
        yield


def shared_inputs(outputs: Sequence[Any]) -> list[Any]:
    """Shared variables that a graph depends on."""
    found = {var: None for var in graph_inputs(outputs) if isinstance(var, SharedVariable)}
    return list(found)


def jaxify(
    inputs: Sequence[Any], outputs: Sequence[Any], replace: dict[Any, Any], check_bounds: bool
) -> Callable[..., Sequence[jax.Array]]:
    """A JAX function from inputs to outputs, after replacements in the graph of the outputs.

    Args:
        check_bounds: make the log density minus infinity where a distribution's own parameters are
            out of bounds, as `pm.sample` does; otherwise do not check them.
    """
    check = (
        "local_check_parameter_to_ninf_switch" if check_bounds else "local_remove_check_parameter"
    )
    replaced = clone_replace(list(outputs), replace=replace, rebuild_strict=False)
    graph = FunctionGraph(inputs=list(inputs), outputs=replaced, clone=True)
    _trust_zero_sums(graph)
    # A trace may be under way; the constants of the graph are no part of it.
    with quietly(), jax.ensure_compile_time_eval():
        rewriter: Any = JAX.including(check).optimizer
        rewriter.rewrite(graph)
        return jax_funcify(graph)

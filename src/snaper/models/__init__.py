"""Models of other packages as targets."""

from collections.abc import Callable
from typing import Any

from ..target import Target


def from_numpyro(model: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Target:
    """The posterior of a NumPyro model, called with these arguments.

    The unconstrained space is NumPyro's. Draws hold every latent and deterministic site; plates
    become dims. Arrays and floats among the arguments are data: another call with the same model
    and arrays of the same shapes compiles nothing. A model that looks at values in Python, such as
    `len(np.unique(group))`, gets all its arguments as constants, and is compiled anew for others;
    one that reads from its surroundings is, when what it reads there has changed.

    Discrete latent sites are summed out where NumPyro can do so, which takes the package funsor.
    Deterministic sites that depend on one are then, as in NumPyro, computed from a draw of it from
    its prior: leave them out.
    """
    from .numpyro import build  # here, since NumPyro takes a second to import

    return build(model, args, kwargs)


def from_pymc(model: Any) -> Target:
    """The posterior of a PyMC model (the extra `pymc`).

    Variables, transforms, dims, coords and deterministics are those of `pm.sample`. The values of
    `pm.Data` are read now; another call for the same model after `pm.set_data` with values of the
    same shapes compiles nothing. Where shapes depend on values of data, all data are constants
    instead. JAX's x64 switch, not PyTensor's floatX, decides between single and double precision.
    """
    from .pymc import build

    return build(model)


def as_target(model: Any, args: tuple, kwargs: dict[str, Any]) -> Target:
    """Whatever `snaper.sample` accepts, as a target."""
    if isinstance(model, Target) or _is_pymc(model):
        if args or kwargs:
            kind = "target" if isinstance(model, Target) else "PyMC model"
            raise TypeError(
                f"A {kind} takes no arguments, but {len(args) + len(kwargs)} came with it: only "
                "NumPyro models do."
            )
        return model if isinstance(model, Target) else from_pymc(model)
    if callable(model):
        return from_numpyro(model, *args, **kwargs)
    raise TypeError(
        "The first argument must be a snaper.Target, a NumPyro model or a PyMC model, not "
        f"{type(model).__name__}."
    )


def _is_pymc(model: Any) -> bool:
    """Told without importing PyMC, which would take seconds."""
    return any(kind.__module__.partition(".")[0] == "pymc" for kind in type(model).__mro__)

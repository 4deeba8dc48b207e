"""What a good trajectory length maximises: pure formulas of one transition.

A criterion is any function `criterion(x, x_new, t, **statistics)` that returns a scalar to be
maximised; x and x_new are the chains [chain, dim] before and after, t the time between. It asks for
statistics by naming them among its parameters: `weight` (acceptance probability per chain), `mean`
and `mean_new` (centres for x and x_new), `direction` (the principal component, a unit vector).
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import ensemble
from ._types import PerChain, Positions, Scalar, Vector
from .hmc import Transition
from .slowest import Slowest

Criterion = Callable[..., Scalar]


def esjd(x: Positions, x_new: Positions, t: Scalar, *, weight: PerChain) -> Scalar:
    r"""Expected squared jump distance, $E|x' - x|^2$ (Pasarica & Gelman 2010)."""
    return ensemble.mean(jnp.sum((x_new - x) ** 2, axis=-1), weight)


def chees(
    x: Positions, x_new: Positions, t: Scalar, *, weight: PerChain, mean: Vector, mean_new: Vector
) -> Scalar:
    r"""Change in the squared distance, $\frac14 E[(|z'|^2 - |z|^2)^2]$ (Hoffman et al. 2021)."""
    z, z_new = x - mean, x_new - mean_new
    change = jnp.sum(z_new**2 - z**2, axis=-1)
    return 0.25 * ensemble.mean(change**2, weight)


def chees_rate(
    x: Positions, x_new: Positions, t: Scalar, *, weight: PerChain, mean: Vector, mean_new: Vector
) -> Scalar:
    r"""ChEES per unit of time, $\frac{1}{4t} E[(|z'|^2 - |z|^2)^2]$."""
    return chees(x, x_new, t, weight=weight, mean=mean, mean_new=mean_new) / t


def snaper(
    x: Positions,
    x_new: Positions,
    t: Scalar,
    *,
    weight: PerChain,
    mean: Vector,
    mean_new: Vector,
    direction: Vector,
) -> Scalar:
    r"""Squared norm along the principal component, ESJD rate (Sountsov & Hoffman 2021).

    $$ \frac1t E[(\langle w, z'\rangle^2 - \langle w, z\rangle^2)^2] $$
    """
    before = ensemble.project(x - mean, direction) ** 2
    after = ensemble.project(x_new - mean_new, direction) ** 2
    return ensemble.mean((after - before) ** 2, weight) / t


@dataclass(frozen=True)
class Along:
    """SNAPER along a direction given by hand, for a difficulty that is known beforehand."""

    direction: tuple[float, ...]

    def __init__(self, direction):
        values = tuple(float(value) for value in np.ravel(direction))
        length = sum(value**2 for value in values) ** 0.5
        if not 0.0 < length < float("inf"):
            raise ValueError("direction must be a finite vector other than zero.")
        object.__setattr__(self, "direction", tuple(value / length for value in values))

    def __call__(self, x, x_new, t, *, weight, mean, mean_new) -> Scalar:
        direction = jnp.asarray(self.direction, x.dtype)
        if direction.shape != mean.shape:
            raise ValueError(
                f"direction has {direction.size} entries, but the target has {mean.size} "
                "dimensions."
            )
        return snaper(x, x_new, t, weight=weight, mean=mean, mean_new=mean_new, direction=direction)


FORMULAS: dict[str, Criterion] = {
    "snaper": snaper,
    "chees": chees,
    "chees_rate": chees_rate,
    "esjd": esjd,
}


NAMED: dict[str, Criterion | Slowest] = {"slowest": Slowest(), **FORMULAS}


def get(criterion: str | Criterion | Slowest) -> Criterion | Slowest:
    """A criterion by name; a function is returned as it is."""
    if callable(criterion) or isinstance(criterion, Slowest):
        return criterion
    if not isinstance(criterion, str) or criterion not in NAMED:
        raise ValueError(
            f"criterion {criterion!r} is unknown: choose one of auto, {', '.join(NAMED)}, or give "
            "a function."
        )
    return NAMED[criterion]


def remember(criterion: Criterion | Slowest, x: Positions, direction: Vector | None) -> Any:
    """What a criterion knows before the first transition; None where it needs no memory.

    `direction` is the difficult one, if it is known from another run.
    """
    return criterion.init(x, direction) if isinstance(criterion, Slowest) else None


def climb(
    criterion: Criterion | Slowest,
    memory: Any,
    transition: Transition,
    t: Scalar,
    statistics: Any,
    hyper: Any,
    rounding: Scalar,
    one_step: Scalar,
    step: Scalar,
) -> tuple[Any, tuple[Scalar, Scalar]]:
    """The criterion's memory after a transition, its value, and its derivative in log tau-bar."""
    if isinstance(criterion, Slowest):
        return criterion.update(
            memory,
            transition,
            t,
            statistics.healthy,
            hyper.mean,
            statistics.direction,
            rounding,
            hyper.trajectory_length,
            one_step,
            step,
        )
    value, slope = value_and_slope(criterion, transition, t, **statistics._asdict())
    return None, (value, t * slope)


def value_and_slope(
    criterion: Criterion, transition: Transition, t: Scalar, **statistics
) -> tuple[Scalar, Scalar]:
    """A criterion and its derivative in t; a positive slope asks for longer trajectories.

    By Hamilton's equations the end-point moves with its own velocity, so the derivative is a shift
    along it: no criterion needs a gradient derived by hand, and none runs through the integrator.
    """
    wanted = _wanted(criterion, statistics)
    # A chain that does not count may be anywhere: it stands at the centre, so that no power of its
    # position overflows.
    counted = (statistics["weight"] > 0)[:, None]
    start = jnp.where(counted, transition.start, statistics["mean"])
    proposal = jnp.where(counted, transition.proposal, statistics["mean_new"])
    velocity = jnp.where(counted, transition.velocity, 0.0)

    def value(dt):
        found = jnp.asarray(criterion(start, proposal + dt * velocity, t + dt, **wanted))
        if found.shape != () or not jnp.issubdtype(found.dtype, jnp.floating):
            raise ValueError(
                "criterion must return one real number for the whole ensemble, but returned"
                f" {found.dtype} of shape {found.shape}."
            )
        return found

    return jax.value_and_grad(value)(jnp.zeros_like(t))


def _wanted(criterion: Criterion, statistics: dict[str, jax.Array]) -> dict[str, jax.Array]:
    """The statistics that a criterion names among its parameters."""
    parameters = inspect.signature(criterion).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return statistics
    return {name: value for name, value in statistics.items() if name in parameters}

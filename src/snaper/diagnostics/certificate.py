"""Whether trajectories were tuned for what is slowest: bounds on the effective sample size of the
criterion's scalar, and that size itself.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from .. import criteria, ensemble
from .._types import Vector
from ..criteria import Criterion
from .ess import autocorrelation, effective_sample_size
from .stream import ScalarOf

MIN_DRAWS = 100  # per chain, below which autocorrelations are too rough for a verdict
TIGHT = 0.5  # the least share of the bound that is still called tight
AIMED = 0.5  # the least share of ESS_f that the worst coordinate may have


@dataclass(frozen=True)
class Bound:
    """Effective sample size of the criterion's scalar f, and what bounds it from above."""

    ess: float
    ess_max: float  # n (1 - rho) / (1 + rho), with rho at lag one
    nu_esjd: float  # n (1 - rho): squared jumps, which the criterion maximises

    @property
    def tightness(self) -> float:
        """ESS_f relative to its bound: near one, the criterion measures what it should."""
        return self.ess / self.ess_max if self.ess_max > 0 else float("nan")


@dataclass(frozen=True)
class Certificate:
    """The chain of bounds nu-ESJD_f >= ESS^max_f >= ESS_f ~ min ESS of squares, as measured."""

    bound: Bound
    min_ess_squares: float  # of the coordinates' squared distances from their mean
    worst: str  # the coordinate where it is

    @property
    def ess(self) -> float:
        return self.bound.ess

    @property
    def ess_max(self) -> float:
        return self.bound.ess_max

    @property
    def nu_esjd(self) -> float:
        return self.bound.nu_esjd

    @property
    def tightness(self) -> float:
        return self.bound.tightness

    @property
    def tight(self) -> bool:
        """Whether ESS_f is at least half of its bound."""
        return self.tightness >= TIGHT

    @property
    def aim(self) -> float:
        """The worst coordinate's effective sample size relative to f's."""
        return self.min_ess_squares / self.ess if self.ess > 0 else float("nan")

    @property
    def aimed(self) -> bool:
        """Whether the worst coordinate has at least half of f's effective sample size."""
        return self.aim >= AIMED

    def __str__(self) -> str:
        return (
            f"ESS_f {self.ess:.0f} is {self.tightness:.0%} of its bound {self.ess_max:.0f} "
            f"({'tight' if self.tight else 'loose'}; nu-ESJD {self.nu_esjd:.0f}); the worst "
            f"coordinate, {self.worst}, has {self.min_ess_squares:.0f}, {self.aim:.0%} of ESS_f "
            f"({'on' if self.aimed else 'off'} target)"
        )


def bound(f: np.ndarray) -> Bound | None:
    """Of the scalar f [chain, draw]; None for fewer than two draws, or where it never changed."""
    if f.shape[1] < 2 or not np.ptp(f) > 0:
        return None
    f = f.astype(float)
    rho = float(autocorrelation(f, np)[1])
    ess = float(effective_sample_size(f, np))
    largest = f.size * (1.0 - rho) / (1.0 + rho) if rho > -1.0 else np.inf
    return Bound(ess, largest, f.size * (1.0 - rho))


def scalar(criterion: Criterion, direction: Vector) -> tuple[ScalarOf, Vector] | None:
    """The scalar that a criterion looks at, and the direction it goes by; None where there is no
    such scalar.
    """
    if criterion is criteria.snaper:
        return along, direction
    if isinstance(criterion, criteria.Along):
        return along, jnp.asarray(criterion.direction, direction.dtype)
    if criterion in (criteria.chees, criteria.chees_rate):
        return radius, direction
    return None


def along(y: jax.Array, direction: Vector) -> jax.Array:
    """SNAPER's: the squared length along the principal component."""
    return ensemble.project(y, direction) ** 2


def radius(y: jax.Array, direction: Vector) -> jax.Array:
    """ChEES's: half the squared distance from the centre."""
    return 0.5 * jnp.sum(y**2, axis=-1)

"""Whether trajectories were tuned for what is slowest: bounds on the effective sample size of the
criterion's scalar, and that size itself.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from .. import criteria, ensemble
from .._types import Vector
from ..criteria import Criterion
from ..slowest import Slowest
from .ess import autocorrelation, effective_sample_size
from .stream import Look, ScalarOf

MIN_DRAWS = 100  # per chain, below which autocorrelations are too rough for a verdict
MIN_CHAINS = 32  # below which the variance between chains is
TIGHT = 0.5  # the least share of the bound that is still called tight
AIMED = 0.5  # the least share of ESS_f that the worst coordinate may have


@dataclass(frozen=True)
class Untold:
    """Stands in for a certificate that cannot be given, and says why; false in conditions."""

    reason: str

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return self.reason

    if not TYPE_CHECKING:  # to which it would make every attribute seem to be there

        def __getattr__(self, name):
            why = "" if name.startswith("__") or name == "reason" else f": {self.reason}"
            raise AttributeError(f"There is no certificate with {name!r}{why}")


@dataclass(frozen=True)
class Bound:
    """Effective sample size of the criterion's scalar f, and what bounds it from above."""

    ess: float
    ess_max: float  # n (1 - rho) / (1 + rho), with rho at lag one
    nu_esjd: float  # n (1 - rho): squared jumps, which the criterion maximises
    error: float = 0.0  # relative, of ess, where it is by the variance between chains

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
        error = self.bound.error
        rough = f"; sizes are told by how chains differ, within {error:.0%}" if error else ""
        return (
            f"ESS_f {self.ess:.0f} is {self.tightness:.0%} of its bound {self.ess_max:.0f} "
            f"({'tight' if self.tight else 'loose'}; nu-ESJD {self.nu_esjd:.0f}); the worst "
            f"coordinate, {self.worst}, has {self.min_ess_squares:.0f}, {self.aim:.0%} of ESS_f "
            f"({'on' if self.aimed else 'off'} target){rough}"
        )


def bound(f: np.ndarray) -> Bound | Untold:
    """Of the scalar f [chain, draw], by its autocorrelations."""
    if f.shape[1] < MIN_DRAWS:
        return _too_short(f.shape[1])
    if not np.isfinite(f).all():
        return _OVERFLOWED
    if not np.ptp(f) > 0:
        return _CONSTANT
    f = f.astype(float)
    rho = float(autocorrelation(f, np)[1])
    return _bound(float(effective_sample_size(f, np)), f.size, rho)


def streamed(look: Look) -> Bound | Untold:
    """The same without draws: the effective sample size is by the variance between chains."""
    num_chains, num_draws = look.constant.shape[0], int(look.num_draws)
    if num_draws < MIN_DRAWS:
        return _too_short(num_draws)
    if num_chains < MIN_CHAINS:
        return Untold(
            f"Without draws the certificate takes {MIN_CHAINS} chains or more, and there are "
            f"{num_chains}: use more chains=, or keep='draws'."
        )
    rho = float(look.lag_one_scalar)
    if np.isnan(rho):
        return _CONSTANT
    error = float(np.sqrt(2.0 / num_chains))
    return _bound(float(look.ess_scalar), num_chains * num_draws, rho, error)


def _bound(ess: float, size: int, rho: float, error: float = 0.0) -> Bound:
    largest = size * (1.0 - rho) / (1.0 + rho) if rho > -1.0 else np.inf
    return Bound(ess, largest, size * (1.0 - rho), error)


NO_SCALAR = Untold(
    "There is no certificate of a criterion without a scalar: use criterion='snaper' or 'chees'."
)
_CONSTANT = Untold(
    "There is no certificate where the criterion's scalar never changed: look at run.findings."
)
_OVERFLOWED = Untold(
    "There is no certificate where the criterion's scalar overflowed: look at run.findings."
)


def _too_short(num_draws: int) -> Untold:
    return Untold(
        f"The certificate takes {MIN_DRAWS} draws per chain or more, and there are {num_draws}: "
        "draw more."
    )


def scalar(criterion: Criterion | Slowest, direction: Vector) -> tuple[ScalarOf, Vector] | None:
    """The scalar that a criterion looks at, and the direction it goes by; None where there is no
    such scalar.
    """
    if criterion is criteria.snaper or isinstance(criterion, Slowest):
        return along, direction
    if isinstance(criterion, criteria.Along):
        return along, jnp.asarray(criterion.direction, direction.dtype)
    if criterion in (criteria.chees, criteria.chees_rate):
        return radius, direction
    return None


def along(y: jax.Array, direction: Vector) -> jax.Array:
    """SNAPER's: the squared length along a direction."""
    return ensemble.project(y, direction) ** 2


def radius(y: jax.Array, direction: Vector) -> jax.Array:
    """ChEES's: half the squared distance from the centre."""
    return 0.5 * jnp.sum(y**2, axis=-1)

"""Posterior moments and diagnostics of a run, with or without its draws."""

from dataclasses import dataclass

import numpy as np

from .stream import Look

Named = dict[str, tuple[np.ndarray, np.ndarray]]
"""Mean and standard deviation by name."""


@dataclass(frozen=True)
class Moments:
    """Of every unconstrained coordinate, and of the named parameters."""

    coordinates: list[str]
    num_draws: int  # per chain
    mean: np.ndarray
    sd: np.ndarray
    rhat: np.ndarray  # split near the middle
    nested_rhat: np.ndarray | None  # where superchains are declared
    ess: np.ndarray  # by the variance between chains
    ess_squares: np.ndarray  # of the squared distance from the centre, likewise
    lag_one_squares: np.ndarray  # autocorrelation of the same
    lag_one_scalar: float  # of the criterion's scalar; NaN where it has none
    named: Named  # as the log density sees them

    @classmethod
    def of(cls, look: Look, coordinates: list[str], named: Named) -> "Moments":
        nested = look.nested_rhat
        return cls(
            coordinates,
            int(look.num_draws),
            np.asarray(look.mean),
            np.asarray(look.sd),
            np.asarray(look.rhat),
            None if nested is None else np.asarray(nested),
            np.asarray(look.ess),
            np.asarray(look.ess_squares),
            np.asarray(look.lag_one_squares),
            float(look.lag_one_scalar),
            named,
        )

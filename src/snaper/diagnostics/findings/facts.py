"""What findings are made of."""

from dataclasses import dataclass, field

import numpy as np

from ..energy import Energy
from ..judged import Judged

ENOUGH_TO_MOVE = 20  # draws in which a good chain moves, even among thousands


def _none() -> np.ndarray:
    return np.zeros(0)


@dataclass(frozen=True)
class Facts:
    """What findings are made of: plain numbers of a finished run."""

    num_chains: int
    num_replaced: int  # starting points
    target_accept: float | None  # None where the step size was held
    max_leapfrog: int
    tuned: bool  # began with given values
    warmup_wanted: int
    warmup_done: int
    draws_wanted: int
    draws_done: int
    interrupted: bool
    reseeded: np.ndarray  # per chain
    warmup_step_size: np.ndarray
    warmup_length: np.ndarray
    accept_prob: np.ndarray  # per chain, mean over sampling
    accepted: np.ndarray  # per chain, count in sampling
    diverging: np.ndarray
    capped: int
    lp: np.ndarray  # per chain, mean over sampling
    resolution: float  # of the log density, in its own units
    replaced_for: str = ""  # what was wrong with the first of them
    one_start: bool = False  # shared by all chains
    held_short: bool = False  # steps, by the trajectory's length and not by acceptance
    flat: np.ndarray = field(default_factory=_none)  # which coordinates no chain felt a gradient in
    outward: np.ndarray = field(default_factory=_none)  # share of chains pulled so, per coordinate
    ends: np.ndarray = field(default_factory=_none)  # where chains stand at last, [chain, dim]
    mixing: Judged | None = None  # how chains compare in all coordinates
    asked: Judged | None = None  # and in functions, if these decide when to stop
    converged: bool = False  # so that sampling stopped
    limit: str | None = None  # what sampling ran into before it converged
    warmup_cap: float = float("inf")  # on leapfrog steps, at the end of warm-up
    unusable: float = 0.0  # share of warm-up in which the criterion was zero or not finite
    warmup_diverging: int = 0  # transitions of all chains
    tightness: float = float("nan")  # of the criterion's bound, where that can be told
    at_bounds: dict[str, float] = field(default_factory=dict)  # share of draws, by parameter
    unexplained: np.ndarray = field(default_factory=_none)  # by gradients, per chain
    energy: Energy | None = None  # where it changes too little

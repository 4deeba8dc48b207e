"""What a run is judged by: R-hat and effective sample sizes, of coordinates or of functions."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .stream import Look


class Judged(NamedTuple):
    """Diagnostics of some quantities now, and how to call them."""

    num_draws: int  # per chain
    rhat: np.ndarray  # nested if there are superchains
    nested: bool
    ess: np.ndarray  # by the variance between chains
    constant: np.ndarray  # [chain, quantity]: never changed
    name: Callable[[int], str]

    def worst(self) -> tuple[float, str]:
        """The largest R-hat, and whose it is; NaN, of what never changed, is larger than all."""
        where = self.worst_index()
        return float(self.rhat[where]), self.name(where)

    def worst_is_constant(self) -> bool:
        """Whether that never changed, in any chain."""
        return bool(np.all(self.constant[:, self.worst_index()]))

    def worst_index(self) -> int:
        return int(np.argmax(np.where(np.isnan(self.rhat), np.inf, self.rhat)))

    @property
    def kind(self) -> str:
        """Of R-hat, in words."""
        return "nested R-hat" if self.nested else "R-hat"

    def least(self) -> tuple[float, str]:
        """The smallest effective sample size, and whose it is."""
        where = int(np.argmin(self.ess))
        return float(self.ess[where]), self.name(where)


def coordinates(look: Look, name: Callable[[int], str]) -> Judged:
    """Each with its squared distance from the mean, which is the slower to learn."""
    return _judged(look, np.minimum(look.ess, look.ess_squares), name)


def functions(look: Look, name: Callable[[int], str]) -> Judged:
    """Each for itself: whoever asks for a square says so."""
    return _judged(look, np.asarray(look.ess), name)


def _judged(look: Look, ess: np.ndarray, name: Callable[[int], str]) -> Judged:
    nested = look.nested_rhat
    return Judged(
        int(look.num_draws),
        np.asarray(look.rhat if nested is None else nested),
        nested is not None,
        ess,
        np.asarray(look.constant),
        name,
    )

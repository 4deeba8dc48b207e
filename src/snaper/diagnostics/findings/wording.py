"""Chains, parameters and places, as sentences name them."""

import numpy as np

from ..judged import Judged


def chains(which: np.ndarray) -> str:
    """How many are marked, of how many, and their numbers, abbreviated."""
    numbers = np.flatnonzero(which)
    text = ", ".join(str(number) for number in numbers[:6])
    more = ", ..." if numbers.size > 6 else ""
    plural = "s" if numbers.size > 1 else ""
    return f"{numbers.size} of {which.size} chains (number{plural} {text}{more})"


def names(judged: Judged, which: np.ndarray) -> str:
    """Of the first few quantities that are marked."""
    return ", ".join(judged.name(int(i)) for i in np.flatnonzero(which)[:3])


def span(ends: np.ndarray, coordinate: int) -> str:
    """From where to where chains stand at last."""
    values = ends[:, coordinate]
    return f"{values.min():.3g} to {values.max():.3g}"

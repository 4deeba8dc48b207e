"""Percentiles over seeds, where some numbers may be infinite, and how sure they are."""

import numpy as np

RESAMPLES = 2000
LEVEL = 0.95


def percentile(values: np.ndarray, q: float) -> np.ndarray:
    """Of the last axis, between neighbours on a straight line; infinite next to an infinity."""
    ordered = np.sort(values, axis=-1)
    place = q / 100 * (ordered.shape[-1] - 1)
    below = ordered[..., int(np.floor(place))]
    above = ordered[..., int(np.ceil(place))]
    with np.errstate(invalid="ignore"):
        between = below + (place % 1) * (above - below)
    return np.where(np.isfinite(above), between, above)


def interval(values: np.ndarray, q: float) -> tuple[float, float]:
    """Where the percentile would lie with other seeds: the bootstrap, of a fixed seed."""
    rng = np.random.default_rng(0)
    again = values[rng.integers(len(values), size=(RESAMPLES, len(values)))]
    found = percentile(again, q)
    tail = 100 * (1 - LEVEL) / 2
    return float(percentile(found, tail)), float(percentile(found, 100 - tail))


def rank(values: np.ndarray, value: float) -> float:
    """Per cent of the values that are below."""
    return 100 * float(np.mean(values < value))

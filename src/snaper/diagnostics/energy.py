"""Whether momenta move chains through all levels of the target's energy."""

from typing import NamedTuple

import numpy as np

ENOUGH = 100  # draws of a chain, for this to mean something
USUAL = 0.3  # and more


class Energy(NamedTuple):
    """E-BFMI (Betancourt 2016) of the median chain, and the coordinate that energy goes with."""

    information: float
    coordinate: int


def energy(energies: np.ndarray, x: np.ndarray) -> Energy | None:
    """Of energies [chain, draw] and positions [chain, draw, dim]; None where nothing is wrong, or
    it cannot be told.
    """
    half = energies.shape[1] // 2
    if half < ENOUGH:
        return None
    energies, x = energies[:, half:], x[:, half:]  # before, it may fall from a start far out
    fraction = information(energies)
    if not fraction < USUAL:
        return None
    return Energy(fraction, int(np.argmax(_correlations(energies, x))))


def information(energies: np.ndarray) -> float:
    """Mean square of the energy's changes from draw to draw over its variance, of the median chain:
    2 (1 - rho) with its autocorrelation rho. Chains whose energy never changes have none.
    """
    with np.errstate(all="ignore"):
        changes = np.mean(np.diff(energies.astype(float), axis=1) ** 2, axis=1)
        fractions = changes / np.var(energies.astype(float), axis=1)
    usable = fractions[np.isfinite(fractions)]
    return float(np.median(usable)) if usable.size else float("nan")


def _correlations(energies: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Of the energy with every coordinate, without sign; zero where there is none."""
    sound = np.flatnonzero(np.all(np.isfinite(energies), axis=1))
    mean, middle = np.mean(energies[sound], dtype=float), np.mean(x, axis=(0, 1))
    along, spread = np.zeros(x.shape[-1]), np.zeros(x.shape[-1])
    with np.errstate(all="ignore"):
        for chain in sound:  # one by one: a copy of all draws would be large
            offset = x[chain] - middle
            along += (energies[chain] - mean) @ offset
            spread += np.sum(offset**2, axis=0)
        return np.abs(np.nan_to_num(along / np.sqrt(spread), posinf=0.0, neginf=0.0))

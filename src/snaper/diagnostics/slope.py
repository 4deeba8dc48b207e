"""Whether a log density changes between neighbouring points as its gradients say."""

import jax.numpy as jnp
import numpy as np

from ..hmc import Chains
from ..sampler import evaluate
from ..target import Target

MOVE = 1e-3  # of the distance between chains
SHORTER = 4.0  # times is the second move: a bend of the density leaves 64 times less unexplained,
LESS = 16.0  # and rounding as much as before


def unexplained(target: Target, x: np.ndarray) -> np.ndarray:
    """How much of the log density's change over a small move from each of the points x [chain, dim]
    the gradients at both ends do not explain; zero where the density's shape may.
    """
    here = evaluate(target, jnp.asarray(x))
    with np.errstate(all="ignore"):
        aside = np.random.default_rng(0).choice([-1.0, 1.0], x.shape) * _apart(x)
        far, near = (_left(target, here, aside * MOVE / times) for times in (1.0, SHORTER))
        return np.where(near * LESS > far, near, 0.0)


def _apart(x: np.ndarray) -> np.ndarray:
    """By how much chains differ, [dim], whatever a few do: half of what half of them span."""
    sound = x[np.isfinite(x).all(axis=1)].astype(float)
    if not len(sound):
        return np.zeros(x.shape[1])
    return np.diff(np.quantile(sound, [0.25, 0.75], axis=0), axis=0)[0] / 2


def _left(target: Target, here: Chains, move: np.ndarray) -> np.ndarray:
    """Of one move; where numbers are too coarse for it, a coordinate stays."""
    x, grad = np.asarray(here.x), np.asarray(here.grad, float)
    fine = np.abs(move) > 8 * np.spacing(np.abs(x))
    there = evaluate(target, jnp.asarray(np.where(fine, x + move, x).astype(x.dtype)))
    moved = np.asarray(there.x, float) - x
    said = np.sum(0.5 * (grad + np.asarray(there.grad)) * moved, axis=1)
    return np.abs(np.asarray(there.logp, float) - np.asarray(here.logp) - said)

"""How much of a posterior's tails runs have seen, and what their effective sample size says then.

    python -m experiments.paper.tails

writes tails.json among the results, what is missing of it.
"""

import argparse
import json
import os
import time
from pathlib import Path

import jax
import numpy as np

from snaper import targets
from snaper.diagnostics.ess import ess_of_squares
from snaper.targets._data import load

from . import cells
from .batch import SLOTS, Batch
from .settings import BEYOND, CAREFUL, LEARNT, Setting

SNAPER = LEARNT[0]
WANTED = {
    "brownian-bridge": (BEYOND, SNAPER, CAREFUL),
    "logistic-regression": (BEYOND, SNAPER),
    "hierarchical-linear": (BEYOND, SNAPER),
    "sparse-logistic-regression": (BEYOND, SNAPER),
}
SEEDS, WARMUP, DRAWS = 40, 2000, 1000
NARROW = 0.01  # share of the Brownian bridge's posterior that is called narrow

_sizes = jax.jit(ess_of_squares)


def measure(problem: str, setting: Setting, seeds: int = SEEDS, warmup: int = WARMUP) -> dict:
    """Of every seed's draws, and of all seeds' together."""
    batch = Batch(problem, setting, range(seeds), warmup, short=False)
    batch.warm_up()
    draws, accepted, gradients = [], [], np.zeros(seeds)
    for _ in range(DRAWS // SLOTS):
        record, tally = batch.draw()
        draws.append(np.asarray(record.x))
        accepted.append(np.asarray(record.info.is_accepted))
        gradients += np.asarray(tally.gradients)
    x = np.swapaxes(np.concatenate(draws, axis=1), 1, 2)  # [seed, chain, draw, dim]
    moves = np.mean(np.concatenate(accepted, axis=1), axis=1)  # [seed, chain]
    return summary(problem, x, moves, gradients)


def summary(problem: str, x: np.ndarray, moves: np.ndarray, gradients: np.ndarray) -> dict:
    """From draws [seed, chain, draw, dim], the share of moves accepted and gradients."""
    chains = x.shape[1]
    sizes = np.array([_sizes(each) for each in x]) / (chains * gradients[:, None])
    worst = np.argmin(sizes, axis=1)
    every = {"axis": (0, 1, 2), "dtype": float}  # millions, which single precision adds up badly
    z = (x - np.mean(x, **every)) / np.std(x, **every)
    fourth = np.mean(z**4, axis=(1, 2))  # [seed, dim]
    loudest, shares = zip(*map(_loudest, x, worst), strict=True)
    moving = np.all(moves > 0, axis=1)
    if not np.any(moving):
        raise ValueError("In every seed some chain never moved: use more of them.")
    together = np.asarray(_sizes(x[moving].reshape(-1, *x.shape[2:])))
    together = together / (np.sum(moving) * chains * np.mean(gradients[moving]))
    found = {
        "efficiency": sizes[np.arange(len(x)), worst],
        "fourth_moment": np.max(fourth, axis=1),
        "loudest_share": np.array(shares),
        "loudest_accepts": moves[np.arange(len(x)), loudest],
        "together": np.min(together),
    }
    if problem == "brownian-bridge":
        found["narrow"] = narrow(x)
    return {name: np.asarray(value).tolist() for name, value in found.items()}


def _loudest(x: np.ndarray, worst: int) -> tuple[int, float]:
    """The chain that has the largest part in the variance between chains of a coordinate's square,
    and its part.
    """
    means = np.mean((x[..., worst] - np.mean(x[..., worst])) ** 2, axis=1)
    parts = (means - np.mean(means)) ** 2
    return int(np.argmax(parts)), float(np.max(parts) / np.sum(parts))


def narrow(x: np.ndarray | jax.Array, share: float = NARROW) -> np.ndarray:
    """The part of each seed's draws [seed, ., ., dim] of the Brownian bridge in which the noise of
    the observations is below what it is below in this share of the posterior.
    """
    target = targets.get("brownian-bridge")
    names = [target.coordinate_name(i) for i in range(target.dim)]
    noise = np.asarray(x[..., names.index("observation_noise_scale")])
    return np.mean(noise < narrow_below(share), axis=(1, 2))


def narrow_below(share: float = NARROW) -> float:
    """What the noise of the Brownian bridge's observations, unconstrained, is below with the
    probability `share`: by quadrature over both scales, given which the observations are normal.
    """
    data = load("brownian_bridge")
    steps = np.flatnonzero(data["observed"]) + 1.0
    variances, axes = np.linalg.eigh(np.minimum.outer(steps, steps))
    y = axes.T @ data["values"][data["observed"]]
    log_walk = np.linspace(np.log(1e-2), np.log(2.0), 100)
    log_noise = np.linspace(np.log(1e-6), np.log(2.0), 2000)
    total = np.exp(2 * log_walk)[:, None, None] * variances + np.exp(2 * log_noise)[:, None]
    log_p = -0.5 * np.sum(np.log(total) + y**2 / total, axis=-1)
    log_p -= (log_walk[:, None] ** 2 + log_noise**2) / 8
    below = np.cumsum(np.sum(np.exp(log_p - np.max(log_p)), axis=0))
    noise = np.exp(np.interp(share, below / below[-1], log_noise))
    return float(np.log(np.expm1(noise)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=cells.RESULTS)
    path = parser.parse_args().results / "tails.json"
    whole = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"runs": []}
    there = {(each["problem"], each["setting"]) for each in whole["runs"]}
    for problem, settings in WANTED.items():
        for setting in settings:
            if (problem, setting.name) in there:
                continue
            began = time.monotonic()
            found = measure(problem, setting)
            about = {"problem": problem, "setting": setting.name, "seeds": SEEDS}
            about |= {"warmup": WARMUP, "draws": DRAWS, **cells.machine()}
            whole["runs"].append({**about, **found})
            partial = path.with_suffix(".part")
            partial.write_text(json.dumps(whole) + "\n", encoding="utf-8")
            os.replace(partial, path)
            print(f"{problem} {setting.name}: {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()

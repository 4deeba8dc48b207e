"""One wide direction among many narrow ones: the best lengths under exact dynamics, and what HMC
makes of them.

    python -m experiments.paper.spectrum

writes spectrum.json among the results, unless it is there. Lengths are in units of the wide scale.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import snaper
from snaper import targets
from snaper.diagnostics.ess import ess_of_squares

from . import cells
from .problems import CHAINS

REPEATS = 300
RATIOS = tuple(float(f"{r:.4g}") for r in np.geomspace(0.05, 1.0, 16))
CRITERIA = ("chees", "snaper")
SEEDS = 3
WARMUP = 1500
DRAWS = 1000
_LENGTHS = np.linspace(0.01, 2.0, 4000)
_POINTS = (np.arange(2000) + 0.5) / 1000  # of the jitter, on (0, 2)


def gain(sigma: float, length: np.ndarray, per_time: bool) -> np.ndarray:
    """Mean over the jitter of sin(t / sigma)^2, what the square of a Gaussian coordinate forgets in
    time t: one minus the correlation of x(0)^2 and x(t)^2.
    """
    t = _POINTS[:, None] * length
    return np.mean(np.sin(t / sigma) ** 2 / (t if per_time else 1.0), axis=0)


def chees(sigma_r: float, length: np.ndarray = _LENGTHS) -> np.ndarray:
    """Directions weigh as the fourth power of their scale."""
    return gain(1.0, length, False) + REPEATS * sigma_r**4 * gain(sigma_r, length, False)


def snaper_rate(sigma_r: float, length: np.ndarray = _LENGTHS) -> np.ndarray:
    """The wide direction alone counts, per unit of time."""
    return gain(1.0, length, True)


def best(criterion: str, sigma_r: float) -> float:
    """The mean length that maximises a criterion."""
    value = {"chees": chees, "snaper": snaper_rate}[criterion](sigma_r)
    return float(_LENGTHS[np.argmax(value)])


def best_alone() -> float:
    """The mean length that is best for the square of the wide coordinate."""
    return float(_LENGTHS[np.argmax(gain(1.0, _LENGTHS, False))])


def measure(criterion: str, sigma_r: float, seed: int) -> dict[str, float]:
    """Learn with the criterion, then draw with the best length under exact dynamics."""
    target = targets.get("gaussian-spectrum", sigma_r=sigma_r, repeats=REPEATS)
    common = {"criterion": criterion, "metric": "identity", "chains": CHAINS, "progress": False}
    learnt = snaper.sample(target, warmup=WARMUP, draws=0, seed=seed, **common).tuning
    scale = np.array([1.0] + [sigma_r] * REPEATS)
    start = scale * np.random.default_rng(seed).normal(size=(CHAINS, 1 + REPEATS))
    run = snaper.sample(
        target,
        warmup=0,
        draws=DRAWS,
        seed=seed,
        init={"x": start.astype(np.float32)},
        tuning=replace(learnt, trajectory_length=best(criterion, sigma_r)),
        **common,
    )
    sizes = ess_of_squares(jnp.asarray(run.unconstrained)) / CHAINS
    return {
        "min_ess_z2": float(jnp.min(sizes)),
        "wide_ess_z2": float(sizes[0]),
        "gradients": run.num_gradients[1],
        "learnt_length": learnt.trajectory_length,
        "step_size": learnt.step_size,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=cells.RESULTS)
    path = parser.parse_args().results / "spectrum.json"
    if path.exists():
        return
    began = time.monotonic()
    rows = []
    for criterion in CRITERIA:
        for sigma_r in RATIOS:
            found = [measure(criterion, sigma_r, seed) for seed in range(SEEDS)]
            columns = {name: [float(f"{f[name]:.6g}") for f in found] for name in found[0]}
            length = best(criterion, sigma_r)
            rows.append(
                {"criterion": criterion, "sigma_r": sigma_r, "best_length": length, **columns}
            )
            print(criterion, sigma_r, f"{length:.3f}", columns, flush=True)
        jax.clear_caches()
    seconds = round(time.monotonic() - began, 1)
    whole = {"draws": DRAWS, "warmup": WARMUP, "seeds": SEEDS, "seconds": seconds}
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**whole, **cells.machine(), "rows": rows})
    path.write_text(text.replace('{"criterion"', '\n{"criterion"') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""One SNAPER run, as it learns.

    python -m experiments.paper.traces

writes traces.json among the results, thinned, unless it is there.
"""

import argparse
import json
import time
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from snaper import ensemble, sampler, targets
from snaper.config import preset

from . import cells, problems
from .rhat import classic
from .short_run import THRESHOLD

PROBLEM = "sparse-logistic-regression"
WARMUP = 1000
DRAWS = 2000
SEED = 0
THIN = 5
WIDE = 0.85  # of the largest scale: what counts as a top eigenvector
_CHUNK = 250


def trace(problem: str = PROBLEM, warmup: int = WARMUP, draws: int = DRAWS, seed: int = SEED):
    """Arrays by name, one row per transition, and the draws [draw, chain, dim]."""
    target, config = targets.get(problem), preset("default")
    start = problems.start(problem)
    state = sampler.init(jax.random.key(seed), target, config, start, warmup)
    rows, positions = [], []
    for _ in range((warmup + draws) // _CHUNK):
        state, (row, x) = _stretch(config, target, state)
        rows.append(jax.tree.map(np.asarray, row))
        positions.append(np.asarray(x))
    columns = {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}
    return columns, np.concatenate(positions)[warmup:], int(state.num_one_step)


@partial(jax.jit, static_argnums=0)
def _stretch(config, target, state):
    def body(state, _):
        held = state.step < state.num_one_step
        state, info = sampler.step(target, config, state)
        length = jnp.where(held, info.step_size, info.mean_trajectory_length)
        accept = info.acceptance_rate
        row = {
            "step_size": info.step_size,
            "trajectory_length": length,
            "leapfrogs": length / info.step_size,
            "acceptance": ensemble.harmonic_mean(accept, jnp.ones_like(accept)),
            "criterion": info.criterion,
            "direction": state.adapt.direction,
        }
        return state, (row, state.chains.x)

    return jax.lax.scan(body, state, None, length=_CHUNK)


def sine(directions: np.ndarray, draws: np.ndarray) -> tuple[np.ndarray, int]:
    """Of the angle between each direction and the span of the covariance's top eigenvectors, and
    how many these are.
    """
    covariance = np.cov(draws.reshape(-1, draws.shape[-1]).T)
    values, vectors = np.linalg.eigh(covariance)
    top = vectors[:, np.sqrt(values) > WIDE * np.sqrt(values[-1])]
    inside = np.sum((directions @ top) ** 2, axis=1) / np.sum(directions**2, axis=1)
    return np.sqrt(np.clip(1.0 - inside, 0.0, None)), top.shape[1]


def rhat(draws: np.ndarray, every: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest classic R-hat over coordinates, of the first so many draws."""
    counts = np.arange(every, len(draws) + 1, every)
    y = draws.astype(float) - draws.mean(axis=(0, 1))
    sums, squares = np.cumsum(y, axis=0), np.cumsum(y**2, axis=0)
    found = []
    for n in counts:
        mean = sums[n - 1] / n
        within = (squares[n - 1] - n * mean**2) / (n - 1)
        ratio = np.var(mean, axis=0, ddof=1) / np.mean(within, axis=0)
        found.append(np.max(np.asarray(classic(ratio, draws.shape[1], n))))
    return counts, np.array(found)


def compact(columns: dict, draws: np.ndarray, warmup: int, one_step: int) -> dict:
    """Thinned, rounded, and with what is derived from the draws."""
    angle, num_top = sine(columns.pop("direction"), draws)
    counts, found = rhat(draws, 2 * THIN)
    below = np.flatnonzero(found < THRESHOLD)
    kept = {"transition": np.arange(0, len(angle), THIN)}
    kept |= {name: column[::THIN] for name, column in {**columns, "sine": angle}.items()}
    return {
        "one_step": one_step,
        "warmup": warmup,
        "reached": warmup + int(counts[below[0]]) if below.size else None,
        "threshold": THRESHOLD,
        "top_eigenvectors": num_top,
        "columns": {name: _short(column) for name, column in kept.items()},
        "rhat": {"transition": _short(warmup + counts), "value": _short(found)},
    }


def _short(column: np.ndarray) -> list:
    if column.dtype.kind == "i":
        return column.tolist()
    return [float(f"{value:.5g}") for value in column]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=cells.RESULTS)
    path = parser.parse_args().results / "traces.json"
    if path.exists():
        return
    began = time.monotonic()
    columns, draws, one_step = trace()
    whole = {"problem": PROBLEM, "seed": SEED, "chains": problems.CHAINS}
    whole |= compact(columns, draws, WARMUP, one_step)
    whole |= {"seconds": round(time.monotonic() - began, 1), **cells.machine()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(whole) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

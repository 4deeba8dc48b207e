"""Coordinates learnt from a run: can widths that follow others be found, and is it worth while?

A pivot is what the roughness of a run's draws is steepest in, with the exponents of all others by
it; centres and exponents are then what leaves least roughness, and the next pivot is looked for.

    python -m experiments.learnt_bend

writes docs/results/learnt_bend.jsonl: the default in coordinates that single runs of it taught.
"""

import argparse
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax

import snaper
from snaper import Target, targets
from snaper.metric import product

from .bend import Bend, straightened
from .paper import cells, long_run, tails
from .paper.problems import CHAINS, Problem
from .paper.settings import BEYOND

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "learnt_bend.jsonl"
NAMES = ("brownian-bridge", "eight-schools", "funnel", "sparse-logistic-regression")
WARMUP = 1000
TAUGHT = {"chains": CHAINS, "warmup": 500, "draws": 500, "progress": False}  # by such a run
MOST = 8  # pivots
LEAST = 0.05  # roughness that a pivot takes away
FOLLOWS = 0.2  # exponent, for a pivot's standard deviation, of what is none itself
TURNS = 500
RATE = 0.03
RIDGE = 1e-3  # on exponents


def roughness(bend: Bend, x: jax.Array, grad: jax.Array) -> jax.Array:
    r"""$\log \mathrm{tr}(\mathrm{Cov}[z]\,\mathrm{E}[s s^T]) / d$ of points [point, dim], with the
    gradients s of the log density of z: zero for a Gaussian, more for all else, in whatever units.
    """
    z = bend.straight(x)
    score = bend.score(z, grad)
    z = z - jnp.mean(z, axis=0)
    count, dim = x.shape
    return jnp.log(jnp.sum(product(z.T, z) / count * product(score.T, score) / count) / dim)


@jax.jit
def steepness(bend: Bend, x: jax.Array, grad: jax.Array) -> jax.Array:
    """Of roughness, by the pivot that each coordinate would be for all others: squared slopes in
    their exponents, where points are straight by what is known.
    """
    z = bend.straight(x)
    score = bend.score(z, grad)
    dim = z.shape[1]
    flat = jnp.zeros((dim, dim), z.dtype)
    every = Bend(jnp.mean(z, axis=0), jnp.std(z, axis=0), jnp.arange(dim), flat)
    slopes = jax.grad(lambda e: roughness(every._replace(exponents=e), z, score))(flat)
    return jnp.sum((slopes * (1.0 - jnp.eye(dim, dtype=z.dtype))) ** 2, axis=0)


def find(x: jax.Array, grad: jax.Array) -> Bend:
    """One pivot after the other, each where roughness is steepest then, as long as it falls; what
    follows a pivot is none itself.
    """
    dim = x.shape[1]
    bend = Bend(
        jnp.mean(x, axis=0), jnp.std(x, axis=0), jnp.zeros(0, int), jnp.zeros((dim, 0), x.dtype)
    )
    while bend.pivots.size < MOST:
        follows = np.max(np.abs(bend.exponents), axis=1, initial=0.0) > FOLLOWS
        steep = np.where(follows, 0.0, steepness(bend, x, grad))
        steep[np.asarray(bend.pivots)] = 0.0
        pivots = jnp.append(bend.pivots, np.argmax(steep))
        exponents = jnp.pad(bend.exponents, ((0, 0), (0, 1)))
        new = fit(bend._replace(pivots=pivots, exponents=exponents), x, grad)
        if roughness(new, x, grad) > roughness(bend, x, grad) - LEAST:
            break
        bend = new
    return bend


@jax.jit
def fit(first: Bend, x: jax.Array, grad: jax.Array) -> Bend:
    """The bend with these pivots that leaves least roughness."""
    follows = jnp.ones_like(first.centre).at[first.pivots].set(0.0)

    def bend(free) -> Bend:
        shift, exponents = free
        centre = first.centre + first.width * shift * follows
        return first._replace(centre=centre, exponents=exponents * follows[:, None])

    def loss(free):
        return roughness(bend(free), x, grad) + RIDGE * jnp.sum(free[1] ** 2)

    adam = optax.adam(optax.cosine_decay_schedule(RATE, TURNS))

    def turn(carry, _):
        free, state = carry
        change, state = adam.update(jax.grad(loss)(free), state)
        return (optax.apply_updates(free, change), state), None

    free = (jnp.zeros_like(first.centre), first.exponents)
    (free, _), _ = jax.lax.scan(turn, (free, adam.init(free)), length=TURNS)
    return bend(free)


def learn(target: Target, seed: int, points: int = 8192) -> tuple[Bend, dict]:
    """From the draws of one run, and what the run took."""
    run = snaper.sample(target, seed=seed, **TAUGHT)
    x = run.unconstrained.reshape(-1, target.dim)
    x = jnp.asarray(x[:: max(1, len(x) // points)])
    grad = jax.vmap(jax.grad(target.logp))(x)
    bend = find(x, grad)
    plain = bend._replace(exponents=jnp.zeros_like(bend.exponents))
    before, after = (float(roughness(each, x, grad)) for each in (plain, bend))
    pivots = [target.coordinate_name(int(place)) for place in bend.pivots]
    told = {"pivots": pivots, "roughness": [before, after], "gradients": sum(run.num_gradients)}
    return bend, told


def measure(name: str, runs: int, seeds: int) -> dict:
    """One number per seed of each run that taught, by name."""
    target = targets.get(name)
    plain = Problem(target, target.disperse(jax.random.key(1), CHAINS))
    taught, efficiency, tail = [], [], []
    for run in range(runs):
        bend, told = learn(target, 1000 + run)
        taught.append(told)
        found = long_run.measure(
            straightened(plain, bend), BEYOND, range(seeds), WARMUP, also=_seen
        )
        efficiency.extend(cells.plain({"": found["min_ess_z2"] / found["gradients"]})[""])
        tail.extend(cells.plain({"": found["tail"]})[""])
    about = {"target": name, "warmup": WARMUP, "draws": long_run.DRAWS, "taught": taught}
    seen = {"tail": tail} if name == "brownian-bridge" else {}
    return {**about, "efficiency": efficiency, **seen, **cells.machine()}


def _seen(x: jax.Array) -> dict[str, np.ndarray]:
    """Of the Brownian bridge: the part of draws in the narrowest hundredth."""
    is_bridge = x.shape[-1] == targets.get("brownian-bridge").dim
    return {"tail": tails.narrow(x, 0.01) if is_bridge else np.full(len(x), np.nan)}


def main() -> None:
    parser = argparse.ArgumentParser(description="Coordinates learnt from runs: JSON lines.")
    parser.add_argument("--targets", nargs="+", default=[*NAMES], choices=NAMES)
    parser.add_argument("--runs", type=int, default=3, help="that teach")
    parser.add_argument("--seeds", type=int, default=20, help="of runs in what each taught")
    parser.add_argument("--output", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    for name in chosen.targets:
        row = measure(name, chosen.runs, chosen.seeds)
        with open(chosen.output, "a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
        rate = np.quantile(row["efficiency"], [0.1, 0.5])
        print(name, *(f"{each:.3g}" for each in rate), row["taught"], flush=True)


if __name__ == "__main__":
    main()

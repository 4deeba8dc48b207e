"""Hierarchical models as people write them, with effects around their mean: coordinates as given,
as a run learns them, and the same models rewritten by hand, with effects in units of their scale.

    python -m experiments.hierarchies

writes docs/results/hierarchies.json, what is missing of it: calls of `sample` from dispersed
starts.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import numpyro
from numpyro.distributions import (
    Bernoulli,
    Exponential,
    HalfCauchy,
    HalfNormal,
    Normal,
    Poisson,
)
from numpyro.handlers import reparam
from numpyro.infer.reparam import LocScaleReparam

import snaper
from snaper.diagnostics import ess

from .coordinates import LEARNING
from .paper import cells
from .paper.problems import CHAINS

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "hierarchies.json"
WARMUP, DRAWS, LOW = 1000, 1000, 0.01
SCALES = {"tau", "tau_slope", "among", "local", "noise"}
GIVEN, LEARNT, BY_HAND = CHOICES = ("given", "learnt", "by hand")
OTHERS = {GIVEN: "given", LEARNT: "auto", BY_HAND: "given"}


class Hierarchy(NamedTuple):
    """A model with its data, which sites are effects, and the scale whose tail is looked at."""

    model: Callable[..., None]
    data: tuple[Any, ...]
    effects: tuple[str, ...]
    scale: str = "tau"


def schools(values, errors):
    mu = numpyro.sample("mu", Normal(0, 5))
    tau = numpyro.sample("tau", HalfCauchy(5))
    with numpyro.plate("schools", len(values)):
        theta = numpyro.sample("theta", Normal(mu, tau))
        numpyro.sample("value", Normal(theta, errors), obs=values)


def answers(group, values):
    mu = numpyro.sample("mu", Normal(0, 2))
    tau = numpyro.sample("tau", HalfNormal(1))
    with numpyro.plate("groups", group.max() + 1):
        effect = numpyro.sample("effect", Normal(0, tau))
    numpyro.sample("value", Bernoulli(logits=mu + effect[group]), obs=values)


def counts(group, values):
    mu = numpyro.sample("mu", Normal(0, 2))
    tau = numpyro.sample("tau", Exponential(1))
    with numpyro.plate("groups", group.max() + 1):
        effect = numpyro.sample("effect", Normal(mu, tau))
    numpyro.sample("value", Poisson(jnp.exp(effect[group])), obs=values)


def lines(group, at, values):
    means = [numpyro.sample(name, Normal(0, 5)) for name in ("mean_height", "mean_slope")]
    scales = [numpyro.sample(name, HalfNormal(2)) for name in ("tau", "tau_slope")]
    noise = numpyro.sample("noise", HalfNormal(2))
    with numpyro.plate("groups", group.max() + 1):
        height = numpyro.sample("height", Normal(means[0], scales[0]))
        slope = numpyro.sample("slope", Normal(means[1], scales[1]))
    numpyro.sample("value", Normal(height[group] + slope[group] * at, noise), obs=values)


def classes(school, group, values):
    mu = numpyro.sample("mu", Normal(0, 5))
    among, tau = (numpyro.sample(name, HalfNormal(1)) for name in ("among", "tau"))
    noise = numpyro.sample("noise", HalfNormal(2))
    with numpyro.plate("schools", school.max() + 1):
        theta = numpyro.sample("theta", Normal(mu, among))
    with numpyro.plate("classes", len(school)):
        effect = numpyro.sample("effect", Normal(theta[school], tau))
    numpyro.sample("value", Normal(effect[group], noise), obs=values)


def horseshoe(features, values):
    tau = numpyro.sample("tau", HalfCauchy(0.5))
    noise = numpyro.sample("noise", HalfNormal(2))
    with numpyro.plate("features", features.shape[1]):
        local = numpyro.sample("local", HalfCauchy(1))
        weight = numpyro.sample("weight", Normal(0, tau * local))
    numpyro.sample("value", Normal(features @ weight, noise), obs=values)


def hierarchies() -> dict[str, Hierarchy]:
    """Rubin's schools, and data that were made up with a fixed seed."""
    rng = np.random.default_rng(0)
    normal = rng.normal
    values = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
    errors = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
    group = np.repeat(np.arange(40), 5)
    effect = 0.5 * normal(size=40)[group]
    yes = rng.uniform(size=len(group)) < 1 / (1 + np.exp(-0.3 - effect))
    number = rng.poisson(np.exp(0.5 + 0.3 * normal(size=40)[group]))
    four = np.repeat(np.arange(30), 4)
    at = normal(size=len(four))
    line = 1.5 + 0.4 * normal(size=30)[four] + (0.7 + 0.3 * normal(size=30)[four]) * at
    school = np.repeat(np.arange(8), 6)
    pupil = np.repeat(np.arange(48), 3)
    mark = 2 + (0.5 * normal(size=8)[school] + 0.4 * normal(size=48))[pupil]
    features = normal(size=(80, 20))
    few = features[:, :3] @ np.array([2.0, -1.5, 1.0])
    return {
        "eight schools, half-Cauchy": Hierarchy(schools, (values, errors), ("theta",)),
        "answers of 40 groups": Hierarchy(answers, (group, yes.astype(int)), ("effect",)),
        "counts of 40 groups": Hierarchy(counts, (group, number), ("effect",)),
        "lines of 30 groups": Hierarchy(
            lines, (four, at, line + normal(size=len(four))), ("height", "slope")
        ),
        "classes in schools": Hierarchy(
            classes, (school, pupil, mark + normal(size=len(pupil))), ("theta", "effect")
        ),
        "horseshoe of 20 weights": Hierarchy(
            horseshoe, (features, few + normal(size=len(few))), ("weight",)
        ),
    }


def measure(of: Hierarchy, choice: str, seeds: int) -> dict[str, np.ndarray]:
    """Columns of runs of one model, which is compiled once."""
    model = of.model
    if choice == BY_HAND:
        model = reparam(model, config={name: LocScaleReparam(0) for name in of.effects})
    rows = [_of_run(of, model, choice, seed) for seed in range(seeds)]
    return {column: np.array([row[column] for row in rows]) for column in rows[0]}


def _of_run(of: Hierarchy, model: Callable[..., None], choice: str, seed: int) -> dict[str, float]:
    run = snaper.sample(
        model,
        *of.data,
        chains=CHAINS,
        warmup=WARMUP,
        draws=DRAWS,
        seed=seed,
        coordinates=OTHERS[choice],
        progress=False,
    )
    sizes = ess.ess_of_squares(jnp.asarray(free(run.draws)))
    return {
        "min_ess_z2": float(jnp.min(sizes)) / CHAINS,
        "gradients": run.num_gradients[1],
        "warmup_gradients": run.num_gradients[0],
        "low": float(np.quantile(np.log(run.draws[of.scale]), LOW)),
        "troubles": sum(finding.severity == "trouble" for finding in run.findings),
    }


def free(draws: dict[str, np.ndarray]) -> np.ndarray:
    """What all three ways share, [chain, draw, coordinate]: effects as the model has them, and
    logarithms of scales.
    """
    shared = {
        name: np.log(values) if name in SCALES else values
        for name, values in draws.items()
        if not name.endswith("_decentered")
    }
    flat = [each.reshape(*each.shape[:2], -1) for each in shared.values()]
    return np.concatenate(flat, axis=-1)


def main() -> None:
    parser = argparse.ArgumentParser(description="Hierarchical models as people write them.")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--models", nargs="+", default=[*hierarchies()])
    chosen = parser.parse_args()
    about = {"warmup": WARMUP, **cells.machine(), "learning": cells.source(LEARNING)}
    runs = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    done = {(run["model"], run["choice"]) for run in runs}
    for name in chosen.models:
        for choice in CHOICES:
            if (name, choice) in done:
                continue
            columns = measure(hierarchies()[name], choice, chosen.seeds)
            runs.append({"model": name, "choice": choice, **about, "columns": cells.plain(columns)})
            RESULTS.write_text(json.dumps(runs) + "\n", encoding="utf-8")
            print(name, choice, chosen.seeds, flush=True)


if __name__ == "__main__":
    main()

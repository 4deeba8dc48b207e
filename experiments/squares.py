"""Sparse logistic regression with its scales as squares.

Gamma(1/2, 1/2), the prior of a scale, is the distribution of the square of a standard normal n.
Sampled as n, of either sign, a scale that is next to nothing is a point in the middle which
trajectories pass, where log(scale) has a long tail from which they must come back. Each posterior
scale is there twice. What is measured is of the original coordinates, as in the paper's tables.

    python -m experiments.squares

writes docs/results/squares.json, what is missing of it.
"""

from pathlib import Path

import jax
import jax.numpy as jnp

from snaper import Target
from snaper.targets._german_credit import NUM_WEIGHTS, log_likelihood, signed_features

from .paper import plan, problems
from .paper.problems import Problem
from .straightened import measure_missing, of_problem

NAME = "sparse-logistic-regression"
SCALES = 1 + NUM_WEIGHTS  # the global one, then the local ones, then weights
RESULTS = Path(__file__).parents[1] / "docs" / "results" / "squares.json"
RUNS = (("long", plan.LONG_WARMUP), *(("short", warmup) for warmup in plan.SHORT_WARMUPS))
KEYS = ("experiment", "warmup")


def log_density(roots_and_weights: jax.Array, features: jax.Array) -> jax.Array:
    """All have standard normal priors."""
    scales, weights = roots_and_weights[:SCALES] ** 2, roots_and_weights[SCALES:]
    log_prior = -jnp.sum(roots_and_weights**2) / 2
    return log_likelihood(scales[0] * scales[1:] * weights, features) + log_prior


def original(points: jax.Array) -> jax.Array:
    """Unconstrained as in the posterior's own coordinates: softplus of it is the scale."""
    smallest = jnp.finfo(points.dtype).tiny
    scales = jnp.maximum(points[..., :SCALES] ** 2, smallest)
    free = scales + jnp.log(-jnp.expm1(-scales))
    return jnp.concatenate([free, points[..., SCALES:]], axis=-1)


def roots(points: jax.Array) -> jax.Array:
    """The positive ones."""
    positive = jnp.sqrt(jax.nn.softplus(points[..., :SCALES]))
    return jnp.concatenate([positive, points[..., SCALES:]], axis=-1)


def problem() -> Problem:
    target = Target(log_density, jnp.zeros(SCALES + NUM_WEIGHTS), signed_features())
    return Problem(target, roots(problems.start(NAME)), original)


def measure(experiment: str, warmup: int, seeds: range) -> dict:
    """One number per seed, by name."""
    return of_problem(problem(), experiment, warmup, seeds)


if __name__ == "__main__":
    measure_missing(RUNS, KEYS, measure, RESULTS)

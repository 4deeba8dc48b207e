"""Efficiency in the long run: many draws after a long warm-up."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from snaper.diagnostics import ess
from snaper.diagnostics.ess import effective_sample_size

from .batch import SLOTS, Batch
from .problems import Problem
from .rhat import classic
from .settings import Setting

DRAWS = 1000


def measure(
    problem: str | Problem,
    setting: Setting,
    seeds: range,
    warmup: int,
    draws: int = DRAWS,
    also: Callable[[jax.Array], dict] = lambda x: {},
) -> dict[str, np.ndarray]:
    """One number per seed, by name; `also` has more, from one seed's draws [draw, chain, dim]."""
    batch = Batch(problem, setting, seeds, warmup, short=False)
    warming = batch.warm_up()
    rows, gradients, per_chain, accept, diverging = [], 0, 0.0, 0.0, 0
    for _ in range(draws // SLOTS):
        record, tally = batch.draw()
        rows.append(record.x)
        gradients += tally.gradients
        steps = record.info.n_steps
        per_chain += jnp.sum(steps.reshape(*steps.shape[:2], -1).mean(axis=-1), axis=1)
        accept += jnp.mean(tally.accept_prob, axis=1)
        diverging += jnp.sum(tally.diverging, axis=1)
    last, directions = record.info, batch.states.adapt.direction
    found = []
    for seed in range(len(seeds)):
        x = _of_seed(rows, seed)
        found.append({**of_one(x, directions[seed]), **also(x)})
    return {
        "warmup_gradients": warming.gradients,
        "gradients": gradients,
        "gradients_per_chain": per_chain,
        "step_size": last.step_size[:, -1],
        "trajectory_length": last.mean_trajectory_length[:, -1],
        "acceptance": accept / draws,
        "diverging": diverging,
        "reseeded": jnp.sum(batch.states.adapt.quarantine.reseeded, axis=1),
        **{name: np.array([each[name] for each in found]) for name in found[0]},
    }


@jax.jit
def _of_seed(rows: list[jax.Array], seed: int) -> jax.Array:
    """A seed's draws, put together alone: all of them may be half of a GPU's memory."""
    return jnp.concatenate([jnp.take(each, seed, axis=0) for each in rows])


@jax.jit
def of_one(x: jax.Array, direction: jax.Array) -> dict[str, jax.Array]:
    """Of one seed's draws x [draw, chain, dim]; effective sample sizes are per chain."""
    x = jnp.swapaxes(x, 0, 1)
    num_chains = x.shape[0]
    z = x - jnp.mean(x, axis=(0, 1))
    sizes = ess.ess_of_squares(x) / num_chains
    worst = jnp.argmin(sizes)
    squares = jnp.take(z, worst, axis=-1) ** 2
    alone = jax.lax.map(lambda f: effective_sample_size(f[None]), squares)
    found = {
        "min_ess_z2": sizes[worst],
        "worst": worst,
        # The same coordinate, without the variance between chains.
        "mean_of_chains_ess_z2": jnp.mean(alone),
        "harmonic_of_chains_ess_z2": 1.0 / jnp.mean(1.0 / jnp.maximum(alone, 1e-3)),
        "rhat": jnp.max(ess.split_rhat(x)),
        "rhat_classic": jnp.max(classic(_ratio(x), num_chains, x.shape[1])),
    }
    scalars = {
        "snaper": jnp.sum(z * direction, axis=-1) ** 2,
        "chees": jnp.sum(z**2, axis=-1),
        "worst": squares,
    }
    for name, f in scalars.items():
        found.update({f"{kind}_{name}": value for kind, value in _bounds(f).items()})
    return found


def _ratio(x: jax.Array) -> jax.Array:
    """Variance of the chains' means over the variance within."""
    between = jnp.var(jnp.mean(x, axis=1), axis=0, ddof=1)
    return between / jnp.mean(jnp.var(x, axis=1, ddof=1), axis=0)


def _bounds(f: jax.Array) -> dict[str, jax.Array]:
    """ESS, ESS^max and nu-ESJD of a scalar [chain, draw], per chain."""
    num_draws = f.shape[1]
    rho = ess.autocorrelation(f)[1]
    return {
        "ess": effective_sample_size(f) / f.shape[0],
        "ess_max": num_draws * (1.0 - rho) / (1.0 + rho),
        "nu_esjd": num_draws * (1.0 - rho),
    }

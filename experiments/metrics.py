"""What the metric gives, and what else was tried: JSON lines.

For each target, number of chains and variant of the default: least ESS of squares per gradient and
chain, one number per seed; seeds are batched in one compiled program.

    python -m experiments.metrics --chains 64 --seeds 20 --output docs/results/metrics.jsonl
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from snaper import chunk, criteria, sampler, targets
from snaper.config import Config, preset
from snaper.diagnostics import ess

from .paper import fused
from .paper.batch import SEEDS_OF_ONE
from .paper.cells import machine
from .paper.problems import has_kernel
from .paper.settings import Shared

VARIANTS = {
    "auto": {},
    "diagonal": {"metric": "diagonal"},
    "snaper": {"metric": "diagonal", "criterion": "snaper"},
    "dense": {"metric": "dense"},
    "covariance": {"metric": "covariance"},
    "acceptance 0.65": {"target_accept": 0.65},
    "acceptance 0.9": {"target_accept": 0.9},
}
CLIMBED = {  # in the place of the default's own criterion, and all else as it is
    "default, snaper": criteria.snaper,
    "default, chees_rate": criteria.chees_rate,
    "default, esjd": criteria.esjd,
}
SLOTS = 20


def config(variant: str) -> Config:
    chosen = preset("default", **VARIANTS.get(variant, {}))
    climbed = CLIMBED.get(variant, chosen.criterion)
    return replace(chosen, criterion=climbed, jitter=Shared(chosen.jitter))


@partial(jax.jit, static_argnums=(0, 3))
def _start(chosen: Config, target, keys, chains: int, warmup):
    def one(key):
        x = target.disperse(jax.random.fold_in(key, 1), chains)
        return sampler.init(key, target, chosen, x, warmup)

    return jax.vmap(one, out_axes=SEEDS_OF_ONE)(keys)


def _advance(chosen: Config, target, states, num_steps, thin):
    empty, advance = chunk.empty.__wrapped__, chunk.advance.__wrapped__

    def one(state):
        record = empty(target, chosen, state, SLOTS)
        return advance(target, chosen, state, record, 0, num_steps, thin)

    return jax.vmap(one, in_axes=(SEEDS_OF_ONE,), out_axes=(SEEDS_OF_ONE, 0, 0))(states)


@jax.jit
def _least(x: jax.Array):
    """Of draws [seed, draw, chain, dim]: least ESS of squares per chain, and largest R-hat."""

    def one(draws):
        by_chain = jnp.swapaxes(draws, 0, 1)
        sizes = ess.ess_of_squares(by_chain) / by_chain.shape[0]
        return jnp.min(sizes), jnp.max(ess.split_rhat(by_chain))

    return jax.lax.map(one, x)


def measure(
    name: str,
    variant: str,
    chains: int,
    seeds: int,
    warmup: int,
    draws: int,
    at_once: int | None = None,
) -> dict:
    """One row: many seeds of one variant, as many at once as are asked for."""
    began = time.perf_counter()
    target = fused.TARGETS[name]() if has_kernel(name) else targets.get(name)
    chosen = config(variant)
    options = chunk.COMMAND_BUFFERS if jax.default_backend() == "gpu" else None
    advance = partial(jax.jit(_advance, static_argnums=0, compiler_options=options), chosen, target)
    columns: dict[str, list] = {}
    at_once = seeds if at_once is None else at_once
    for first in range(0, seeds, at_once):
        some = jnp.arange(first, min(first + at_once, seeds))
        keys = jax.vmap(jax.random.key)(some)
        states = _start(chosen, target, keys, chains, warmup)
        for column, values in _of_seeds(advance, states, warmup, draws).items():
            columns.setdefault(column, []).extend(_plain(values))
    return {
        "target": name,
        "variant": variant,
        "chains": chains,
        "warmup": warmup,
        "draws": draws,
        **columns,
        "seconds": round(time.perf_counter() - began, 1),
        **machine(),
        **({"kernels": fused.fingerprint()} if has_kernel(name) else {}),
    }


def _of_seeds(advance, states, warmup: int, draws: int) -> dict[str, jax.Array]:
    """One number per seed, by name."""
    states, _, warming = advance(states, warmup, warmup)
    rows, gradients = [], 0
    for _ in range(draws // SLOTS):
        states, record, tally = advance(states, SLOTS, 1)
        rows.append(record.x)
        gradients += tally.gradients
    size, rhat = _least(jnp.concatenate(rows, axis=1))
    return {
        "efficiency": size / gradients,
        "rhat": rhat,
        "leapfrogs": gradients / draws,
        "warmup_gradients": warming.gradients,
        "step_size": record.info.step_size[:, -1],
    }


def _plain(values) -> list:
    return [float(f"{value:.4g}") for value in np.asarray(values)]


def tasks(chosen: argparse.Namespace) -> Iterator[tuple]:
    for name in chosen.targets:
        for chains in chosen.chains:
            for variant in chosen.variants:
                sizes = (chosen.seeds, chosen.warmup, chosen.draws, chosen.at_once)
                yield name, variant, chains, *sizes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [*VARIANTS, *CLIMBED]
    parser.add_argument("--targets", nargs="+", default=targets.names(), choices=targets.names())
    parser.add_argument("--variants", nargs="+", default=["auto", "diagonal"], choices=names)
    parser.add_argument("--chains", nargs="+", type=int, default=[16, 64, 1024])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--at-once", type=int, help="seeds; all unless given")
    parser.add_argument("--warmup", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--output", default="docs/results/metrics.jsonl")
    chosen = parser.parse_args()
    for task in tasks(chosen):
        row = measure(*task)
        with open(chosen.output, "a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
        rate = np.quantile(row["efficiency"], [0.1, 0.5])
        print(*task, *(f"{each:.3g}" for each in rate), row["seconds"], flush=True)


if __name__ == "__main__":
    main()

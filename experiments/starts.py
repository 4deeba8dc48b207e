"""How SNAPER adapts from dispersed starts, superchains and a single point: JSON lines.

For each target, kind of start and seed: gradients of warm-up, least ESS of squares per gradient of
sampling (summed over chains, and by chain), what was learnt, and findings.

    python experiments/starts.py --seeds 20 --output starts.jsonl
"""

import argparse
import json
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

import snaper
from snaper.diagnostics.ess import ess_of_squares

TARGETS = (
    "logistic-regression",
    "item-response",
    "brownian-bridge",
    "eight-schools",
    "ill-conditioned-gaussian",
    "stochastic-volatility",
)
KINDS = {
    "dispersed": {},
    "superchains-4": {"superchains": 4},
    "superchains-16": {"superchains": 16},
    "point": None,  # the prior mean
}


def start(name: str, kind: str, seed: int) -> dict:
    """Arguments of `snaper.sample` for a kind of start."""
    given = KINDS[kind]
    if given is not None:
        return given
    return {"init": np.asarray(snaper.targets.prior_mean(name, jax.random.key(seed)))}


def measure(name: str, kind: str, seed: int, sizes: dict) -> dict:
    """One run, in numbers."""
    began = time.perf_counter()
    run = snaper.sample(
        snaper.targets.get(name), seed=seed, progress=False, **sizes, **start(name, kind, seed)
    )
    size = float(np.min(np.asarray(ess_of_squares(jnp.asarray(run.unconstrained)))))
    warmup, sampling = run.num_gradients
    nested = run.moments.nested_rhat
    return {
        "target": name,
        "start": kind,
        "seed": seed,
        **sizes,
        "warmup_gradients": warmup,
        "sampling_gradients": sampling,
        "min_ess_squares": size,
        "min_ess_squares_per_gradient": size / sampling,
        "min_ess_squares_per_gradient_and_chain": size / sampling / sizes["chains"],
        "step_size": run.tuning.step_size,
        "trajectory_length": run.tuning.trajectory_length,
        "rhat": float(np.max(run.moments.rhat)),
        "nested_rhat": None if nested is None else float(np.max(nested)),
        "findings": [finding.topic for finding in run.findings],
        "seconds": time.perf_counter() - began,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", nargs="+", default=TARGETS, choices=snaper.targets.names())
    parser.add_argument("--starts", nargs="+", default=[*KINDS], choices=[*KINDS])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--chains", type=int, default=64)
    parser.add_argument("--warmup", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--output", default="-", help="file for the JSON lines; - is the screen")
    chosen = parser.parse_args()
    sizes = {name: getattr(chosen, name) for name in ("chains", "warmup", "draws")}
    out = sys.stdout if chosen.output == "-" else open(chosen.output, "a", encoding="utf-8")
    for name in chosen.targets:
        for kind in chosen.starts:
            for seed in range(chosen.seeds):
                print(json.dumps(measure(name, kind, seed, sizes)), file=out, flush=True)


if __name__ == "__main__":
    main()

"""Gradients of many seeds' chains on a GPU: XLA's of the package's densities, and those of kernels.

python -m experiments.bench.fused [--seeds 80]
"""

import argparse

import jax

from experiments.paper import fused
from experiments.paper.problems import CHAINS
from snaper import targets

from .timing import Bare, in_turn

NEAR = 0.1  # standard deviation of points about zero


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=80)
    seeds = parser.parse_args().seeds
    if jax.default_backend() != "gpu":
        parser.error("kernels are timed on a GPU, and there is none.")
    for name, written in fused.TARGETS.items():
        plain = targets.get(name)
        shape = (seeds * CHAINS, plain.dim)
        x = NEAR * jax.random.normal(jax.random.key(1), shape, plain.dtype)
        loops = [Bare(target, x).gradient for target in (plain, written())]
        package, kernel = 1e6 * in_turn(*loops).min(axis=0)
        print(f"{name}, {len(x)} chains: {package:.0f} us, by a kernel {kernel:.0f} us")


if __name__ == "__main__":
    main()

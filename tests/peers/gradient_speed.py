"""Times one batched gradient of every posterior, ours and Inference Gym's, and records the table.

python tests/peers/gradient_speed.py            prints the table
python tests/peers/gradient_speed.py --write    also puts it in src/snaper/targets/README.md
"""

import argparse
import platform
import time
from pathlib import Path

import jax
import numpy as np
from gym_models import MODELS, gym_targets, log_density, random_points

from snaper import targets

README = Path(targets.__file__).with_name("README.md")
BEGIN, END = "<!-- speed: begin -->", "<!-- speed: end -->"
NUM_CHAINS = 64
ROUNDS = 60
ROUND_SECONDS = 2e-3


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the table in the README")
    write = parser.parse_args().write
    gym = gym_targets(double=False)
    rows = [row(name, MODELS[name](gym)) for name in MODELS]
    text = "\n".join([*heading(), *rows])
    print(text)
    if write:
        before, rest = README.read_text().split(BEGIN)
        after = rest.split(END)[1]
        README.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def heading() -> list[str]:
    chains = f"{NUM_CHAINS} chains, float32"
    return [
        f"Microseconds for one batched gradient ({chains}), and for one with the log densities,",
        f"fastest of {ROUNDS} rounds taken in turns, on {machine()}:",
        "",
        "| target | gradient | Gym's | ratio | with value | Gym's | ratio |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]


def machine() -> str:
    device = jax.devices()[0]
    kind = device.device_kind if device.platform != "cpu" else f"{processor()}, {cores()} cores"
    return f"{kind}, JAX {jax.__version__}"


def processor() -> str:
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def cores() -> int:
    import os

    return os.cpu_count() or 1


def row(name: str, model) -> str:
    target = targets.get(name)
    points = 0.3 * random_points(target.dim, NUM_CHAINS)
    theirs = log_density(model, target)
    timed = {
        "ours": jax.jit(jax.vmap(jax.grad(target.logp))),
        "theirs": jax.jit(jax.vmap(jax.grad(theirs))),
        "ours with value": jax.jit(jax.vmap(jax.value_and_grad(target.logp))),
        "theirs with value": jax.jit(jax.vmap(jax.value_and_grad(theirs))),
    }
    times = microseconds(timed, points)
    cells = [name]
    for kind in ("", " with value"):
        mine, other = times[f"ours{kind}"], times[f"theirs{kind}"]
        cells += [f"{mine:.0f}", f"{other:.0f}", f"{mine / other:.2f}"]
    return f"| {' | '.join(cells)} |"


def microseconds(timed, points) -> dict[str, float]:
    """The fastest round of each function; rounds alternate, so that load falls on all alike."""
    for function in timed.values():
        jax.block_until_ready(function(points))
    calls = {
        label: max(1, int(ROUND_SECONDS / seconds_per_call(function, points, 3)))
        for label, function in timed.items()
    }
    rounds = {label: [] for label in timed}
    for _ in range(ROUNDS):
        for label, function in timed.items():
            rounds[label].append(seconds_per_call(function, points, calls[label]))
    return {label: 1e6 * float(np.min(seconds)) for label, seconds in rounds.items()}


def seconds_per_call(function, points, calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls - 1):
        function(points)
    jax.block_until_ready(function(points))
    return (time.perf_counter() - start) / calls


if __name__ == "__main__":
    main()

"""What stopping at a small R-hat does to estimates: many runs on a Gaussian, stopped and not.

The chains are HMC with exact flow on a standard normal, x' = x cos t + v sin t, with t uniform on
(0, 2 tau) and shared by all chains; they start at rest, so that any bias is that of stopping.
Estimates of stopped runs are compared with those of as many runs of a fixed length, the mean length
of the stopped ones. Prints one JSON object per setting.
"""

import argparse
import json
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from snaper.diagnostics.ess import nested_rhat, split_rhat
from snaper.until import FIRST_LOOK, Until

TUNED, SLOW = 0.895, 0.6  # mean times: where SNAPER ends up, and two thirds of it


def looks(longest: int) -> list[int]:
    """Draws after which sampling would be judged."""
    until, numbers = Until(max_draws=longest), []
    while not numbers or numbers[-1] < longest:
        numbers.append(until.next_look(numbers[-1] if numbers else 0, FIRST_LOOK))
    return numbers


def draw(key, chains: int, dim: int, longest: int, tau: float) -> jax.Array:
    """A stationary run, [chain, draw, dim]."""
    key_start, key_run = jax.random.split(key)

    def step(x, key):
        key_time, key_move = jax.random.split(key)
        t = 2.0 * tau * jax.random.uniform(key_time)
        x = jnp.cos(t) * x + jnp.sin(t) * jax.random.normal(key_move, x.shape)
        return x, x

    start = jax.random.normal(key_start, (chains, dim))
    _, x = jax.lax.scan(step, start, jax.random.split(key_run, longest))
    return jnp.swapaxes(x, 0, 1)


@partial(jax.jit, static_argnames=("chains", "dim", "longest", "superchains"))
def at_looks(key, tau, chains: int, dim: int, longest: int, superchains: int | None):
    """Worst R-hat, means and variances at every look."""
    x = draw(key, chains, dim, longest, tau)

    def look(n):
        seen = x[:, :n]
        rhat = split_rhat(seen) if superchains is None else nested_rhat(seen, superchains)
        return jnp.max(rhat), jnp.mean(seen, axis=(0, 1)), jnp.var(seen, axis=(0, 1))

    found = [look(n) for n in looks(longest)]
    return tuple(jnp.stack(column) for column in zip(*found, strict=True))


def measure(tau: float, superchains: int | None, chains: int, dim: int, repeats: int) -> dict:
    longest = (600 if tau == TUNED else 1600) // (1 if superchains is None else 3)
    keys = jax.random.split(jax.random.key(0), repeats)
    run = partial(at_looks, chains=chains, dim=dim, longest=longest, superchains=superchains)
    rhat, mean, variance = jax.lax.map(lambda key: run(key, tau), keys, batch_size=20)
    numbers = np.array(looks(longest))
    below = np.asarray(rhat) < 1.01
    stop = np.where(below.any(axis=1), below.argmax(axis=1), len(numbers) - 1)
    fixed = int(np.argmin(np.abs(numbers - numbers[stop].mean())))
    rows = np.arange(repeats)
    error, excess = np.asarray(mean), np.asarray(variance) - 1.0

    def errors(of: np.ndarray) -> dict:
        return {
            "bias": float(of.mean()),
            "standard_error": float(of.mean(axis=1).std() / np.sqrt(repeats)),
            "rmse": float(np.sqrt((of**2).mean())),
        }

    return {
        "tau": tau,
        "superchains": superchains,
        "chains": chains,
        "dim": dim,
        "repeats": repeats,
        "stopped": float(below.any(axis=1).mean()),
        "draws": {
            "mean": float(numbers[stop].mean()),
            "5%": float(np.quantile(numbers[stop], 0.05)),
            "95%": float(np.quantile(numbers[stop], 0.95)),
            "fixed": int(numbers[fixed]),
        },
        "mean": {"stopped": errors(error[rows, stop]), "fixed": errors(error[:, fixed])},
        "variance": {"stopped": errors(excess[rows, stop]), "fixed": errors(excess[:, fixed])},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--chains", type=int, default=64)
    parser.add_argument("--dim", type=int, default=10)
    arguments = parser.parse_args()
    for superchains in (None, 16):
        for tau in (TUNED, SLOW):
            sizes = (arguments.chains, arguments.dim, arguments.repeats)
            print(json.dumps(measure(tau, superchains, *sizes)), flush=True)


if __name__ == "__main__":
    main()

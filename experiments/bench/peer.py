"""One sampler on one problem, in a process of its own: `python -m experiments.bench.peer tfp ...`.

Every one is called as whoever knows it would: whole runs compiled at once where that is possible.
"""

import argparse
import json
import time
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from snaper import Target, targets
from snaper.diagnostics import ess

from .problems import start


class Drawn(NamedTuple):
    x: jax.Array  # [chain, draw, dim]
    warmup_steps: jax.Array  # leapfrog steps of every transition; chains wait for the longest
    steps: jax.Array


Sampler = Callable[[jax.Array], Drawn]


def snaper(target: Target, x: jax.Array, warmup: int, draws: int) -> Sampler:
    from snaper import sample

    size = {"chains": len(x), "warmup": warmup, "draws": draws}

    def call(key: jax.Array) -> Drawn:
        run = sample(target, **size, init=x, seed=key, progress=False)
        return Drawn(run.unconstrained, run.warmup_stats["n_steps"][0], run.stats["n_steps"][0])

    return call


def tfp(target: Target, x: jax.Array, warmup: int, draws: int) -> Sampler:
    from tensorflow_probability.substrates.jax.experimental.mcmc import sample_snaper_hmc

    @jax.jit
    def run(target, x, key):
        return sample_snaper_hmc(
            jax.vmap(target.logp),
            num_results=draws,
            num_burnin_steps=warmup,
            init_state=x,
            discard_burnin_steps=False,
            seed=jax.random.key_data(key),
        ).trace

    def call(key: jax.Array) -> Drawn:
        x_all, about = run(target, x, key)
        steps = jnp.ravel(about["n_steps"])
        return Drawn(jnp.swapaxes(x_all[warmup:], 0, 1), steps[:warmup], steps[warmup:])

    return call


def blackjax(target: Target, x: jax.Array, warmup: int, draws: int) -> Sampler:
    import optax
    from blackjax import chees_adaptation, dynamic_hmc

    @jax.jit
    def run(target, x, key):
        key_warm, key_draw = jax.random.split(key)
        adapt = chees_adaptation(target.logp, len(x), mass_matrix_estimation="diagonal")
        first = 1e-2 * x.shape[1] ** -0.25
        (states, tuned), about = adapt.run(key_warm, x, first, optax.adam(0.05), warmup)
        kernel = dynamic_hmc(target.logp, **tuned).step

        def transition(states, key):
            states, info = jax.vmap(kernel)(jax.random.split(key, len(x)), states)
            return states, (states.position, jnp.max(info.num_integration_steps))

        _, (rows, steps) = jax.lax.scan(transition, states, jax.random.split(key_draw, draws))
        warm_steps = about.info.num_integration_steps.reshape(warmup, -1).max(axis=1)
        return Drawn(jnp.swapaxes(rows, 0, 1), warm_steps, steps)

    return lambda key: run(target, x, key)


def numpyro(target: Target, x: jax.Array, warmup: int, draws: int) -> Sampler:
    from numpyro.infer import MCMC, NUTS

    mcmc = MCMC(
        NUTS(potential_fn=lambda x: -target.logp(x)),
        num_warmup=warmup,
        num_samples=draws,
        num_chains=len(x),
        chain_method="vectorized",
        progress_bar=False,
    )

    def call(key: jax.Array) -> Drawn:
        fields = ("num_steps",)
        mcmc.warmup(key, init_params=x, extra_fields=fields, collect_warmup=True)
        warm_steps = mcmc.get_extra_fields(group_by_chain=True)["num_steps"]
        mcmc.run(mcmc.post_warmup_state.rng_key, extra_fields=fields)
        steps = mcmc.get_extra_fields(group_by_chain=True)["num_steps"]
        return Drawn(mcmc.get_samples(group_by_chain=True), warm_steps.max(axis=0), steps.max(0))

    return call


SAMPLERS = {"snaper": snaper, "tfp": tfp, "blackjax": blackjax, "numpyro": numpyro}


CALLS = 9  # after the first one,
PATIENCE = 40.0  # seconds, after which no other is begun


def measure(
    name: str, problem: str, chains: int, warmup: int, draws: int, calls: int = CALLS
) -> dict:
    """Seconds of the first call, and of later ones with other seeds what their draws are worth."""
    target, x = targets.get(problem), start(problem, chains)
    jax.block_until_ready((x, target))
    began, busy = time.perf_counter(), time.process_time()
    call = SAMPLERS[name](target, x, warmup, draws)  # imports the package, too
    jax.block_until_ready(call(jax.random.key(0)))
    first = {"first_seconds": time.perf_counter() - began}
    first["first_processor_seconds"] = time.process_time() - busy  # of all cores
    later: list[dict] = []
    while len(later) < calls and sum(each["seconds"] for each in later) < PATIENCE:
        began, busy = time.perf_counter(), time.process_time()
        drawn = jax.block_until_ready(call(jax.random.key(1 + len(later))))
        took = {"seconds": time.perf_counter() - began}
        took["processor_seconds"] = time.process_time() - busy
        later.append({**took, **_worth(drawn, took["seconds"])})
        del drawn  # before there are others
    about = {"sampler": name, "problem": problem, "chains": chains}
    return {**about, "warmup": warmup, "draws": draws, **first, "later": later}


def _worth(drawn: Drawn, seconds: float) -> dict:
    x = jnp.asarray(drawn.x)
    least = float(jnp.min(ess.ess_of_squares(x)))
    warm, steps = (np.asarray(each).astype(float) for each in drawn[1:])
    total = warm.sum() + steps.sum()
    looks = np.unique(np.geomspace(8, x.shape[1], 40).astype(int))
    brought = np.asarray(x)  # for the device each length would be another program to compile
    rhats = [float(np.max(ess.split_rhat(brought[:, :n], xp=np))) for n in looks]
    reached = [int(n) for n, rhat in zip(looks, rhats, strict=True) if rhat < 1.01]
    needed = warm.sum() + steps[: reached[0]].sum() if reached else float("inf")
    return {
        "min_ess_z2": least,
        "rhat": rhats[-1],
        "gradients": total,
        "gradients_to_rhat": needed if reached else None,
        "seconds_to_rhat": seconds * needed / total if reached else None,
        "min_ess_z2_per_second": least / seconds,
        "min_ess_z2_per_gradient": least / steps.sum() / x.shape[0],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sampler", choices=[*SAMPLERS])
    parser.add_argument("problem")
    parser.add_argument("--chains", type=int, default=64)
    parser.add_argument("--warmup", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--calls", type=int, default=CALLS, help="after the first one")
    chosen = parser.parse_args()
    sizes = (chosen.chains, chosen.warmup, chosen.draws, chosen.calls)
    found = measure(chosen.sampler, chosen.problem, *sizes)
    print(json.dumps(found))


if __name__ == "__main__":
    main()

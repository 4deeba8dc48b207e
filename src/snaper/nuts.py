"""Adaptive NUTS: the same learners for step size and metric around No-U-Turn trees, as a baseline.

    snaper.sample(model, preset=snaper.nuts.adaptive())

Trees are BlackJAX's (the extra `nuts`). Every chain chooses its own trajectory length, and all wait
for the longest: `n_steps` is then per chain, and gradients are counted as the longest tree's.
"""

from dataclasses import dataclass
from typing import Any, cast

import jax
import jax.numpy as jnp

from . import criteria
from ._types import Key, LogDensity, Positions, Scalar
from .adapt import Adaptation, Held, StepSize
from .clock import Integrated
from .config import Config
from .hmc import Chains, Transition
from .hmc import noise as hmc_noise
from .hmc import step as hmc_step
from .jitter import Constant
from .metric import Metric


@dataclass(frozen=True)
class Tree:
    """A transition by trees of up to `max_doublings` doublings; by one leapfrog step where no more
    is allowed.
    """

    max_doublings: int = 10

    def noise(self, key: Key, x: Positions, first: Scalar | int = 0) -> Key:
        """How much of it a tree needs is not known before. For all of a run's chains only."""
        return key

    def __call__(
        self,
        noise: Key,
        logp: LogDensity,
        chains: Chains,
        step_size: Scalar,
        metric: Metric,
        num_leapfrog: Scalar,
        rounding: Scalar,
        alternation: Scalar | float = 0.0,
    ) -> tuple[Chains, Transition]:
        """As `hmc.step`, but `num_leapfrog` of one is the only number that matters, and kicks are
        even.
        """

        def one_step():
            # Said to be one: where seeds are mapped over, both branches run.
            one = jnp.ones_like(num_leapfrog)
            known = hmc_noise(noise, chains.x)
            moved, seen = hmc_step(known, logp, chains, step_size, metric, one, rounding)
            shape = seen.accept_prob.shape
            return moved, seen._replace(num_leapfrog=jnp.ones(shape, jnp.int32))

        return jax.lax.cond(
            num_leapfrog == 1, one_step, lambda: self._grow(noise, logp, chains, step_size, metric)
        )

    def _grow(self, key, logp, chains, step_size, metric) -> tuple[Chains, Transition]:
        from blackjax.mcmc import hmc, nuts

        kernel = nuts.build_kernel()
        inverse_mass = metric.scale**2

        def grow(key, chain):
            state = hmc.HMCState(chain.x, chain.logp, chain.grad)
            return kernel(key, state, logp, step_size, inverse_mass, self.max_doublings)

        keys = jax.random.split(key, chains.logp.size)
        new, info = cast(tuple[Any, Any], jax.vmap(grow)(keys, chains))
        moved = Chains(new.position, new.logdensity, new.logdensity_grad)
        return moved, Transition(
            chains.x,
            moved.x,
            jnp.zeros_like(moved.x),  # no criterion of length is climbed
            jnp.clip(info.acceptance_rate, 0.0, 1.0).astype(chains.logp.dtype),
            jnp.any(moved.x != chains.x, axis=-1),
            info.is_divergent,
            info.energy.astype(chains.logp.dtype),
            info.num_integration_steps.astype(jnp.int32),
        )


def adaptive(target_accept: float = 0.8, max_doublings: int = 10) -> Config:
    """NUTS with step size and metric learnt as by SGA-HMC, and one leapfrog step at a time for the
    first 100 transitions.
    """
    try:
        import blackjax  # noqa: F401
    except ImportError:
        raise ImportError(
            "NUTS needs BlackJAX, which is not installed: pip install 'snaper[nuts]'."
        ) from None
    if not isinstance(max_doublings, int) or not 1 <= max_doublings <= 20:
        raise ValueError(
            f"max_doublings must be a whole number from 1 to 20, not {max_doublings!r}."
        )
    most = 2**max_doublings - 1
    return Config(
        criterion=criteria.esjd,  # not climbed: every tree finds its own length
        jitter=Constant(),
        clock=Integrated(),
        adapt=Adaptation(step_size=StepSize(target=target_accept), trajectory=Held(1e30)),
        move=Tree(max_doublings),
        max_leapfrog=most,
        first_cap=float(most),
    )

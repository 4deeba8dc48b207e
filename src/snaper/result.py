"""The outcome of a run: draws by name, statistics, what was learnt, what went wrong."""

from dataclasses import dataclass, field, fields
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np

from .adapt import Hyperparams
from .config import Config
from .diagnostics.findings import Finding
from .diagnostics.summary import Summary, summarise
from .metric import Diagonal
from .sampler import State
from .target import Target

_BLOCK = (
    4096  # points constrained at once, so that memory stays bounded and one compilation serves all
)


@dataclass(frozen=True)
class Tuning:
    """What warm-up learnt, as plain numbers; `sample(..., tuning=run.tuning, warmup=0)` samples
    with it.
    """

    step_size: float
    trajectory_length: float
    metric: np.ndarray  # diagonal of L, for velocities L v
    mean: np.ndarray
    direction: np.ndarray

    def __getitem__(self, name: str):
        return getattr(self, name)

    def keys(self) -> list[str]:
        return [entry.name for entry in fields(self)]

    @classmethod
    def of(cls, hyper: Hyperparams) -> "Tuning":
        return cls(
            float(hyper.step_size),
            float(hyper.trajectory_length),
            hyper.metric.array(),
            np.asarray(hyper.mean),
            np.asarray(hyper.direction),
        )

    def hyperparams(self, dtype) -> Hyperparams:
        """The same as arrays for the sampler."""

        def array(value):
            return jnp.asarray(np.asarray(value), dtype)

        return Hyperparams(
            array(self.step_size),
            array(self.trajectory_length),
            Diagonal(array(self.metric)),
            array(self.mean),
            array(self.direction),
        )


@dataclass(frozen=True)
class Run:
    """A finished run. Arrays are NumPy's, with axes (chain, draw, ...)."""

    target: Target
    config: Config
    unconstrained: np.ndarray
    stats: dict[str, np.ndarray]
    warmup_stats: dict[str, np.ndarray]
    tuning: Tuning
    num_gradients: tuple[int, int]  # (warm-up, sampling), of the whole batch of chains
    findings: list[Finding]
    interrupted: bool
    seconds: tuple[float, float]  # (warm-up, sampling), compilation included
    state: State = field(repr=False)

    @cached_property
    def draws(self) -> dict[str, np.ndarray]:
        """Parameters by name, as the log density sees them."""
        num_chains, num_draws, dim = self.unconstrained.shape
        named = _constrain(self.target, self.unconstrained.reshape(-1, dim))
        return {name: x.reshape(num_chains, num_draws, *x.shape[1:]) for name, x in named.items()}

    def summary(self) -> Summary:
        """A small table for people: moments, quantiles, effective sample size and R-hat."""
        return summarise(self.draws, self.num_gradients, self.seconds, self.findings)


@jax.jit
def _constrain_block(target: Target, x: jax.Array) -> dict[str, jax.Array]:
    return jax.vmap(target.constrain)(x)


def _constrain(target: Target, x: np.ndarray) -> dict[str, np.ndarray]:
    """Named parameters at many points, block by block."""
    blocks = []
    for start in range(0, max(len(x), 1), _BLOCK):
        block = x[start : start + _BLOCK]
        padded = np.zeros((_BLOCK, x.shape[1]), x.dtype)
        padded[: len(block)] = block
        named = _constrain_block(target, jnp.asarray(padded))
        blocks.append({name: np.asarray(value)[: len(block)] for name, value in named.items()})
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}

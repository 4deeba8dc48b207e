"""The outcome of a run: draws by name, statistics, what was learnt, what went wrong."""

from dataclasses import dataclass, fields
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np

from .adapt import Hyperparams
from .bend import Bend
from .config import Config
from .diagnostics.certificate import Certificate, Untold
from .diagnostics.ess import ess_of_squares
from .diagnostics.findings import Finding
from .diagnostics.moments import Moments, Named
from .diagnostics.summary import Summary, heading, of_moments, summarise
from .metric import from_array
from .sampler import State
from .target import Target
from .until import Stopped
from .watch import Watch

_BLOCK_POINTS = 4096  # the most points that are mapped to named parameters at once,
_BLOCK_BYTES = 2**26  # and the most memory for them, as long as one point does not take more


@dataclass(frozen=True)
class Tuning:
    """What warm-up learnt, as plain numbers; `sample(..., tuning=run.tuning, warmup=0)` samples
    with it.
    """

    step_size: float
    trajectory_length: float
    metric: np.ndarray  # L, for velocities L v: see `snaper.metric.from_array`
    mean: np.ndarray
    direction: np.ndarray
    width: float = 1.0  # of the target where the metric has length one
    choice: str = ""  # which metric, and why
    alternation: float = 0.0  # of kicks
    bend: Bend | None = None  # coordinates that metric, mean and direction are in; None: as given

    def __getitem__(self, name: str):
        return getattr(self, name)

    def keys(self) -> list[str]:
        return [entry.name for entry in fields(self)]

    @classmethod
    def of(cls, hyper: Hyperparams, choice: str, bend: Bend | None) -> "Tuning":
        return cls(
            float(hyper.step_size),
            float(hyper.trajectory_length),
            hyper.metric.array(),
            np.asarray(hyper.mean),
            np.asarray(hyper.direction),
            float(hyper.width),
            choice,
            float(hyper.alternation),
            jax.tree.map(np.asarray, bend),
        )

    def hyperparams(self, dtype) -> Hyperparams:
        """The same as arrays for the sampler."""

        def array(value):
            return jnp.asarray(np.asarray(value), dtype)

        return Hyperparams(
            array(self.step_size),
            array(self.trajectory_length),
            from_array(array(self.metric)),
            array(self.mean),
            array(self.direction),
            array(self.width),
            array(self.alternation),
        )


@dataclass(frozen=True)
class Run:
    """A finished run. Arrays are NumPy's, with axes (chain, draw, ...)."""

    target: Target
    config: Config
    unconstrained: np.ndarray
    stats: dict[str, np.ndarray]  # empty with keep="moments",
    warmup_stats: dict[str, np.ndarray]  # which keeps three of these: what all chains share
    tuning: Tuning
    num_gradients: tuple[int, int]  # (warm-up, sampling), of the whole batch of chains
    findings: list[Finding]
    interrupted: bool
    seconds: tuple[float, float]  # (warm-up, sampling), compilation included
    stopped: Stopped
    superchains: int | None  # chains of one superchain are neighbours
    keep: str  # "draws" or "moments"
    state: State
    watch: Watch
    scalar: np.ndarray | None  # the criterion's, [chain, draw], if kept

    def __repr__(self) -> str:
        """In one line: the arrays would fill a screen."""
        num_chains, num_kept = self.unconstrained.shape[:2]
        num_draws = num_kept if self.keep == "draws" else self.stopped.draws
        costs = heading(num_chains, num_draws, self.num_gradients, self.seconds)
        told = f"{len(self.findings)} in run.findings" if self.findings else "no findings"
        ended = "interrupted; " if self.interrupted else ""
        return f"Run({costs}; {ended}{told}; see run.summary())"

    @cached_property
    def draws(self) -> dict[str, np.ndarray]:
        """Parameters by name, as the log density sees them."""
        if self.keep != "draws":
            raise AttributeError(
                "This run kept no draws: see run.moments, or sample with keep='draws'."
            )
        num_chains, num_draws, dim = self.unconstrained.shape
        named = constrain(self.target, self.unconstrained.reshape(-1, dim))
        return {name: x.reshape(num_chains, num_draws, *x.shape[1:]) for name, x in named.items()}

    @cached_property
    def moments(self) -> Moments:
        """Mean, standard deviation and diagnostics, whether draws were kept or not."""
        names = [self.target.coordinate_name(i) for i in range(self.target.dim)]
        named = self.watch.named()
        return Moments.of(self.watch.look(), names, _named(self.draws) if named is None else named)

    @cached_property
    def certificate(self) -> Certificate | Untold:
        """Whether trajectories were tuned for what is slowest, or why that cannot be told: the
        criterion needs a scalar, and chains 100 draws. Without kept draws, sizes are told by how
        chains differ, of which there must then be 32.
        """
        bound = self.watch.bound(self.scalar)
        if isinstance(bound, Untold):
            return bound
        if self.keep == "draws":
            sizes = np.asarray(ess_of_squares(jnp.asarray(self.unconstrained)))
        else:
            sizes = np.asarray(self.watch.look().ess_squares)
        worst = int(np.argmin(sizes))
        return Certificate(bound, float(sizes[worst]), self.target.coordinate_name(worst))

    def summary(self) -> Summary:
        """A small table for people: moments, quantiles, effective sample size and R-hat."""
        costs = (self.num_gradients, self.seconds, self.findings)
        if self.keep != "draws":
            return of_moments(self.moments, self.unconstrained.shape[0], *costs)
        return summarise(self.draws, *costs, self.superchains)

    def to_arviz(self, *, warmup: bool = False, unconstrained: bool = False):
        """The run as ArviZ has it (the extra `arviz`): InferenceData under ArviZ 0.x, a DataTree
        since 1.0. Groups are posterior, sample_stats, and where there is something to put into them
        observed_data and constant_data. A slash in a name, which netCDF has not, becomes a dot.

        Args:
            warmup: add the group warmup_sample_stats. Draws of warm-up are not kept, so there is no
                warmup_posterior.
            unconstrained: add the group unconstrained_posterior, with the parameters as the sampler
                sees them.
        """
        from .arviz import convert

        return convert(self, warmup, unconstrained)


def _named(draws: dict[str, np.ndarray]) -> Named:
    """Moments of draws by name; NaN of none."""

    def of(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if x.shape[1] == 0:
            nothing = np.full(x.shape[2:], np.nan)
            return nothing, nothing
        return x.mean(axis=(0, 1), dtype=float), x.std(axis=(0, 1), dtype=float)

    return {name: of(x) for name, x in draws.items()}


@jax.jit  # so that learning its shapes and mapping it over points trace the model once
def _constrain_point(target: Target, x: jax.Array) -> dict[str, jax.Array]:
    return target.constrain(x)


@jax.jit
def _constrain_block(target: Target, x: jax.Array) -> dict[str, jax.Array]:
    return jax.vmap(_constrain_point, in_axes=(None, 0))(target, x)


def constrain(target: Target, x: np.ndarray) -> dict[str, np.ndarray]:
    """Named parameters at many points, in blocks of equal size, for which one compilation serves;
    what a model computes from parameters may be much larger than they are.
    """
    point = jax.ShapeDtypeStruct(x.shape[1:], x.dtype)
    shapes = jax.eval_shape(_constrain_point, target, point)
    named = {name: np.empty((len(x), *one.shape), one.dtype) for name, one in shapes.items()}
    size = _block_size([point, *shapes.values()])
    for start in range(0, len(x), size):
        block = x[start : start + size]
        padded = np.zeros((size, x.shape[1]), x.dtype)
        padded[: len(block)] = block
        for name, values in _constrain_block(target, jnp.asarray(padded)).items():
            named[name][start : start + size] = np.asarray(values)[: len(block)]
    return named


def _block_size(arrays: list[jax.ShapeDtypeStruct]) -> int:
    """How many points fit into a block, if each has these arrays."""
    one = sum(array.size * array.dtype.itemsize for array in arrays)
    return max(1, min(_BLOCK_POINTS, _BLOCK_BYTES // max(one, 1)))

"""What is known of a run while it goes on, without its draws."""

import jax
import jax.numpy as jnp
import numpy as np

from .config import Config
from .diagnostics import certificate, pooled, stream
from .sampler import State
from .target import Target


class Watch:
    """Follows the draws of a run whose adaptation has ended.

    Args:
        superchains: how many groups of chains began at one point each; None for no groups.
        named: whether to follow the named parameters too, as the log density sees them.
    """

    def __init__(
        self, target: Target, config: Config, state: State, superchains: int | None, named: bool
    ):
        hyper = config.adapt.value(state.adapt, jnp.asarray(False))
        scalar = certificate.scalar(config.criterion, hyper.direction)
        self.has_scalar = scalar is not None
        self._scalar, self._direction = scalar or (stream.nobody, hyper.direction)
        self._target, self._centre, self._superchains = target, hyper.mean, superchains
        self._stream = stream.init(state.chains.x)
        self._named = pooled.init(target) if named else None
        self._look: stream.Look | None = None

    def add(self, x: jax.Array, count: int) -> np.ndarray:
        """Take in the first `count` rows of x [slot, chain, dim]; returns the criterion's scalar of
        each, [draw, chain].
        """
        rows = np.int32(count)
        self._stream, values = stream.update(
            self._stream, x, rows, self._centre, self._direction, scalar=self._scalar
        )
        if self._named is not None:
            self._named = pooled.update(self._target, self._named, x, rows)
        self._look = None
        return np.array(np.asarray(values)[:count])

    def look(self) -> stream.Look:
        """Moments and diagnostics so far, as NumPy arrays."""
        look = self._look
        if look is None:
            look = stream.look(self._stream, self._centre, superchains=self._superchains)
            look = self._look = jax.tree.map(np.asarray, look)
        return look

    def named(self) -> dict[str, tuple[np.ndarray, np.ndarray]] | None:
        """Mean and standard deviation of the named parameters, if they are followed."""
        return None if self._named is None else pooled.mean_and_sd(self._named)

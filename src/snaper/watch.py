"""What is known of a run while it goes on, without its draws."""

from typing import NamedTuple

import jax
import numpy as np

from ._types import Positions, Vector
from .bend import Bend, bent
from .config import Config
from .diagnostics import certificate, functions, judged, pooled, stream
from .diagnostics.certificate import Bound, Untold
from .diagnostics.functions import Functions
from .diagnostics.judged import Judged
from .diagnostics.pooled import Pooled
from .diagnostics.stream import Stream
from .sampler import State, learnt
from .target import Target


class Past(NamedTuple):
    """All that was seen of the draws so far."""

    coordinates: Stream
    named: Pooled | None
    asked: tuple[Vector, Stream] | None  # with its centre


class Watch:
    """Follows the draws of a run whose adaptation has ended.

    Args:
        superchains: how many groups of chains began at one point each; None for no groups.
        named: whether to follow the named parameters too, as the log density sees them.
        functions: what the run is to be judged by; None for its coordinates.
        bend: the coordinates that chains are sampled in; None for the target's own.
    """

    def __init__(
        self,
        target: Target,
        config: Config,
        state: State,
        superchains: int | None,
        named: bool,
        functions: Functions | None,
        bend: Bend | None = None,
    ):
        hyper, x = learnt(config, state), state.chains.x
        scalar = certificate.scalar(config.criterion, hyper.direction)
        self.has_scalar = scalar is not None
        self._scalar, self._direction = scalar or (stream.nobody, hyper.direction)
        self._centre = hyper.mean
        if bend is not None:
            x, self._centre = bent(bend, x), bent(bend, hyper.mean)
            if scalar is not None:
                self._scalar = _STRAIGHT[scalar[0]]
                self._direction = (bend, self._centre, hyper.mean, scalar[1])
        self._target, self._superchains = target, superchains
        self._stream = stream.init(x)
        self._named = pooled.init(target) if named else None
        self._look: stream.Look | None = None
        self._asked = None if functions is None else _Asked(target, functions, x)

    def add(self, x: jax.Array, count: int) -> jax.Array:
        """Take in the first `count` rows of x [slot, chain, dim]; returns the criterion's scalar of
        each, [slot, chain].
        """
        rows = np.int32(count)
        self._stream, values = stream.update(
            self._stream,
            x,
            rows,
            self._centre,
            self._direction,
            scalar=self._scalar,
            window=_window(x),
        )
        if self._named is not None:
            self._named = pooled.update(self._target, self._named, x, rows)
        if self._asked is not None:
            self._asked.add(x, rows)
        self._look = None
        return values

    @property
    def past(self) -> Past:
        asked = None if self._asked is None else self._asked.past
        return Past(self._stream, self._named, asked)

    @past.setter
    def past(self, past: Past) -> None:
        self._stream, self._named, self._look = past.coordinates, past.named, None
        if self._asked is not None and past.asked is not None:
            self._asked.past = past.asked

    def look(self) -> stream.Look:
        """Moments and diagnostics of all coordinates so far, as NumPy arrays."""
        look = self._look
        if look is None:
            look = stream.look(self._stream, self._centre, superchains=self._superchains)
            look = self._look = jax.device_get(look)
        return look

    def coordinates(self) -> Judged:
        """Of all coordinates so far."""
        return judged.coordinates(self.look(), self._target.coordinate_name)

    def asked(self) -> Judged:
        """Of what the run is to be judged by."""
        return self.coordinates() if self._asked is None else self._asked.judged(self._superchains)

    def bound(self, scalar: np.ndarray | None) -> Bound | Untold:
        """On the effective sample size of the criterion's scalar, by its values [chain, draw] if
        they were kept.
        """
        if not self.has_scalar:
            return certificate.NO_SCALAR
        return certificate.streamed(self.look()) if scalar is None else certificate.bound(scalar)

    def named(self) -> dict[str, tuple[np.ndarray, np.ndarray]] | None:
        """Mean and standard deviation of the named parameters, if they are followed."""
        return None if self._named is None else pooled.mean_and_sd(self._named)


class _Asked:
    """A stream of functions' values."""

    def __init__(self, target: Target, chosen: Functions, x: Positions):
        values = functions.at(target, x, chosen.of)
        self._target, self._chosen = target, chosen
        self._centre = functions.centre(values)
        self._stream = stream.init(values)

    def add(self, x: jax.Array, rows: np.int32) -> None:
        values = functions.rows(self._target, x, rows, self._chosen.of)
        self._stream, _ = stream.update(
            self._stream,
            values,
            rows,
            self._centre,
            self._centre,
            scalar=stream.nobody,
            window=_window(x),
        )

    @property
    def past(self) -> tuple[Vector, Stream]:
        return self._centre, self._stream

    @past.setter
    def past(self, past: tuple[Vector, Stream]) -> None:
        self._centre, self._stream = past

    def judged(self, superchains: int | None) -> Judged:
        look = stream.look(self._stream, self._centre, superchains=superchains)
        return judged.functions(jax.device_get(look), self._chosen.names.__getitem__)


def _straight(scalar: stream.ScalarOf):
    """A scalar of the coordinates that chains are sampled in, from where they are in others."""

    def of(rows: jax.Array, about: tuple[Bend, Vector, Vector, Vector]) -> jax.Array:
        bend, centre, mean, direction = about
        return scalar(bend.straight(rows + centre) - mean, direction)

    return of


# One function for each, since what is compiled goes by which function it is.
_STRAIGHT: dict[stream.ScalarOf, stream.ScalarOf] = {
    each: _straight(each) for each in (certificate.along, certificate.radius)
}


def _window(x: jax.Array) -> int:
    """Draws taken in at a time: one stays in a CPU's cache, where more take ten times as long;
    other devices are slowed down by the number of turns.
    """
    return 1 if {device.platform for device in x.devices()} == {"cpu"} else 16

"""What a run was asked for: with target, configuration and state, all that it takes to begin it, or
to go on.
"""

from dataclasses import dataclass

from . import progress as display
from . import straighten
from .config import Config
from .course import Course
from .diagnostics import functions
from .keep import TRACES, Draws, Nothing, Statistics
from .record import Recorder, num_kept
from .sampler import State
from .straighten import Looks
from .stretch import Pace, Whole, buffer
from .target import Target
from .until import FIRST_LOOK, LONGEST, Count, Until

DRAWS = 1000  # unless told


@dataclass(frozen=True)
class Plan:
    """Sizes and rules of a run, and what was found about its starting points."""

    chains: int
    warmup: int
    least: int  # draws; without `until`, all that are wanted
    thin: int
    until: Until | None
    chunk: int | None
    superchains: int | None
    keep: str
    tuned: bool  # began with given values
    num_replaced: int  # starting points
    replaced_for: str  # what was wrong with the first of them
    one_start: bool  # shared by all chains
    straighten: bool  # whether coordinates are learnt

    def course(
        self, target: Target, config: Config, state: State, progress: bool, followed: bool = True
    ) -> Course:
        """A run from this state on, without a past. Functions of the user's own are `followed` only
        where it will go on.
        """
        until, pace = self.until, Pace(self.chunk)
        goal = Count(self.least) if until is None else until
        asked = followed and until is not None and until.of is not None
        shape = (self.chains, target.dim, target.dtype)
        if self.keep == "draws":
            statistics = Statistics(self.chains)
            kept = Draws(*shape, num_kept(self.least, self.thin))
        else:
            statistics, kept = Statistics(self.chains, TRACES), Nothing(*shape)
        timed = until is None or until.max_seconds is not None or self.chunk is not None
        sizes = (self.warmup, self.chains, target.dim)
        return Course(
            target=target,
            config=config,
            state=state,
            warming=Recorder(self.chains, self.warmup, 1, statistics),
            sampling=Recorder(self.chains, goal.max_draws, self.thin, kept),
            buffer=buffer(self.chains, target, None if until is None else LONGEST),
            pace=pace,
            between=pace if timed else Whole(),
            bar=display.start(self.warmup + goal.max_draws, progress, certain=until is None),
            goal=goal,
            functions=functions.choose(target, until.of) if asked and until else None,
            least=self.least,
            superchains=self.superchains,
            keep=self.keep,
            tuned=self.tuned,
            num_replaced=self.num_replaced,
            replaced_for=self.replaced_for,
            one_start=self.one_start,
            looks=straighten.looks(*sizes) if self.straighten else Looks((), 0),
        )


def least_draws(draws: int | None, until: Until | None, thin: int) -> int:
    """The least number of draws, if none is given what is usual."""
    return draws if draws is not None else DRAWS if until is None else FIRST_LOOK * thin

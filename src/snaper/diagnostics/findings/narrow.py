"""Places that draws miss, since they are too narrow or at an edge."""

from collections.abc import Iterator

from ..energy import USUAL
from ..judged import Judged
from .facts import Facts
from .finding import Finding

RARE = 1e-4  # share of transitions that may fail before anything is said: most targets have none
OFTEN = 1e-3


def divergences(facts: Facts) -> Iterator[Finding]:
    """Transitions that failed there."""
    total = facts.num_chains * facts.draws_done
    failed = int(facts.diverging.sum())
    if failed > RARE * total:
        missed = "are missed" if failed > OFTEN * total else "may hold too few draws"
        yield Finding(
            "divergences",
            f"{failed} of {total} transitions ({100 * failed / total:.3g}%) diverged or left "
            f"the support, so regions of high curvature or its edges {missed}: reparameterise the "
            "model, give constraints= for its bounds, or raise target_accept=.",
        )


def energy(facts: Facts, mixing: Judged) -> Iterator[Finding]:
    """Levels of energy that momenta do not lead to, such as the neck of a funnel."""
    if facts.energy is not None:
        name = mixing.name(facts.energy.coordinate)
        yield Finding(
            "energy",
            f"The energy changes little from draw to draw (E-BFMI {facts.energy.information:.2g}, "
            f"where {USUAL:g} and more is usual), as if {name} ruled the width of other "
            "parameters, so that its extremes are missed: write those as multiples of it (a "
            "non-centred form).",
        )

"""Places that draws miss, since they are too narrow or at an edge."""

from collections.abc import Iterator

from ..energy import USUAL
from ..judged import Judged
from .facts import Facts
from .finding import Finding


def divergences(facts: Facts) -> Iterator[Finding]:
    """Transitions that failed there."""
    total = facts.num_chains * facts.draws_done
    failed = int(facts.diverging.sum())
    if failed > 0.001 * total:
        yield Finding(
            "divergences",
            f"{failed} of {total} transitions ({failed / total:.1%}) diverged or left "
            "the support, so regions of high curvature or its edges are missed: reparameterise the "
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

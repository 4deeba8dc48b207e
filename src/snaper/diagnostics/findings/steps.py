"""How the steps and trajectories that were learnt did in sampling."""

from collections.abc import Iterator

import numpy as np

from .. import certificate
from .facts import Facts
from .finding import Finding
from .warmup import step_size_settled


def leapfrog_cap(facts: Facts) -> Iterator[Finding]:
    """Trajectories cut short."""
    if facts.capped > 0.01 * facts.draws_done:
        yield Finding(
            "leapfrog-cap",
            f"{facts.capped} of {facts.draws_done} transitions reached the cap of "
            f"{facts.max_leapfrog} leapfrog steps: rescale or reparameterise the model, or raise "
            "max_leapfrog=.",
        )


def acceptance(facts: Facts, stuck: np.ndarray) -> Iterator[Finding]:
    """Steps too large or too small for what was wanted, by the chains that moved."""
    wanted = facts.target_accept
    if wanted is None or stuck.all():
        return
    mean = float(facts.accept_prob[~stuck].mean())
    if wanted - 0.15 <= mean <= 1 - 0.1 * (1 - wanted):
        return
    if mean > wanted and facts.held_short:
        return
    said = f"Mean acceptance was {mean:.2f} where {wanted:g} or a little more was wanted"
    if mean > wanted and step_size_settled(facts):
        yield Finding("acceptance", f"{said}: {_kept_small(facts)}.")
    else:
        yield Finding("acceptance", f"{said}: the step size has not settled; use a longer warmup=.")


def _kept_small(facts: Facts) -> str:
    """Why the step size has settled where more is accepted than was wanted, and what to do."""
    # The harmonic mean: few chains that fail altogether outweigh all that do not.
    total = facts.num_chains * facts.warmup_done
    step_size = np.median(facts.warmup_step_size[-15:])  # of which a few are of kicks on trial
    kept = f"keep the step size at {step_size:.2g}; reparameterise the model"
    if facts.warmup_diverging == 0:
        return f"few transitions that are hardly ever accepted {kept}"
    return (
        f"few transitions that fail altogether ({facts.warmup_diverging} of {total} diverged or "
        f"left the support in warm-up) {kept}, or give constraints= for the bounds of parameters"
    )


def loose_bound(facts: Facts) -> Iterator[Finding]:
    """Trajectories tuned for what may not be slowest."""
    if facts.tightness < certificate.TIGHT:
        yield Finding(
            "loose-bound",
            "The scalar that trajectories were tuned for has an effective sample size of "
            f"only {np.floor(100 * facts.tightness):.0f}% of its bound ({certificate.TIGHT:.0%} "
            "and more is usual), so the trajectory length may be far from the best: reparameterise "
            "the model, or compare criterion='chees_rate'.",
        )

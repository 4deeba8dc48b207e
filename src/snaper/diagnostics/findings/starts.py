"""How many chains began, and where."""

from collections.abc import Iterator

from .facts import Facts
from .finding import Finding

FEW_CHAINS = 16


def replaced(facts: Facts) -> Iterator[Finding]:
    """Points where no chain can begin."""
    if facts.num_replaced:
        yield Finding(
            "starts",
            f"{facts.num_replaced} of {facts.num_chains} starting points were replaced, since for "
            f"the first {facts.replaced_for}: give init= points inside the support, or mend the "
            "log density there, if that is unexpected.",
        )


def few_chains(facts: Facts) -> Iterator[Finding]:
    """Too few to learn from, or to tell by whether they agree."""
    if facts.num_chains >= FEW_CHAINS:
        return
    chance, least = "", ""
    if facts.converged:
        chance = ", and they may have agreed by chance when sampling stopped"
        least = " and draws="
    yield Finding(
        "few-chains",
        f"With {facts.num_chains} chain{'s' if facts.num_chains > 1 else ''} adaptation learns "
        f"more slowly{chance}: use {FEW_CHAINS} or more, or a longer warmup={least}.",
    )


def one_start(facts: Facts) -> Iterator[Finding]:
    """From where chains agree before they have seen anything."""
    if facts.one_start and facts.num_chains > 1 and facts.draws_done:
        yield Finding(
            "one-start",
            f"All {facts.num_chains} chains began at one point, so R-hat cannot tell whether that "
            "start is forgotten: use dispersed starts (init=None) or superchains= to see it.",
            "note",
        )

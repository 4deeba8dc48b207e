"""What a finding is."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """One thing the user should know. `topic` is a stable word for programs, `sentence` is for
    people.
    """

    topic: str
    sentence: str
    severity: Literal["trouble", "note"] = "trouble"  # a note is of what cannot be told

    def __str__(self) -> str:
        return self.sentence

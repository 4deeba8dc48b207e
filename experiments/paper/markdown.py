"""Tables and numbers in Markdown."""

import numpy as np

DASH = "-"


def table(heads: list[str], rows: list[list[str]], words: int = 1) -> str:
    """The first so many columns hold words, the others numbers."""
    rules = ["---" if i < words else "---:" for i in range(len(heads))]
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, rules, *rows])


def number(value: float | None, digits: int = 3) -> str:
    """As in the paper's tables: 2.97e-3."""
    if value is None or np.isnan(value):
        return DASH
    if np.isinf(value):
        return "not reached"
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{mantissa}e{int(exponent):+d}"


def between(ends: tuple[float, float], digits: int = 3) -> str:
    low, high = (number(end, digits) for end in ends)
    return low if low == high else f"{low} to {high}"


def ratio(ours: float | None, printed: float) -> str:
    if ours is None or not np.isfinite(ours):
        return DASH
    return f"{ours / printed:.2f}"


def share(part: int, whole: int) -> str:
    return f"{part} of {whole}"

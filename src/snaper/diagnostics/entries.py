"""What the entries of an array are called."""

from collections.abc import Iterator

import numpy as np


def entries(name: str, shape: tuple[int, ...]) -> Iterator[str]:
    """Their names in order, such as theta[3, 1]; the array's own if it is but a number."""
    for place in np.ndindex(shape):
        yield f"{name}[{', '.join(map(str, place))}]" if place else name

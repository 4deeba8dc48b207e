"""Posteriors whose gradients are one kernel each, for the thousands of chains that many seeds have
on a GPU, where XLA's own go over memory again and again. Densities, data and coordinates are those
of the package. Where there is no GPU the kernels are interpreted, for tests.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path

from snaper.target import Target

from . import item_response, sparse_logistic_regression, stochastic_volatility

SINCE = "0.12.0"  # the version of the package with which cells were first measured so
TARGETS: dict[str, Callable[[], Target]] = {
    "item-response": item_response.target,
    "sparse-logistic-regression": sparse_logistic_regression.target,
    "stochastic-volatility": stochastic_volatility.target,
}


def fingerprint() -> str:
    """Of this code, by which cells of an older one are known."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]

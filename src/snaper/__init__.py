"""Bayesian inference with many parallel HMC chains that tune themselves together."""

from . import criteria
from .config import Config
from .result import Run, Tuning
from .run import sample
from .sampler import init, step
from .starts import InitializationError
from .target import Target

__all__ = [
    "Config",
    "InitializationError",
    "Run",
    "Target",
    "Tuning",
    "criteria",
    "init",
    "sample",
    "step",
]
__version__ = "0.1.0"

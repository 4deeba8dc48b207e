"""Bayesian inference with many parallel HMC chains that tune themselves together."""

from . import criteria, nuts, targets
from .config import Config
from .models import from_numpyro, from_pymc
from .result import Run, Tuning
from .resume import load, resume
from .run import sample
from .sampler import init, step
from .starts import InitializationError
from .store import StoreError
from .target import Target
from .until import Until

__all__ = [
    "Config",
    "InitializationError",
    "Run",
    "StoreError",
    "Target",
    "Tuning",
    "Until",
    "criteria",
    "from_numpyro",
    "from_pymc",
    "init",
    "load",
    "nuts",
    "resume",
    "sample",
    "step",
    "targets",
]
__version__ = "0.15.0"

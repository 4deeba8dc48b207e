"""Inference Gym's posteriors as functions of our flat vectors, on its JAX backend.

The Gym reads German Credit and radon through tensorflow_datasets; here a stand-in of two functions
hands it the tables shipped with this package, so that TensorFlow is not needed.
"""

import sys
import warnings
from types import ModuleType

import jax
import jax.numpy as jnp
import numpy as np

from snaper import Target
from snaper.targets._data import load

MODELS = {
    "logistic-regression": lambda t: t.GermanCreditNumericLogisticRegression(),
    "sparse-logistic-regression": lambda t: t.GermanCreditNumericSparseLogisticRegression(
        positive_constraint_fn="softplus"
    ),
    "brownian-bridge": lambda t: t.BrownianMotionUnknownScalesMissingMiddleObservations(
        use_markov_chain=True
    ),
    "item-response": lambda t: t.SyntheticItemResponseTheory(),
    "hierarchical-linear": lambda t: t.RadonContextualEffectsIndiana(),
    "stochastic-volatility": lambda t: t.VectorizedStochasticVolatilitySP500(),
    "funnel": lambda t: t.NealsFunnel(),
    "banana": lambda t: t.Banana(),
    "eight-schools": lambda t: t.EightSchools(),
}


def gym_targets(double: bool):
    """The module of the Gym's targets.

    The Gym computes in float32 whatever JAX is set to; `double` makes it take float64 for float32,
    which must be asked for before anything else imports its backend.
    """
    sys.modules.setdefault("tensorflow_datasets", _tables())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if double:
            _compute_in_double()
        from inference_gym import using_jax

        return using_jax.targets


def _compute_in_double() -> None:
    from tensorflow_probability.python.internal.backend import jax as backend
    from tensorflow_probability.python.internal.backend.jax import dtype, v2

    dtype.float32 = v2.float32 = backend.float32 = np.float64
    v2.ones = backend.ones = lambda shape, dtype=np.float64, **_: jnp.ones(shape, dtype)
    v2.zeros = backend.zeros = lambda shape, dtype=np.float64, **_: jnp.zeros(shape, dtype)


def _tables() -> ModuleType:
    module = ModuleType("tensorflow_datasets")
    module.load = lambda name, **options: {
        "german_credit_numeric:1.*.*": _german_credit,
        "radon:1.*.*": _radon,
    }[name]()
    module.as_numpy = lambda dataset: dataset
    return module


def _german_credit():
    raw = load("german_credit")
    rows = zip(raw["features"].astype(np.float64), raw["label"], strict=True)
    return {"train": [{"features": x, "label": 2 - int(y)} for x, y in rows]}


def _radon():
    raw = load("radon_indiana")
    features = {
        "state": np.full(len(raw["floor"]), "IN"),
        "floor": raw["floor"],
        "county": np.array([f"{index:03d}" for index in raw["county"]]),
        "Uppm": raw["uranium"],
    }
    return {"features": features, "activity": raw["activity"]}


def log_density(model, target: Target):
    """The Gym's log density in its own unconstrained space, of one flat vector laid out as ours."""
    ends = np.cumsum([parameter.size for parameter in target.parameters])[:-1]
    bijectors = model.default_event_space_bijector

    def bijector(name):
        if isinstance(bijectors, dict):
            return bijectors[name]
        return getattr(bijectors, name, bijectors)

    def logp(x):
        values, log_det = {}, 0.0
        for part, parameter in zip(jnp.split(x, ends), target.parameters, strict=True):
            y = part.reshape(parameter.unconstrained_shape)
            values[parameter.name] = bijector(parameter.name).forward(y)
            log_det += bijector(parameter.name).forward_log_det_jacobian(y, event_ndims=y.ndim)
        return model.unnormalized_log_prob(_structured(model, values)) + log_det

    return logp


def _structured(model, values):
    """The named values in the structure the model wants: a dict, a named tuple or a bare array."""
    if isinstance(model.dtype, dict):
        return values
    if hasattr(model.dtype, "_fields"):
        return type(model.dtype)(**values)
    return jnp.concatenate([jnp.ravel(value) for value in values.values()])


def random_points(dim: int, count: int, seed: int = 0) -> jax.Array:
    return jnp.asarray(np.random.default_rng(seed).standard_normal((count, dim)), dtype=float)

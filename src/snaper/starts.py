"""Where chains begin, and the check that they can."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ._types import Key, Positions, Vector
from .hmc import Chains
from .sampler import evaluate
from .target import Target

ATTEMPTS = 100
PRIOR_DRAWS = 256
OFF = 0.1  # of a parameter's largest entry: shares that add up to 1.02, say, are not refused


class InitializationError(ValueError):
    """No usable starting point was found."""


class Starts(NamedTuple):
    """Starting points with finite density and gradient, and how many had to be replaced."""

    x: Positions
    num_replaced: int
    why: str = ""  # the first of these was, in words

    @property
    def all_one(self) -> bool:
        """Whether chains share one point."""
        x = np.asarray(self.x)
        return bool((x == x[0]).all())


def find(
    key: Key, target: Target, num_chains: int, init: Any = None, each: str = "chain"
) -> Starts:
    """Starting points for every chain.

    Args:
        init: None for points spread over (-2, 2) in unconstrained space; a vector [dim] or a point
            shaped like the parameters, where all chains begin; an array [chain, dim] or parameters
            with a leading chain axis, one point each; "prior-mean" for the mean of draws from the
            prior, where all chains begin. Arrays are unconstrained, named parameters are as the
            log density sees them.
        each: what begins at a point of its own, for messages: "chain", or "superchain", of which
            there are then `num_chains`.
    """
    if isinstance(init, str):
        init = _prior_mean(key, target, init)

    def dispersed(attempt):
        return np.asarray(target.disperse(jax.random.fold_in(key, attempt), num_chains))

    x = dispersed(0) if init is None else _given(target, num_chains, init, each)
    chains, bad = first, first_bad = _screen(target, x)
    for attempt in range(1, ATTEMPTS):
        if init is not None or not bad.any():
            break
        x = np.where(bad[:, None], dispersed(attempt), x)
        chains, bad = _screen(target, x)
    if bad.all() or (init is None and bad.any()):
        raise InitializationError(_complaint(target, chains, bad, init is None, each))
    if bad.any():
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())
        x = np.where(bad[:, None], x[rng.choice(np.flatnonzero(~bad), num_chains)], x)
    why = _why(target, first, first_bad) if first_bad.any() else ""
    return Starts(jnp.asarray(x), int(first_bad.sum()), why)


def _screen(target: Target, x: np.ndarray) -> tuple[Chains, np.ndarray]:
    """The chains at x, as NumPy arrays, and which of them cannot move."""
    chains = jax.tree.map(np.asarray, evaluate(target, jnp.asarray(x)))
    finite = np.isfinite(chains.logp) & np.isfinite(chains.grad).all(axis=1)
    return chains, ~(finite & np.isfinite(chains.x).all(axis=1))


def _prior_mean(key: Key, target: Target, name: str) -> Vector:
    """The mean of prior draws, taken where the log density sees them, in unconstrained space."""
    if name != "prior-mean":
        raise ValueError(f"init {name!r} is unknown: the only start with a name is 'prior-mean'.")
    return _flat_mean(target, target.sample_prior(jax.random.fold_in(key, ATTEMPTS), PRIOR_DRAWS))


@jax.jit
def _flat_mean(target: Target, draws: Any) -> Vector:
    return target.flatten(jax.tree.map(lambda values: values.mean(axis=0), draws))


def _given(target: Target, num_chains: int, init: Any, each: str) -> np.ndarray:
    """User's points as an array [chain, dim]."""
    if isinstance(init, np.ndarray | jax.Array | list | tuple) and np.asarray(init).dtype != object:
        x = np.asarray(init)
        if not np.issubdtype(x.dtype, np.number):
            raise TypeError(f"init must hold numbers, not {x.dtype}.")
        x = x.astype(target.dtype)
    else:
        x = _flatten(target, num_chains, init, each)
    if x.shape == (target.dim,):
        x = np.broadcast_to(x, (num_chains, target.dim))
    if x.shape != (num_chains, target.dim):
        shared = f"one point {(target.dim,)}, or " if each == "chain" else ""
        raise ValueError(
            f"init has shape {x.shape}: give {shared}one for every {each}"
            f" {(num_chains, target.dim)}."
        )
    return x


def _flatten(target: Target, num_chains: int, init: Any, each: str) -> np.ndarray:
    """Named parameters, of one point or of one for every chain, as flat vectors."""
    names = [parameter.name for parameter in target.parameters]
    try:
        leaves = [np.asarray(leaf) for leaf in target.leaves(init)]
    except (ValueError, TypeError, KeyError):
        raise ValueError(
            f"init must hold the parameters {names}, structured like the target's."
        ) from None
    shapes = [parameter.shape for parameter in target.parameters]
    if [leaf.shape for leaf in leaves] == shapes:
        return _inside(target, [leaf[None] for leaf in leaves])[0]
    if [leaf.shape for leaf in leaves] == [(num_chains, *shape) for shape in shapes]:
        return _inside(target, leaves)
    wrong = next(
        name for name, leaf, shape in zip(names, leaves, shapes, strict=True) if leaf.shape != shape
    )
    raise ValueError(
        f"init[{wrong!r}] has a shape that fits neither one point nor one for each of "
        f"{num_chains} {each}s."
    )


def _inside(target: Target, leaves: list[np.ndarray]) -> np.ndarray:
    """Flat vectors of parameters [point, ...] that are in their supports."""
    x, became, beside = jax.tree.map(np.asarray, _and_back(target, leaves))
    for parameter, given in zip(target.parameters, leaves, strict=True):
        there, next_to = (each.get(parameter.name, given) for each in (became, beside))
        with np.errstate(all="ignore"):  # of what is not finite, the log density there tells
            entries = tuple(range(1, given.ndim))
            size = np.max(np.abs(given), axis=entries, keepdims=True, initial=0.0)
            rounding = np.max(np.abs(next_to - there), axis=entries, keepdims=True, initial=0.0)
            off = np.abs(there - given) - OFF * size - 4 * rounding
            off = np.where(np.isfinite(off), off, 0.0)
        if off.size and off.max() > 0:
            worst = np.unravel_index(np.argmax(off), off.shape)
            raise ValueError(
                f"init[{parameter.name!r}] is outside of its support at {_short(given[worst[0]])}: "
                f"for its entry of {given[worst]:.6g} the model would take {there[worst]:.6g}, so "
                "give values inside."
            )
    return x


@jax.jit
def _and_back(target: Target, leaves: list[jax.Array]):
    """Flat vectors, what parameters become of them, and of others that differ by rounding."""
    x = jax.vmap(lambda leaves: target.flatten(target.structured(leaves)))(leaves)
    names = {parameter.name for parameter in target.parameters}

    def parameters(x):
        return {name: value for name, value in target.constrain(x).items() if name in names}

    eps = 8 * jnp.finfo(x.dtype).eps
    return x, jax.vmap(parameters)(x), jax.vmap(parameters)(x + eps * (1.0 + jnp.abs(x)))


def _complaint(target: Target, chains: Chains, bad: np.ndarray, dispersed: bool, each: str) -> str:
    tried = f" after {ATTEMPTS} attempts" if dispersed else ""
    remedy = "give init= a point where the log density and its gradient are finite"
    hollow = [name for name, data in {**target.constants, **target.observed}.items() if _nan(data)]
    if hollow:
        remedy = f"leave out what is NaN in data {', '.join(hollow)}, or model it"
    return (
        f"{int(bad.sum())} of {bad.size} {each}s found no starting point{tried}: "
        f"{_why(target, chains, bad)}; {remedy}."
    )


def _nan(data: Any) -> bool:
    values = np.asarray(data)
    return values.dtype.kind == "f" and bool(np.isnan(values).any())


def _why(target: Target, chains: Chains, bad: np.ndarray) -> str:
    """What was not finite at the first bad point, and which parameter has which value there."""
    chain = int(np.flatnonzero(bad)[0])
    x, logp, grad = chains.x[chain], chains.logp[chain], chains.grad[chain]
    where = (
        "x"
        if not np.isfinite(x).all()
        else "gradient"
        if not np.isfinite(grad).all()
        else "density"
    )
    culprit = ~np.isfinite(x) if where == "x" else ~np.isfinite(grad)
    coordinates = np.flatnonzero(culprit) if culprit.any() else np.arange(target.dim)
    values = {name: np.asarray(value) for name, value in target.constrain(jnp.asarray(x)).items()}
    named = sorted({target.coordinate_name(int(i)).split("[")[0] for i in coordinates})
    shown = ", ".join(f"{name} = {_short(values[name])}" for name in named[:4])
    what = {
        "x": "the starting point is not finite",
        "gradient": f"the log density is {logp:g} and its gradient is not finite with respect to",
        "density": f"the log density is {logp:g}",
    }[where]
    return f"{what}{' ' if where == 'gradient' else ' at '}{shown}"


def _short(value: np.ndarray) -> str:
    """A value in few characters."""
    flat = np.ravel(value)
    text = ", ".join(f"{entry:.4g}" for entry in flat[:3])
    return text if value.ndim == 0 else f"[{text}{', ...' if flat.size > 3 else ''}]"

"""Learn from a run in which coordinates its target would be easier: see docs/theory.md."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax

from ._types import Positions, Scalar
from .bend import Bend, bent_by
from .metric import product
from .probe import probed
from .result import Run
from .target import Target

DIMS = 512  # coordinates, at most: time grows with their third power
POINTS = 8192  # draws that are looked at, at most;
WORK = 2e8  # fewer where these times the squared dimension are more,
PER_DIM = 8  # but not fewer than so many times the dimension
MOST = 8  # pivots
CANDIDATES = 3  # for each, by how much widths follow them,
STEEP = 0.02  # if they do
LEAST = 0.05  # roughness that a pivot takes away
FOLLOWS = 0.2  # exponent, for a pivot's standard deviation, of what is none itself
HALF = 0.5  # of the roughness is to go, or this is not what the target is rough by
TURNS = 500
RATE = 0.03
RIDGE = 1e-3  # on exponents
_TINY = 1e-30


def straightened(run: Run) -> Target:
    """The run's target in coordinates whose widths do not follow each other, to sample anew.

    Where some coordinates are narrow for small values of another, as the effects of a group are for
    a small scale, no step size suits all places: chains do not enter the narrow one, or do not
    leave it. Here coordinates that others follow are found, and the others are measured in units of
    widths that follow them, by what makes the run's draws and gradients most like those of a
    Gaussian, and by what the target is like in the narrow place itself. That takes seconds for tens
    of coordinates, and minutes for hundreds.

    Parameters, their names, data and the posterior are as they were. What is unconstrained is in
    the new coordinates: `run.unconstrained`, `run.tuning` and arrays for `init=` of another target
    do not fit. `straightened(run) is run.target` where widths that follow others account for less
    than half of what the draws differ from a Gaussian by: then they are not what makes it hard.
    """
    if not isinstance(run, Run):
        raise TypeError(
            f"straightened takes a run, as snaper.sample returns it, not {type(run).__name__}."
        )
    bend = learn(run.target, points(run), at_once=len(run.unconstrained))
    return bent_by(run.target, bend) if bend.pivots.size else run.target


def learn(target: Target, x: Positions, at_once: int) -> Bend:
    """From draws of it; without pivots where that would take away too little of their roughness.
    Gradients of so many points are computed together.
    """
    grad = _gradients(target, x, at_once)
    bend, whole = find(x, grad), roughness(flat(x), x, grad)
    if not (bend.pivots.size and roughness(bend, x, grad) < HALF * whole):
        return flat(x)
    deep = _as_wide_as(x, probed(target, bend, at_once))
    return deep if roughness(deep, x, grad) < whole else bend  # not so for NaN


def points(run: Run) -> Positions:
    """Draws of all chains, as many as are worth their time, [point, dim]."""
    if run.keep != "draws":
        raise ValueError("This run kept no draws to learn from: sample with keep='draws'.")
    chains, draws, dim = run.unconstrained.shape
    if dim > DIMS:
        raise ValueError(
            f"Only up to {DIMS} coordinates can be straightened, and this target has {dim}: write "
            "parameters as multiples of what rules their width, in the model itself."
        )
    least = PER_DIM * dim
    if chains * draws < least:
        raise ValueError(
            f"Straightening {dim} coordinates takes {least} draws of all chains together or more, "
            f"but there are {chains * draws}: sample with more draws=."
        )
    wanted = max(min(POINTS, WORK / dim**2), least)
    x = run.unconstrained.reshape(-1, dim)[:: max(1, int(chains * draws / wanted))]
    same = np.ptp(x, axis=0) == 0
    if same.any():
        where = run.target.coordinate_name(int(np.argmax(same)))
        raise ValueError(f"{where} is the same in all draws: see run.findings, and sample anew.")
    return jnp.asarray(x)


def roughness(bend: Bend, x: Positions, grad: Positions) -> Scalar:
    r"""$\log(\mathrm{tr}(\mathrm{Cov}[z]\,\mathrm{E}[s s^T]) / d)$ of points, with gradients s of
    the log density of z: zero for a Gaussian, more for all else, in whatever units.
    """
    z = bend.straight(x)
    score = bend.score(z, grad)
    z = z - jnp.mean(z, axis=0)
    count, dim = x.shape
    return jnp.log(jnp.sum(product(z.T, z) / count * product(score.T, score) / count) / dim)


def flat(x: Positions) -> Bend:
    """No bend, of points like these."""
    nothing = jnp.zeros((x.shape[1], 0), x.dtype)
    return Bend(jnp.mean(x, axis=0), jnp.std(x, axis=0), jnp.zeros(0, int), nothing)


def find(x: Positions, grad: Positions) -> Bend:
    """One pivot after the other, each the best of those that widths follow most then, as long as
    roughness falls; what follows a pivot is none itself. Widths are then those of the points.
    """
    bend = flat(x)
    while bend.pivots.size < MOST:
        new = min(
            (fit(_with(bend, pivot, x), x, grad) for pivot in _candidates(bend, x, grad)),
            key=lambda each: float(roughness(each, x, grad)),
            default=bend,
        )
        if not roughness(new, x, grad) < roughness(bend, x, grad) - LEAST:
            break
        bend = new
    return _as_wide_as(x, bend)


def _as_wide_as(x: Positions, bend: Bend) -> Bend:
    """With such units that straight points have a standard deviation of one."""
    return bend._replace(width=bend.width * jnp.std(bend.straight(x), axis=0))


def _candidates(bend: Bend, x: Positions, grad: Positions) -> list[int]:
    """For a pivot more."""
    taken = np.max(np.abs(bend.exponents), axis=1, initial=0.0) > FOLLOWS
    taken[np.asarray(bend.pivots)] = True
    steep = np.where(taken, 0.0, steepness(bend, x, grad))
    return [int(place) for place in np.argsort(-steep)[:CANDIDATES] if steep[place] > STEEP]


def _with(bend: Bend, pivot: int, x: Positions) -> Bend:
    """A pivot more, about the middle of the points, that nothing follows yet."""
    return bend._replace(
        centre=bend.centre.at[pivot].set(jnp.mean(x[:, pivot])),
        pivots=jnp.append(bend.pivots, pivot),
        exponents=jnp.pad(bend.exponents, ((0, 0), (0, 1))),
    )


@jax.jit
def steepness(bend: Bend, x: Positions, grad: Positions) -> jax.Array:
    """How much the widths of all others follow each coordinate, where points are straight by what
    is known: squared slopes of log widths, which points and gradients tell half each.
    """
    z = bend.straight(x)
    score = bend.score(z, grad)
    away = jnp.maximum(jnp.abs(z - jnp.median(z, axis=0)), _TINY)
    log_width = 0.5 * (jnp.log(away) - jnp.log(jnp.maximum(jnp.abs(score), _TINY)))
    unit = (z - jnp.mean(z, axis=0)) / jnp.std(z, axis=0)
    slopes = product((log_width - jnp.mean(log_width, axis=0)).T, unit) / len(x)
    return jnp.sum((slopes * (1.0 - jnp.eye(len(slopes), dtype=z.dtype))) ** 2, axis=0)


@jax.jit
def fit(first: Bend, x: Positions, grad: Positions) -> Bend:
    """The bend with these pivots that leaves least roughness, from one to begin with."""
    follows = jnp.ones_like(first.centre).at[first.pivots].set(0.0)

    def bend(free) -> Bend:
        shift, exponents = free
        centre = first.centre + first.width * shift * follows
        return first._replace(centre=centre, exponents=exponents * follows[:, None])

    def loss(free):
        return roughness(bend(free), x, grad) + RIDGE * jnp.sum(free[1] ** 2)

    adam = optax.adam(optax.cosine_decay_schedule(RATE, TURNS))

    def turn(carry, _):
        free, state = carry
        change, state = adam.update(jax.grad(loss)(free), state)
        return (optax.apply_updates(free, change), state), None

    free = (jnp.zeros_like(first.centre), first.exponents)
    (free, _), _ = jax.lax.scan(turn, (free, adam.init(free)), length=TURNS)
    return bend(free)


@partial(jax.jit, static_argnums=2)
def _gradients(target: Target, x: Positions, at_once: int) -> Positions:
    """Of as many points at once as a run has chains, whose memory is then enough."""
    return jax.lax.map(jax.grad(target.logp), x, batch_size=at_once)

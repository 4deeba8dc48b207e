"""Learn from a run in which coordinates its target would be easier: see docs/theory.md."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from ._types import Positions, Scalar
from .bend import Bend, bent_by
from .metric import product
from .result import Run
from .target import Target

POINTS = 8192  # draws that are looked at, at most;
WORK = 2e8  # fewer where these times the squared dimension are more,
PER_DIM = 4  # but not fewer than so many times the dimension
MOST = 8  # pivots
LEAST = 0.05  # roughness that a pivot takes away
FOLLOWS = 0.2  # exponent, for a pivot's standard deviation, of what is none itself
HALF = 0.5  # of the roughness is to go, or this is not what the target is rough by
TURNS = 500
RATE = 0.03
RIDGE = 1e-3  # on exponents


def straightened(run: Run) -> Target:
    """The run's target in coordinates whose widths do not follow each other, to sample anew.

    Where some coordinates are narrow for small values of another, as the effects of a group are for
    a small scale, no step size suits all places: chains do not enter the narrow one, or do not
    leave it. Here coordinates that others follow are found, and the others are measured in units of
    widths that follow them, by what makes the run's draws and gradients most like those of a
    Gaussian. Parameters, their names, data and the posterior are as they were; only
    `run.unconstrained` of runs to come is in the new coordinates. The target is returned as it is
    where this would take away less than half of what it differs from a Gaussian by.
    """
    x = _points(run)
    target = run.target
    grad = np.asarray(_gradients(target, jnp.asarray(x)))
    usable = np.isfinite(grad).all(axis=1) & np.isfinite(x).all(axis=1)
    x, grad = x[usable], grad[usable]
    if len(x) < PER_DIM * target.dim:
        raise ValueError(
            f"Straightening {target.dim} coordinates takes {PER_DIM * target.dim} draws or more, "
            f"but there are {len(x)}: sample with more draws=."
        )
    width = x.std(axis=0)
    if not (width > 0).all():
        where = target.coordinate_name(int(np.argmin(width)))
        raise ValueError(f"{where} is the same in all draws: see run.findings, and sample anew.")
    x, grad = jnp.asarray(x), jnp.asarray(grad)
    bend = find(x, grad)
    rest, whole = roughness(bend, x, grad), roughness(flat(x), x, grad)
    return bent_by(target, bend) if bend.pivots.size and rest < HALF * whole else target


def roughness(bend: Bend, x: Positions, grad: Positions) -> Scalar:
    r"""$\log \mathrm{tr}(\mathrm{Cov}[z]\,\mathrm{E}[s s^T]) / d$ of points, with the gradients s
    of the log density of z: zero for a Gaussian, more for all else, in whatever units.
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
    """One pivot after the other, each where roughness is steepest then, as long as it falls; what
    follows a pivot is none itself.
    """
    bend = flat(x)
    while bend.pivots.size < MOST:
        follows = np.max(np.abs(bend.exponents), axis=1, initial=0.0) > FOLLOWS
        steep = np.where(follows, 0.0, steepness(bend, x, grad))
        steep[np.asarray(bend.pivots)] = 0.0
        pivots = jnp.append(bend.pivots, np.argmax(steep))
        exponents = jnp.pad(bend.exponents, ((0, 0), (0, 1)))
        new = fit(bend._replace(pivots=pivots, exponents=exponents), x, grad)
        if not roughness(new, x, grad) < roughness(bend, x, grad) - LEAST:
            break
        bend = new
    return bend


@jax.jit
def steepness(bend: Bend, x: Positions, grad: Positions) -> jax.Array:
    """Of roughness, by the pivot that each coordinate would be for all others: squared slopes in
    their exponents, where points are straight by what is known.
    """
    z = bend.straight(x)
    score = bend.score(z, grad)
    dim = z.shape[1]
    none = jnp.zeros((dim, dim), z.dtype)
    every = flat(z)._replace(pivots=jnp.arange(dim))
    slopes = jax.grad(lambda e: roughness(every._replace(exponents=e), z, score))(none)
    return jnp.sum((slopes * (1.0 - jnp.eye(dim, dtype=z.dtype))) ** 2, axis=0)


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


def _points(run: Run) -> np.ndarray:
    """Draws of all chains, as many as are worth their time, [point, dim]."""
    if run.keep != "draws":
        raise ValueError("This run kept no draws to learn from: sample with keep='draws'.")
    chains, draws, dim = run.unconstrained.shape
    wanted = max(min(POINTS, WORK / dim**2), PER_DIM * dim)
    every = max(1, int(chains * draws / wanted))
    return run.unconstrained.reshape(-1, dim)[::every]


@jax.jit
def _gradients(target: Target, x: Positions) -> Positions:
    return jax.vmap(jax.grad(target.logp))(x)

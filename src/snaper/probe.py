"""What a target is like where a pivot makes it narrow, asked of the target itself: few draws of a
run are there, if any, but gradients can be had anywhere.
"""

from functools import partial

import jax
import jax.numpy as jnp
import optax

from ._types import Positions, Vector
from .bend import Bend, bent_by
from .target import Target

DEPTH = 3.0  # how far into the narrow place, in standard deviations of the pivot,
STAGES = 3  # by which one goes there, so that no way is long in units of widths
TURNS = 400  # uphill in each, to where points are likeliest
RATE = 0.3
AT_REST = 0.1  # gradient, in units of the widths found, by which one has come to the top
FAR = 5.0  # from where draws are, in their standard deviations: no centre is looked for there
STEP = 0.25  # to either side, in widths, between gradients that tell a curvature
FLAT = 1e-3  # curvature, in units of widths, that is added: a flat coordinate hides no other
SHARE = 0.5  # of exponents, by what is found; the rest is by draws


def probed(target: Target, bend: Bend, at_once: int) -> Bend:
    """Centred where points are in the narrow place, with exponents halfway to those that make them
    as wide there as elsewhere. Coordinates about which nothing can be told stay as they are.

    Narrow is the side of a pivot on which widths shrink. Other pivots are as far on their wide
    sides, so that it is this one that holds points where they are. What follows several is centred
    for the one that it follows most.
    """
    straight = bent_by(target, bend)
    inward = -DEPTH * jnp.sign(jnp.sum(bend.exponents * jnp.abs(bend.exponents), axis=0))
    found = [_at(straight, bend, p, inward, at_once) for p in range(bend.pivots.size)]
    tops = jnp.stack([top for top, _ in found])
    exponents = bend.exponents + jnp.stack([slope for _, slope in found], axis=1)
    most = jnp.argmax(jnp.abs(exponents), axis=1)
    centre = jnp.take_along_axis(tops, most[None], axis=0)[0]
    near = jnp.abs(centre - bend.centre) < FAR * bend.width  # not so for NaN
    return bend._replace(
        centre=jnp.where(near, centre, bend.centre),
        exponents=bend.exponents + SHARE * (exponents - bend.exponents),
    )


@partial(jax.jit, static_argnames="at_once")
def _at(straight: Target, bend: Bend, pivot: int, inward: jax.Array, at_once: int):
    """Where points are likeliest with a pivot deep inside, NaN where that cannot be told; and what
    its exponents lack: slopes of log widths from there to where the pivot is at its centre.
    """
    follows = jnp.ones_like(bend.centre).at[bend.pivots].set(0.0)
    place = bend.pivots[pivot]
    gradient = jax.grad(straight.logp)
    wide = jnp.zeros_like(bend.centre).at[bend.pivots].set(-inward)
    z = near = _top(gradient, wide.at[place].set(0.0), follows)
    for stage in range(STAGES):
        deeper = near.at[place].set(inward[pivot] * (stage + 1) / STAGES)
        there = bend.bent(z).at[place].set(bend.bent(deeper)[place])  # all else as it was
        z = _top(gradient, bend.straight(there), follows)
    log_widths = [_log_widths(gradient, top, follows, at_once) for top in (near, z)]
    rests = [
        jnp.isfinite(straight.logp(top))
        & jnp.all(jnp.abs(gradient(top)) * follows * jnp.exp(width) < AT_REST)
        for top, width in zip((near, z), log_widths, strict=True)
    ]
    told = (follows > 0) & rests[0] & rests[1]
    slope = (log_widths[1] - log_widths[0]) / inward[pivot]
    return (
        jnp.where(told, bend.bent(z), jnp.nan),
        jnp.where(told & jnp.isfinite(slope), slope, 0.0),
    )


def _top(gradient, z: Vector, follows: Vector) -> Vector:
    """Uphill from here, pivots held."""
    adam = optax.adam(optax.cosine_decay_schedule(RATE, TURNS))

    def turn(carry, _):
        z, state = carry
        change, state = adam.update(-gradient(z) * follows, state)
        return (z + change, state), None

    (top, _), _ = jax.lax.scan(turn, (z, adam.init(z)), length=TURNS)
    return top


def _log_widths(gradient, z: Vector, follows: Vector, at_once: int) -> Vector:
    """Of each coordinate under the Gaussian with the curvature there, pivots held, in the units of
    z; NaN where that is none.
    """
    step = STEP * jnp.eye(z.size, dtype=z.dtype)

    def gradients(points: Positions) -> Positions:
        return jax.lax.map(gradient, points, batch_size=at_once)

    curvature = (gradients(z - step) - gradients(z + step)) / (2 * STEP)
    both = follows[:, None] * follows
    held = jnp.where(both > 0, curvature + curvature.T, 0.0) / 2
    held = held + jnp.diag(jnp.where(follows > 0, FLAT, 1.0))
    root = jnp.linalg.inv(jnp.linalg.cholesky(held))  # NaN where it is no peak
    return 0.5 * jnp.log(jnp.sum(root**2, axis=0))

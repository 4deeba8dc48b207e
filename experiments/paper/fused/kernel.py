"""A target with a kernel for its gradient: mapped however often, it is called once for all points,
with a block of them in each program.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from snaper.target import Target


@dataclass(frozen=True)
class Kernel:
    """`write(points, *constants, gradients)` fills the last of these references."""

    write: Callable[..., None]
    points: int | None  # of a program; None is one point, whose references have no axis for points
    warps: int


def fused(plain: Target, kernel: Kernel, *constants: jax.Array) -> Target:
    """The plain target, but for how its gradient is computed."""
    gradient = _gradient(kernel)

    @jax.custom_vjp
    def log_density(x, data):
        return data[0].logp(x)

    def forward(x, data):
        return log_density(x, data), (gradient(x, *data[1]), data)

    def backward(kept, tangent):
        grad, data = kept
        return tangent * grad, jax.tree.map(_no_tangent, data)

    log_density.defvjp(forward, backward)
    return Target(log_density, jnp.zeros(plain.dim, plain.dtype), (plain, constants))


def load(ref, *place, mask):
    return triton.load(ref.at[place], mask=mask, other=0.0)


def store(ref, *place, value, mask) -> None:
    triton.store(ref.at[place], value, mask=mask)


def product(a: jax.Array, b: jax.Array) -> jax.Array:
    """Of matrices, with all digits: on a GPU by tensor cores, in three parts of ten bits."""
    in_parts = jax.lax.DotAlgorithmPreset.TF32_TF32_F32_X3
    return jnp.dot(a, b, precision=in_parts if _on_gpu() else jax.lax.Precision.HIGHEST)


def softplus(free: jax.Array) -> jax.Array:
    """Without loss where it is close to zero."""
    return jnp.maximum(free, 0.0) + jnp.log1p(jnp.exp(-jnp.abs(free)))


def _gradient(kernel: Kernel) -> Callable:
    """Of points [..., dim]."""

    @jax.custom_batching.custom_vmap
    def gradient(x, *constants):
        return _call(kernel, x, constants)

    @gradient.def_vmap
    def _(size, mapped, x, *constants):
        # Where some points take a branch, what it closes over is mapped, too: copies, all alike.
        some = zip(constants, mapped[1:], strict=True)
        constants = [each[0] if is_mapped else each for each, is_mapped in some]
        return gradient(x, *constants), mapped[0]

    return gradient


def _call(kernel: Kernel, x: jax.Array, constants: tuple) -> jax.Array:
    points = x.reshape(-1, x.shape[-1])
    together = kernel.points or 1
    padded = jnp.pad(points, ((0, -len(points) % together), (0, 0)))
    block = pl.BlockSpec((kernel.points, x.shape[-1]), lambda program: (program, 0))
    gradients = pl.pallas_call(
        kernel.write,
        jax.ShapeDtypeStruct(padded.shape, x.dtype),
        grid=(len(padded) // together,),
        in_specs=[block, *(pl.BlockSpec() for _ in constants)],
        out_specs=block,
        **_where(kernel.warps),
    )
    return gradients(padded, *constants)[: len(points)].reshape(x.shape)


def _where(warps: int) -> dict:
    if _on_gpu():
        return {"compiler_params": triton.CompilerParams(num_warps=warps)}
    return {"interpret": True}


def _on_gpu() -> bool:
    return jax.default_backend() == "gpu"


def _no_tangent(data: jax.Array):
    if jnp.issubdtype(data.dtype, jnp.floating):
        return jnp.zeros_like(data)
    return np.zeros(data.shape, jax.dtypes.float0)

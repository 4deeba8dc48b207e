"""The logistic likelihood, with a derivative that costs one sigmoid."""

import jax
import jax.numpy as jnp


@jax.custom_jvp
def log_sigmoid(x: jax.Array) -> jax.Array:
    """log(1 / (1 + exp(-x))), elementwise."""
    return jnp.minimum(x, 0.0) - jnp.log1p(jnp.exp(-jnp.abs(x)))


@log_sigmoid.defjvp
def _log_sigmoid_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    return log_sigmoid(x), jax.nn.sigmoid(-x) * dx

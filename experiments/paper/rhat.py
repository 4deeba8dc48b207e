"""The classic R-hat, without its square root and without splitting chains, as TensorFlow
Probability computes it.
"""

import jax


def classic(ratio: jax.Array, num_chains, num_draws) -> jax.Array:
    """From the variance of the chains' means over the mean of their variances."""
    inflation = (num_draws - 1) / num_draws + ratio
    return (num_chains + 1) / num_chains * inflation - (num_draws - 1) / (num_chains * num_draws)

r"""Moments of the Brownian bridge's posterior, exact but for a sum over a grid of its two scales.

Given the scales a and b the path is Gaussian. With K the covariance min(s, t) of the path at the
observed steps, K = V diag(w) V^T, and K' that of all steps with the observed ones,

    y ~ N(0, a^2 K + b^2 I),   E[x | y] = K' V r,   r_k = a^2 (V^T y)_k / (a^2 w_k + b^2),

so that the sum over the grid needs r, r r^T and the diagonal of the path's covariance alone.
"""

import numpy as np

from ._benchmark import Moments

_LOG_A = np.linspace(np.log(0.01), np.log(2.0), 100)
_LOG_B = np.linspace(np.log(1e-6), np.log(2.0), 250)


def moments(observed: np.ndarray, values: np.ndarray) -> Moments:
    """Of the scales and of the path, from the values at the steps that were observed."""
    steps = np.arange(1, observed.size + 1)
    shared = np.minimum.outer(steps, steps[observed]).astype(float)
    w, v = np.linalg.eigh(shared[observed])
    mix, y = shared @ v, v.T @ values[observed]

    log_a, log_b = (grid.ravel() for grid in np.meshgrid(_LOG_A, _LOG_B, indexing="ij"))
    a2, b2 = np.exp(2 * log_a)[:, None], np.exp(2 * log_b)[:, None]
    total = a2 * w + b2
    log_p = -0.5 * np.sum(np.log(total) + y**2 / total, axis=1) - (log_a**2 + log_b**2) / 8
    p = np.exp(log_p - log_p.max())
    p /= p.sum()

    r = a2 * y / total
    path = mix @ (p @ r)
    spread_of_means = np.einsum("ij,jk,ik->i", mix, (r * p[:, None]).T @ r, mix) - path**2
    conditional = (p @ a2) * steps - mix**2 @ (p @ (a2**2 / total))
    a, b = np.exp(log_a), np.exp(log_b)
    return Moments(
        mean={"innovation_noise_scale": p @ a, "observation_noise_scale": p @ b, "locs": path},
        sd={
            "innovation_noise_scale": np.sqrt(p @ a**2 - (p @ a) ** 2),
            "observation_noise_scale": np.sqrt(p @ b**2 - (p @ b) ** 2),
            "locs": np.sqrt(conditional + spread_of_means),
        },
        standard_error=0.0,
    )

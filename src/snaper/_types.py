"""Names for the arrays that flow through the package, and the paper's symbols.

| paper | code | | paper | code |
|---|---|---|---|---|
| x, x' | `x`, `proposal` | | w, the principal component | `direction` |
| log p(x) | `logp` | | mu, the centre | `mean` |
| epsilon, the step size | `step_size` | | M, as x = L y, diag(L) = sigma / max sigma | `metric` |
| tau-bar, the mean trajectory length | `trajectory_length` | | alpha | `accept_prob` |
| tau, this transition's time | `t` | | l, leapfrog steps | `num_leapfrog` |
| b, chains | `num_chains` | | kappa, moment memory | `memory` |
"""

from collections.abc import Callable

import jax

Scalar = jax.Array
"""One number: []."""
Vector = jax.Array
"""One number per dimension: [dim]."""
PerChain = jax.Array
"""One number per chain: [chain]."""
Positions = jax.Array
"""One vector per chain: [chain, dim]."""
Key = jax.Array
"""A typed random key: []."""

LogDensity = Callable[[Vector], Scalar]
"""Log density of one point of R^d, up to a constant."""

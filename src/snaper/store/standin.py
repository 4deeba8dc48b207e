"""A target in name alone, for a run that is only looked at."""

from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from ..target import STATIC, Labels, NotAtHand, Parameter, Target


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Unknown:
    """In the place of a model whose log density is not at hand."""

    data: Any
    path: str = field(metadata=STATIC)

    @property
    def named_data(self) -> dict[str, Any]:
        return self.data

    def _refuse(self, *_: Any) -> Any:
        raise NotAtHand(
            f"The log density of {self.path} is not in the store: pass the target to snaper.load "
            "to use it."
        )

    log_density = constrain = unconstrain = sample_prior = _refuse


def target(
    path: str,
    told: dict[str, Any],
    observed: dict[str, np.ndarray],
    constants: dict[str, np.ndarray],
) -> Target:
    """With names, shapes, labels and data as they are stored."""
    parameters = tuple(
        Parameter(name, tuple(shape), tuple(free))
        for name, shape, free in told["target"]["parameters"]
    )
    structure = jax.tree.structure({parameter.name: 0.0 for parameter in parameters})
    labels = Labels(
        {name: tuple(axes) for name, axes in told["dims"].items()},
        {axis: np.asarray(values) for axis, values in told["coords"].items()},
    )
    # Not by its constructor, which would try the log density.
    return Target.tree_unflatten(
        (structure, parameters, np.dtype(told["target"]["dtype"]), labels),
        (_Unknown(constants, path), observed),
    )

"""What a NumPyro model consists of, found by tracing it once."""

from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from numpyro import handlers
from numpyro.infer import init_to_feasible

from ..target import STATIC, Parameter
from ._call import Call


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Sites:
    """The sites of a model by their part in inference. Only the observed values are leaves, so that
    a compiled `find` still knows the rest.
    """

    observed: dict[str, jax.Array]
    parameters: tuple[Parameter, ...] = field(metadata=STATIC)  # latent sites, sorted by name
    dtype: Any = field(metadata=STATIC)
    flat: tuple[str, ...] = field(metadata=STATIC)  # latent sites whose prior cannot be drawn from
    discrete: tuple[str, ...] = field(metadata=STATIC)  # latent sites to be summed out
    depth: int = field(metadata=STATIC)  # of nested plates
    dims: tuple[tuple[str, tuple[str, ...]], ...] = field(metadata=STATIC)
    plates: tuple[tuple[str, int], ...] = field(metadata=STATIC)
    observed_arguments: tuple[int, ...] = field(metadata=STATIC)  # places among all arguments


@jax.jit  # and so a second model call with arrays of the same shapes is not traced
def find(call: Call) -> Sites:
    """The sites, or a word about the first that HMC cannot handle."""
    args, kwargs = call.arguments()
    trace = _trace(call)
    samples = dict(_of_type(trace, "sample"))
    unseen = {name: site for name, site in samples.items() if not site["is_observed"]}
    discrete = [name for name, site in unseen.items() if site["fn"].support.is_discrete]
    latent = {name: unseen[name] for name in sorted(unseen.keys() - set(discrete))}
    if not latent:
        raise ValueError(
            "The model has no continuous latent site, so there is nothing to sample: wrap a log "
            "density as snaper.Target(log_density, like)."
        )
    observed = {
        name: site["value"]
        for name, site in samples.items()
        if site["is_observed"] and not isinstance(_base(site["fn"]), dist.Unit)  # numpyro.factor
    }
    frames = [frame for site in samples.values() for frame in site["cond_indep_stack"]]
    return Sites(
        observed={name: jnp.asarray(value) for name, value in observed.items()},
        parameters=tuple(_parameter(name, site) for name, site in latent.items()),
        dtype=jnp.result_type(*(site["value"] for site in latent.values())),
        flat=tuple(name for name, site in latent.items() if _is_flat(site["fn"])),
        discrete=tuple(discrete),
        depth=max((-frame.dim for frame in frames), default=0),
        dims=tuple(
            (name, axes)
            for name, site in trace.items()
            if name not in discrete and (axes := _axes(name, site))
        ),
        plates=tuple((name, site["args"][0]) for name, site in _of_type(trace, "plate")),
        observed_arguments=tuple(
            place
            for place, leaf in enumerate(jax.tree.leaves((args, kwargs)))
            if any(leaf is value for value in observed.values())
        ),
    )


def computed(call: Call) -> dict[str, Any]:
    """All that the model computes, be it from arguments or from its surroundings."""
    found: dict[str, Any] = {}
    for name, site in _trace(call).items():
        if site["type"] in ("sample", "deterministic"):
            found[name] = site["value"]
        if site["type"] == "sample":
            found[f"density of {name}"] = site["fn"].log_prob(site["value"]), site["scale"]
    return found


def _trace(call: Call) -> dict[str, Any]:
    args, kwargs = call.arguments()
    start = handlers.substitute(handlers.seed(call.function, 0), substitute_fn=_start)
    return handlers.trace(start).get_trace(*args, **kwargs)


def _start(site: dict[str, Any]) -> Any:
    """Any value that a latent site may have, found without drawing from its prior."""
    _check(site["name"], site)  # here, since a model may stumble over what comes of such a site
    if site["type"] != "sample" or site["is_observed"] or site["fn"].support.is_discrete:
        return None
    try:
        dist.biject_to(site["fn"].support)
    except NotImplementedError:
        raise ValueError(
            f"Site {site['name']!r} has the support {site['fn'].support}, which the reals do not "
            "map onto: reparameterise it, for example with numpyro.handlers.reparam."
        ) from None
    return init_to_feasible(site)


def _check(name: str, site: dict[str, Any]) -> None:
    kind = site["type"]
    if kind in ("param", "mutable"):
        raise ValueError(
            f"Site {name!r} is a {kind} statement, which HMC would silently hold at its initial "
            "value: make it a sample statement, or an argument of the model."
        )
    if kind == "plate" and site["args"][1] not in (None, site["args"][0]):
        size, subsample_size = site["args"]
        raise ValueError(
            f"Plate {name!r} takes {subsample_size} of {size} entries at random, but HMC needs all "
            "of the data at every step: remove subsample_size."
        )
    if kind != "sample" or site["is_observed"]:
        return
    if isinstance(site["fn"], dist.Delta):
        raise ValueError(
            f"Site {name!r} has a Delta distribution, which has no density: use "
            "numpyro.deterministic."
        )
    if site["fn"].support.is_discrete:
        _check_discrete(name, site)


def _check_discrete(name: str, site: dict[str, Any]) -> None:
    marked = site["infer"].get("enumerate", "parallel")
    if marked != "parallel" or not site["fn"].has_enumerate_support:
        raise ValueError(
            f"Site {name!r} is discrete and NumPyro cannot sum it out: HMC needs continuous sites, "
            "so observe it or sum over it in the model."
        )
    if find_spec("funsor") is None:
        raise ImportError(
            f"Site {name!r} is discrete, and to sum it out NumPyro needs funsor, which is not "
            "installed: install funsor, or sum over the site in the model."
        )


def _parameter(name: str, site: dict[str, Any]) -> Parameter:
    shape = jnp.shape(site["value"])
    return Parameter(name, shape, tuple(dist.biject_to(site["fn"].support).inverse_shape(shape)))


def _is_flat(fn: Any) -> bool:
    return isinstance(_base(fn), dist.ImproperUniform)


def _base(fn: Any) -> Any:
    """A distribution without what plates, masks and to_event wrap around it."""
    while isinstance(fn, dist.Independent | dist.ExpandedDistribution | dist.MaskedDistribution):
        fn = fn.base_dist
    return fn


def _of_type(trace: dict[str, Any], kind: str) -> list[tuple[str, Any]]:
    return [(name, site) for name, site in trace.items() if site["type"] == kind]


def _axes(name: str, site: dict[str, Any]) -> tuple[str, ...]:
    """Names of the axes of a site inside plates or with `infer={"event_dims": ...}`, else none."""
    if site["type"] not in ("sample", "deterministic"):
        return ()
    shape, frames = jnp.shape(site["value"]), site["cond_indep_stack"]
    events = tuple((site.get("infer") or {}).get("event_dims", ()))
    if not frames and not events:
        return ()
    if site["type"] == "sample":
        event_dim = len(site["fn"].event_shape)
    else:  # of its axes only those of plates are known: the last ones, or else the first
        depth = max((-frame.dim for frame in frames), default=0)
        event_dim = 0 if _fits(shape, frames, 0) else len(shape) - depth
    if not _fits(shape, frames, event_dim):
        return ()
    axes = [f"{name}_dim_{axis}" for axis in range(len(shape))]
    for frame in frames:
        axes[frame.dim - event_dim] = frame.name
    if events and len(events) <= len(shape):
        axes[-len(events) :] = events
    return tuple(axes)


def _fits(shape: tuple[int, ...], frames: list[Any], event_dim: int) -> bool:
    """Whether the axes to the left of the event's are as long as the plates."""
    places = [frame.dim - event_dim for frame in frames]
    return event_dim >= 0 and all(
        -place <= len(shape) and shape[place] == frame.size
        for place, frame in zip(places, frames, strict=True)
    )

"""What a run will need at least, and a word before one that will not fit."""

import os

import jax

_PER_CHAIN = 40  # arrays [chain, dim] of a transition, of its learners and of running diagnostics
_PER_METRIC = 10  # arrays [dim, dim] of a dense metric and its learner


def device_bytes(chains: int, dim: int, itemsize: int, slots: int, dense: bool) -> int:
    """On the device, whatever the number of draws; the log density's own workspace is not in it."""
    arrays = (_PER_CHAIN + slots) * chains * dim + _PER_METRIC * dim**2 * dense
    return itemsize * arrays


def host_bytes(chains: int, dim: int, itemsize: int, draws: int) -> int:
    """Of the draws that are kept."""
    return itemsize * chains * dim * draws


def complaint(on_device: int, on_host: int) -> str | None:
    """What does not fit and what to change, in one sentence; None where all does, or where nobody
    tells how much there is.
    """
    device, host = _device_limit(), _host_free()
    if device is None:  # the host's memory is the device's
        on_host, on_device = on_host + on_device, 0
    if device is not None and on_device > device:
        return (
            f"This run needs at least {_size(on_device)} on the device, which has "
            f"{_size(device)}: use fewer chains=, or at_once= if it is the gradients that do "
            "not fit."
        )
    if host is not None and on_host > host:
        return (
            f"This run needs at least {_size(on_host)}, and {_size(host)} are free: use thin=, "
            "fewer draws=, or keep='moments', which keeps none of them."
        )
    return None


def _device_limit() -> int | None:
    stats = jax.devices()[0].memory_stats() or {}
    return stats.get("bytes_limit")


def _host_free() -> int | None:
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _size(count: int) -> str:
    """In units of 1024^3 bytes."""
    return f"{count / 2**30:.3g} GiB"

"""What all tests share: double precision, and a count of compilations."""

from collections.abc import Callable

import jax
import pytest

jax.config.update("jax_enable_x64", True)

_compiled: list[str] = []


def _note(event: str, duration: float, **about) -> None:
    if event.endswith("backend_compile_duration"):
        _compiled.append(str(about.get("fun_name", event)))


jax.monitoring.register_event_duration_secs_listener(_note)


@pytest.fixture
def compilations() -> Callable[[], list[str]]:
    """What XLA was asked to compile since the last time this was asked."""
    seen = len(_compiled)

    def names() -> list[str]:
        nonlocal seen
        before, seen = seen, len(_compiled)
        return _compiled[before:]

    return names


@pytest.fixture
def strict():
    """Mixing dtypes is an error."""
    with jax.numpy_dtype_promotion("strict"):
        yield

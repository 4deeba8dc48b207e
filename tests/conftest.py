"""What all tests share: double precision, and a count of compilations."""

import contextlib
import gc
import warnings
from collections.abc import Callable
from pathlib import Path

import jax
import pytest

jax.config.update("jax_enable_x64", True)
gc.set_threshold(20_000)  # tracing makes many objects that stay: at 700, 7 % of the time


def pytest_configure(config: pytest.Config) -> None:
    """ArviZ 0.x notes in a file that it has made its announcement of the day. Processes that do so
    at once take that file from each other, so it is made before test processes begin.
    """
    if not hasattr(config, "workerinput"):
        with warnings.catch_warnings(), contextlib.suppress(ImportError):
            warnings.simplefilter("ignore")
            import arviz  # noqa: F401


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("cpu") and jax.default_backend() != "cpu":
        pytest.skip("about what is done on a CPU alone")


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


_MAPS = Path("/proc/self/maps")
_MANY_MAPS = 20_000  # Linux gives a process 65 530, and XLA crashes when there are none left


@pytest.fixture(autouse=True, scope="module")
def room_for_compiled_code():
    """Every compiled program takes several maps of memory until it is forgotten."""
    yield
    if _MAPS.exists() and len(_MAPS.read_bytes().splitlines()) > _MANY_MAPS:
        jax.clear_caches()


@pytest.fixture
def strict():
    """Mixing dtypes is an error."""
    with jax.numpy_dtype_promotion("strict"):
        yield

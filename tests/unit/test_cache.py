"""Compiled code on disk: found again, and no setting of JAX is left changed."""

import jax
import jax.numpy as jnp
import numpy as np

import snaper
from snaper import cache

HITS = []
jax.monitoring.register_event_listener(
    lambda event, **_: HITS.append(event) if event.endswith("cache_hits") else None
)


def test_another_process_finds_what_was_compiled(tmp_path):
    """Forgetting all that was compiled stands in for another process."""
    settings = dict(jax.config.values)
    target = snaper.Target(lambda x: -0.5 * jnp.sum(x**2), np.zeros(2))
    sizes = {"chains": 8, "warmup": 5, "draws": 5, "progress": False, "cache": tmp_path}
    sizes["preset"] = "paper"  # which takes less time to compile
    first = snaper.sample(target, **sizes)
    assert [*tmp_path.glob("*advance*")]
    jax.clear_caches()
    HITS.clear()
    second = snaper.sample(target, **sizes)
    assert HITS
    np.testing.assert_array_equal(first.unconstrained, second.unconstrained)
    assert dict(jax.config.values) == settings


def test_no_directory_changes_nothing(monkeypatch):
    monkeypatch.setattr(cache, "_set", None)
    with cache.kept_in(None):
        pass

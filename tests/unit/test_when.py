"""A branch as a loop of one turn or none."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from snaper.when import when

pytestmark = pytest.mark.usefixtures("strict")

STATE = {"matrix": jnp.zeros((3, 3)), "odd": jnp.array([-0.0, jnp.nan, 1e-310]), "n": jnp.array(2)}


def invert(state, by):
    """Of a singular matrix: nothing finite."""
    matrix = jnp.linalg.inv(state["matrix"]) * by
    return {"matrix": matrix, "odd": state["odd"] + by, "n": state["n"] + 1}


@jax.jit
def inverted(now, by):
    return when(now, invert, STATE, by)


def test_when_it_is_time_the_state_is_updated_once():
    found = inverted(jnp.asarray(True), jnp.asarray(2.0))
    assert found["n"] == 3 and not np.isfinite(found["matrix"]).any()
    np.testing.assert_array_equal(found["odd"], [2.0, np.nan, 2.0])


def test_when_it_is_not_every_bit_of_the_state_stays():
    found = inverted(jnp.asarray(False), jnp.asarray(jnp.nan))
    for new, old in zip(jax.tree.leaves(found), jax.tree.leaves(STATE), strict=True):
        assert new.dtype == old.dtype and new.tobytes() == old.tobytes()


def test_mapped_over_each_has_its_own_time():
    """As the seeds of an experiment: what is not finite for one is nothing to the others."""
    now, state, by = jnp.array([True, False, True]), jnp.zeros(3), jnp.array([1.0, 0.0, 0.5])
    found = jax.vmap(lambda *each: when(each[0], lambda s, by: s + 1.0 / by, *each[1:]))(
        now, state, by
    )
    np.testing.assert_array_equal(found, [1.0, 0.0, 2.0])


def test_what_is_handed_over_is_computed_in_the_loop_only():
    """The product depends on nothing that a turn changes: a compiler would do it beforehand."""
    state, x = jnp.zeros((64, 64)), jnp.ones((256, 64))
    compiled = jax.jit(lambda *args: when(args[0], lambda s, x: s + x.T @ x, *args[1:]))
    text = compiled.lower(jnp.asarray(True), state, x).compile().as_text()
    where = [block.strip().split()[0] for block in text.split("\n\n") if " dot(" in block]
    assert where and "ENTRY" not in where

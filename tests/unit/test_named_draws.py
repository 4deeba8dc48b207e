"""From stored vectors to named parameters, in blocks that fit into memory."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from snaper import from_numpyro, result

LENGTH = 1000
POINT = 4 * (1 + 1 + LENGTH)  # bytes of one: the vector, `a` and `grid`
CALLS = []


def model():
    CALLS.append(1)
    a = numpyro.sample("a", dist.Normal())
    numpyro.deterministic("grid", a * jnp.arange(LENGTH, dtype=jnp.float32))


@pytest.fixture
def blocks(monkeypatch):
    """Shapes of the blocks that are mapped."""
    shapes, original = [], result._constrain_block

    def noted(target, x):
        shapes.append(x.shape)
        return original(target, x)

    monkeypatch.setattr(result, "_constrain_block", noted)
    return shapes


@pytest.mark.parametrize(("budget", "size"), [(3 * POINT, 3), (4 * POINT - 1, 3), (1, 1)])
def test_blocks_are_sized_by_what_comes_of_them(monkeypatch, blocks, budget, size):
    monkeypatch.setattr(result, "_BLOCK_BYTES", budget)
    x = np.random.default_rng(0).normal(size=(7, 1)).astype(np.float32)
    named = result.constrain(from_numpyro(model), x)
    assert blocks == [(size, 1)] * -(-7 // size)  # all alike, for which one compilation serves
    np.testing.assert_array_equal(named["a"], x[:, 0])
    np.testing.assert_allclose(named["grid"], x * np.arange(LENGTH), rtol=1e-6)


def test_small_points_come_in_blocks_of_limited_number(blocks):
    result.constrain(from_numpyro(model), np.zeros((5000, 1), np.float32))
    assert blocks == [(4096, 1)] * 2


def test_no_points_have_shapes_and_take_no_block(blocks):
    named = result.constrain(from_numpyro(model), np.zeros((0, 1), np.float32))
    assert {name: x.shape for name, x in named.items()} == {"a": (0,), "grid": (0, LENGTH)}
    assert blocks == []


def test_the_model_is_traced_once(monkeypatch):
    """Its shapes are learnt from the same trace, and another run needs none."""
    monkeypatch.setattr(result, "_BLOCK_BYTES", 5 * POINT)
    target = from_numpyro(lambda: model())
    CALLS.clear()
    jax.eval_shape(target.constrain, jax.ShapeDtypeStruct((1,), np.float32))
    once = len(CALLS)
    result.constrain(target, np.zeros((9, 1), np.float32))
    assert len(CALLS) == 2 * once
    result.constrain(target, np.ones((11, 1), np.float32))
    assert len(CALLS) == 2 * once

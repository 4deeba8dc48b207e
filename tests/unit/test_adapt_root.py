"""Halves of matrix roots, by both ways."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from snaper.adapt import root

DIM = 40
WAYS = {"eigenvectors": root.by_eigenvectors, "products": root.by_products}


def turned(condition: float, size: float, seed: int = 0):
    """Axes, and the eigenvalues along them."""
    axes = np.linalg.qr(np.random.default_rng(seed).normal(size=(DIM, DIM)))[0]
    return axes, size * np.logspace(0, np.log10(condition), DIM)


def whitened_error(half, points, lower) -> float:
    """How far F F^T is from the root, in units of the root itself."""
    values, axes = np.linalg.eigh(lower.T @ points @ lower)
    inverse = axes / values**0.25
    half = np.asarray(half, float)
    return float(np.abs(inverse.T @ half @ half.T @ inverse - np.eye(DIM)).max())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("dtype", "condition", "within"),
    [
        ("float32", 1.0, 1e-5),
        ("float32", 1e4, 2e-3),
        ("float64", 1e4, 1e-6),
        ("float64", 1e8, 1e-6),
    ],
)
@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_halves_make_the_root(way, dtype, condition, within, size):
    axes, values = turned(condition, size)
    points = (axes * values) @ axes.T
    half, inverse = jax.jit(WAYS[way])(jnp.asarray(points, dtype), jnp.eye(DIM, dtype=dtype))
    assert half.dtype == inverse.dtype == dtype
    assert whitened_error(half, points, np.eye(DIM)) < within
    np.testing.assert_allclose(np.asarray(half, float) @ inverse, np.eye(DIM), atol=1e-5)


def test_products_keep_more_digits_than_eigenvectors():
    """A root of condition 1e4, whose square has more than single precision holds."""
    axes, values = turned(1e5, 1.0)
    points = (axes * values) @ axes.T
    axes, values = turned(1e3, 1.0, seed=1)
    lower = np.linalg.cholesky((axes * values) @ axes.T)
    single = (jnp.asarray(points, jnp.float32), jnp.asarray(lower, jnp.float32))
    error = {name: whitened_error(way(*single)[0], points, lower) for name, way in WAYS.items()}
    assert error["products"] < 0.02 < error["eigenvectors"]


def test_a_matrix_that_is_singular_is_told():
    """By numbers that are not finite, which no metric is made of."""
    column = np.random.default_rng(1).normal(size=(DIM, 1))
    half, _ = root.by_products(jnp.asarray(-column @ column.T), jnp.eye(DIM))
    assert not np.all(np.isfinite(half))


def test_on_a_cpu_eigenvectors_are_used_alone():
    traced = jax.jit(root.halves).trace(jnp.eye(3), jnp.eye(3))
    text = traced.lower(lowering_platforms=("cpu",)).as_text()
    assert "syevd" in text and "while" not in text
    text = traced.lower(lowering_platforms=("cuda",)).as_text()
    assert "syevd" not in text and "while" in text

"""Halves of matrix roots, by both ways."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from snaper.adapt import root

DIM = 40
WAYS = {"eigenvectors": root.by_eigenvectors, "products": root.by_products}


def matrix(condition: float, size: float):
    """With these eigenvalues, and its root to the power -1/2."""
    axes = np.linalg.qr(np.random.default_rng(0).normal(size=(DIM, DIM)))[0]
    values = size * np.logspace(0, np.log10(condition), DIM)
    return (axes * values) @ axes.T, (axes / values**0.25) @ axes.T


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("dtype", "condition", "within"),
    [("float32", 1.0, 1e-5), ("float32", 1e4, 1e-2), ("float32", 1e6, 0.3), ("float64", 1e8, 1e-5)],
)
@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_halves_make_the_root(way, dtype, condition, within, size):
    whole, whitening = matrix(condition, size)
    half, inverse = jax.jit(WAYS[way])(jnp.asarray(whole, dtype))
    assert half.dtype == inverse.dtype == dtype
    half, inverse = np.asarray(half, float), np.asarray(inverse, float)
    found = whitening @ half @ half.T @ whitening
    np.testing.assert_allclose(found, np.eye(DIM), atol=within)
    np.testing.assert_allclose(half @ inverse, np.eye(DIM), atol=1e-5)


@pytest.mark.parametrize("rank", [1, DIM // 2])
def test_products_bear_a_matrix_that_is_singular(rank):
    """Rounding may make its smallest eigenvalues negative, where the iteration would run away."""
    columns = np.random.default_rng(1).normal(size=(DIM, rank))
    half, _ = root.by_products(jnp.asarray(columns @ columns.T, jnp.float32))
    values, axes = np.linalg.eigh(columns @ columns.T)
    exact = (axes * np.sqrt(np.maximum(values, 0.0))) @ axes.T
    np.testing.assert_allclose(half @ half.T, exact, atol=2e-3 * np.max(exact))


def test_on_a_cpu_eigenvectors_are_used_alone():
    text = jax.jit(root.halves).trace(jnp.eye(3)).lower(lowering_platforms=("cpu",)).as_text()
    assert "syevd" in text and "while" not in text
    text = jax.jit(root.halves).trace(jnp.eye(3)).lower(lowering_platforms=("cuda",)).as_text()
    assert "syevd" not in text and "while" in text

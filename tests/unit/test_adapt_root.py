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


def single(*arrays):
    return tuple(jnp.asarray(array, jnp.float32) for array in arrays)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("dtype", "condition", "within"),
    [
        ("float32", 1.0, 1e-5),
        ("float32", 1e4, 2e-3),
        ("float64", 1e4, 1e-9),
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


@pytest.mark.parametrize("condition", [1e2, 1e3])
def test_one_direction_larger_than_all_others_costs_products_few_digits(condition):
    """In points and gradients alike, so that the root is as much larger there."""
    axes, _ = turned(1.0, 1.0)
    points = (axes * np.array([condition] + [1.0] * (DIM - 1))) @ axes.T
    lower = np.linalg.cholesky(points)
    half, _ = root.by_products(*single(points, lower))
    assert whitened_error(half, points, lower) < condition * 1e-6


def test_products_keep_more_digits_than_eigenvectors():
    """A root of condition 1e4, whose square has more than single precision holds."""
    axes, values = turned(1e5, 1.0)
    points = (axes * values) @ axes.T
    axes, values = turned(1e3, 1.0, seed=1)
    lower = np.linalg.cholesky((axes * values) @ axes.T)
    ways = {name: way(*single(points, lower))[0] for name, way in WAYS.items()}
    error = {name: whitened_error(half, points, lower) for name, half in ways.items()}
    assert error["products"] < 0.01 < 0.02 < error["eigenvectors"]


def test_products_find_a_coordinate_a_million_times_larger_or_say_that_there_is_none():
    scale = np.ones(DIM)
    for size, found in ((1e6, True), (1e10, False)):
        scale[0] = size
        lower = np.diag(scale)
        half, inverse = root.by_products(*single(np.eye(DIM), lower))
        if found:
            assert whitened_error(half, np.eye(DIM), lower) < 1e-3
        else:  # no metric is made of that
            assert not np.any(np.isfinite(half)) and not np.any(np.isfinite(inverse))


def test_a_matrix_that_is_not_positive_has_no_root():
    column = np.random.default_rng(1).normal(size=(DIM, 1))
    half, _ = root.by_products(jnp.asarray(-column @ column.T), jnp.eye(DIM))
    assert not np.any(np.isfinite(half))


def test_on_a_cpu_eigenvectors_are_used_alone():
    traced = jax.jit(root.halves).trace(jnp.eye(3), jnp.eye(3))
    text = traced.lower(lowering_platforms=("cpu",)).as_text()
    assert "syevd" in text and text.count("dot_general") < 5
    text = traced.lower(lowering_platforms=("cuda",)).as_text()
    assert "syevd" not in text and text.count("dot_general") > 40

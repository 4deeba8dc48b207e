"""Gradients written as kernels are those of the plain targets."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.paper import fused
from snaper import targets

# JAX announces, where there is a GPU, that it will do without Triton one day.
pytestmark = pytest.mark.filterwarnings("ignore:The Pallas Triton backend:DeprecationWarning")
NAMES = list(fused.TARGETS)


@pytest.fixture(params=NAMES)
def both(request):
    """The plain target and the fused one, in single precision as experiments are."""
    with jax.enable_x64(False):
        yield targets.get(request.param), fused.TARGETS[request.param]()


def points(dim):
    """[scale, chain, dim]: from almost the origin to far out, where scales span many decades."""
    scales = np.array([0.1, 0.5, 2.0])[:, None, None]
    x = scales * np.random.default_rng(0).normal(size=(3, 2, dim))
    return jnp.asarray(x, jnp.float32)


def mapped(function, times):
    for _ in range(times):
        function = jax.vmap(function)
    return function


def assert_close(gradients, expected):
    """By the length of each point's error."""
    assert gradients.dtype == expected.dtype and gradients.shape == expected.shape
    errors = np.linalg.norm(gradients - expected, axis=-1)
    assert np.all(errors < 5e-6 * np.linalg.norm(expected, axis=-1))


def test_a_kernel_is_the_gradient_however_often_it_is_mapped(both):
    plain, ours = both
    x = points(plain.dim)
    expected = jax.jit(mapped(jax.grad(plain.logp), 2))(x)
    for times in range(3):
        index = (1,) * (2 - times)
        assert_close(jax.jit(mapped(jax.grad(ours.logp), times))(x[index]), expected[index])


def test_the_density_is_the_plain_one(both):
    plain, ours = both
    x = points(plain.dim)[0, 0]
    value, gradient = jax.jit(jax.value_and_grad(ours.logp))(x)
    np.testing.assert_allclose(value, jax.jit(plain.logp)(x), rtol=1e-5)
    assert_close(gradient, jax.jit(jax.grad(plain.logp))(x))


@pytest.mark.cpu  # a GPU's products have the digits of single precision
def test_more_points_than_a_program_has():
    """Of which the last program has a few only."""
    name = "sparse-logistic-regression"
    plain, ours = targets.get(name), fused.TARGETS[name]()  # in double precision
    x = jnp.asarray(np.random.default_rng(1).normal(size=(5, 9, plain.dim)))
    gradients, expected = (jax.jit(mapped(jax.grad(t.logp), 2))(x) for t in (ours, plain))
    np.testing.assert_allclose(gradients, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("lowest", [-12.0, -40.0])
def test_small_scales(lowest):
    """Single precision loses nothing of scales far below one."""
    name = "sparse-logistic-regression"
    plain = targets.get(name)
    x = np.random.default_rng(2).normal(size=(4, plain.dim)).astype(np.float32)
    x[:, :26] = np.linspace(lowest, 50.0, 4 * 26).reshape(26, 4).T
    exact = jax.jit(jax.vmap(jax.grad(plain.logp)))(jnp.asarray(x, jnp.float64))
    with jax.enable_x64(False):
        gradients = jax.jit(jax.vmap(jax.grad(fused.TARGETS[name]().logp)))(jnp.asarray(x))
    assert_close(np.float64(gradients), np.asarray(exact))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("times", [0, 2])
def test_there_is_one_kernel_for_a_gpu(name, times, monkeypatch):
    """As far as can be told without one: it is not compiled here."""
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    with jax.enable_x64(False):
        ours = fused.TARGETS[name]()
        x = jax.ShapeDtypeStruct((*(3, 50)[:times], ours.dim), jnp.float32)
        traced = jax.jit(mapped(jax.grad(ours.logp), times)).trace(x)
        lowered = traced.lower(lowering_platforms=("cuda",)).as_text()
    assert lowered.count("xla.gpu.triton") == 1


def test_a_branch_that_some_take(both):
    """Mapped, it has copies of the kernel's constants."""
    plain, ours = both
    x = points(plain.dim)[:, 0]

    def gradient(target):
        slope = jax.grad(target.logp)
        return jax.jit(jax.vmap(lambda x, far: jax.lax.cond(far, slope, jnp.zeros_like, x)))

    far = jnp.array([True, False, True])
    gradients = gradient(ours)(x, far)
    assert not np.any(gradients[1])
    assert_close(gradients[::2], gradient(plain)(x, far)[::2])

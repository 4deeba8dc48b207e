"""Precision follows the parameters."""

import os
import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import OBSERVED, normal_model
from jax.extend.core import jaxprs_in_params
from numpyro.distributions import constraints

import snaper
from snaper import Target, sampler

SIZES = {"chains": 16, "warmup": 40, "draws": 10, "progress": False}


def distance(x, data):
    return -0.5 * jnp.sum((x - data) ** 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("data_dtype", [np.float32, np.float64])
def test_density_has_the_precision_of_the_parameters(dtype, data_dtype):
    """Whatever that of the data."""
    target = Target(distance, np.zeros(2, dtype), np.ones(2, data_dtype))
    x = jnp.zeros(2, dtype)
    assert target.dtype == target.logp(x).dtype == jax.grad(target.logp)(x).dtype == dtype
    chains = sampler.evaluate(target, x[None])
    assert {leaf.dtype for leaf in chains} == {np.dtype(dtype)}


def test_constrained_float32_stays_float32():
    """Though the bounds are Python numbers, which are float64 here."""
    bound = {"x": constraints.interval(0.0, 2.0)}
    target = Target(lambda x: -jnp.sum(x**2), jnp.ones(2, jnp.float32), None, bound)
    x = jnp.zeros(2, jnp.float32)
    assert target.logp(x).dtype == target.constrain(x)["x"].dtype == jnp.float32
    assert target.flatten(jnp.ones(2)).dtype == jnp.float32


def test_float32_run_is_float32_throughout():
    """Though its data are not."""
    assert OBSERVED.dtype == np.float64
    run = snaper.sample(normal_model(OBSERVED, jnp.float32), **SIZES)
    assert run.unconstrained.dtype == np.float32
    assert {x.dtype for x in run.draws.values()} == {np.dtype(np.float32)}
    floating = {x.dtype for x in run.stats.values() if x.dtype.kind == "f"}
    assert floating == {np.dtype(np.float32)}
    assert run.tuning.metric.dtype == np.float32
    carried = {leaf.dtype for leaf in jax.tree.leaves((run.state.chains, run.state.adapt))}
    assert {dtype for dtype in carried if dtype.kind == "f"} == {np.dtype(np.float32)}
    assert np.isfinite(run.unconstrained).all()


FEATURES = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)


def sum_of_squares(x, features):
    return -0.5 * jnp.sum((features @ x) ** 2)


def test_products_in_a_log_density_keep_all_digits():
    """A GPU would keep three by default, and a TPU two; the gradient's are those of the density."""
    target = Target(sum_of_squares, np.zeros(4, np.float32), FEATURES)
    x = np.array([0.3, -1.7, 2.1, 0.9], np.float32)
    value, gradient = jax.value_and_grad(target.logp)(jnp.asarray(x))
    features, exact = FEATURES.astype(float), FEATURES.astype(float) @ x.astype(float)
    np.testing.assert_allclose(value, -0.5 * exact @ exact, rtol=1e-6)
    np.testing.assert_allclose(gradient, -exact @ features, rtol=2e-6)
    assert products(target) == [jax.lax.Precision.HIGHEST] * 2


def products(target):
    """The precision of the products in a target's gradient, where one was asked for."""
    jaxpr = jax.make_jaxpr(jax.grad(target.logp))(jnp.zeros(target.dim, target.dtype))
    found = [equation.params["precision"] for equation in dot_products(jaxpr.jaxpr)]
    return [precision and precision[0] for precision in found]


def dot_products(jaxpr):
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            yield equation
        for inner in jaxprs_in_params(equation.params):
            yield from dot_products(inner)


def test_a_precision_that_is_asked_for_is_used():
    """For a product, or by JAX's own setting."""

    def quick(x, features):
        return -0.5 * jnp.sum(jnp.matmul(features, x, precision="default") ** 2)

    like = np.zeros(4, np.float32)
    default = jax.lax.Precision.DEFAULT
    assert products(Target(quick, like, FEATURES)) == [default] * 2
    with jax.default_matmul_precision("default"):
        assert products(Target(sum_of_squares, like, FEATURES)) == [default] * 2


WITHOUT_X64 = """
    import warnings
    warnings.simplefilter("error")
    import numpy as np, jax, jax.numpy as jnp
    import snaper

    assert not jax.config.jax_enable_x64
    data = np.ones(2)  # float64, as NumPy has it
    target = snaper.Target(lambda x, d: -0.5 * jnp.sum((x - d) ** 2), np.zeros(2), data)
    assert target.dtype == np.float32, target.dtype
    init = np.zeros((16, 2))
    run = snaper.sample(target, chains=16, warmup=30, draws=10, init=init, progress=False)
    assert run.unconstrained.dtype == np.float32
    assert np.isfinite(run.unconstrained).all()
    run = snaper.sample(
        target, chains=16, warmup=0, draws=10, tuning=run.tuning, seed=np.int64(3), progress=False
    )
    run.summary()
    assert not jax.config.jax_enable_x64
    print("done")
"""


def test_without_x64_everything_is_float32():
    command = [sys.executable, "-c", textwrap.dedent(WITHOUT_X64)]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "0"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0 and done.stdout == "done\n", done.stderr

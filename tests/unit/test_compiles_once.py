"""What a second call costs: nothing is compiled again, and data are never constants."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import NUM_CHAINS, OBSERVED, normal_log_density, normal_model
from jax.extend.core import jaxprs_in_params

import snaper
from snaper import Target, chunk, config, sampler
from snaper.run import sample

SIZES = {"chains": NUM_CHAINS, "warmup": 30, "draws": 10, "progress": False}
# Rows of a record come to the host from other memory in one of three sizes, and here in the least.
CUT = None if jax.default_backend() == "cpu" else "jit(_first)"


@pytest.fixture(scope="module")
def warm():
    """Everything that a run needs has been compiled once."""
    run = sample(normal_model(), **SIZES)
    run.summary()
    sample(normal_model(), **SIZES, tuning=run.tuning)
    return run


CHANGES = {
    "seed": {"seed": 1},
    "draws": {"draws": 100},
    "warm-up": {"warmup": 45},
    "thinning": {"thin": 3},
    "chunks": {"chunk": 7},
    "progress": {"progress": True},
    "starting points": {"init": np.zeros(3)},
    "key": {"seed": jax.random.key(5)},
}


@pytest.mark.parametrize("what", CHANGES)
def test_changed_argument_compiles_nothing(warm, what, compilations):
    run = sample(normal_model(), **{**SIZES, **CHANGES[what]})
    assert run.draws["mean"].shape[0] == NUM_CHAINS
    assert [name for name in compilations() if name != CUT] == []


def test_changed_data_compile_nothing(warm, compilations):
    run = sample(normal_model(OBSERVED + 5.0), **SIZES)
    assert compilations() == []
    assert run.tuning.mean[0] - warm.tuning.mean[0] == pytest.approx(5.0, abs=1.0)


def test_given_tuning_compiles_nothing_twice(warm, compilations):
    sample(normal_model(), **SIZES, tuning=warm.tuning)
    assert compilations() == []


def test_log_density_is_traced_a_few_times_and_the_sampler_compiled_once(compilations):
    calls = []

    def counted(params, observed):
        calls.append(1)
        return normal_log_density(params, observed)

    sample(normal_model(log_density=counted), **SIZES)
    assert 1 <= len(calls) <= 6
    assert len([name for name in compilations() if "advance" in name]) == 1
    calls.clear()
    sample(normal_model(OBSERVED + 1.0, log_density=counted), **SIZES)
    assert len(calls) == 1  # to see whether it is what it was


def chunk_arguments(target, x):
    chosen = config.default()
    state = sampler.init(jax.random.key(0), target, chosen, x, 10)
    return target, chosen, state, chunk.empty(target, chosen, state, 4), 0, 10, 1


def primitives(jaxpr):
    """Names of all primitives, inner ones too."""
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for inner in jaxprs_in_params(equation.params):
            yield from primitives(inner)


def test_compiled_stretch_calls_nothing_back():
    target = normal_model()
    arguments = chunk_arguments(target, jnp.zeros((NUM_CHAINS, 3)))
    found = {*primitives(chunk.advance.trace(*arguments).jaxpr.jaxpr)}
    assert "while" in found and "exp" in found
    assert not [name for name in found if "callback" in name or "infeed" in name]


def mean_log_density(x, data):
    return -0.5 * jnp.sum((x - jnp.mean(data, axis=0)) ** 2)


def test_data_are_no_constants_of_the_compiled_stretch():
    """A megabyte of numbers; written into the program they would dwarf it."""
    data = np.random.default_rng(0).normal(size=(2**16, 2))
    x = jnp.zeros((4, 2))

    def text(target):
        arguments = chunk_arguments(target, x)
        return chunk.advance.lower(*arguments).as_text()

    as_argument = text(Target(mean_log_density, jnp.zeros(2), data))
    closed_over = text(Target(partial(mean_log_density, data=jnp.asarray(data)), jnp.zeros(2)))
    assert len(as_argument) < 500_000 < 1_000_000 < len(closed_over)
    assert "65536x2xf64" in as_argument  # as the type of an argument


def test_public_step_compiles_once(compilations):
    target, chosen = normal_model(), config.default()
    step = jax.jit(snaper.step, static_argnums=1)
    state = snaper.init(jax.random.key(0), target, chosen, jnp.zeros((NUM_CHAINS, 3)), 10)
    state, _ = step(target, chosen, state)
    compilations()
    for _ in range(3):
        state, info = step(target, chosen, state)
    assert compilations() == [] and int(state.step) == 4
    assert info.lp.shape == (NUM_CHAINS,)


def test_options_for_a_gpu_are_known_to_the_compiler():
    """Their names and values are looked at wherever something is compiled."""
    twice = jax.jit(lambda x: 2 * x, compiler_options=chunk.COMMAND_BUFFERS)
    assert twice(jnp.ones(())) == 2

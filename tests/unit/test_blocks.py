"""More chains than fit: gradients block by block, and one adaptation for all."""

import jax
import numpy as np
import pytest
from helpers import NUM_CHAINS, normal_model

import snaper
from snaper import arguments, hmc, sampler

SIZES = {"chains": NUM_CHAINS, "warmup": 30, "draws": 10, "progress": False, "seed": 3}


@pytest.mark.parametrize("at_once", [1, 5, NUM_CHAINS, 1000])
def test_blocks_change_nothing_but_rounding(at_once):
    """Chains that are no multiple of the block, too, and kicks that alternate. Few transitions:
    rounding grows.
    """
    target, chosen = normal_model(), snaper.Config()
    x = jax.random.normal(jax.random.key(0), (NUM_CHAINS, target.dim))
    state = sampler.init(jax.random.key(1), target, chosen, x, 100)
    arguments = (jax.numpy.asarray(0.2), sampler_metric(chosen, state), 6, 0.0, 0.153)
    moves = [
        move(move.noise(jax.random.key(2), x), target.logp, state.chains, *arguments)
        for move in (hmc.Move(), hmc.Move(at_once))
    ]
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12), *moves)


def sampler_metric(chosen, state):
    return chosen.adapt.value(state.adapt, True).metric


def test_a_run_in_blocks_learns_the_same():
    plain, blocks = (snaper.sample(normal_model(), **SIZES, at_once=n) for n in (None, 5))
    np.testing.assert_allclose(plain.tuning.step_size, blocks.tuning.step_size, rtol=1e-6)
    np.testing.assert_allclose(plain.unconstrained, blocks.unconstrained, rtol=1e-5, atol=1e-6)


def test_many_starts_are_looked_at_in_blocks(monkeypatch):
    target = normal_model()
    x = jax.random.normal(jax.random.key(0), (37, target.dim))
    whole = hmc.init(target.logp, x)
    blocks = hmc.init(target.logp, x, 10)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), whole, blocks)


def test_trees_cannot_be_had_in_blocks():
    with pytest.raises(ValueError, match="at_once is for trajectories of HMC"):
        snaper.sample(normal_model(), **SIZES, at_once=5, preset=snaper.nuts.adaptive())


def test_memory_is_that_of_a_block():
    """A log density with a large workspace for every chain."""

    def memory(at_once):
        def logp(x):
            wide = jax.numpy.sin(x[:, None] * jax.numpy.arange(4096.0))
            return -jax.numpy.sum(jax.numpy.sort(wide, axis=1)[:, ::2] ** 2)

        x = jax.numpy.ones((64, 4))
        compiled = jax.jit(lambda x: hmc.init(logp, x, at_once)).lower(x).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    assert memory(4) < 0.2 * memory(None)


def test_a_run_in_blocks_can_be_stored():
    from snaper.store import plain

    chosen = arguments.in_blocks(snaper.Config(), 5)
    assert plain.decode(plain.encode(chosen)) == chosen

"""Numbers kept on the device while draws pass by, against those of stored draws."""

import autoregressive
import jax.numpy as jnp
import numpy as np
import pytest

from snaper.diagnostics import certificate, stream
from snaper.diagnostics.ess import autocorrelation, nested_rhat, split_rhat

NUM_CHAINS, NUM_DRAWS, DIM, SLOTS = 16, 205, 3, 64
CENTRE = np.array([1000.0, 0.0, -3.0])
DIRECTION = np.array([0.6, 0.0, 0.8])
DRAWS = CENTRE + np.stack(
    [
        autoregressive.chains(0.9, NUM_CHAINS, NUM_DRAWS, 0) + 0.1 * np.arange(16)[:, None],
        5.0 * autoregressive.chains(0.0, NUM_CHAINS, NUM_DRAWS, 1),
        0.1 * autoregressive.chains(-0.5, NUM_CHAINS, NUM_DRAWS, 2),
    ],
    axis=-1,
)


def streamed(draws, chunk, dtype=np.float32):
    """A look at draws that came in chunks, and the scalar of each."""
    x = draws.astype(dtype)
    state = stream.init(jnp.asarray(x[:, 0]))
    centre, direction = jnp.asarray(CENTRE, dtype), jnp.asarray(DIRECTION, dtype)
    scalars = []
    for start in range(0, x.shape[1], chunk):
        part = np.swapaxes(x[:, start : start + chunk], 0, 1)
        rows = np.full((SLOTS, NUM_CHAINS, DIM), 1e9, dtype)  # leftovers must not be read
        rows[: len(part)] = part
        state, f = stream.update(
            state, jnp.asarray(rows), np.int32(len(part)), centre, direction, certificate.along
        )
        scalars.append(np.asarray(f)[: len(part)])
    return stream.look(state, centre, 4), np.concatenate(scalars).T


@pytest.mark.parametrize("chunk", [1, 7, 64])
@pytest.mark.parametrize("num_draws", [8, 9, 64, 100, 205])
def test_streams_equal_stored_draws(chunk, num_draws):
    """In float32, with a mean a thousand times the spread; draws are rounded before both."""
    draws = DRAWS[:, :num_draws].astype(np.float32).astype(float)
    look, f = streamed(draws, chunk)
    assert look.num_draws == num_draws
    at = int(look.split_at)
    assert abs(at - num_draws / 2) <= num_draws / 8
    close = {"rtol": 1e-5}
    np.testing.assert_allclose(look.rhat, split_rhat(draws, at, np), **close)
    np.testing.assert_allclose(look.nested_rhat, nested_rhat(draws, 4, np), **close)
    np.testing.assert_allclose(look.mean, draws.mean(axis=(0, 1)), **close, atol=1e-5)
    np.testing.assert_allclose(look.sd, draws.std(axis=(0, 1)), **close)
    expected = ((draws - CENTRE) @ DIRECTION) ** 2
    np.testing.assert_allclose(f, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("num_draws", [8, 64, 128])
def test_split_is_in_the_middle_of_round_numbers(num_draws):
    look, _ = streamed(DRAWS[:, :num_draws], 64, float)
    assert look.split_at == num_draws // 2
    np.testing.assert_allclose(look.rhat, split_rhat(DRAWS[:, :num_draws], xp=np), rtol=1e-10)


def test_lag_one_and_effective_sizes():
    look, f = streamed(DRAWS, 50, float)
    squares = (DRAWS - CENTRE) ** 2
    for i in range(DIM):
        exact = squares[..., i]
        jump = np.mean(np.diff(exact, axis=1) ** 2)
        assert look.lag_one_squares[i] == pytest.approx(1 - jump / (2 * exact.var()))
        size = NUM_CHAINS * exact.var() / exact.mean(axis=1).var(ddof=1)
        assert look.ess_squares[i] == pytest.approx(size)
        size = NUM_CHAINS * DRAWS[..., i].var() / DRAWS[..., i].mean(axis=1).var(ddof=1)
        assert look.ess[i] == pytest.approx(size)
    assert look.lag_one_scalar == pytest.approx(autocorrelation(f, np)[1], abs=0.02)


def test_size_between_many_chains_is_the_true_one():
    """AR(0.9) has one effective draw in nineteen; 1024 chains tell it within 10 %."""
    draws = autoregressive.chains(0.9, 1024, 400)[..., None]
    state = stream.init(jnp.asarray(draws[:, 0]))
    zero = jnp.zeros(1)
    rows = jnp.asarray(np.swapaxes(draws, 0, 1))
    state, _ = stream.update(state, rows, np.int32(400), zero, zero, stream.nobody)
    look = stream.look(state, zero, None)
    assert look.ess[0] == pytest.approx(1024 * 400 / 19, rel=0.15)


def test_constant_chains_are_marked_and_worth_nothing():
    draws = DRAWS.copy()
    draws[5, :, 1] = 2.0
    look, _ = streamed(draws, 64)
    assert look.ess[1] == 0.0 and look.ess_squares[1] == 0.0 and look.ess[0] > 0
    assert np.argwhere(look.constant).tolist() == [[5, 1]]


@pytest.mark.parametrize("chunk", [3, 7])
def test_constant_chains_are_marked_whatever_rounding_does(chunk):
    """The mean of three equal numbers need not be that number."""
    draws = DRAWS.astype(np.float32)
    draws[5, :, 1] = 0.1
    look, _ = streamed(draws, chunk)
    assert look.ess[1] == 0.0
    assert np.argwhere(look.constant).tolist() == [[5, 1]]


def test_no_draws_are_no_news():
    zero = jnp.zeros(DIM)
    look = stream.look(stream.init(jnp.zeros((NUM_CHAINS, DIM))), zero, None)
    assert all(np.isnan(x).all() for x in (look.mean, look.sd, look.ess, look.ess_squares))
    assert look.num_draws == 0 and np.isnan(look.rhat).all() and look.nested_rhat is None

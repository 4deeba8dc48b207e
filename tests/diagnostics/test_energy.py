"""How much the energy changes from draw to draw."""

import numpy as np
import pytest

from snaper.diagnostics.energy import energy, information

CHAINS, DRAWS = 32, 2000


def walk(memory, seed=0):
    """Stationary AR(1) chains of unit variance, [chain, draw]."""
    noise = np.random.default_rng(seed).normal(size=(CHAINS, DRAWS))
    states = [noise[:, 0]]
    for now in noise.T[1:]:
        states.append(memory * states[-1] + (1.0 - memory**2) ** 0.5 * now)
    return np.stack(states, axis=1)


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9, 0.96])
def test_the_fraction_is_twice_what_is_forgotten(memory):
    """60 seeds are within 9 %, the most where draws remember longest: 12 % are allowed."""
    np.testing.assert_allclose(information(walk(memory)), 2.0 * (1.0 - memory), rtol=0.12)


def test_the_coordinate_that_goes_with_it_is_named():
    energies, rng = walk(0.96), np.random.default_rng(1)
    x = rng.normal(size=(CHAINS, DRAWS, 4)) * [1.0, 50.0, 1.0, 1.0]
    x[..., 2] -= 3.0 * energies
    found = energy(energies + 1e6, x.astype(np.float32))
    assert found is not None and found.coordinate == 2
    np.testing.assert_allclose(found.information, 0.08, rtol=0.25)  # 60 seeds: 0.96 to 1.22


def test_nothing_is_said_of_few_draws_or_of_a_usual_fraction():
    x = np.zeros((CHAINS, DRAWS, 2))
    assert energy(walk(0.96)[:, :199], x[:, :199]) is None
    assert energy(walk(0.5), x) is None


def test_the_way_in_does_not_count():
    """Of chains that begin far out and have come in after half of their draws."""
    energies = walk(0.0) + 1000.0 * np.maximum(0.0, 1.0 - np.arange(DRAWS) / 900.0)
    assert information(energies) < 0.01
    assert energy(energies, np.zeros((CHAINS, DRAWS, 2))) is None


@pytest.mark.parametrize("odd", [0.0, np.nan, np.inf])
def test_chains_without_an_energy_are_left_out(odd):
    energies = walk(0.96)
    energies[:5] = odd
    found = energy(energies, np.zeros((CHAINS, DRAWS, 2)))
    if np.isfinite(odd):
        assert found is not None and 0.06 < found.information < 0.1
    energies[:] = odd
    assert energy(energies, np.zeros((CHAINS, DRAWS, 2))) is None

"""The bound on the effective sample size of the criterion's scalar."""

import autoregressive
import jax.numpy as jnp
import numpy as np
import pytest

from snaper import criteria
from snaper.diagnostics import certificate

NUM_CHAINS, NUM_DRAWS = 32, 4000


def spectrum(*parts):
    """A reversible chain with eigenvalues and weights as given, its true ESS and bound per draw."""
    f = sum(
        np.sqrt(weight) * autoregressive.chains(rho, NUM_CHAINS, NUM_DRAWS, seed)
        for seed, (rho, weight) in enumerate(parts)
    )
    total = sum(weight for _, weight in parts)
    rho = sum(weight * rho for rho, weight in parts) / total
    size = total / sum(weight * (1 + rho) / (1 - rho) for rho, weight in parts)
    return f, size, (1 - rho) / (1 + rho)


SPECTRA = [
    ((0.5, 1.0),),
    ((0.9, 1.0),),
    ((0.9, 1.0), (0.0, 1.0)),
    ((0.98, 0.2), (0.3, 1.0)),
    ((0.8, 1.0), (-0.5, 1.0)),
]


@pytest.mark.parametrize("parts", SPECTRA)
def test_bound_holds_and_is_reached_by_a_single_eigenvalue(parts):
    f, size, most = spectrum(*parts)
    found = certificate.bound(f)
    assert found.ess == pytest.approx(f.size * size, rel=0.15)
    assert found.ess_max == pytest.approx(f.size * most, rel=0.05)
    assert found.nu_esjd >= found.ess_max * (1 - 1e-6)
    if len(parts) == 1:
        assert found.tightness == pytest.approx(1.0, abs=0.15)
    else:
        assert size < most and found.ess < found.ess_max


def test_scalars_are_those_of_the_criteria():
    y, w = jnp.asarray([[1.0, 2.0], [3.0, -1.0]]), jnp.asarray([0.6, 0.8])

    def value(criterion):
        f, direction = certificate.scalar(criterion, w)
        return f(y, direction)

    np.testing.assert_allclose(value(criteria.snaper), [2.2**2, 1.0])
    np.testing.assert_allclose(value(criteria.chees), [2.5, 5.0])
    np.testing.assert_allclose(value(criteria.chees_rate), [2.5, 5.0])
    np.testing.assert_allclose(value(criteria.Along([0.0, 3.0])), [4.0, 1.0])
    assert certificate.scalar(criteria.esjd, w) is None


def test_verdicts():
    found = certificate.Certificate(certificate.Bound(100.0, 400.0, 500.0), 40.0, "x[3]")
    assert not found.tight and not found.aimed
    assert found.tightness == 0.25 and found.aim == 0.4
    assert "25% of its bound 400 (loose" in str(found) and "x[3]" in str(found)


def test_nothing_to_tell():
    assert certificate.bound(np.zeros((4, 50))) is None
    assert certificate.bound(np.random.default_rng(0).normal(size=(4, 1))) is None

"""The bound on the effective sample size of the criterion's scalar."""

import copy

import autoregressive
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import one_sentence

from snaper import criteria
from snaper.diagnostics import certificate, stream

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


SHAPES = {
    "too short": (
        np.random.default_rng(0).normal(size=(4, 99)),
        "takes 100 draws per chain or mor",
    ),
    "constant": (np.zeros((4, 200)), "scalar never changed"),
    "overflow": (np.full((4, 200), np.inf), "scalar overflowed"),
}


@pytest.mark.parametrize("what", SHAPES)
def test_what_cannot_be_told_is_said_in_one_sentence(what):
    f, words = SHAPES[what]
    found = certificate.bound(f)
    with pytest.raises(AttributeError, match=f"no certificate with 'tight': .*{words}"):
        _ = found.tight
    assert copy.copy(found) == found
    assert not found and words in str(found) and one_sentence(str(found))


def streamed(f):
    """A look at chains of a scalar, none of which is kept."""
    x = jnp.asarray(np.swapaxes(f[..., None], 0, 1))
    zero, one = jnp.zeros(1), jnp.ones(1)
    state, _ = stream.update(
        stream.init(x[0]), x, np.int32(len(x)), zero, one, lambda y, w: y[..., 0]
    )
    return stream.look(state, zero, None)


def test_bound_without_draws_is_that_of_stored_ones():
    """Lag one agrees to a part in n; the size is by 256 chains, known within 9 %."""
    f = autoregressive.chains(0.8, 256, 1000)
    found, stored = certificate.streamed(streamed(f)), certificate.bound(f)
    assert found.error == pytest.approx(np.sqrt(2 / 256))
    assert found.ess_max == pytest.approx(stored.ess_max, rel=0.02)
    assert found.nu_esjd == pytest.approx(stored.nu_esjd, rel=0.02)
    assert found.ess == pytest.approx(stored.ess, rel=3 * found.error)
    assert "within 9%" in str(certificate.Certificate(found, 40.0, "x"))


@pytest.mark.parametrize(
    ("shape", "words"), [((16, 200), "takes 32 chains or more"), ((64, 50), "takes 100 draws")]
)
def test_bound_without_draws_says_what_it_needs(shape, words):
    found = certificate.streamed(streamed(autoregressive.chains(0.5, *shape)))
    assert not found and words in str(found) and one_sentence(str(found))

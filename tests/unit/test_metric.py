"""The preconditioner and the learners that choose it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from snaper import metric
from snaper.adapt import DiagonalMetric, HeldMetric, HeldMoments, IdentityMetric, VarianceMetric

pytestmark = pytest.mark.usefixtures("strict")

VARIANCE = jnp.array([4.0, 1.0, 0.25])
MOMENTS = HeldMoments((0.0, 0.0, 0.0), (4.0, 1.0, 0.25)).init(jnp.ones((2, 3)), jnp.ones((2, 3)))


def test_forward_and_inverse_mass_are_l_and_its_square():
    v, g = jax.random.normal(jax.random.key(0), (2, 5, 3))
    l_map = metric.Diagonal(jnp.array([0.5, 2.0, 1.0]))
    factor = np.diag(l_map.array())
    np.testing.assert_allclose(l_map.forward(v)[0], factor @ v[0])
    np.testing.assert_allclose(l_map.inverse_mass(g)[0], factor @ (factor.T @ g[0]))


def test_from_variance_leaves_the_widest_coordinate_alone():
    np.testing.assert_allclose(metric.from_variance(VARIANCE).array(), [1.0, 0.5, 0.25])


@pytest.mark.parametrize("power", [-150, 150])
def test_from_variance_is_free_of_units(power):
    scaled = metric.from_variance(VARIANCE * 10.0**power)
    np.testing.assert_allclose(scaled.array(), [1.0, 0.5, 0.25])


def test_identity_changes_nothing():
    v = jnp.arange(6.0).reshape(2, 3)
    eye = metric.identity(v[0])
    np.testing.assert_array_equal(eye.forward(v), v)
    np.testing.assert_array_equal(eye.inverse_mass(v), v)


@pytest.mark.parametrize(
    ("learner", "scale"),
    [
        (DiagonalMetric(), [1.0, 0.5, 0.25]),
        (VarianceMetric(), [1.0, 0.5, 0.25]),
        (IdentityMetric(), [1.0, 1.0, 1.0]),
        (HeldMetric((3.0, 2.0, 1.0)), [3.0, 2.0, 1.0]),
    ],
)
def test_learners_give_the_metric_they_are_named_for(learner, scale):
    chosen = learner.value(learner.init(MOMENTS), MOMENTS)
    np.testing.assert_allclose(chosen.array(), scale)
    assert chosen.scale.dtype == VARIANCE.dtype


def test_widths_are_right_while_chains_are_still_spreading():
    """Chains that have seen a tenth of one coordinate: its gradients spread as little."""
    seen = jnp.array([0.1, 1.0, 1.0])  # share of the standard deviation
    narrow = MOMENTS._replace(
        variance=VARIANCE * seen**2, grad_variance=seen**2 / VARIANCE
    )  # of a Gaussian
    np.testing.assert_allclose(DiagonalMetric().value(None, narrow).array(), [1.0, 0.5, 0.25])
    np.testing.assert_allclose(VarianceMetric().value(None, narrow).array(), [0.2, 1.0, 0.5])


def test_gradients_that_spread_more_than_a_gaussians_narrow_nothing():
    rough = MOMENTS._replace(grad_variance=jnp.array([1e4, 1e2, 1e3]))
    np.testing.assert_allclose(DiagonalMetric().value(None, rough).array(), [1.0, 0.5, 0.25])

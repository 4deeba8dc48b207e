"""Our posteriors against Inference Gym's: log density up to a constant, and gradient."""

import jax
import numpy as np
import pytest

pytest.importorskip("inference_gym")
pytest.importorskip("tensorflow_probability")

from gym_models import MODELS, gym_targets, log_density, random_points

from snaper import targets

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]

NUM_POINTS = 20


@pytest.fixture(scope="module")
def gym():
    return gym_targets(double=True)


@pytest.mark.parametrize("name", MODELS)
def test_log_density_and_gradient_are_the_gyms(name, gym):
    with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"):
        target, model = targets.get(name), MODELS[name](gym)
        points = random_points(target.dim, NUM_POINTS)
        ours, our_gradient = jax.vmap(jax.value_and_grad(target.logp))(points)
        gym_logp = log_density(model, target)
        theirs, their_gradient = jax.vmap(jax.value_and_grad(gym_logp))(points)
    assert target.dim == sum(int(np.prod(shape, dtype=int)) for shape in _shapes(model))
    assert theirs.dtype == ours.dtype == np.float64
    np.testing.assert_allclose(ours - ours[0], theirs - theirs[0], rtol=1e-6)
    for mine, other in zip(our_gradient, their_gradient, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-9 * np.abs(other).max())


def _shapes(model):
    return jax.tree.leaves(model.event_shape, is_leaf=lambda shape: hasattr(shape, "rank"))

"""Every constraint that NumPyro maps the reals onto, as `constraints=` of a plain log density."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import one_sentence
from numpyro.distributions import constraints as c
from numpyro.distributions.transforms import biject_to

from snaper import Target

LOWER = np.array([1.0, -2.0])
UPPER = jnp.array([3.0, 5.0])


def everything(value):
    return value.ravel()


def lower_triangle(value):
    return value[np.tril_indices(3)]


def below_diagonal(value):
    return value[np.tril_indices(3, -1)]


def first_two(value):
    return value[..., :-1].ravel()


def along_the_plane(value):
    """Coordinates of a vector of sum zero along an orthonormal basis."""
    basis = np.linalg.qr(np.eye(3) - 1 / 3)[0][:, :2]
    return value @ basis


# What is constrained, its shape, and as many entries as it has dimensions, for its volume.
CASES = {
    "real": (c.real, (2,), everything),
    "real vector": (c.real_vector, (2,), everything),
    "real matrix": (c.real_matrix, (2, 2), everything),
    "positive": (c.positive, (2,), everything),
    "nonnegative": (c.nonnegative, (), everything),
    "softplus positive": (c.softplus_positive, (2,), everything),
    "greater than": (c.greater_than(1.5), (2,), everything),
    "greater than an array": (c.greater_than(LOWER), (2,), everything),
    "at least": (c.greater_than_eq(-1), (2,), everything),
    "less than": (c.less_than(3.0), (), everything),
    "at most": (c.less_than_eq(UPPER), (2,), everything),
    "unit interval": (c.unit_interval, (2, 2), everything),
    "interval": (c.interval(-1, 3), (2,), everything),
    "interval between arrays": (c.interval(LOWER, UPPER), (2,), everything),
    "open interval": (c.open_interval(0.0, 2.0), (2,), everything),
    "circular": (c.circular, (), everything),
    "independent": (c.independent(c.positive, 1), (2,), everything),
    "concatenated": (c.cat([c.positive, c.real], -1, [1, 2]), (3,), everything),
    "simplex": (c.simplex, (3,), first_two),
    "two simplices": (c.simplex, (2, 3), first_two),
    "l1 ball": (c.l1_ball, (3,), everything),
    "ordered": (c.ordered_vector, (3,), everything),
    "positive ordered": (c.positive_ordered_vector, (3,), everything),
    "zero sum": (c.zero_sum(1), (3,), along_the_plane),
    "correlation Cholesky": (c.corr_cholesky, (3, 3), below_diagonal),
    "correlation matrix": (c.corr_matrix, (3, 3), below_diagonal),
    "lower Cholesky": (c.lower_cholesky, (3, 3), lower_triangle),
    "softplus lower Cholesky": (c.softplus_lower_cholesky, (3, 3), lower_triangle),
    "scaled lower Cholesky": (c.scaled_unit_lower_cholesky, (3, 3), lower_triangle),
    "positive definite": (c.positive_definite, (3, 3), lower_triangle),
    "positive semidefinite": (c.positive_semidefinite, (3, 3), lower_triangle),
}
NOT_REAL = {type(c.complex)}  # a log density of complex parameters has no real gradient


def test_no_constraint_is_missing():
    covered = {type(constraint) for constraint, _, _ in CASES.values()}
    known = {kind for kind in biject_to._registry if isinstance(kind, type)}
    assert known - covered == NOT_REAL


def tied(params):
    return 3.0 * jnp.sum(params["tied"]) + params["free"]


def bound(kind):
    constraint, shape, _ = CASES[kind]
    like = {"free": 0.0, "tied": jnp.ones(shape)}
    return Target(tied, like, None, {"tied": constraint})


@pytest.mark.parametrize("kind", CASES)
def test_draws_are_constrained_and_the_density_has_its_jacobian(kind):
    """log p(x) = log p(params) + log |d params / dx|, the determinant taken of JAX's derivative."""
    constraint, shape, coordinates = CASES[kind]
    target = bound(kind)
    assert [parameter.name for parameter in target.parameters] == ["free", "tied"]

    @jax.jit  # all at once, since dozens of small programs take longer to compile
    def look(x):
        value = target.constrain(x)["tied"]
        jacobian = jax.jacfwd(lambda x: coordinates(target.constrain(x)["tied"]))(x)[:, 1:]
        log_volume = jnp.linalg.slogdet(jacobian)[1]
        expected = x[0] + 3.0 * jnp.sum(value) + log_volume
        back = target.flatten({"free": x[0], "tied": value})
        return value, jnp.all(constraint(value)), target.logp(x), expected, back

    x = jax.random.normal(jax.random.key(3), (target.dim,))
    value, holds, logp, expected, back = look(x)
    assert value.shape == shape and holds
    np.testing.assert_allclose(logp, expected, atol=1e-9)
    np.testing.assert_allclose(back, x, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", CASES)
def test_targets_of_one_constraint_share_compiled_code(kind):
    one, other = jax.tree.structure(bound(kind)), jax.tree.structure(bound(kind))
    assert one == other and hash(one) == hash(other)


def test_bounds_are_of_the_parameters_dtype():
    """Double bounds do not make single-precision parameters double."""
    like = {"x": jnp.ones(2, jnp.float32)}
    target = Target(lambda p: jnp.sum(p["x"]), like, None, {"x": c.interval(LOWER, UPPER)})
    x = jnp.zeros(2, jnp.float32)
    assert target.dtype == target.logp(x).dtype == target.constrain(x)["x"].dtype == jnp.float32


BAD = {
    "a word": ("positive", (), TypeError, "must be a constraint .*, not 'positive'"),
    "a class": (c.interval, (), TypeError, "must be a constraint"),
    "no bijection": (c.sphere, (3,), TypeError, "must be a constraint .*, not Sphere"),
    "discrete": (c.nonnegative_integer, (), TypeError, "must be a constraint"),
    "too few axes": (c.simplex, (), ValueError, r"does not fit the parameter's shape \(\)"),
    "not square": (c.corr_cholesky, (3, 2), ValueError, "does not fit"),
    "bounds of another shape": (c.greater_than(LOWER), (), ValueError, "does not fit"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_constraint_is_named_in_one_sentence(what):
    constraint, shape, kind, message = BAD[what]
    with pytest.raises(kind, match=message) as caught:
        Target(lambda p: jnp.sum(p["a"]), {"a": jnp.ones(shape)}, None, {"a": constraint})
    assert "constraints['a']" in str(caught.value) and one_sentence(str(caught.value))

"""Log densities over named parameters, seen as functions of one flat vector."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import normal_log_density, normal_model, one_sentence
from numpyro.distributions import constraints

from snaper import Target


class Pair(NamedTuple):
    left: jax.Array
    right: jax.Array


def leaves_sum(params):
    """Each entry counts by its place among all, so that none can be mistaken for another."""
    flat = jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(params)])
    return -0.5 * jnp.sum(flat**2 * jnp.arange(1.0, flat.size + 1.0))


LIKES = {
    "bare array": (jnp.zeros(3), ["x"], [(3,)]),
    "bare number": (0.0, ["x"], [()]),
    "matrix": (jnp.zeros((2, 2)), ["x"], [(2, 2)]),
    "NumPy": (np.zeros(3), ["x"], [(3,)]),
    "dict": ({"b": jnp.zeros(2), "a": 0.0}, ["a", "b"], [(), (2,)]),
    "nested": (
        {"group": {"mean": jnp.zeros(2), "sd": 1.0}, "rest": jnp.zeros((1, 2))},
        ["group.mean", "group.sd", "rest"],
        [(2,), (), (1, 2)],
    ),
    "list": ([jnp.zeros(2), 0.0], ["0", "1"], [(2,), ()]),
    "named tuple": (Pair(jnp.zeros(2), jnp.zeros(())), ["left", "right"], [(2,), ()]),
}


@pytest.mark.parametrize("kind", LIKES)
def test_any_pytree_becomes_one_vector(kind):
    like, names, shapes = LIKES[kind]
    target = Target(leaves_sum, like)
    assert [parameter.name for parameter in target.parameters] == names
    assert [parameter.shape for parameter in target.parameters] == shapes
    assert target.dim == sum(int(np.prod(shape)) for shape in shapes)
    assert target.dtype == jnp.float64

    x = jnp.arange(1.0, target.dim + 1.0)
    np.testing.assert_allclose(target.logp(x), -0.5 * np.sum(np.arange(1.0, target.dim + 1) ** 3))
    named = target.constrain(x)
    assert list(named) == names and [value.shape for value in named.values()] == shapes
    np.testing.assert_array_equal(np.concatenate([np.ravel(v) for v in named.values()]), x)

    params = jax.tree.unflatten(jax.tree.structure(like), list(named.values()))
    np.testing.assert_array_equal(target.flatten(params), x)


def test_coordinates_have_names():
    target = Target(leaves_sum, LIKES["nested"][0])
    names = [target.coordinate_name(i) for i in range(target.dim)]
    assert names == ["group.mean[0]", "group.mean[1]", "group.sd", "rest[0, 0]", "rest[0, 1]"]
    with pytest.raises(IndexError):
        target.coordinate_name(target.dim)


CONSTRAINTS = {
    "positive": (constraints.positive, (2,), lambda v: (v > 0).all()),
    "interval": (constraints.interval(-1.0, 3.0), (2,), lambda v: (abs(v - 1) < 2).all()),
    "simplex": (constraints.simplex, (4,), lambda v: (v > 0).all() and np.isclose(v.sum(), 1)),
    "ordered": (constraints.ordered_vector, (3,), lambda v: (np.diff(v) > 0).all()),
    "correlation": (
        constraints.corr_cholesky,
        (3, 3),
        lambda v: np.allclose(np.diag(v @ v.T), 1) and np.allclose(v, np.tril(v)),
    ),
}


def coordinates(kind, value):
    """Entries that determine a constrained value, as many as it has dimensions."""
    if kind == "simplex":
        return value[:-1]
    if kind == "correlation":
        return value[np.tril_indices(3, -1)]
    return value


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_constraint_brings_its_jacobian(kind):
    """log p(x) = log p(params) + log |d params / dx|, the determinant taken numerically."""
    constraint, shape, holds = CONSTRAINTS[kind]
    like = {"free": 0.0, "tied": jnp.ones(shape)}
    target = Target(
        lambda p: p["free"] + 3.0 * jnp.sum(p["tied"]), like, None, {"tied": constraint}
    )
    free = target.parameters[0].size
    assert (target.parameters[1].shape, free) == (shape, 1)

    x = jax.random.normal(jax.random.key(3), (target.dim,))
    value = target.constrain(x)["tied"]
    assert value.shape == shape and holds(np.asarray(value))
    jacobian = jax.jacfwd(lambda x: coordinates(kind, target.constrain(x)["tied"]))(x)[:, free:]
    expected = x[0] + 3.0 * jnp.sum(value) + jnp.log(jnp.abs(jnp.linalg.det(jacobian)))
    np.testing.assert_allclose(target.logp(x), expected)
    np.testing.assert_allclose(target.flatten(target.constrain(x)), x, rtol=1e-6)
    other = -1.3 * x  # the check is not of a constant
    assert abs(target.logp(other) - target.logp(x)) > 0.1


def test_names_of_coordinates_are_those_of_the_unconstrained():
    like = {"p": jnp.ones(4) / 4}
    target = Target(lambda p: jnp.sum(p["p"]), like, None, {"p": constraints.simplex})
    assert [target.coordinate_name(i) for i in range(target.dim)] == ["p[0]", "p[1]", "p[2]"]


def test_data_are_arguments():
    """Two targets with one log density share what is compiled, whatever their data."""
    calls = []

    def log_density(params, data):
        calls.append(1)
        return -0.5 * jnp.sum((params - data["mean"]) ** 2) * data["scale"][0]

    @jax.jit
    def logp(target, x):
        return target.logp(x)

    def target(mean, scale):
        return Target(log_density, jnp.zeros(2), {"mean": mean, "scale": [scale]})

    x = jnp.array([1.0, 2.0])
    first, second = target(np.zeros(2), 1.0), target(np.ones(2), 4.0)
    np.testing.assert_allclose(logp(first, x), -2.5)
    calls.clear()
    np.testing.assert_allclose(logp(second, x), -2.0)
    assert not calls
    third = target(np.ones((1, 2)), 4.0)  # of another shape
    assert jax.tree.structure(third) != jax.tree.structure(first)


def test_data_of_a_constraint_are_arguments_too():
    def bounded(upper):
        like, bound = jnp.ones(2), {"x": constraints.interval(0.0, upper)}
        return Target(jnp.sum, like, None, bound)

    a, b = bounded(2.0), bounded(5.0)
    assert float(a.constrain(jnp.zeros(2))["x"][0]) == 1.0
    assert float(b.constrain(jnp.zeros(2))["x"][0]) == 2.5
    assert float(a.logp(jnp.zeros(2))) != float(b.logp(jnp.zeros(2)))


def test_target_survives_flattening():
    target = normal_model()
    leaves, structure = jax.tree.flatten(target)
    again = jax.tree.unflatten(structure, leaves)
    x = jnp.array([0.1, 0.2, 0.3])
    assert again.parameters == target.parameters and again.dtype == target.dtype
    np.testing.assert_array_equal(again.logp(x), target.logp(x))
    assert structure == jax.tree.structure(normal_model())


ZEROS = jnp.zeros(3)
BAD = {
    "not a function": (TypeError, "log_density must be a function", lambda: Target(3.0, ZEROS)),
    "not scalar": (
        ValueError,
        r"log_density must return one number .* shape \(3,\)",
        lambda: Target(lambda x: -(x**2), ZEROS),
    ),
    "batched": (
        ValueError,
        r"log_density must return one number .* shape \(5,\)",
        lambda: Target(lambda x: jnp.sum(jnp.zeros((5, 3)) * x, axis=1), ZEROS),
    ),
    "complex": (
        TypeError,
        "log_density must return a real .* complex128",
        lambda: Target(lambda x: jnp.sum(x) + 1j, ZEROS),
    ),
    "integer": (
        TypeError,
        "log_density must return a real .* int",
        lambda: Target(lambda x: jnp.argmax(x), ZEROS),
    ),
    "integer parameter": (
        TypeError,
        "Parameter n in like has dtype int",
        lambda: Target(leaves_sum, {"n": 3, "x": ZEROS}),
    ),
    "boolean parameter": (
        TypeError,
        "Parameter x in like has dtype bool",
        lambda: Target(leaves_sum, np.array([True, False])),
    ),
    "complex parameter": (
        TypeError,
        "Parameter x in like has dtype complex",
        lambda: Target(leaves_sum, np.array([1j])),
    ),
    "no parameters": (ValueError, "like holds no parameters", lambda: Target(leaves_sum, {})),
    "unknown constraint": (
        ValueError,
        r"constraints names 'scael', .* \['scale'\]",
        lambda: Target(leaves_sum, {"scale": 1.0}, None, {"scael": constraints.positive}),
    ),
    "constraint by name": (
        TypeError,
        r"constraints\['scale'\] must be a constraint .*, not 'positive'",
        lambda: Target(leaves_sum, {"scale": 1.0}, None, {"scale": "positive"}),
    ),
    "constraint that does not fit": (
        ValueError,
        r"constraints\['scale'\] does not fit the parameter's shape \(\)",
        lambda: Target(leaves_sum, {"scale": 1.0}, None, {"scale": constraints.simplex}),
    ),
    "wrong shape of a point": (
        ValueError,
        r"x has shape \(2,\), but .* \(3,\)",
        lambda: Target(leaves_sum, ZEROS).logp(jnp.zeros(2)),
    ),
    "wrong shape of parameters": (
        ValueError,
        r"mean has shape \(3,\) where .* \(2,\)",
        lambda: normal_model().flatten({"mean": jnp.zeros(3), "scale": 1.0}),
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_named_in_one_sentence(what):
    kind, message, make = BAD[what]
    with pytest.raises(kind, match=message) as caught:
        make()
    assert one_sentence(str(caught.value))


def test_an_error_of_the_users_function_is_the_users():
    with pytest.raises(KeyError, match="mean"):
        Target(lambda params: params["mean"], {"x": 0.0})


def test_missing_data_are_noticed_at_once():
    with pytest.raises(TypeError, match="observed"):
        Target(normal_log_density, {"mean": jnp.zeros(2), "scale": 1.0})

"""NumPyro models: NumPyro's densities, names and values, and a sentence for what HMC cannot do."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from helpers import one_sentence
from numpyro import handlers
from numpyro.contrib.control_flow import scan
from numpyro.infer.reparam import LocScaleReparam
from numpyro.infer.util import constrain_fn, potential_energy
from numpyro.primitives import mutable

import snaper
from snaper import from_numpyro

Y = np.array([1.0, -0.5, 2.0])


def normal(y=None, scale=1.0):
    mu = numpyro.sample("mu", dist.Normal(0, 2))
    numpyro.sample("y", dist.Normal(mu, scale).expand([3]), obs=y)


def dynamic_support():
    a = numpyro.sample("a", dist.HalfNormal(1))
    b = numpyro.sample("b", dist.Uniform(0, a + 1))
    numpyro.sample("c", dist.TruncatedNormal(0, 1, low=b))


def event_dims():
    numpyro.sample("chol", dist.LKJCholesky(3, 2.0))
    numpyro.sample("p", dist.Dirichlet(jnp.ones(4)).expand([2]))
    numpyro.sample("w", dist.MultivariateNormal(jnp.zeros(2), jnp.eye(2)), sample_shape=(3,))


def imputed(y):
    mu = numpyro.sample("mu", dist.Normal())
    numpyro.sample("y", dist.Normal(mu, 1), obs=y, obs_mask=np.array([True, False, True]))


def masked(y):
    mu = numpyro.sample("mu", dist.Normal())
    seen = ~jnp.isnan(y)
    with numpyro.plate("N", 3), handlers.mask(mask=seen):
        numpyro.sample("y", dist.Normal(mu, 1), obs=jnp.where(seen, y, 0.0))


@handlers.reparam(config={"theta": LocScaleReparam(0)})
def reparameterised():
    mu = numpyro.sample("mu", dist.Normal())
    with numpyro.plate("J", 3):
        numpyro.sample("theta", dist.Normal(mu, 2.0))


def walk(y):
    sd = numpyro.sample("sd", dist.HalfNormal(1))

    def move(before, seen):
        now = numpyro.sample("now", dist.Normal(before, sd))
        numpyro.sample("y", dist.Normal(now, 1), obs=seen)
        return now, None

    scan(move, 0.0, y)


def improper():
    rate = numpyro.sample("rate", dist.ImproperUniform(dist.constraints.positive, (2,), ()))
    numpyro.factor("likelihood", -jnp.sum(rate))


MODELS = {
    "observed": (normal, (Y,), {"mu": ()}),
    "obs=None": (normal, (), {"mu": (), "y": (3,)}),
    "partial": (partial(normal, scale=2.0), (Y,), {"mu": ()}),
    "handler": (handlers.condition(normal, {"y": jnp.asarray(Y)}), (), {"mu": ()}),
    "dynamic support": (dynamic_support, (), {"a": (), "b": (), "c": ()}),
    "event dims": (event_dims, (), {"chol": (3, 3), "p": (2, 4), "w": (3, 2)}),
    "imputed": (imputed, (Y,), {"mu": (), "y": (3,), "y_unobserved": (3,)}),
    "masked": (masked, (np.array([1.0, np.nan, 2.0]),), {"mu": ()}),
    "reparameterised": (
        reparameterised,
        (),
        {"mu": (), "theta": (3,), "theta_decentered": (3,)},
    ),
    "scan": (walk, (Y,), {"sd": (), "now": (3,)}),
    "improper": (improper, (), {"rate": (2,)}),
}


@pytest.mark.parametrize("kind", MODELS)
def test_density_and_values_are_numpyro_s(kind):
    model, args, shapes = MODELS[kind]
    target = from_numpyro(model, *args)
    x = jax.random.uniform(jax.random.key(1), (target.dim,), minval=-1, maxval=1)
    named, at = {}, 0
    for name, _, shape in target.parameters:
        size = int(np.prod(shape, dtype=int))
        named[name] = x[at : at + size].reshape(shape)
        at += size

    @jax.jit
    def numpyro_s(named):
        density = -potential_energy(model, args, {}, named)
        return density, constrain_fn(model, args, {}, named, return_deterministic=True)

    density, values = numpyro_s(named)
    np.testing.assert_allclose(target.logp(x), density)
    assert np.isfinite(jax.jit(jax.grad(target.logp))(x)).all()
    found = jax.jit(target.constrain)(x)
    assert {name: value.shape for name, value in found.items()} == shapes
    assert found.keys() == values.keys()
    for name, value in values.items():
        np.testing.assert_allclose(found[name], value)
    latent = {parameter.name: values[parameter.name] for parameter in target.parameters}
    np.testing.assert_allclose(jax.jit(target.flatten)(latent), x, atol=1e-6)


def test_prior_draws_are_of_the_prior():
    target = from_numpyro(normal, Y)
    draws = target.sample_prior(jax.random.key(0), 20_000)["mu"]
    assert draws.shape == (20_000,)
    np.testing.assert_allclose([draws.mean(), draws.std()], [0, 2], atol=0.1)
    one = target.sample_prior(jax.random.key(0))
    assert one["mu"].shape == () and one.keys() == {"mu"}


def hierarchy(groups, y):
    with numpyro.plate("group", 3, dim=-2):
        numpyro.sample("share", dist.Dirichlet(jnp.ones(4)))
        with numpyro.plate("time", 5):
            w = numpyro.sample(
                "w",
                dist.MultivariateNormal(jnp.zeros(2), jnp.eye(2)),
                infer={"event_dims": ["place"]},
            )
            numpyro.deterministic("twice", 2 * w)
            numpyro.deterministic("first", w[..., 0])
            numpyro.deterministic("total", jnp.sum(w))
    slope = numpyro.sample("slope", dist.Normal())
    with numpyro.plate("N", 4):
        numpyro.sample("y", dist.Normal(slope * groups, 1.0), obs=jnp.log(y))


def test_plates_become_dims_and_coords():
    target = from_numpyro(hierarchy, np.arange(4), y=np.ones(4))
    assert target.dims == {
        "share": ("group", "share_dim_1", "share_dim_2"),
        "w": ("group", "time", "place"),
        "twice": ("group", "time", "twice_dim_2"),
        "first": ("group", "time"),
        "y": ("N",),
    }
    assert {name: len(places) for name, places in target.coords.items()} == {
        "group": 3,
        "time": 5,
        "N": 4,
    }


def test_observed_values_are_kept():
    target = from_numpyro(hierarchy, np.arange(4), y=np.full(4, np.e))
    assert target.observed.keys() == {"y"}
    np.testing.assert_allclose(target.observed["y"], 1.0)
    assert from_numpyro(improper).observed == {}  # a factor is no observation


def structure(*args, **kwargs):
    return jax.tree.structure(from_numpyro(*args, **kwargs))


def test_a_factor_in_a_plate_is_no_observation():
    def model(weight):
        mu = numpyro.sample("mu", dist.Normal())
        with numpyro.plate("N", 3), handlers.mask(mask=weight > 0):
            numpyro.factor("penalty", -weight * mu**2)

    assert from_numpyro(model, np.ones(3)).observed == {}


def regression(x, y, *more, scale=1.0, data=None, size=3, label="a"):
    slope = numpyro.sample("slope", dist.Normal())
    numpyro.sample("obs", dist.Normal(slope * x + data["offset"] + more[0], scale), obs=y)


@pytest.mark.parametrize("looks_at_values", [False, True])
def test_constants_are_the_arguments_that_are_not_observed(looks_at_values):
    def looking(x, *args, **kwargs):
        assert float(x[0]) == 0.0
        return regression(x, *args, **kwargs)

    offset, keys = np.full(3, 0.5), {"scale": 2.0, "size": 3, "label": "b"}
    model = looking if looks_at_values else regression
    target = from_numpyro(model, np.arange(3.0), Y, np.ones(3), data={"offset": offset}, **keys)
    assert target.observed.keys() == {"obs"}  # which is y, and so y is not among the constants
    expected = {"x": np.arange(3.0), "data.offset": offset, "scale": 2.0}
    expected["args_1" if looks_at_values else "more_0"] = np.ones(3)
    assert target.constants.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(target.constants[name], value)


def test_constants_have_the_names_of_a_wrapped_model_and_are_numbers():
    wrapped = handlers.reparam(normal, config={"mu": LocScaleReparam(0)})
    assert from_numpyro(wrapped, Y, 2.0).constants == {"scale": 2.0}
    assert from_numpyro(partial(normal, scale=2.0), Y).constants == {"scale": 2.0}

    def keyed(key, x):
        numpyro.sample("mu", dist.Normal(x, 1))

    assert from_numpyro(keyed, jax.random.key(0), np.float32(1)).constants == {"x": 1.0}


def test_arrays_and_floats_are_data_and_the_rest_is_code():
    def model(x, size, settings):
        assert isinstance(size, int) and settings["name"] == "a"
        numpyro.sample("z", dist.Normal(x, settings["scale"]).expand([size]))

    def settings(scale):
        return {"name": "a", "scale": scale, "nothing": None}

    target = from_numpyro(model, Y, size=3, settings=settings(2.0))
    assert sorted(np.shape(leaf) for leaf in target.data) == [(), (3,)]
    assert structure(model, Y, 3, settings(2.0)) == structure(model, -Y, 3, settings(5.0))
    assert structure(model, 0.0, 3, settings(2.0)) != structure(model, 0.0, 4, settings(2.0))


def test_arguments_in_a_partial_are_data():
    assert (
        structure(partial(normal, Y)) == structure(partial(normal, 2 * Y)) == structure(normal, Y)
    )
    assert len(from_numpyro(partial(normal, Y)).data) == 1


def groups(index):
    with numpyro.plate("group", len(np.unique(index))):
        numpyro.sample("a", dist.Normal(jnp.mean(index), 1))


def test_model_that_looks_at_values_gets_constants():
    """Equal values share compiled code; others do not, even if it is the same array."""
    index = np.array([0, 1, 1])
    before = from_numpyro(groups, index)
    assert before.dim == 2 and before.data == ()
    assert structure(groups, index.copy()) == jax.tree.structure(before)
    index[:] = [0, 1, 0]
    assert structure(groups, index) != jax.tree.structure(before)
    np.testing.assert_allclose(before.logp(jnp.ones(2)), 2 * dist.Normal(2 / 3, 1).log_prob(1.0))


def test_sample_takes_the_arguments_of_a_model():
    sizes = {"chains": 16, "warmup": 50, "draws": 5, "progress": False}
    run = snaper.sample(normal, Y, model_kwargs={"scale": 0.01}, **sizes)
    assert run.draws["mu"].shape == (16, 5)
    np.testing.assert_allclose(run.draws["mu"].mean(), Y.mean(), atol=0.1)


def subsampled(y):
    mu = numpyro.sample("mu", dist.Normal())
    with numpyro.plate("N", 3, subsample_size=2) as chosen:
        numpyro.sample("y", dist.Normal(mu, 1), obs=y[chosen])


def with_site(statement):
    def model():
        numpyro.sample("x", dist.Normal())
        statement()

    return model


REFUSED = {
    "param": (lambda: numpyro.param("w", 1.0), "Site 'w' is a param statement"),
    "mutable": (lambda: mutable("state", {"n": 1.0}), "Site 'state' is a mutable statement"),
    "subsampling": (lambda: subsampled(Y), "Plate 'N' takes 2 of 3 entries"),
    "delta": (lambda: numpyro.sample("d", dist.Delta(1.0)), "Site 'd' has a Delta"),
    "count": (lambda: numpyro.sample("k", dist.Poisson(3.0)), "Site 'k' is discrete and NumPyro"),
    "sequential": (
        lambda: numpyro.sample("k", dist.Bernoulli(0.5), infer={"enumerate": "sequential"}),
        "Site 'k' is discrete and NumPyro",
    ),
    "sphere": (
        lambda: numpyro.sample("direction", dist.ProjectedNormal(jnp.ones(3))),
        "Site 'direction' has the support Sphere",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_site_that_hmc_cannot_handle_is_named_in_one_sentence(what):
    statement, message = REFUSED[what]
    with pytest.raises(ValueError, match=message) as caught:
        from_numpyro(with_site(statement))
    assert one_sentence(str(caught.value))


BAD = {
    "no latent site": (lambda: None, (), {}, ValueError, "no continuous latent site"),
    "missing argument": (lambda x: x, (), {}, TypeError, "'x'.* wrap a log density"),
    "too many arguments": (improper, (Y,), {}, TypeError, "too many positional"),
    "no function": (3, (), {}, TypeError, "must be a snaper.Target, .*, not int"),
    "argument of a target": (
        snaper.Target(jnp.sum, jnp.zeros(2)),
        (Y,),
        {},
        TypeError,
        "A target takes no arguments, but 1 came with it",
    ),
    "start": (normal, (Y,), {"init": "median"}, ValueError, "init 'median' is unknown"),
    "improper prior": (improper, (), {"init": "prior-mean"}, ValueError, "Site 'rate' has an im"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_call_is_explained_in_one_sentence(what):
    model, args, options, kind, message = BAD[what]
    with pytest.raises(kind, match=message) as caught:
        snaper.sample(model, *args, progress=False, **options)
    assert one_sentence(str(caught.value))


def test_column_of_a_table_is_told_from_an_array():
    column = pytest.importorskip("pandas").Series(Y)
    with pytest.raises(TypeError, match=r"computes with a pandas Series.*to_numpy\(\)") as caught:
        from_numpyro(normal, column)
    assert one_sentence(str(caught.value))


def mixture(y):
    share = numpyro.sample("share", dist.Beta(1, 1))
    centre = numpyro.sample("centre", dist.Normal(jnp.array([-1.0, 1.0]), 1).to_event(1))
    with numpyro.plate("N", 3):
        which = numpyro.sample("which", dist.Bernoulli(share), infer={"enumerate": "parallel"})
        numpyro.sample("y", dist.Normal(centre[which], 1), obs=y)


def test_summing_out_needs_funsor(monkeypatch):
    monkeypatch.setattr("snaper.models._sites.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"Site 'which' .* funsor") as caught:
        from_numpyro(mixture, Y + 1)
    assert one_sentence(str(caught.value))


def test_discrete_sites_are_summed_out():
    pytest.importorskip("funsor")
    target = from_numpyro(mixture, Y)
    assert [parameter.name for parameter in target.parameters] == ["centre", "share"]
    share = 1 / (1 + np.exp(-0.4))
    component = dist.Normal(np.array([-0.3, 0.7]), 1).log_prob(Y[:, None])
    weights = np.log([1 - share, share])
    likelihood = jnp.sum(jax.nn.logsumexp(weights + component, axis=1))
    prior = jnp.sum(dist.Normal(np.array([-1.0, 1.0]), 1).log_prob(np.array([-0.3, 0.7])))
    jacobian = np.log(share * (1 - share))
    x = jnp.array([-0.3, 0.7, 0.4])
    np.testing.assert_allclose(target.logp(x), likelihood + prior + jacobian, rtol=1e-6)

"""PyMC models: PyMC's densities, names, dims and values, and a sentence for what HMC cannot do."""

import builtins
import gc
import sys
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import one_sentence

import snaper
from snaper import from_pymc

pm = pytest.importorskip("pymc")
import pytensor  # noqa: E402
import pytensor.tensor as pt  # noqa: E402

RNG = np.random.default_rng(0)
COORDS = {"county": ["Aitkin", "Anoka", "Becker"], "term": ["intercept", "floor"]}


def radon():
    """Coords, dims, Data, Deterministic, and an index among the data."""
    with pm.Model(coords=COORDS) as model:
        county = pm.Data("county_index", np.array([0, 0, 1, 1, 2, 2]))
        floor = pm.Data("floor", np.array([0.0, 1.0, 0.0, 1.0, 0.0, 1.0]))
        mean = pm.Normal("mean", 0, 1, dims="term")
        spread = pm.HalfNormal("spread", 1, dims="term")
        offset = pm.Normal("offset", 0, 1, dims=("county", "term"))
        effect = pm.Deterministic("effect", mean + spread * offset, dims=("county", "term"))
        pm.Deterministic("contrast", effect[:, 1] - effect[:, 0], dims="county")
        noise = pm.Exponential("noise", 1)
        level = effect[county, 0] + effect[county, 1] * floor
        pm.Normal("log_radon", level, noise, observed=[0.1, 0.9, 0.3, 1.2, -0.2, 0.8])
    return model


def simplex():
    share = pm.Dirichlet("share", np.ones(4))
    pm.Multinomial("counts", 10, share, observed=[1, 2, 3, 4])


def cholesky():
    factor, _, _ = pm.LKJCholeskyCov("factor", n=2, eta=2, sd_dist=pm.Exponential.dist(1.0))
    pm.MvNormal("y", np.zeros(2), chol=factor, observed=RNG.normal(size=(5, 2)))


def dynamic_support():
    width = pm.HalfNormal("width", 1)
    pm.Uniform("x", 0, width + 1, shape=2)


def missing():
    mean = pm.Normal("mean")
    pm.Normal("y", mean, 1, observed=np.ma.masked_invalid([1.0, np.nan, 2.0]))


def ordered_and_potential():
    cut = pm.Normal("cut", 0, 2, shape=3, transform=pm.distributions.transforms.ordered)
    pm.Potential("wide", -pt.sum(cut**4))


def bound_of_a_parameter():
    """Minus infinity where the scale is negative, not the value of a formula there."""
    scale = pm.Normal("scale")
    pm.Gamma("y", alpha=scale, beta=1.0, observed=[1.0, 2.0])


def zero_sum():
    pm.ZeroSumNormal("effect", 2.0, shape=(3, 4), n_zerosum_axes=2)


def censored():
    mean, sd = pm.Normal("mean"), pm.HalfNormal("sd")
    pm.Censored("y", pm.Normal.dist(mean, sd), lower=None, upper=1.0, observed=[0.3, 1.0, 1.0])


def truncated():
    mean, sd = pm.Normal("mean"), pm.HalfNormal("sd")
    pm.Truncated("y", pm.Normal.dist(mean, sd), lower=0.0, upper=None, observed=[0.3, 1.5])


MODELS = {
    function.__name__: function
    for function in (
        simplex,
        cholesky,
        dynamic_support,
        missing,
        ordered_and_potential,
        bound_of_a_parameter,
        zero_sum,
        censored,
        truncated,
    )
}


def build(function):
    with pm.Model() as model:
        function()
    return model


def value_names(model, target):
    """Names of PyMC's value variables, in the order of the target's parameters."""
    return [model.rvs_to_values[model[parameter.name]].name for parameter in target.parameters]


@pytest.mark.filterwarnings("ignore:Data in .* contains missing values")
@pytest.mark.parametrize("kind", [*MODELS, "radon"])
def test_density_is_pymc_s(kind):
    model = radon() if kind == "radon" else build(MODELS[kind])
    target = from_pymc(model)
    compiled = model.compile_logp(mode="FAST_COMPILE")
    for seed in range(3):
        x = jax.random.uniform(jax.random.key(seed), (target.dim,), minval=-1, maxval=1)
        free = dict(zip(value_names(model, target), map(np.asarray, target._free(x)), strict=True))
        np.testing.assert_allclose(target.logp(x), compiled(free))
        values = target.constrain(x)
        params = {parameter.name: values[parameter.name] for parameter in target.parameters}
        np.testing.assert_allclose(target.flatten(params), x, atol=1e-6)
    if kind == "bound_of_a_parameter":
        assert target.logp(jnp.array([-0.5])) == -np.inf


def test_zero_sums_are_those_of_single_precision_too():
    """PyMC takes a sum that is off by more than 1e-9 for one outside of the support."""
    model = build(zero_sum)
    compiled = model.compile_logp(mode="FAST_COMPILE")
    with jax.enable_x64(False):
        target = from_pymc(model)
        x = target.disperse(jax.random.key(0), 20)
        found = jax.vmap(target.logp)(x)
        assert found.dtype == np.float32
    (name,) = value_names(model, target)
    wanted = [compiled({name: np.asarray(free, float).reshape(2, 3)}) for free in x]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_variables_dims_coords_and_data_are_those_of_pm_sample():
    model, sizes = radon(), {"chains": 16, "warmup": 20, "draws": 5, "progress": False}
    run = snaper.sample(model, preset="paper", **sizes)  # which takes less time to compile
    theirs = pm.sample(
        draws=2,
        tune=2,
        chains=1,
        cores=1,
        model=model,
        progressbar=False,
        quiet=True,
        random_seed=0,
        compile_kwargs={"mode": "FAST_COMPILE"},
        compute_convergence_checks=False,
    )
    posterior, target = theirs["posterior"], run.target
    assert {name: value.shape[2:] for name, value in run.draws.items()} == {
        name: posterior[name].shape[2:] for name in posterior.data_vars
    }
    for name in run.draws:
        assert target.dims.get(name, ()) == posterior[name].dims[2:]
    for axis, places in target.coords.items():
        np.testing.assert_array_equal(places, posterior[axis])
    observed = theirs["observed_data"]
    assert target.observed.keys() == {*observed.data_vars}
    np.testing.assert_array_equal(target.observed["log_radon"], observed["log_radon"])
    constants = theirs["constant_data"]
    assert target.data.keys() == target.constants.keys() == {*constants.data_vars}
    for name, value in target.constants.items():
        np.testing.assert_array_equal(value, constants[name])
    effect = run.draws["effect"]
    np.testing.assert_allclose(run.draws["contrast"], effect[..., 1] - effect[..., 0])


def test_data_are_arguments_and_a_changed_model_is_noticed():
    model = radon()
    before = from_pymc(model)
    x = jnp.ones(before.dim) / 2
    with model:
        pm.set_data({"floor": np.zeros(6)})
    after = from_pymc(model)
    assert jax.tree.structure(before) == jax.tree.structure(after)
    assert float(before.logp(x)) != float(after.logp(x))
    with model:
        pm.Potential("tilt", model["noise"] ** 2)
    tilted = from_pymc(model)
    assert jax.tree.structure(tilted) != jax.tree.structure(after)
    np.testing.assert_allclose(tilted.logp(x) - after.logp(x), tilted.constrain(x)["noise"] ** 2)


def test_data_of_another_shape_are_noticed():
    with pm.Model() as model:
        design = pm.Data("design", np.ones((5, 3)))
        pm.Normal("y", design @ pm.Normal("slope", shape=design.shape[1]), 1, observed=np.ones(5))
    assert from_pymc(model).dim == 3
    with model:
        pm.set_data({"design": np.ones((5, 4))})
    target = from_pymc(model)
    assert target.dim == 4 and target.data["design"].shape == (5, 4)
    np.testing.assert_allclose(
        target.logp(jnp.ones(4)),
        model.compile_logp(mode="FAST_COMPILE")({"slope": np.ones(4)}),
    )


def test_data_that_decide_shapes_are_constants():
    with pm.Model() as model:
        size = pytensor.shared(np.int64(3), name="size")
        x = pm.Normal("x", shape=size)
        pm.Deterministic("ramp", pt.arange(size) * x)
    target = from_pymc(model)
    assert target.data == {} and target.constrain(jnp.ones(3))["ramp"].tolist() == [0.0, 1.0, 2.0]
    size.set_value(np.int64(4))
    assert from_pymc(model).dim == 4


def test_a_forgotten_model_is_freed():
    model = radon()
    target = from_pymc(model)
    jax.block_until_ready(target.logp(jnp.zeros(target.dim)))
    alive = weakref.ref(model)
    del model, target
    gc.collect()
    assert alive() is None


def minibatch():
    batch = pm.Minibatch(RNG.normal(size=100), batch_size=10)
    pm.Normal("y", pm.Normal("mean"), 1, observed=batch, total_size=100)


REFUSED = {
    "discrete": (lambda: pm.Poisson("k", 3), "Variable 'k' is discrete"),
    "nothing free": (lambda: pm.Normal("y", observed=[1.0]), "no free variable"),
    "minibatch": (minibatch, "draws random numbers"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_model_that_hmc_cannot_handle_is_refused_in_one_sentence(what):
    statement, message = REFUSED[what]
    model = build(statement)
    with pytest.raises(ValueError, match=message) as caught:
        snaper.sample(model, progress=False)
    assert one_sentence(str(caught.value))


def test_wrong_calls_are_explained_in_one_sentence():
    with pytest.raises(TypeError, match="needs a PyMC model, not int") as caught:
        from_pymc(3)
    assert one_sentence(str(caught.value))
    with pytest.raises(TypeError, match="A PyMC model takes no arguments, but 1 came") as caught:
        snaper.sample(radon(), 3)
    assert one_sentence(str(caught.value))
    flat = build(lambda: pm.Flat("level"))
    with pytest.raises(ValueError, match="Variable 'level' has an improper prior") as caught:
        snaper.sample(flat, init="prior-mean", progress=False)
    assert one_sentence(str(caught.value))


def test_missing_package_is_named(monkeypatch):
    """With the way to install it."""
    real = builtins.__import__

    def without_pymc(name, names=None, local=None, listed=(), level=0):
        if level == 0 and name.partition(".")[0] == "pymc":
            raise ImportError(name)
        return real(name, names, local, listed, level)

    monkeypatch.delitem(sys.modules, "snaper.models.pymc")
    monkeypatch.setattr(builtins, "__import__", without_pymc)
    with pytest.raises(ImportError, match=r"snaper\[pymc\]") as caught:
        from_pymc(radon)
    assert one_sentence(str(caught.value))

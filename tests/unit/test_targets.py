"""The benchmark posteriors and teaching targets."""

import hashlib
import re
import shutil
import subprocess
import sys
from functools import partial
from importlib.resources import files

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from jax.test_util import check_grads

from snaper import Target, targets
from snaper.targets import _data, hierarchical_linear, item_response, stochastic_volatility
from snaper.targets._ar1 import BLOCKS, autoregress, in_blocks
from snaper.targets._item_response_likelihood import answer_totals, log_likelihood

pytestmark = pytest.mark.usefixtures("strict")

DIMS = {
    "logistic-regression": 25,
    "sparse-logistic-regression": 51,
    "brownian-bridge": 32,
    "item-response": 501,
    "hierarchical-linear": 97,
    "stochastic-volatility": 2519,
    "gaussian-spectrum": 301,
    "ill-conditioned-gaussian": 100,
    "funnel": 10,
    "banana": 2,
    "eight-schools": 10,
}
EXACT = [
    ("gaussian-spectrum", {}),
    ("gaussian-spectrum", {"sigma_r": 0.01, "repeats": 5}),
    ("ill-conditioned-gaussian", {}),
    ("ill-conditioned-gaussian", {"dim": 7, "condition": 1e4, "rotated": True}),
    ("funnel", {}),
    ("banana", {"dim": 3, "curvature": 0.1}),
]


def point(dim: int, scale: float = 0.5, seed: int = 0) -> jax.Array:
    return jnp.asarray(scale * np.random.default_rng(seed).standard_normal(dim), dtype=float)


@jax.jit
def value_and_grad(target, x):
    """One for all tests, so that it is compiled once for each target and precision."""
    return jax.value_and_grad(target.logp)(x)


def test_names_and_descriptions_are_of_the_targets():
    assert targets.names() == list(DIMS)
    assert {d.name: d.dim for d in targets.describe()} == DIMS
    assert all(d.summary and d.source for d in targets.describe())


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("name", DIMS)
def test_log_density_and_gradient_are_finite(name, double):
    with jax.enable_x64(double):
        target = targets.get(name)
        assert isinstance(target, Target)
        assert target.dim == DIMS[name]
        value, gradient = value_and_grad(target, point(target.dim))
    assert value.dtype == gradient.dtype == (np.float64 if double else np.float32)
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradient))


@pytest.mark.parametrize("name", DIMS)
def test_precisions_agree(name):
    with jax.enable_x64(True):
        target = targets.get(name)
        _, reference = value_and_grad(target, point(target.dim))
    with jax.enable_x64(False):
        target = targets.get(name)
        _, gradient = value_and_grad(target, point(target.dim))
    np.testing.assert_allclose(gradient, reference, rtol=1e-4, atol=1e-5 * np.abs(reference).max())


@pytest.mark.parametrize("name", DIMS)
def test_gradient_is_the_slope_of_the_log_density(name):
    target = targets.get(name)
    x = point(target.dim)
    _, gradient = value_and_grad(target, x)
    indices = range(target.dim) if target.dim <= 100 else [0, 1, 2, 3, target.dim // 2, -1]
    for index in indices:
        step = jnp.zeros(target.dim).at[index].set(1e-4)
        above, below = (value_and_grad(target, there)[0] for there in (x + step, x - step))
        slope = (above - below) / 2e-4
        np.testing.assert_allclose(gradient[index], slope, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", DIMS)
def test_prior_mean_is_a_point_of_finite_density(name):
    target = targets.get(name)
    start = targets.prior_mean(name, jax.random.key(0))
    assert start.shape == (target.dim,)
    assert np.isfinite(target.logp(start))


@pytest.mark.parametrize("name", DIMS)
def test_moments_are_of_the_quantities(name):
    bench = targets.benchmark(name)
    assert bench.moments is not None
    x = point(bench.target.dim)
    found = jax.eval_shape(lambda x: bench.quantities(bench.target.constrain(x)), x)
    shapes = jax.tree.map(np.shape, found)
    assert jax.tree.map(np.shape, bench.moments.mean) == shapes
    assert jax.tree.map(np.shape, bench.moments.sd) == shapes
    assert 0 <= bench.moments.standard_error < 0.02
    assert all(np.all(sd > 0) for sd in bench.moments.sd.values())


@pytest.mark.parametrize("name", DIMS)
def test_prior_draws_have_the_parameters_shapes(name):
    bench = targets.benchmark(name)
    draw = jax.jit(bench.sample_prior)(jax.random.key(0))
    again = jax.jit(lambda params: bench.target.constrain(bench.target.flatten(params)))(draw)
    for key, value in draw.items():
        np.testing.assert_allclose(again[key], value, rtol=1e-6)


@pytest.mark.parametrize(("name", "options"), EXACT)
def test_exact_draws_have_the_known_moments(name, options):
    bench = targets.benchmark(name, **options)
    draws = jax.jit(jax.vmap(bench.sample_prior))(jax.random.split(jax.random.key(1), 20_000))
    if name == "funnel":  # the tails of x are too heavy for its moments to be seen
        del draws["x"]
    for key, values in draws.items():
        mean, sd = bench.moments.mean[key], bench.moments.sd[key]
        assert np.all(np.abs(values.mean(axis=0) - mean) < 0.04 * sd)
        np.testing.assert_allclose(values.std(axis=0), sd, rtol=0.05)


@pytest.mark.parametrize(("name", "options"), EXACT)
def test_exact_draws_are_of_the_log_density(name, options):
    """The mean of x . grad log p(x) is minus the dimension."""
    bench = targets.benchmark(name, **options)

    def virial(key):
        x = bench.target.flatten(bench.sample_prior(key))
        return jnp.sum(x * jax.grad(bench.target.logp)(x))

    virials = jax.jit(jax.vmap(virial))(jax.random.split(jax.random.key(2), 20_000))
    error = virials.std() / np.sqrt(len(virials))
    assert abs(virials.mean() + bench.target.dim) < 4 * error


def test_shipped_mean_is_near_the_mode():
    bench = targets.benchmark("logistic-regression")
    gradient = jax.grad(bench.target.logp)(bench.target.flatten(bench.moments.mean))
    sd = bench.target.flatten(bench.moments.sd)
    assert np.max(np.abs(gradient * sd)) < 0.5


def test_item_response_is_the_bernoulli_model():
    responses = _data.load("item_response")["responses"]
    target = targets.get("item-response")

    def plain(params):
        mean, ability = params["mean_student_ability"], params["centered_student_ability"]
        difficulty = params["question_difficulty"]
        logits = mean + ability[:, None] - difficulty
        likelihood = jax.nn.log_sigmoid(jnp.asarray(responses, dtype=float) * logits)
        return (
            jnp.sum(jnp.where(responses != 0, likelihood, 0.0))
            + dist.Normal(0.75, 1.0).log_prob(mean)
            + jnp.sum(dist.Normal(0.0, 1.0).log_prob(ability))
            + jnp.sum(dist.Normal(0.0, 1.0).log_prob(difficulty))
        )

    same_up_to_a_constant(item_response, target, plain)


def test_hierarchical_linear_is_the_model_of_every_house():
    raw = _data.load("radon_indiana")
    county = np.asarray(raw["county"], int)
    log_radon = np.log(np.where(raw["activity"] <= 0, 0.1, raw["activity"]))
    log_uranium, floor = np.log(raw["uranium"]), raw["floor"].astype(float)
    floor_by_county = np.array([floor[county == j].mean() for j in range(91)])[county]
    target = targets.get("hierarchical-linear")

    def plain(params):
        weight, effect = params["weight"], params["county_effect"]
        mean = weight[0] * log_uranium + weight[1] * floor + weight[2] * floor_by_county
        between = dist.Normal(params["county_effect_mean"], params["county_effect_scale"])
        houses = dist.Normal(mean + effect[county], params["log_radon_scale"])
        return (
            jnp.sum(houses.log_prob(log_radon))
            + jnp.sum(between.log_prob(effect))
            + dist.Normal(0.0, 1.0).log_prob(params["county_effect_mean"])
            + jnp.sum(dist.Normal(0.0, 1.0).log_prob(weight))
        )

    same_up_to_a_constant(hierarchical_linear, target, plain)


def test_stochastic_volatility_is_the_recursive_model():
    returns = np.diff(_data.load("sp500")["closing_price"])
    returns -= returns.mean()
    target = targets.get("stochastic-volatility")

    def plain(params):
        phi, sigma = params["persistence_of_volatility"], params["white_noise_shock_scale"]
        mu, z = params["mean_log_volatility"], params["std_log_volatility"]
        first = sigma * z[0] / jnp.sqrt(1 - phi**2)
        _, rest = jax.lax.scan(lambda h, e: (phi * h + sigma * e,) * 2, first, z[1:])
        h = jnp.concatenate([first[None], rest])
        return (
            jnp.sum(dist.Normal(0.0, jnp.exp((mu + h) / 2)).log_prob(returns))
            + dist.Beta(20.0, 1.5).log_prob((phi + 1) / 2)
            + dist.Cauchy(0.0, 5.0).log_prob(mu)
            + dist.HalfCauchy(2.0).log_prob(sigma)
            + jnp.sum(dist.Normal(0.0, 1.0).log_prob(z))
        )

    same_up_to_a_constant(stochastic_volatility, target, plain)


def same_up_to_a_constant(module, target, plain):
    """The module's log density of the constrained parameters against a plain one."""
    log_density, plain = jax.jit(module.log_density), jax.jit(plain)
    differences = []
    for seed in range(3):
        params = target.constrain(point(target.dim, seed=seed))
        differences.append(float(log_density(params, target.data) - plain(params)))
    assert differences == pytest.approx([differences[0]] * 3, rel=1e-9)


SOLVE = {
    "here": jax.jit(autoregress),
    **{str(block): jax.jit(partial(in_blocks, block)) for block in BLOCKS.values()},
}
EDGES = {length for b in BLOCKS.values() for length in (b, b + 1, 3 * b, b**2 + 3, b**3 + 3)}


@pytest.mark.parametrize("phi", [0.99, -0.7, 0.0])
@pytest.mark.parametrize("by", SOLVE)
@pytest.mark.parametrize("length", [1, 2, *sorted(EDGES)])
def test_autoregression_is_the_recursion(phi, by, length):
    innovations = point(length)
    expected = np.zeros(length)
    state = 0.0
    for t, innovation in enumerate(np.asarray(innovations)):
        state = phi * state + innovation
        expected[t] = state
    found = SOLVE[by](jnp.asarray(phi), innovations)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_autoregression_differentiates_in_both_directions():
    innovations = point(70)

    def total(phi, innovations):
        return jnp.sum(jnp.sin(autoregress(phi, innovations)))

    check_grads(jax.jit(total), (jnp.asarray(0.9), innovations), order=2)


@pytest.mark.parametrize(
    ("scale", "tolerance"), [(1.0, 1e-6), (20.0, 1e-6), (100.0, 1e-3), (1e6, 1e-6)]
)
def test_item_response_likelihood_is_finite_however_far_out(scale, tolerance):
    responses = np.random.default_rng(0).integers(-1, 2, size=(130, 20))
    with jax.enable_x64(False):
        ability, difficulty = point(130, scale), point(20, scale, seed=1)
        data = answer_totals(responses)
        value, gradient = jax.jit(jax.value_and_grad(log_likelihood))(ability, difficulty, data)
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradient))
    margins = responses * (np.asarray(ability, float)[:, None] - np.asarray(difficulty, float))
    expected = -np.sum(np.logaddexp(0, -margins)[responses != 0])
    np.testing.assert_allclose(value, expected, rtol=tolerance)


@pytest.mark.parametrize("name", ["hierarchical-linear", "item-response"])
def test_two_instances_share_compiled_code(name, compilations):
    logp = jax.jit(lambda target, x: target.logp(x))
    x = point(DIMS[name])
    logp(targets.get(name), x)
    other = targets.get(name)
    compilations()
    logp(other, x)
    assert not compilations()


def test_unknown_name_is_answered_with_the_names():
    with pytest.raises(ValueError, match=r"no target named 'donut'.*logistic-regression.*banana"):
        targets.get("donut")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("gaussian-spectrum", {"sigma_r": 0.0}, "sigma_r must be a positive number, not 0.0."),
        ("gaussian-spectrum", {"repeats": 2.5}, "repeats must be a whole number of at least 1"),
        ("ill-conditioned-gaussian", {"dim": 1}, "dim must be a whole number of at least 2, not 1"),
        ("ill-conditioned-gaussian", {"condition": np.nan}, "condition must be a positive number"),
        ("funnel", {"dim": 1}, "dim must be a whole number of at least 2, not 1."),
        ("banana", {"dim": 0}, "dim must be a whole number of at least 2, not 0."),
    ],
)
def test_bad_options_are_named(name, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        targets.get(name, **options)


@pytest.fixture
def data_folder(tmp_path):
    folder = tmp_path / "data"
    shutil.copytree(str(files("snaper.targets") / "data"), folder)
    return folder


def test_a_copy_of_the_data_is_read(data_folder):
    arrays = _data.read(data_folder, "german_credit")
    assert arrays["features"].shape == (1000, 24)
    assert set(np.unique(arrays["label"])) == {1, 2}


def test_a_damaged_file_is_refused(data_folder):
    path = data_folder / "sp500.npz"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(targets.DataError, match=r"^Data file sp500\.npz is damaged: .*\.$"):
        _data.read(data_folder, "sp500")


def test_a_missing_file_is_named(data_folder):
    (data_folder / "sp500.npz").unlink()
    with pytest.raises(targets.DataError, match=r"^Data file sp500\.npz is missing.*\.$"):
        _data.read(data_folder, "sp500")


def test_an_unlisted_file_is_refused(data_folder):
    (data_folder / "SHA256SUMS").write_text("")
    with pytest.raises(targets.DataError, match=r"^Data file sp500\.npz is not listed.*\.$"):
        _data.read(data_folder, "sp500")


def test_a_value_that_is_not_finite_is_refused(data_folder):
    path = data_folder / "sp500.npz"
    np.savez(path, closing_price=np.array([1.0, np.nan]))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    (data_folder / "SHA256SUMS").write_text(f"{digest}  sp500.npz\n")
    with pytest.raises(targets.DataError, match="not finite in its array closing_price"):
        _data.read(data_folder, "sp500")


def test_the_data_are_small():
    assert (
        sum(len(file.read_bytes()) for file in (files("snaper.targets") / "data").iterdir())
        < 300_000
    )


def test_importing_touches_no_device():
    code = "import snaper.targets, jax._src.xla_bridge as b; assert not b._backends, b._backends"
    subprocess.run([sys.executable, "-c", code], check=True)

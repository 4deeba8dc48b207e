"""Draws on several cores are those of one, but for rounding."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import snaper
from snaper import chunk, config, cores, hmc, nuts, sampler, stretch, targets

pytestmark = pytest.mark.cpu

NAME, CHAINS = "brownian-bridge", 64
FINE = {"rtol": 1e-3, "atol": 1e-4}  # few transitions: rounding has not grown to more


@pytest.fixture(scope="module")
def warm():
    """A run that has learnt."""
    return snaper.sample(targets.get(NAME), chains=CHAINS, warmup=150, draws=1, progress=False)


def buffer(run):
    """As long as that of the run, so that what was compiled for the one serves the other."""
    x = run.state.chains.x
    return stretch.Buffer(chunk.capacity(*x.shape, x.dtype.itemsize))


@pytest.fixture
def two_cores(monkeypatch):
    monkeypatch.setattr(cores, "_cores", lambda: 2)


def test_parts_make_the_same_draws(warm):
    whole, parts = buffer(warm), cores.Parts(buffer(warm), 4)
    here, there = (
        each.advance(warm.target, warm.config, warm.state, 0, 5, 1) for each in (whole, parts)
    )
    for before, after in zip(jax.tree.leaves(here), jax.tree.leaves(there), strict=True):
        assert before.shape == after.shape and before.dtype == after.dtype
    (state, record, tally), (state_there, record_there, tally_there) = here, there
    np.testing.assert_allclose(record_there.x[:5], record.x[:5], **FINE)
    np.testing.assert_allclose(state_there.chains.x, state.chains.x, **FINE)
    np.testing.assert_allclose(record_there.per_chain[:5], record.per_chain[:5], rtol=0.01)
    np.testing.assert_array_equal(record_there.shared[:5], record.shared[:5])
    np.testing.assert_array_equal(tally_there.accepted, tally.accepted)
    assert int(tally_there.gradients) == int(tally.gradients)
    assert int(state_there.step) == int(state.step)


def test_no_two_parts_have_the_same_noise(warm):
    """Nor two chains: from one point, each goes somewhere else."""
    one = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf[:1], leaf.shape), warm.state.chains)
    parts = cores.Parts(buffer(warm), 4)
    _, record, _ = parts.advance(warm.target, warm.config, warm.state._replace(chains=one), 0, 1, 1)
    assert len(np.unique(np.asarray(record.info.energy[0]))) == CHAINS


@pytest.mark.parametrize("thin", [1, 3])
def test_the_length_of_stretches_changes_no_bit(warm, thin):
    once, twice = (cores.Parts(buffer(warm), 2) for _ in range(2))
    state, record, _ = once.advance(warm.target, warm.config, warm.state, 0, 150, thin)
    half, first, _ = twice.advance(warm.target, warm.config, warm.state, 0, 60, thin)
    first = np.array(first.x[: 60 // thin])
    end, second, _ = twice.advance(warm.target, warm.config, half, 60, 90, thin)
    np.testing.assert_array_equal(end.chains.x, state.chains.x)
    np.testing.assert_array_equal(first, record.x[: 60 // thin])
    np.testing.assert_array_equal(second.x[: 90 // thin], record.x[60 // thin : 150 // thin])


def chosen(run, **changed):
    parts = {"target": run.target, "config": run.config, "state": run.state, **changed}
    return cores.drawing(*parts.values(), stretch.Buffer(16))


def test_only_heavy_models_are_worth_it(warm, two_cores, monkeypatch):
    assert isinstance(chosen(warm), stretch.Buffer)
    monkeypatch.setattr(cores, "_WORTH", 0.0)
    assert isinstance(chosen(warm), cores.Parts) and chosen(warm).slots == 16


@pytest.mark.parametrize(
    ("name", "worth"), [("item-response", True), ("logistic-regression", False)]
)
def test_what_is_heavy(name, worth, two_cores):
    target, chosen_config = targets.get(name), config.default()
    x = jnp.zeros((CHAINS, target.dim))
    state = sampler.init(jax.random.key(0), target, chosen_config, x)
    trajectory = state.adapt.trajectory._replace(log_average=jnp.log(jnp.asarray(3.0)))
    kicks = state.adapt.step_size
    step_size = kicks._replace(rivals=kicks.rivals._replace(log_average=jnp.zeros(2)))
    state = state._replace(adapt=state.adapt._replace(trajectory=trajectory, step_size=step_size))
    found = cores.drawing(target, chosen_config, state, stretch.Buffer(16))
    assert isinstance(found, cores.Parts) == worth


def test_a_model_is_weighed_once(warm):
    operations = cores._operations(warm.target, warm.state.chains.x)
    before = cores._counted.cache_info().misses
    again = snaper.sample(warm.target, chains=CHAINS, warmup=0, draws=1, progress=False)
    assert cores._operations(again.target, again.state.chains.x) == operations > 0
    assert cores._counted.cache_info().misses == before
    cores._operations(warm.target, warm.state.chains.x[1:])
    assert cores._counted.cache_info().misses == before + 1


def test_what_cannot_be_parted_is_not(warm, two_cores, monkeypatch):
    monkeypatch.setattr(cores, "_WORTH", 0.0)
    assert isinstance(chosen(warm), cores.Parts)
    assert isinstance(chosen(warm, config=nuts.adaptive()), stretch.Buffer)
    blocks = replace(warm.config, move=hmc.Move(at_once=8))
    assert isinstance(chosen(warm, config=blocks), stretch.Buffer)
    other = warm.state._replace(key=jax.random.key(0, impl="rbg"))
    assert isinstance(chosen(warm, state=other), stretch.Buffer)
    with jax.default_matmul_precision("highest"):  # a setting of this thread alone
        assert isinstance(chosen(warm), stretch.Buffer)
    monkeypatch.setattr(cores, "_cores", lambda: 1)
    assert isinstance(chosen(warm), stretch.Buffer)


@pytest.mark.parametrize(
    ("num_chains", "num_cores", "expected"),
    [(64, 1, 1), (64, 2, 2), (64, 3, 2), (64, 16, 4), (31, 8, 1), (96, 8, 6), (1000, 8, 8)],
)
def test_parts_are_equal_and_not_too_small(num_chains, num_cores, expected, monkeypatch):
    monkeypatch.setattr(cores, "_cores", lambda: num_cores)
    assert cores._num_parts(num_chains) == expected


def test_a_whole_run_is_the_same_whatever_the_chunks(two_cores, monkeypatch):
    monkeypatch.setattr(cores, "_WORTH", 0.0)
    calls = []
    advance = cores.Parts.advance
    monkeypatch.setattr(cores.Parts, "advance", lambda *args: (calls.append(1), advance(*args))[1])
    sizes = {"chains": CHAINS, "warmup": 150, "draws": 100, "progress": False}
    runs = [snaper.sample(targets.get(NAME), chunk=chunk, **sizes) for chunk in (None, 33)]
    assert len(calls) > 4
    np.testing.assert_array_equal(runs[0].unconstrained, runs[1].unconstrained)
    for name in ("lp", "acceptance_rate", "n_steps", "energy"):
        np.testing.assert_array_equal(runs[0].stats[name], runs[1].stats[name])
    monkeypatch.setattr(cores, "_WORTH", 1e99)
    alone = snaper.sample(targets.get(NAME), **sizes)
    np.testing.assert_allclose(runs[0].unconstrained[:, 0], alone.unconstrained[:, 0], **FINE)


@pytest.mark.parametrize("wide", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_precision_of_this_thread_alone_is_that_of_all(wide, two_cores, monkeypatch):
    """Parts are used, and compute with as many bits as the thread that asked for draws."""
    monkeypatch.setattr(cores, "_WORTH", 0.0)
    with jax.enable_x64(wide):
        sizes = {"chains": CHAINS, "warmup": 60, "draws": 10, "progress": False}
        run = snaper.sample(targets.get(NAME), preset="paper", **sizes)  # quick to compile
        assert isinstance(chosen(run), cores.Parts)
    assert run.unconstrained.dtype == (np.float64 if wide else np.float32)
    assert np.isfinite(run.unconstrained).all()


def test_another_run_compiles_nothing(two_cores, monkeypatch, compilations):
    monkeypatch.setattr(cores, "_WORTH", 0.0)
    sizes = {"chains": CHAINS, "warmup": 60, "progress": False}
    snaper.sample(targets.get(NAME), draws=100, **sizes)
    compilations()
    snaper.sample(targets.get(NAME), draws=150, seed=1, chunk=40, **sizes)
    assert not [name for name in compilations() if "advance" in name or "together" in name]


@pytest.mark.parametrize("keep", ["draws", "moments"])
def test_a_run_goes_on_with_the_same_bits(keep, two_cores, monkeypatch, tmp_path):
    monkeypatch.setattr(cores, "_WORTH", 0.0)
    target, sizes = targets.get(NAME), {"chains": CHAINS, "warmup": 60, "keep": keep, "chunk": 20}
    whole = snaper.sample(target, draws=100, progress=False, **sizes)
    snaper.sample(target, draws=40, store=tmp_path / "run.zarr", progress=False, **sizes)
    more = snaper.resume(tmp_path / "run.zarr", target, draws=100, progress=False)
    np.testing.assert_array_equal(more.state.chains.x, whole.state.chains.x)
    np.testing.assert_array_equal(more.unconstrained, whole.unconstrained)
    np.testing.assert_array_equal(more.moments.mean, whole.moments.mean)


def test_sampling_until_a_condition_holds(two_cores, monkeypatch):
    monkeypatch.setattr(cores, "_WORTH", 0.0)
    sizes = {"chains": CHAINS, "warmup": 150, "progress": False}
    until = snaper.Until(rhat=None, ess=1000, max_draws=2000)
    run = snaper.sample(targets.get(NAME), until=until, **sizes)
    assert run.stopped.draws == run.unconstrained.shape[1] == run.moments.num_draws
    first = snaper.sample(targets.get(NAME), draws=run.stopped.draws, **sizes)
    np.testing.assert_array_equal(run.unconstrained, first.unconstrained)

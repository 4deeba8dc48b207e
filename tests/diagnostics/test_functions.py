"""Conditions on functions of the parameters."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import NUM_CHAINS, normal_model, one_sentence

import snaper
from snaper import Until
from snaper.diagnostics import functions
from snaper.diagnostics.ess import nested_rhat, split_rhat

SIZES = {"chains": NUM_CHAINS, "warmup": 150, "progress": False, "seed": 5}
TARGET = normal_model()


def sample(**changes):
    return snaper.sample(TARGET, **{**SIZES, **changes})


def ratio(p):
    """Large against its spread, so that float32 would lose it without a centre."""
    return {"ratio": 1000.0 + p["mean"] / p["scale"], "above": p["scale"] > 0.5}


def stored(run, of):
    """The function of every stored draw, [chain, draw, value]."""
    if not callable(of):
        values = [run.draws[name] for name in of]
    else:
        returned = of(run.draws | {"scale": run.draws["scale"][..., None]})
        values = [*returned.values()] if isinstance(returned, dict) else [returned]
    shape = run.unconstrained.shape[:2]
    flat = [np.asarray(v, float).reshape(*shape, -1) for v in values]
    return np.concatenate(flat[::-1] if callable(of) else flat, axis=-1)  # dicts by sorted name


@pytest.mark.parametrize("of", [ratio, ["scale"], ("mean", "scale")])
@pytest.mark.parametrize("superchains", [None, 4])
def test_followed_numbers_are_those_of_stored_draws(of, superchains):
    run = sample(until=Until(rhat=None, max_draws=90, of=of), superchains=superchains)
    asked = run.watch.asked()
    values = stored(run, of)
    at = int(run.watch.look().split_at)
    if superchains is None:
        expected = split_rhat(values, at, np)
    else:
        expected = nested_rhat(values, superchains, np)
    np.testing.assert_allclose(asked.rhat, expected, rtol=1e-6)
    sizes = len(values) * values.var(axis=(0, 1)) / values.mean(axis=1).var(axis=0, ddof=1)
    np.testing.assert_allclose(asked.ess, sizes, rtol=1e-6)
    assert asked.nested == (superchains is not None) and asked.num_draws == 90


def test_the_condition_is_of_the_functions_alone():
    """The scale alone is sooner known than everything and its squares."""
    until = {"rhat": None, "ess": 2000, "max_draws": 3000, "every": 8}
    some, everything = sample(until=Until(**until, of="scale")), sample(until=Until(**until))
    assert some.stopped.rule == everything.stopped.rule == "converged"
    assert some.stopped.draws < everything.stopped.draws
    assert some.watch.asked().ess.min() >= 2000 > some.moments.ess_squares.min()


def test_a_limit_names_the_worst_function():
    run = sample(until=Until(ess=1e9, max_draws=60, of=lambda p: {"product": p["mean"]}))
    (sentence,) = [str(finding) for finding in run.findings if finding.topic == "limit"]
    assert "R-hat of product[" in sentence and "size, of product[" in sentence


def test_another_run_with_the_same_function_compiles_nothing(compilations):
    sample(until=Until(rhat=1.05, of=ratio))
    compilations()
    sample(until=Until(rhat=1.1, of=ratio), seed=8)
    assert compilations() == []


def test_the_centre_is_not_lost_in_a_long_tail():
    """Relative to their mean, float32 could not tell the first three."""
    values = jnp.asarray([[1.0], [2.0], [3.0], [1e9], [1e10]], jnp.float32)
    assert functions.centre(values) == 3.0


def test_a_function_that_never_changes_is_named_and_never_converges():
    run = sample(until=Until(rhat=1.5, max_draws=40, of=lambda p: {"one": p["scale"] > 0}))
    assert run.stopped.rule == "max_draws"
    constant, limit = (f.sentence for f in run.findings if f.topic in ("constant", "limit"))
    assert constant.startswith(f"one never changed in {NUM_CHAINS} of {NUM_CHAINS} chains")
    assert "one has no R-hat, since it never changed" in limit and one_sentence(limit)


def total(p):
    return jnp.sum(p["mean"])


NAMES = {
    "a parameter": (["scale"], ("scale",)),
    "one name": ("mean", ("mean[0]", "mean[1]")),
    "a function": (total, ("total",)),
    "a lambda": (lambda p: p["mean"], ("function[0]", "function[1]")),
    "a list": (lambda p: [p["scale"], p["mean"]], ("function.0", "function.1[0]", "function.1[1]")),
    "a dict": (lambda p: {"a": {"b": p["scale"]}, "c": 2}, ("a.b", "c")),
}


@pytest.mark.parametrize("what", NAMES)
def test_values_have_names(what):
    of, names = NAMES[what]
    assert functions.choose(TARGET, of).names == names


BAD = {
    "unknown name": (["sigma"], ValueError, "of names 'sigma', which is not among mean, scale."),
    "no names": ([], TypeError, "of must hold names of parameters or be a function, not"),
    "not names": ([3], TypeError, "of must hold names of parameters or be a function, not"),
    "a number": (3.0, TypeError, "of must hold names of parameters or be a function, not 3.0"),
    "nothing returned": (lambda p: None, ValueError, "of must return at least one number"),
    "unknown key": (lambda p: p["sigma"], ValueError, "of asks for 'sigma', but a draw is a dict"),
    "a value": (lambda p: float(p["scale"]), TypeError, "of must be computed by jax.numpy alone"),
    "a word": (lambda p: {"a": "high"}, TypeError, "of must return real numbers, .* not str"),
    "complex": (lambda p: p["scale"] * 1j, TypeError, "of must return real .* not complex128"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_followed_is_refused_in_one_sentence(what, compilations):
    of, kind, message = BAD[what]
    with pytest.raises(kind, match=message) as caught:
        sample(until=Until(of=of))
    assert one_sentence(str(caught.value))

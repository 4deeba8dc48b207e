"""Small promises: one sentence for bad input, no silent promotion, no surprises."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from helpers import NUM_CHAINS, normal_model, one_sentence

import snaper
from snaper import Target, config

SIZES = {"chains": NUM_CHAINS, "warmup": 20, "draws": 10, "progress": False}


@pytest.mark.compiler
def test_held_transitions_take_one_leapfrog_step():
    """Also where the compiler rounds two copies of one step size differently."""
    run = snaper.sample(normal_model(), **{**SIZES, "warmup": 60}, preset="paper")
    np.testing.assert_array_equal(run.warmup_stats["n_steps"], 1)


def test_summary_without_draws():
    """As after Ctrl-C in warm-up."""
    run = snaper.sample(normal_model(), **{**SIZES, "draws": 0})
    assert "0 draws" in str(run.summary())


@pytest.mark.parametrize("preset", [config.default(), config.paper()], ids=["default", "paper"])
def test_no_dtype_is_promoted_silently(preset, monkeypatch):
    """Strict promotion everywhere but inside optax, which does not cope with it."""
    original = optax.scale_by_adam

    def lenient(*args, **kwargs):
        adam = original(*args, **kwargs)

        def update(*args, **kwargs):
            with jax.numpy_dtype_promotion("standard"):
                return adam.update(*args, **kwargs)

        return optax.GradientTransformation(adam.init, update)

    monkeypatch.setattr(optax, "scale_by_adam", lenient)
    with jax.numpy_dtype_promotion("strict"):
        run = snaper.sample(normal_model(), **SIZES, preset=preset)
        run.summary()


def test_names_that_collide_are_refused_or_kept_apart():
    """Else one of the two would be lost from the draws."""
    like = {"a.b": 1.0, "a": {"b": 2.0}}
    try:
        target = Target(lambda p: -(p["a.b"] ** 2) - p["a"]["b"] ** 2, like)
    except ValueError as error:
        assert one_sentence(str(error))
    else:
        assert len(target.constrain(jnp.zeros(2))) == 2


def test_few_warm_up_transitions_do_not_change_by_infinity():
    run = snaper.sample(normal_model(), **{**SIZES, "warmup": 5})
    assert not [str(f) for f in run.findings if "inf" in str(f).split()]


def test_a_negative_criterion_is_climbed_too():
    """The size of a criterion is divided out, not its sign."""

    def negative(x, x_new, t, *, weight):
        return -1.0 / (1e-3 + snaper.criteria.esjd(x, x_new, t, weight=weight))

    run = snaper.sample(normal_model(), **{**SIZES, "warmup": 300}, criterion=negative)
    steps = run.warmup_stats["mean_trajectory_length"] / run.warmup_stats["step_size"]
    assert steps[0, -50:].mean() > 2.0


BAD = {
    "log density of None": (lambda: Target(lambda p: None, {"a": 1.0}), "log_density"),
    "words in like": (lambda: Target(lambda p: p["a"], {"a": "one"}), "like"),
    "words in data": (lambda: Target(lambda p, d: p["a"], {"a": 1.0}, "one"), "data"),
    "huge seed": (lambda: snaper.sample(normal_model(), **SIZES, seed=2**70), "seed"),
    "batch of keys": (
        lambda: snaper.sample(normal_model(), **SIZES, seed=jax.random.split(jax.random.key(0), 2)),
        "seed",
    ),
    "fractional max_leapfrog": (
        lambda: snaper.sample(normal_model(), **SIZES, max_leapfrog=2.5),
        "max_leapfrog",
    ),
    "words for target_accept": (
        lambda: snaper.sample(normal_model(), **SIZES, target_accept="high"),
        "target_accept",
    ),
    "tuning as a dict": (
        lambda: snaper.sample(normal_model(), **SIZES, tuning={"step_size": 1.0}),
        "tuning",
    ),
    "tuning of mixed sizes": (
        lambda: snaper.sample(
            normal_model(),
            **SIZES,
            tuning=snaper.Tuning(0.1, 1.0, np.ones(2), np.zeros(3), np.ones(3)),
        ),
        "tuning",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_named_in_one_sentence(what):
    make, word = BAD[what]
    with pytest.raises((TypeError, ValueError), match=word) as caught:
        make()
    assert one_sentence(str(caught.value))


def test_cap_of_the_paper_preset_is_its_own():
    """Also from given tuning, when no transition is held at one step."""
    cap = config.paper().cap(jnp.asarray(0), jnp.asarray(0), jnp.asarray(True))
    assert int(cap) == 1000


def test_the_algorithm_by_hand():
    """init and step are all there is; the target may be an argument or a constant."""
    target, chosen = normal_model(), config.paper()  # which takes less time to compile
    state = snaper.init(jax.random.key(0), target, chosen)
    by_argument = jax.jit(snaper.step, static_argnums=1)(target, chosen, state)
    by_constant = jax.jit(snaper.step, static_argnums=(0, 1))(target, chosen, state)
    assert by_argument[0].chains.x.shape == (64, target.dim)
    np.testing.assert_allclose(by_argument[0].chains.x, by_constant[0].chains.x, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_many_short_chains_are_not_called_stuck(seed):
    sizes = {"chains": 256, "warmup": 200, "draws": 3, "progress": False}
    run = snaper.sample(normal_model(), **sizes, seed=seed)
    assert not {"stuck", "constant"} & {finding.topic for finding in run.findings}


def test_limits_are_whole_numbers():
    assert snaper.Until(max_draws=1e3).max_draws == 1000
    with pytest.raises(ValueError, match="every must be a whole number"):
        snaper.Until(every=2.5)

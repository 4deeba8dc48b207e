"""Log densities that break samplers: each is sampled correctly, or ends soon with a finding or an
error of its own. None hangs, and none returns chains that stand still without a word.

Correct means that the means of x and of its square are within five standard errors of the truth,
told by how the 64 chains differ: for four numbers of one run a false alarm once in 5e4. Seeds are
fixed. One log density serves all, so that it is compiled once for each precision.
"""

import re
import traceback

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import errors_off, one_sentence
from jax.scipy.special import gammaln

import snaper

pytestmark = [pytest.mark.statistical, pytest.mark.timeout(120)]
CHAINS = 64


def normal(x):
    return -0.5 * jnp.sum(x**2)


def wall(outside):
    """A normal with something else than a density beyond x[0] = 1."""
    return lambda x: jnp.where(x[0] > 1.0, outside, normal(x))


def no_slope(x):
    """A normal whose gradient is NaN below x[0] = -1, where it is differentiated as 0 * inf."""
    return normal(x) + 0.0 * jnp.sqrt(jnp.maximum(x[0] + 1.0, 0.0))


def box(x):
    return jnp.where(jnp.all(jnp.abs(x) < 3.0), 0.0 * x[0], -jnp.inf)


def basin(x):
    """A normal, and far below it a wide flat basin that chains cannot leave."""
    flat = -1000.0 - 1e-3 * jnp.sum((x - 500.0) ** 2)
    return jnp.where(x[0] < 200.0, normal(x), flat)


COUNTS = np.random.default_rng(0).poisson(3.0, 200).astype(float)


def counts(x):
    """Of a negative binomial, which are as good as Poisson: of differences between its terms single
    precision has no digits left where exp(-2 x[0]) is large.
    """
    width, mean = jnp.exp(x[0]), jnp.exp(x[1])
    shape, values = width**-2.0, jnp.asarray(COUNTS, x.dtype)
    each = gammaln(shape + values) - gammaln(shape) + shape * jnp.log(shape / (shape + mean))
    each += values * jnp.log(mean / (shape + mean))
    return jnp.sum(each) + normal(width[None]) + x[0] - x[1] ** 2 / 8.0


LAWS = {
    "NaN region": wall(jnp.nan),
    "-inf region": wall(-jnp.inf),
    "+inf region": wall(jnp.inf),
    "NaN gradient": no_slope,
    "cliff": lambda x: jnp.where(x[0] < 0.0, -jnp.inf, -x[0]) - 0.5 * x[1] ** 2,
    "tiny support": lambda x: jnp.where(jnp.all(jnp.abs(x - 1.0) < 1e-3), normal(x), -jnp.inf),
    "overflow everywhere": lambda x: -jnp.exp(1e4 + jnp.sum(x**2)),
    "overflow nearby": lambda x: -jnp.sum(jnp.exp(20.0 * x**2)),
    "constant": lambda x: 0.0 * jnp.sum(x),
    "unused coordinate": lambda x: -0.5 * x[0] ** 2,
    "box": box,
    "stairs": lambda x: -0.5 * jnp.sum(jnp.floor(x) ** 2),
    "ridge": lambda x: -0.5 * (x[0] + x[1]) ** 2,
    "improper tails": lambda x: -0.25 * jnp.sum(jnp.log1p(x**2)),
    "wrong sign": lambda x: -normal(x),
    "exponential growth": lambda x: jnp.exp(jnp.sum(x**2)),
    "linear growth": lambda x: jnp.sum(x),
    "far modes": lambda x: jnp.logaddexp(normal(x - 10.0), normal(x + 10.0)),
    "near modes": lambda x: jnp.logaddexp(normal(x - 2.5), normal(x + 2.5)),
    "funnel": lambda x: -((x[0] / 3.0) ** 2 + x[0] + x[1] ** 2 * jnp.exp(-x[0])) / 2.0,
    "large": lambda x: normal(x) + 1e8,
    "large and negative": lambda x: normal(x) - 1e8,
    "scales": lambda x: normal(x * jnp.array([1e8, 1e-8], x.dtype)),
    "plateau": lambda x: -0.5 * jnp.sum(jnp.maximum(jnp.abs(x) - 1.0, 0.0) ** 2),
    "kink": lambda x: -jnp.sum(jnp.abs(x)),
    "jump": lambda x: normal(x) + jnp.where(x[0] > 0.0, 1.0, 0.0),
    "Cauchy": lambda x: -jnp.sum(jnp.log1p(x**2)),
    "Student-t 2": lambda x: -1.5 * jnp.sum(jnp.log1p(0.5 * x**2)),
    "basin": basin,
    "counts": counts,
}


def log_density(x, law):
    return jax.lax.switch(law, list(LAWS.values()), x)


def sample(law, dtype=np.float64, **changes):
    target = snaper.Target(log_density, np.zeros(2, dtype), np.asarray([*LAWS].index(law)))
    sizes = {"chains": CHAINS, "warmup": 500, "draws": 500, "progress": False}
    return snaper.sample(target, **{**sizes, **changes})


def correct(run, mean, square):
    x = run.unconstrained.astype(np.float64)
    mixed = np.all(run.moments.rhat < 1.1)
    return bool(mixed and errors_off(x, mean) < 5.0 and errors_off(x**2, square) < 5.0)


def said(run, topic):
    """What the run says of a topic, or nothing; all of it in whole sentences."""
    assert all(one_sentence(str(finding)) for finding in run.findings)
    return " ".join(str(finding) for finding in run.findings if finding.topic == topic)


def topics(run):
    return {finding.topic for finding in run.findings}


def loops(x):
    """A normal summed up in forty turns of two loops, which do not need each other; in each a
    branch that the number of the turn decides, and so for all chains at once.
    """

    def turn(total, numbered):
        number, entry = numbered
        half, quarter = (lambda e: -0.5 * e**2), (lambda e: -0.25 * e**2)
        return total + jax.lax.cond(number % 2 == 0, half, quarter, entry) / 15.0, None

    def whole(entries):
        numbered = jnp.arange(40), jnp.tile(entries, (40, 1))
        return jax.lax.scan(turn, jnp.zeros_like(entries), numbered)[0].sum()

    return whole(x[:3]) + whole(x[3:])


def test_loops_beside_each_other_come_to_an_end():
    """Which a device may run at the same time."""
    target = snaper.Target(loops, np.zeros(6, np.float32))
    run = snaper.sample(target, chains=CHAINS, warmup=300, draws=300, progress=False)
    assert correct(run, 0.0, 0.5)


JUMP = np.sqrt(2.0 / np.pi) * np.tanh(0.5)
HALF = np.sqrt(np.pi / 2.0)  # of a normal's mass, on one side of a plateau
KNOWN = {
    "large": (0.0, 1.0),
    "large and negative": (0.0, 1.0),
    "scales": (0.0, np.array([1e-16, 1e16])),
    "plateau": (0.0, (2.0 / 3.0 + 4.0 * HALF + 4.0) / (2.0 + 2.0 * HALF)),
    "kink": (0.0, 2.0),
    "jump": (np.array([JUMP, 0.0]), 1.0),
}


@pytest.mark.parametrize("law", KNOWN)
def test_what_is_unusual_but_proper_is_sampled_correctly(law):
    run = sample(law)
    assert correct(run, *KNOWN[law])
    assert topics(run) <= {"held-back", "not-settled"}


@pytest.mark.parametrize(("law", "inside"), [("Cauchy", 0.5), ("Student-t 2", 1.0 / np.sqrt(3.0))])
def test_heavy_tails_have_the_right_mass_within_one(law, inside):
    """They have no variance, and the first no mean."""
    run = sample(law, draws=2000)
    assert errors_off(np.abs(run.unconstrained) < 1.0, inside) < 5.0
    assert errors_off(run.unconstrained > 0.0, 0.5) < 5.0


EDGE = np.exp(-0.5) / np.sqrt(2.0 * np.pi) / 0.8413447460685429  # density over mass below one
WALLS = {
    "NaN region": (r"log density is nan at x = \[1\.", ([-EDGE, 0.0], [1.0 - EDGE, 1.0])),
    "-inf region": (r"log density is -inf at x = \[1\.", ([-EDGE, 0.0], [1.0 - EDGE, 1.0])),
    "+inf region": (r"log density is inf at x = \[1\.", ([-EDGE, 0.0], [1.0 - EDGE, 1.0])),
    "NaN gradient": (
        r"is -\d.* and its gradient is not finite with respect to x = \[-1\.",
        ([EDGE, 0.0], [1.0 - EDGE, 1.0]),
    ),
    "cliff": (r"log density is -inf at x = \[-", ([1.0, 0.0], [2.0, 1.0])),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("law", WALLS)
def test_beyond_a_wall_nothing_is_sampled_and_the_wall_is_told(law, dtype):
    """What stands beyond it, at which point; and what it did to step sizes, unless chains mixed."""
    words, truth = WALLS[law]
    run = sample(law, dtype)
    beyond = {"cliff": -np.inf, "NaN gradient": -np.inf}.get(law, 1.0)
    assert np.isfinite(run.unconstrained).all() and run.stats["lp"].max() <= 0.0
    assert beyond < 0.0 or run.unconstrained[..., 0].max() <= beyond
    assert re.search(words, said(run, "starts"))
    told = said(run, "acceptance")
    assert correct(run, *truth) or ("left the support" in told and "give constraints=" in told)


NOWHERE = {
    "tiny support": r"64 of 64 chains .* 100 attempts: .* is -inf at x = \[",
    "overflow everywhere": r"is -inf and its gradient is not finite with respect to x = \[",
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("law", NOWHERE)
def test_a_density_without_a_start_is_an_error(law, dtype):
    with pytest.raises(snaper.InitializationError, match=NOWHERE[law]) as caught:
        sample(law, dtype)
    assert one_sentence(str(caught.value)) and "give init=" in str(caught.value)


def test_a_tiny_support_is_sampled_from_a_start_inside():
    """As the remedy says; the wall around it is told."""
    run = sample("tiny support", init=np.ones(2))
    assert np.abs(run.unconstrained - 1.0).max() < 1e-3
    assert "left the support" in said(run, "divergences") + said(run, "acceptance")


TOLD = {
    "constant": ("flat", ["x[0], x[1] is zero", "give it a prior"]),
    "unused coordinate": ("flat", ["respect to x[1] is zero", "give it a prior"]),
    "box": ("flat", ["x[0], x[1] is zero"]),
    "stairs": ("flat", ["x[0], x[1] is zero", "smoothly"]),
    "ridge": ("not-mixed", ["R-hat of x[", "e+0", "hardly depends on"]),
    "improper tails": ("not-mixed", ["R-hat of x[", "e+0", "hardly depends on"]),
    "wrong sign": ("unbounded", ["grows outward along x[", "check its sign"]),
    "exponential growth": ("unbounded", ["grows outward along x[", "check its sign"]),
    "linear growth": ("unbounded", ["The log density is about", "without bound"]),
    "far modes": ("not-mixed", ["R-hat of x[", "separate modes"]),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("law", TOLD)
def test_what_cannot_be_sampled_is_told(law, dtype):
    """By a finding that names the parameter, its value, and what to do."""
    topic, words = TOLD[law]
    told = said(sample(law, dtype), topic)
    assert all(word in told for word in words), told


@pytest.mark.parametrize("law", ["large", "large and negative"])
def test_digits_lost_to_a_large_constant_are_told(law):
    """In single precision the last digit of 1e8 is worth 12: any move is accepted."""
    told = said(sample(law, np.float32), "precision")
    assert "last digit is worth 12" in told and "subtract a constant" in told


def test_places_too_far_from_zero_for_their_digits_are_told():
    """At 3e7 single precision has every second whole number, and the target has a width of one."""
    target = snaper.Target(offset, jnp.zeros(2, np.float32), np.full(2, 3e7, np.float32))
    sizes = {"chains": CHAINS, "warmup": 500, "draws": 100, "progress": False}
    told = said(snaper.sample(target, **sizes), "precision")
    assert "subtract an offset" in told and "jax_enable_x64" in told


def offset(x, centre):
    return -0.5 * jnp.sum((x - centre) ** 2)


def test_digits_lost_in_one_place_are_told_where_it_is():
    """Chains stand where rounding made places for them, in each of eight runs."""
    told = said(sample("counts", np.float32, warmup=1000), "precision")
    assert "of a tiny move from x[0] = -" in told and "jax_enable_x64" in told


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extreme_scales_are_sampled_in_either_precision(dtype):
    assert correct(sample("scales", dtype, warmup=1000), *KNOWN["scales"])


def test_gradients_whose_squares_overflow_are_told_or_correct():
    """At |x| = 2, where chains may begin, they are 1e36, and in single precision 1e38 is most."""
    run = sample("overflow nearby", np.float32, warmup=1000)
    grid = np.linspace(-1.0, 1.0, 20001)
    weight = np.exp(-np.exp(20.0 * grid**2))
    square = np.sum(weight * grid**2) / np.sum(weight)
    if np.isfinite(run.tuning.step_size):
        assert correct(run, 0.0, square) or "not-mixed" in topics(run)
    else:
        told = said(run, "overflow")
        assert "step size of nan" in told and "jax_enable_x64" in told


@pytest.mark.parametrize("law", ["funnel", "near modes"])
def test_slow_mixing_is_told_or_correct(law):
    run = sample(law)
    truth = {"funnel": ([0.0, 0.0], [9.0, np.exp(4.5)]), "near modes": (0.0, 1.0 + 2.5**2)}[law]
    assert correct(run, *truth) or {"divergences", "not-mixed"} & topics(run)


def lost(number):
    """Starts of which so many lie in the basin."""
    starts = np.random.default_rng(0).normal(size=(CHAINS, 2))
    starts[:number] = 500.0
    return starts


@pytest.mark.parametrize("number", [1, 16])
def test_chains_lost_in_warm_up_are_moved_and_told(number):
    run = sample("basin", init=lost(number))
    told = said(run, "reseeded")
    assert f"{number} of {CHAINS} chains" in told and "second mode" in told
    assert correct(run, 0.0, 1.0)


def test_a_chain_lost_in_sampling_stays_and_is_told():
    """To move it would favour the places that the others are in."""
    tuning = sample("basin").tuning
    run = sample("basin", init=lost(1), tuning=tuning, warmup=0)
    assert "1 of 64 chains (number 0) stayed far below" in said(run, "outside")
    assert "reseeded" not in topics(run)
    assert run.unconstrained[0].min() > 200.0 > run.unconstrained[1:].max()
    assert errors_off(run.unconstrained[1:] ** 2, 1.0) < 5.0


@pytest.mark.parametrize(("warmup", "topic"), [(0, "no-warmup"), (1, "short-warmup")])
def test_almost_no_warm_up_is_told(warmup, topic):
    run = sample("kink", warmup=warmup)
    assert "warmup=" in said(run, topic)
    assert np.isfinite(run.unconstrained).all()


@pytest.mark.parametrize("law", ["Cauchy", "-inf region", "wrong sign"])
def test_two_chains_get_through_anything(law):
    run = sample(law, chains=2)
    assert "With 2 chains" in said(run, "few-chains")
    assert np.isfinite(run.unconstrained).all() and np.ptp(run.unconstrained, axis=1).min() > 0.0


def line(x):
    return -x - jnp.exp(-x)


def test_one_dimension():
    run = snaper.sample(snaper.Target(line, 0.0), warmup=500, draws=500, progress=False)
    assert run.draws["x"].shape == (CHAINS, 500) and run.findings == []
    assert correct(run, np.euler_gamma, np.pi**2 / 6.0 + np.euler_gamma**2)


def faulty_model():
    raise ZeroDivisionError("in the model")


def faulty(x):
    return faulty_model() * x


@pytest.mark.parametrize(
    "start", [lambda: snaper.Target(faulty, 0.0), None], ids=["Target", "NumPyro"]
)
def test_an_exception_in_a_model_is_the_users_own(start):
    start = start or (lambda: snaper.sample(faulty_model, warmup=1, draws=1, progress=False))
    with pytest.raises(ZeroDivisionError, match="in the model") as caught:
        start()
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert frames[-1] == "faulty_model"

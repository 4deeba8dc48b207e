"""The criterion of the function that mixes worst, against closed forms for a standard normal."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import quadrature, quartic

from snaper import criteria, hmc
from snaper.metric import Diagonal
from snaper.slowest import Slowest

pytestmark = pytest.mark.usefixtures("strict")

DIM = 2
DIAGONAL = (0.6, 0.8)  # a principal component along neither axis
PLAIN = Slowest(reach=np.inf, far=np.inf)  # functions that do not level off have closed forms
SQUARES = replace(PLAIN, powers=(2,))

X, V, WEIGHT = quadrature(DIM)


def transition(start, proposal, velocity, accept=None):
    ones = jnp.ones(len(start))
    arrays = map(jnp.asarray, (start, proposal, velocity))
    accept = ones if accept is None else jnp.asarray(accept)
    return hmc.Transition(*arrays, accept, ones > 0, ones < 0, ones, 1)


def exact_flow(t, speed=1.0, axes=None):
    """Hamiltonian flow of a standard normal, at different speeds along the given axes."""
    axes = np.eye(DIM) if axes is None else axes
    cos, sin = np.cos(np.multiply(speed, t)), np.sin(np.multiply(speed, t))
    x1, v1 = X * cos + V * sin, speed * (V * cos - X * sin)
    return transition(X @ axes.T, x1 @ axes.T, v1 @ axes.T)


@partial(jax.jit, static_argnums=0)
def _update(criterion, memory, seen, t, weight, mean, direction, rounding, length, one_step, step):
    return criterion.update(
        memory, seen, t, weight, mean, direction, rounding, length, one_step, step
    )


def update(
    seen,
    t,
    *,
    length=None,
    rounding=0.0,
    weight=WEIGHT,
    mean=0.0,
    direction=DIAGONAL,
    criterion=SQUARES,
    memory=None,
    step=0,
    one_step=False,
):
    """What one transition teaches; at step 0 nothing else counts."""
    memory = criterion.init(seen.start) if memory is None else memory
    length = t if length is None else length
    arrays = (t, weight, np.broadcast_to(mean, DIM), direction, rounding, length)
    return _update(
        criterion,
        memory,
        seen,
        *(jnp.asarray(part, seen.start.dtype) for part in arrays),
        jnp.asarray(one_step),
        jnp.asarray(step, jnp.int32),
    )


def assert_same(here, there):
    """In all but the spread, which has units."""
    (known, told), (known_there, told_there) = here, there
    for name in ("jump", "slope", "mean", "square", "direction"):
        np.testing.assert_allclose(getattr(known, name), getattr(known_there, name), rtol=1e-9)
    np.testing.assert_allclose(told_there, told, rtol=1e-9)


@pytest.mark.parametrize("t", [1.0, 1.5, 1.8])
def test_value_and_slope_match_the_closed_form(t):
    """1 - rho = 1 - cos(t)^2 = sin(t)^2 for the square of any coordinate."""
    memory, (value, slope) = update(exact_flow(t), t, rounding=0.1)
    loss, cost = np.sin(t) ** 2, t + 0.1
    np.testing.assert_allclose(memory.mean, 1.0)
    np.testing.assert_allclose(memory.square - memory.mean**2, 2.0)
    np.testing.assert_allclose(memory.jump / 4.0, loss)
    np.testing.assert_allclose(value, loss / (2 - loss) / cost)
    log_slope = t * np.sin(2 * t) * (1 / loss + 1 / (2 - loss)) - t / cost
    np.testing.assert_allclose(slope, value * log_slope, atol=1e-12)


@pytest.mark.parametrize(("t", "sign"), [(0.05, 1), (0.3, 1), (2.5, -1), (3.0, -1)])
def test_slopes_are_bounded_and_point_towards_the_best_length(t, sign):
    """Near 0 the rate rises as t^2 / t; near pi it falls without bound, which is of no use."""
    _, (value, slope) = update(exact_flow(t), t)
    assert 0.9 < sign * slope / value < 10.0


def jittered(length, nodes=16):
    """Times uniform on (0, 2 length), by quadrature: an ensemble in which chains differ in time,
    whose velocities are in units of it.
    """
    points, weights = np.polynomial.legendre.leggauss(nodes)
    times = length * (1.0 + points)
    flows = [exact_flow(t) for t in times]
    seen = transition(
        np.concatenate([flow.start for flow in flows]),
        np.concatenate([flow.proposal for flow in flows]),
        np.concatenate([t * flow.velocity for t, flow in zip(times, flows, strict=True)]),
    )
    return seen, np.outer(weights / 2.0, WEIGHT).ravel()


def rate(length, step_size, power=2):
    """ESS^max per unit of time: 1 - rho is the mean of sin^2 over (0, 2 length) for squares, of
    1 - cos for coordinates themselves.
    """
    loss = 1.0 - np.sin(2.0 * power * length) / (2.0 * power * length)
    loss = loss / power
    return loss / (2.0 - loss) / (length + 0.5 * step_size)


@pytest.mark.parametrize("t", [0.3, 1.0, 1.5])
def test_coordinates_themselves_count_beside_their_squares(t):
    """1 - rho = 1 - cos(t), which is less than sin(t)^2 below a quarter of a turn."""
    memory, (value, _) = update(exact_flow(t), t, criterion=replace(PLAIN, few=1))
    coordinates, squares = np.split(memory.jump / 2.0 / (memory.square - memory.mean**2), 2)
    np.testing.assert_allclose(coordinates, 1.0 - np.cos(t))
    np.testing.assert_allclose(squares, np.sin(t) ** 2)
    np.testing.assert_allclose(value, (1.0 - np.cos(t)) / (1.0 + np.cos(t)) / t)


def test_the_best_length_for_both_is_where_they_mix_as_well():
    """Shorter, coordinates would mix worse; longer, their squares, whose own best is shorter."""
    lengths = np.linspace(0.5, 1.5, 10_001)
    worse = np.minimum(rate(lengths, 0.0, 1), rate(lengths, 0.0, 2))
    best = lengths[np.argmax(worse)]
    assert best == pytest.approx(1.0696, abs=2e-4)
    slopes = []
    for length in (0.99 * best, 1.01 * best):
        seen, weight = jittered(length)
        _, (value, slope) = update(
            seen, 1.0, length=length, weight=weight, criterion=replace(PLAIN, few=1)
        )
        np.testing.assert_allclose(
            value, min(rate(length, 0.0, 1), rate(length, 0.0, 2)), rtol=1e-6
        )
        slopes.append(slope / value)
    assert slopes[0] > 0.1 and slopes[1] < -0.1


@pytest.mark.parametrize(("step_size", "best"), [(0.0, 0.8886), (0.1, 0.9029), (0.5, 0.9435)])
def test_the_best_length_with_jitter_is_where_the_slope_is_zero(step_size, best):
    lengths = np.linspace(0.5, 1.5, 10_001)
    assert lengths[np.argmax(rate(lengths, step_size))] == pytest.approx(best, abs=2e-4)
    slopes = []
    for length in (0.99 * best, best, 1.01 * best):
        seen, weight = jittered(length)
        rounding = 0.5 * step_size
        _, (value, slope) = update(seen, 1.0, length=length, rounding=rounding, weight=weight)
        np.testing.assert_allclose(value, rate(length, step_size), rtol=1e-6)
        slopes.append(slope / value)
    assert slopes[0] > 5e-3 and abs(slopes[1]) < 5e-4 and slopes[2] < -5e-3


def normal(x):
    return -0.5 * jnp.sum(x**2)


@pytest.mark.parametrize(
    ("criterion", "logp"),
    [
        (Slowest(few=6), normal),
        (replace(PLAIN, powers=(1,)), normal),
        (SQUARES, quartic),
        (Slowest(powers=(2,)), quartic),
    ],
)
def test_slope_is_the_derivative_along_the_real_trajectory(criterion, logp):
    """Finite differences between neighbouring leapfrog steps, tiny ones, some of them rejected."""
    eps, num_steps = 1e-3, 2150 if logp is normal else 1200
    x, v = jax.random.normal(jax.random.key(0), (2, 50, DIM))
    accept = 0.2 * jax.random.uniform(jax.random.key(2), (50,))  # steeper slopes are cut
    metric = Diagonal(jnp.array([0.7, 1.0]))

    @jax.jit
    def proposal(num_steps):
        chains = hmc.init(logp, x)
        end, velocity, _ = hmc.leapfrog(
            logp, chains, metric.forward(v), jnp.asarray(eps), metric, num_steps
        )
        return transition(x, end.x, velocity, accept)

    def soft_minimum(memory, length):
        """-log E[rate^-4] / 4 over functions, whose slope weighs each by its rate^-4."""
        loss = memory.jump / (memory.square - memory.mean**2) / 2
        return -0.25 * np.log(np.mean((loss / (2 - loss)) ** -4.0)) - np.log(length + 0.25)

    def told(num_steps):
        t, weight = num_steps * eps, np.ones(50)
        return update(proposal(num_steps), t, rounding=0.25, weight=weight, criterion=criterion)

    lower, upper = (soft_minimum(told(num_steps + k)[0], (num_steps + k) * eps) for k in (-1, 1))
    _, (value, slope) = told(num_steps)
    assert abs(slope / value) > 1e-2
    np.testing.assert_allclose(slope / value, num_steps * (upper - lower) / 2, rtol=1e-4)


def with_one_far_out(t, distance, speed):
    """64 chains of a standard normal, but one that is far out along the first coordinate and goes
    round fast in a narrow place there.
    """
    x, v = np.array(jax.random.normal(jax.random.key(0), (2, 64, DIM)))
    x1, v1 = x * np.cos(t) + v * np.sin(t), v * np.cos(t) - x * np.sin(t)
    x[0, 0] = distance + 0.5 * np.sin(0.3)
    x1[0, 0] = distance + 0.5 * np.sin(0.3 + speed * t)
    v1[0, 0] = 0.5 * speed * np.cos(0.3 + speed * t)
    return transition(x, x1, v1)


def test_a_chain_far_out_does_not_speak_for_all():
    """At a quarter of the best length all chains but one want to go on; that one has turned back.
    By plain squares it alone decides.
    """
    slopes = {}
    for name, criterion in {"levelled": Slowest(), "plain": SQUARES}.items():
        memory = None
        for step in range(20):  # the spread is of the chains seen before
            seen = with_one_far_out(0.25, 30.0, 8.4)
            memory, (value, slope) = update(
                seen, 0.25, weight=np.ones(64), criterion=criterion, memory=memory, step=step
            )
        slopes[name] = slope / value
    alone = update(exact_flow(0.25), 0.25, criterion=Slowest())[1]
    assert slopes["plain"] < -0.5
    np.testing.assert_allclose(slopes["levelled"], alone[1] / alone[0], atol=0.15)


def test_the_farthest_do_not_widen_the_spread():
    memory, seen = None, with_one_far_out(1.0, 30.0, 1.0)
    for step in range(40):
        memory, _ = update(
            seen, 1.0, weight=np.ones(64), criterion=Slowest(), memory=memory, step=step
        )
    assert 0.5 < memory.spread[0] < 2.0 and np.mean(seen.start[:, 0] ** 2) > 10.0


@pytest.mark.parametrize("num_chains", [1, 4])
def test_the_spread_is_known_at_once_in_a_run_that_goes_on(num_chains):
    """As at the start of one that knows nothing."""
    weight = np.where(np.arange(len(X)) < num_chains, 1.0, 0.0)
    here, there = (
        update(exact_flow(1.0), 1.0, step=step, weight=weight, criterion=Slowest())[0].spread
        for step in (0, 1000)
    )
    np.testing.assert_allclose(there, here)


@pytest.mark.parametrize("more", [0.5, 1.0])
def test_a_trajectory_costs_what_whole_steps_add_more_than_its_length(more):
    """Half a step beside the length, so that single steps do not seem cheap; a whole one where
    steps come in pairs.
    """
    for step_size in (0.0, 0.4):
        _, (value, _) = update(exact_flow(0.8), 0.8, rounding=more * step_size)
        loss = np.sin(0.8) ** 2
        np.testing.assert_allclose(value * (0.8 + more * step_size), loss / (2 - loss))


@pytest.mark.parametrize("units", [(1e-12, 1e-12), (1e12, 1e12), (1e-3, 1e4)])
def test_units_do_not_matter(units):
    """Each coordinate's own, where the principal component is one of them."""
    seen, units = exact_flow(1.0, (1.0, 0.7)), np.array(units)
    scaled = transition(seen.start * units, seen.proposal * units, seen.velocity * units)
    here, there = (update(one, 1.0, direction=(1.0, 0.0)) for one in (seen, scaled))
    assert_same(here, there)


def test_translation_changes_nothing():
    seen, far = exact_flow(1.0), np.array([50.0, -3.0])
    moved = transition(seen.start + far, seen.proposal + far, seen.velocity)
    here, there = update(seen, 1.0), update(moved, 1.0, mean=far)
    assert_same(here, there)


def test_the_chains_own_mean_is_what_counts_where_there_are_many():
    """A running mean that is 10 sd off, from the way in, hardly matters to 1250 chains."""
    seen = exact_flow(1.0)
    here, there = (update(seen, 1.0, mean=m, weight=1250 * WEIGHT) for m in (0.0, 10.0))
    np.testing.assert_allclose(there[1], here[1], rtol=0.02)


def test_the_order_of_chains_does_not_matter():
    seen, order = exact_flow(1.0), np.random.default_rng(0).permutation(len(X))
    mixed = transition(seen.start[order], seen.proposal[order], seen.velocity[order])
    here, there = update(seen, 1.0), update(mixed, 1.0, weight=WEIGHT[order])
    assert_same(here, there)


@pytest.mark.parametrize("wild", [1e200, -3.0])
def test_chains_of_weight_zero_are_left_out(wild):
    seen, counted = exact_flow(1.0), np.arange(len(X)) % 3 > 0
    weight = np.where(counted, WEIGHT, 0.0)
    other = transition(
        *(jnp.where(counted[:, None], part, wild) for part in seen[:3]),
    )
    here, there = (update(one, 1.0, weight=weight) for one in (seen, other))
    jax.tree.map(np.testing.assert_array_equal, there, here)


def test_rejected_jumps_do_not_count():
    seen, accept = exact_flow(1.0), np.full(len(X), 0.25)
    here, there = update(seen, 1.0), update(transition(*seen[:3], accept), 1.0)
    np.testing.assert_allclose(there[0].jump, 0.25 * here[0].jump)
    np.testing.assert_allclose(there[0].slope, 0.25 * here[0].slope)
    np.testing.assert_allclose(there[0].square, here[0].square)


BROKEN = {
    "all at one point": transition(0 * X, 0 * X, V),
    "all at another point": transition(0 * X + 1.0, 0 * X + 1.0, V),
    "a coordinate constant": transition(X * [1.0, 0.0], X * [1.0, 0.0], V),
    "no one moves": transition(X, X, V),
    "not a number": transition(X, X + np.nan, V),
    "overflow": transition(X, X * 1e200, V),
}


@pytest.mark.parametrize("what", BROKEN)
@pytest.mark.parametrize("one_step", [False, True])
def test_a_transition_that_says_nothing_does_no_lasting_harm(what, one_step):
    """The criterion stays finite, at the very first transition too, and soon is what it was."""
    chosen = {"criterion": Slowest()}
    memory, told = None, update(exact_flow(1.0), 1.0, **chosen)[1]
    for step in range(300):
        seen = BROKEN[what] if step < 10 else exact_flow(1.0)
        held = one_step and step < 20
        memory, now = update(seen, 1.0, memory=memory, step=step, one_step=held, **chosen)
        assert np.isfinite(np.concatenate([part.ravel() for part in memory])).all()
        assert now[0] > 0 and np.isfinite(now[1])
    np.testing.assert_allclose(now, told, rtol=0.02)


@pytest.mark.parametrize("what", ["not a number", "overflow"])
def test_what_is_not_finite_changes_nothing(what):
    known, told = update(exact_flow(1.0), 1.0)
    after = update(BROKEN[what], 1.0, memory=known, step=1)
    assert_same(after, (known, told))


def test_while_held_at_one_step_only_the_newest_transition_counts():
    old, _ = update(exact_flow(0.2), 0.2)
    held, _ = update(exact_flow(1.0), 1.0, memory=old, step=30, one_step=True)
    free, _ = update(exact_flow(1.0), 1.0, memory=old, step=30)
    np.testing.assert_allclose(held.jump, 4 * np.sin(1.0) ** 2)
    assert np.all(free.jump < held.jump) and np.all(free.jump > old.jump)


def test_expectations_go_back_over_the_last_fortieth_of_the_steps():
    """From step 2000 to 2200 of another kind, a share of (2000 / 2200)^40 of the old is left."""
    memory, _ = update(exact_flow(0.2), 0.2)
    for step in range(2000, 2200):
        memory, _ = update(exact_flow(1.0), 1.0, memory=memory, step=step)
    left = (4 * np.sin(1.0) ** 2 - memory.jump) / (4 * np.sin(1.0) ** 2 - 4 * np.sin(0.2) ** 2)
    np.testing.assert_allclose(left, (2000 / 2200) ** 40, rtol=0.1)


ANGLE = np.arctan2(DIAGONAL[1], DIAGONAL[0])
TURN = np.array([[np.cos(ANGLE), -np.sin(ANGLE)], [np.sin(ANGLE), np.cos(ANGLE)]])
HARD = {
    "first coordinate": (exact_flow(1.0, (0.3, 1.0)), (1.0, 0.0)),
    "second coordinate": (exact_flow(1.0, (1.0, 0.3)), (0.0, 1.0)),
    "principal component": (exact_flow(1.0, (0.3, 1.0), TURN), DIAGONAL),
}


@pytest.mark.parametrize("what", HARD)
def test_the_worst_function_is_found(what):
    """It becomes the direction, and alone decides where the minimum is hardly soft."""
    seen, direction = HARD[what]
    memory, _ = update(seen, 1.0)
    np.testing.assert_allclose(memory.direction, direction)
    _, (value, _) = update(seen, 1.0, criterion=replace(SQUARES, sharpness=1e3))
    loss = np.sin(0.3) ** 2
    np.testing.assert_allclose(value, loss / (2 - loss), rtol=1e-9)


def test_sharpness_is_how_much_more_the_slow_count():
    """None: the geometric mean over functions. More: closer to the worst."""
    seen, _ = HARD["first coordinate"]
    values = [
        update(seen, 1.0, criterion=replace(SQUARES, sharpness=power), direction=(1.0, 0.0))[1][0]
        for power in (0.0, 4.0, 1e3)
    ]
    slow, fast = (np.sin(s) ** 2 / (2 - np.sin(s) ** 2) for s in (0.3, 1.0))
    np.testing.assert_allclose(values[0], (slow**2 * fast) ** (1 / 3))
    assert values[0] > 1.5 * values[1] > 1.5 * 0.99 * values[2]
    np.testing.assert_allclose(values[1:], slow, rtol=0.01)


@pytest.mark.parametrize("few", [1, 2])
def test_functions_that_are_not_among_the_slowest_have_no_say(few):
    """However many they are: the slowest alone, or the two slowest of three, and all the same."""
    chosen = replace(SQUARES, few=few, sharpness=0.0)
    direction = (0.0, 1.0) if few == 1 else (1.0, 0.0)  # the principal component: fast, or slow
    seen = exact_flow(1.0, (1.2, 1.6))
    _, (value, slope) = update(seen, 1.0, criterion=chosen, direction=direction)
    loss, steepness = np.sin(1.2) ** 2, 1.2 * np.sin(2.4)
    rate = loss / (2 - loss)
    np.testing.assert_allclose(value, rate)
    np.testing.assert_allclose(slope, rate * (steepness * (1 / loss + 1 / (2 - loss)) - 1))


def test_a_direction_from_another_run_is_where_it_starts():
    memory = criteria.remember(Slowest(), jnp.asarray(X), jnp.asarray(DIAGONAL))
    np.testing.assert_array_equal(memory.direction, DIAGONAL)
    np.testing.assert_array_equal(Slowest().init(jnp.asarray(X)).direction, [1.0, 0.0])
    assert criteria.get("slowest") == Slowest()
    assert criteria.remember(criteria.snaper, jnp.asarray(X), None) is None

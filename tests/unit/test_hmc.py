"""The integrator and one transition, against mechanics."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import quartic, standard_normal

from snaper import hmc, metric
from snaper.metric import Diagonal

pytestmark = pytest.mark.usefixtures("strict")

DIM = 2
SCALE = Diagonal(jnp.array([0.5, 1.0]))
IDENTITY = Diagonal(jnp.ones(DIM))


@partial(jax.jit, static_argnums=0)
def integrate(logp, x, v, step_size, metric, num_steps, alternation=0.0):
    """Velocities are those of y = L^-1 x, as `hmc.noise` draws them."""
    start = metric.forward(v)
    end, w, gained = hmc.leapfrog(
        logp, hmc.init(logp, x), start, step_size, metric, num_steps, alternation
    )
    return end.x, w / metric.scale, end.logp, end.grad, gained


@partial(jax.jit, static_argnums=1)
def jitted(key, logp, x, step_size, num_leapfrog, rounding, alternation):
    noise, chains = hmc.noise(key, x), hmc.init(logp, x)
    return hmc.step(noise, logp, chains, step_size, SCALE, num_leapfrog, rounding, alternation)


def transition(seed, logp, x, step_size, num_leapfrog, rounding=0.0, alternation=0.0):
    """One transition, as NumPy arrays."""
    key, eps = jax.random.key(seed), jnp.asarray(step_size)
    moved = jitted(key, logp, x, eps, num_leapfrog, jnp.asarray(rounding), alternation)
    return jax.tree.map(np.asarray, moved)


def momenta(seed, shape):
    """The momenta that `transition` begins with."""
    return jax.random.normal(jax.random.split(jax.random.key(seed))[0], shape)


def points(seed, num_chains=100):
    return jax.random.normal(jax.random.key(seed), (num_chains, DIM))


KICKS = [(1, 0.0), (2, 0.0), (7, 0.0), (2, 0.153), (8, 0.153), (7, 0.153)]


@pytest.mark.parametrize(("num_steps", "alternation"), KICKS)
def test_leapfrog_reverses(num_steps, alternation):
    """With alternating kicks too: an even number of them reads the same from either end."""
    x, v, eps = points(0), points(1), jnp.asarray(0.2)
    x1, v1, *_ = integrate(quartic, x, v, eps, SCALE, num_steps, alternation)
    x2, v2, *_ = integrate(quartic, x1, -v1, eps, SCALE, num_steps, alternation)
    assert np.max(np.abs(x1 - x)) > 0.01
    np.testing.assert_allclose(x2, x, atol=1e-13)
    np.testing.assert_allclose(-v2, v, atol=1e-13)


@pytest.mark.parametrize(("num_steps", "alternation"), [(1, 0.0), (5, 0.0), (2, 0.153), (6, 0.153)])
def test_leapfrog_preserves_volume(num_steps, alternation):
    """The Jacobian of (x, v) -> (x', v') has determinant one."""

    def flow(z):
        x, v = z[None, :DIM], z[None, DIM:]
        x, v, *_ = integrate(quartic, x, v, jnp.asarray(0.4), SCALE, num_steps, alternation)
        return jnp.concatenate([x[0], v[0]])

    jacobian = jax.jit(jax.jacfwd(flow))(jnp.array([0.7, -1.1, 0.4, 0.9]))
    assert np.abs(jacobian - np.eye(2 * DIM)).max() > 0.1
    np.testing.assert_allclose(np.linalg.det(jacobian), 1.0, atol=1e-12)


@pytest.mark.parametrize("num_steps", [1, 3, 20])
def test_leapfrog_follows_the_discrete_oscillator(num_steps):
    """On x^2 / 2 leapfrog is a rotation by theta, cos theta = 1 - eps^2 / 2, on an ellipse."""
    x, v, eps = points(2), points(3), 0.3
    x1, v1, logp, grad, _ = integrate(standard_normal, x, v, jnp.asarray(eps), IDENTITY, num_steps)
    angle, ratio = num_steps * np.arccos(1 - eps**2 / 2), np.sqrt(1 - eps**2 / 4)
    np.testing.assert_allclose(x1, x * np.cos(angle) + v * np.sin(angle) / ratio, atol=1e-13)
    np.testing.assert_allclose(v1, v * np.cos(angle) - x * np.sin(angle) * ratio, atol=1e-13)
    np.testing.assert_allclose(logp, -0.5 * np.sum(x1**2, axis=1), atol=1e-13)
    np.testing.assert_allclose(grad, -x1, atol=1e-13)


@pytest.mark.parametrize("num_steps", [1, 3, 7])
def test_kicks_of_an_odd_number_of_steps_do_not_alternate(num_steps):
    """They would not read the same from either end. Those of an even number do."""
    x, v, eps = points(0), points(1), jnp.asarray(0.2)
    for steps, same in ((num_steps, True), (num_steps + 1, False)):
        even, alternating = (integrate(quartic, x, v, eps, SCALE, steps, a) for a in (0.0, 0.153))
        for one, other in zip(even, alternating, strict=True):
            assert np.array_equal(one, other) == same


def pair(step_size, alternation):
    """On x^2 / 2, a pair of steps maps (x, v) to (a x + b v, c x + a v): its a and b, by hand. In
    the terms of Blanes, Casas & Sanz-Serna (2014), kicks are b h, (1 - 2 b) h, b h with h two steps
    and alternation 1 - 4 b.
    """
    outer, inner = 0.5 * step_size * (1 - alternation), step_size * (1 + alternation)
    middle = 1 - outer * step_size
    return middle * (1 - inner * step_size) - outer * step_size, step_size * (2 - inner * step_size)


@pytest.mark.parametrize(("step_size", "gain"), [(0.4, 3), (0.8, 7), (0.9, 22)])
def test_alternating_kicks_err_less_on_the_oscillator(step_size, gain):
    """Pairs are rotations on an ellipse, along which energy grows at most by the squared ratio of
    its axes, b^2 / (1 - a^2). With even kicks that is 1 / (1 - eps^2 / 4); with alternating ones it
    is nearer to one, the more so the longer the steps.
    """
    angle, errors = np.linspace(0, 2 * np.pi, 100), []
    x, v = (jnp.stack([jnp.asarray(f(angle)), jnp.zeros(100)], axis=1) for f in (np.cos, np.sin))
    for alternation in (0.0, 0.153):
        found = []
        for num_steps in range(2, 22, 2):
            eps = jnp.asarray(step_size)
            end = integrate(standard_normal, x, v, eps, IDENTITY, num_steps, alternation)
            found.append(np.sum(end[0] ** 2 + end[1] ** 2, axis=1) - 1)  # of an energy of 1 / 2
        a, b = pair(step_size, alternation)
        most = b**2 / (1 - a**2) - 1
        assert np.max(found) == pytest.approx(most, rel=0.05) and np.max(found) < most
        errors.append(np.max(np.abs(found)))
    assert errors[0] == pytest.approx(step_size**2 / (4 - step_size**2), rel=0.05)
    assert gain < errors[0] / errors[1] < gain + 1


@pytest.mark.parametrize("alternation", [0.0, 0.153])
def test_the_order_is_two(alternation):
    """Twice as many steps of half the size: a quarter of the energy error."""
    x, v, errors = points(0), points(1), []
    before = 0.5 * np.sum(v**2, axis=1) - hmc.init(quartic, x).logp
    for num_steps in (24, 48, 96):
        eps = jnp.asarray(1.2 / num_steps)
        _, v1, logp, *_ = integrate(quartic, x, v, eps, SCALE, num_steps, alternation)
        errors.append(np.max(np.abs(0.5 * np.sum(v1**2, axis=1) - logp - before)))
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 4.0, rtol=0.02)


def test_metric_is_a_change_of_coordinates():
    """With x = L y, leapfrog in x with metric L is leapfrog in y with none."""
    x, v, eps = points(4), points(5), jnp.asarray(0.2)
    x1, v1, *_ = integrate(quartic, x, v, eps, SCALE, 4)

    def in_y(y):
        return quartic(SCALE.forward(y))

    y1, v2, *_ = integrate(in_y, x / SCALE.scale, v, eps, IDENTITY, 4)
    np.testing.assert_allclose(x1, SCALE.forward(y1), atol=1e-13)
    np.testing.assert_allclose(v1, v2, atol=1e-13)


TURN = jnp.linalg.qr(jax.random.normal(jax.random.key(5), (DIM, DIM)))[0]
MAPS = {
    "diagonal": SCALE,
    "dense": metric.dense(TURN * jnp.array([0.1, 1.0])),
    "low-rank": metric.LowRank(jnp.array([0.5, 2.0]), TURN[:, :1], jnp.array([0.2])),
}


@pytest.mark.parametrize("of", MAPS)
@pytest.mark.parametrize(("dtype", "error"), [(jnp.float64, 1e-12), (jnp.float32, 1e-4)])
def test_every_map_reverses_and_gives_back_what_it_gained(of, dtype, error):
    used = jax.tree.map(lambda part: part.astype(dtype), MAPS[of])
    x, v, eps = points(0).astype(dtype), points(1).astype(dtype), jnp.asarray(0.2, dtype)
    start, w = hmc.init(quartic, x), used.forward(v)
    end, w1, gained = hmc.leapfrog(quartic, start, w, eps, used, 5)
    back, w2, lost = hmc.leapfrog(quartic, end, -w1, eps, used, 5)
    root = np.asarray(used.forward(jnp.eye(DIM, dtype=dtype)), float).T
    kinetic = [0.5 * np.sum(np.linalg.solve(root, np.asarray(u, float).T) ** 2, 0) for u in (w, w1)]
    assert np.max(np.abs(gained)) > 0.1 and back.x.dtype == dtype
    np.testing.assert_allclose(back.x, x, atol=error)
    np.testing.assert_allclose(w2, -w, atol=error)
    np.testing.assert_allclose(gained, kinetic[1] - kinetic[0], atol=100 * error)
    np.testing.assert_allclose(lost, -gained, atol=10 * error)


@pytest.mark.parametrize(("num_steps", "alternation"), [(1, 0.0), (6, 0.0), (6, 0.153)])
def test_the_impulse_gives_the_kinetic_energy(num_steps, alternation):
    x, v = points(8), points(9)
    _, v1, *_, gained = integrate(quartic, x, v, jnp.asarray(0.3), SCALE, num_steps, alternation)
    assert np.max(np.abs(gained)) > 0.1
    np.testing.assert_allclose(gained, 0.5 * jnp.sum(v1**2 - v**2, axis=1), atol=1e-13)


def test_one_gradient_and_no_spare_value_per_leapfrog_step():
    calls = {"value": 0, "gradient": 0}

    def count(what):
        calls[what] += 1

    @jax.custom_vjp
    def counted(x):
        jax.debug.callback(partial(count, "value"))
        return -0.5 * jnp.sum(x**2)

    def forward(x):
        return -0.5 * jnp.sum(x**2), x

    def backward(x, cotangent):
        jax.debug.callback(partial(count, "gradient"))
        return (-cotangent * x,)

    counted.defvjp(forward, backward)
    chains = hmc.Chains(jnp.ones((1, DIM)), -jnp.ones(1), -jnp.ones((1, DIM)))

    @jax.jit
    def move(num_leapfrog):
        noise, eps, no = hmc.noise(jax.random.key(0), chains.x), jnp.asarray(0.1), jnp.asarray(0.0)
        return hmc.step(noise, counted, chains, eps, IDENTITY, num_leapfrog, no)

    for num_leapfrog in (1, 2, 5):
        calls["gradient"] = 0
        jax.block_until_ready(move(num_leapfrog))
        jax.effects_barrier()
        assert calls["gradient"] == num_leapfrog
    assert calls["value"] == 0  # values come with gradients, never on their own


@pytest.mark.parametrize(("num_steps", "alternation"), [(3, 0.0), (4, 0.153)])
def test_transition_accepts_by_the_energy_error(num_steps, alternation):
    x, v = points(7), momenta(6, (100, DIM))
    chains, seen = transition(6, quartic, x, 0.9, num_steps, alternation=alternation)
    there = integrate(quartic, x, v, jnp.asarray(0.9), SCALE, num_steps, alternation)
    x1, v1, logp, *_ = map(np.asarray, there)
    before, density, gradient = hmc.init(quartic, x)
    energy = np.asarray(0.5 * jnp.sum(v**2, axis=1) - density)
    energy_new = 0.5 * np.sum(v1**2, axis=1) - logp
    accepted = seen.accepted
    assert 0 < accepted.sum() < accepted.size
    np.testing.assert_allclose(seen.accept_prob, np.exp(np.minimum(energy - energy_new, 0)))
    np.testing.assert_allclose(seen.proposal, x1)
    np.testing.assert_allclose(seen.velocity, v1 * np.asarray(SCALE.scale))  # not flipped
    np.testing.assert_array_equal(seen.start, before)
    np.testing.assert_allclose(seen.energy, np.where(accepted, energy_new, energy))
    np.testing.assert_allclose(chains.x, np.where(accepted[:, None], x1, x))
    after = hmc.init(quartic, jnp.asarray(chains.x))
    np.testing.assert_allclose(chains.logp, after.logp)
    np.testing.assert_allclose(chains.grad, after.grad)
    assert not np.allclose(chains.grad, gradient)


def test_acceptance_matches_its_probability():
    seen = [transition(seed, quartic, points(7), 0.9, 3)[1] for seed in range(40)]
    alpha = np.concatenate([one.accept_prob for one in seen])
    accepted = np.concatenate([one.accepted for one in seen])
    sd = np.sqrt(np.sum(alpha * (1 - alpha)))
    assert sd > 10 and abs(accepted.sum() - alpha.sum()) < 4 * sd


def value_nan(x):
    return jnp.where(x[0] > 1.0, jnp.nan, standard_normal(x))


def value_minus_infinity(x):
    return jnp.where(x[0] > 1.0, -jnp.inf, standard_normal(x))


def value_infinity(x):
    return jnp.where(x[0] > 1.0, jnp.inf, standard_normal(x))


def gradient_nan(x):
    """Finite everywhere; beyond one, the gradient is 0 * inf."""
    hidden = jnp.sqrt(jnp.where(x[0] > 1.0, 0.0, 1.0) * x[0] ** 2)
    return standard_normal(x) + 0.0 * hidden


@pytest.mark.parametrize("logp", [value_nan, value_minus_infinity, value_infinity, gradient_nan])
def test_nothing_that_is_not_finite_gets_out(logp):
    x = jnp.minimum(points(11), 0.99)
    chains, seen = transition(10, logp, x, 0.8, 3)
    bad = seen.diverging
    assert 0 < bad.sum() < bad.size
    for leaf in jax.tree.leaves((chains, seen)):
        assert np.isfinite(leaf).all()
    assert not seen.accepted[bad].any()
    np.testing.assert_array_equal(seen.accept_prob[bad], 0.0)
    np.testing.assert_array_equal(chains.x[bad], x[bad])
    # As if the trajectory had not been: the proposal is the start.
    np.testing.assert_array_equal(seen.proposal[bad], x[bad])


def test_overflow_of_the_integrator_does_not_get_out():
    x = points(7)
    chains, seen = transition(0, quartic, x, 1e90, 3)
    for leaf in jax.tree.leaves((chains, seen)):
        assert np.isfinite(leaf).all()
    assert seen.diverging.all() and not seen.accepted.any()
    np.testing.assert_array_equal(seen.proposal, x)


def test_gradient_nan_is_finite_with_a_gradient_that_is_not():
    """The helper does what the test above needs, and inside it is a standard normal."""
    outside, inside = jnp.array([1.5, 0.0]), jnp.array([0.5, 0.0])
    assert np.isfinite(gradient_nan(outside))
    assert not np.isfinite(jax.grad(gradient_nan)(outside)).all()
    np.testing.assert_allclose(jax.grad(gradient_nan)(inside), -inside)


def test_a_bad_chain_leaves_the_others_alone():
    """What a chain does is the same whether or not another one fails."""
    x = jnp.minimum(points(11), 0.99)
    chains, seen = transition(12, value_nan, x, 0.8, 3)
    free, free_seen = transition(12, standard_normal, x, 0.8, 3)
    good = ~seen.diverging
    assert 0 < good.sum() < good.size
    np.testing.assert_allclose(chains.x[good], free.x[good])
    np.testing.assert_allclose(seen.accept_prob[good], free_seen.accept_prob[good])


def test_large_energy_error_is_a_divergence():
    """Finite, but hopeless: a step far beyond the stability limit."""
    x, v = 3.0 * points(0), momenta(0, (100, DIM))
    _, seen = transition(0, quartic, x, 2.0, 1)
    _, v1, logp, *_ = integrate(quartic, x, v, jnp.asarray(2.0), SCALE, 1)
    error = np.asarray(0.5 * jnp.sum(v1**2 - v**2, axis=1) - logp + jax.vmap(quartic)(x))
    assert 0 < seen.diverging.sum() < seen.diverging.size and np.isfinite(error).all()
    np.testing.assert_array_equal(seen.diverging, error > 1000.0)


def coarse(x):
    """A density with a huge constant: its last digit is worth 1e-4."""
    return standard_normal(x) - 2.0**40


def test_rounding_forgives_only_the_last_digits():
    x = points(13)
    _, exact = transition(1, coarse, x, 0.01, 1)
    _, forgiving = transition(1, coarse, x, 0.01, 1, rounding=8.0)
    _, far = transition(1, coarse, x, 1.5, 1, rounding=8.0)
    assert np.min(exact.accept_prob) < 1 - 1e-5
    np.testing.assert_array_equal(forgiving.accept_prob, 1.0)
    assert np.min(far.accept_prob) < 0.9

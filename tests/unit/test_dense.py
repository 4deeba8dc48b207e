"""The dense metric: closed forms for Gaussians, ensembles that show too little, and the choice."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from snaper import metric
from snaper.adapt import AutoMetric, DenseMetric, root
from snaper.adapt.dense import finest, fisher
from snaper.adapt.due import FIRST, due
from snaper.adapt.moments import MomentsState, stale
from snaper.when import when

pytestmark = pytest.mark.usefixtures("strict")

DIM = 10
ROUNDING = {np.float64: 1e-8, np.float32: 0.02}


def orthogonal(seed):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(DIM, DIM)))[0]


def turned(condition, seed=0, units=1.0):
    """A covariance of this condition number, its axes turned, then in other units."""
    axes = orthogonal(seed) * np.geomspace(1.0, condition, DIM) ** 0.5
    units = np.broadcast_to(units, DIM)
    return np.outer(units, units) * (axes @ axes.T)


def relative(factor, covariance):
    """Eigenvalues of S^-1 W W^T: all one where the metric whitens."""
    whiten = np.linalg.inv(np.linalg.cholesky(covariance))
    return np.linalg.svd(whiten @ np.asarray(factor, np.float64), compute_uv=False) ** 2


def least(covariance):
    """The smallest eigenvalue of its correlations."""
    sd = np.sqrt(np.diag(covariance))
    return np.linalg.eigvalsh(covariance / np.outer(sd, sd))[0]


decompose = jax.jit(fisher)
WAYS = {  # as on a CPU, and as elsewhere
    "eigenvectors": partial(fisher, cut=root.by_eigenvectors),
    "products": partial(fisher, cut=root.by_products),
}
# Each way in single precision by default, the harder: the other takes as long to compile again.
both_ways = pytest.mark.parametrize(
    ("way", "dtype"),
    [
        ("eigenvectors", np.float32),
        ("products", np.float32),
        pytest.param("eigenvectors", np.float64, marks=pytest.mark.slow),
        pytest.param("products", np.float64, marks=pytest.mark.slow),
    ],
)


def seen(covariance, sample, dtype=np.float64, lost=0.0, combine=decompose):
    """What `fisher` makes of points of covariance `sample`, with the gradients of a Gaussian."""
    precision = np.linalg.inv(covariance)
    arrays = (sample, precision @ sample @ precision, lost)
    found = combine(*(jnp.asarray(part, dtype) for part in arrays))
    return [np.asarray(part) for part in found]  # a GPU rounds products more


def samples(covariance):
    """Points at rest; of another shape, near one place; along other axes."""
    root = np.linalg.cholesky(covariance)
    other = turned(30.0, seed=2)
    yield "at rest", covariance
    yield "another shape", 1e-4 * root @ other @ root.T
    yield "half-way", root @ np.diag(np.geomspace(1e-3, 1.0, DIM)) @ root.T


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("condition", [1.0, 1e2, 1e4])
@pytest.mark.parametrize("units", [1.0, 1e-6, np.geomspace(1e-3, 1e3, DIM)])
def test_a_gaussian_is_whitened_from_any_sample(condition, units, dtype):
    """But for the ridge, whose effect is bounded by monotony of the geometric mean."""
    covariance = turned(condition, units=units)
    for _, sample in samples(covariance):
        factor, _ = seen(covariance, sample, dtype)
        precision, ridge = np.linalg.inv(covariance), finest(DIM, dtype)
        below = (1.0 + ridge / least(precision @ sample @ precision)) ** -0.5
        above = (1.0 + ridge / least(sample)) ** 0.5
        found, rounding = relative(factor, covariance), ROUNDING[dtype]
        assert factor.dtype == dtype
        assert below - rounding < found.min() and found.max() < above + rounding


@both_ways
@pytest.mark.parametrize("num_chains", [DIM + 1, 2 * DIM])
def test_a_gaussian_is_whitened_from_any_chains_that_span_it(num_chains, dtype, way):
    """Points drawn, and gradients there: eleven in ten dimensions are enough."""
    covariance = turned(1e2)
    rng = np.random.default_rng(num_chains)
    chains = np.linalg.cholesky(covariance) @ rng.normal(size=(DIM, num_chains))
    factor, _ = seen(covariance, np.cov(chains), dtype, combine=jax.jit(WAYS[way]))
    np.testing.assert_allclose(relative(factor, covariance), 1.0, rtol=0.05)


def test_the_ridge_is_small_where_it_matters():
    """A condition number of 1e4 at rest, and of 1e7 among the points on the way."""
    for (name, sample), error in zip(samples(turned(1e4)), (1e-3, 2e-3, 0.15), strict=True):
        found = relative(seen(turned(1e4), sample)[0], turned(1e4))
        assert np.abs(np.log(found)).max() < error, name


@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-9), (np.float32, 2e-3)])
@pytest.mark.parametrize("lost", [0.0, 0.3, 1.0])
def test_the_inverse_is_the_inverse(dtype, error, lost):
    covariance = turned(1e4, units=np.geomspace(1e-3, 1e3, DIM))
    for _, sample in samples(covariance):
        factor, inverse = seen(covariance, sample, dtype, lost)
        np.testing.assert_allclose(inverse @ factor, np.eye(DIM), atol=error)


def test_without_correlations_it_is_the_width_of_every_coordinate():
    """lost = 1: W W^T = diag(sd_x / sd_g), for any two covariances."""
    points, grads = turned(1e4, 1, np.geomspace(1e-3, 1e3, DIM)), turned(1e3, 3)
    factor, _ = decompose(*map(jnp.asarray, (points, grads, 1.0)))
    width = np.diag(np.sqrt(np.diag(points) / np.diag(grads)))
    scale = np.sqrt(np.diag(width))
    np.testing.assert_allclose(factor @ factor.T / np.outer(scale, scale), np.eye(DIM), atol=1e-12)


def test_it_is_the_geometric_mean():
    """The one solution M > 0 of M Cg M = Cx."""
    points, grads = turned(10.0, 1), turned(20.0, 3)
    factor, _ = decompose(*map(jnp.asarray, (points, grads, 0.0)))
    mean = factor @ factor.T
    np.testing.assert_allclose(mean @ grads @ mean, points, rtol=1e-4, atol=1e-4)


def moments_of(variance, dtype=np.float64):
    variance = jnp.asarray(variance, dtype)
    return MomentsState(jnp.zeros_like(variance), variance, 1.0 / variance)


@partial(jax.jit, static_argnums=0)
def _follow(learner, state, batches, precision, weight, moments, first):
    """Feed batches of chains [step, chain, dim], with a Gaussian's gradients; every state."""

    def update(state, now):
        x, step = now
        grad = -jnp.matmul(x, precision, precision="highest")
        age = step - first + 1
        state = learner.update(state, x, grad, weight, moments, step, age)
        due = learner.due(x.shape[-1], step, age)
        state = when(due, learner.renew, state, moments, age)
        return state, state

    steps = first + jnp.arange(len(batches), dtype=jnp.int32)
    return jax.lax.scan(update, state, (batches, steps))


def follow(learner, batches, precision, weight=None, first=0, state=None, variance=None):
    dtype = batches.dtype
    variance = np.ones(batches.shape[-1]) if variance is None else variance
    moments = moments_of(variance, dtype)
    state = learner.init(moments) if state is None else state
    weight = np.ones(batches.shape[1]) if weight is None else weight
    arrays = (jnp.asarray(part, dtype) for part in (batches, precision, weight))
    return _follow(learner, state, *arrays, moments, jnp.asarray(first, jnp.int32))


def at_rest(covariance, num_steps, num_chains, seed=0):
    noise = np.random.default_rng(seed).normal(size=(num_steps, num_chains, len(covariance)))
    return noise @ np.linalg.cholesky(covariance).T


def test_correlations_are_used_for_a_correlated_gaussian():
    covariance = turned(1e3)
    batches = at_rest(covariance, 100, 64)
    state, _ = follow(DenseMetric(), batches, np.linalg.inv(covariance))
    assert state.gain > 5.0 and state.roughness < 2.0
    np.testing.assert_allclose(relative(state.metric.factor, covariance), 1.0, rtol=0.2)
    assert state.metric.array().shape == (DIM, DIM)


def test_a_metric_whitens_while_chains_are_still_close_together():
    """A hundredth of the width, far from the mode: only gradients can tell."""
    covariance = turned(1e3)
    batches = 0.01 * at_rest(covariance, 100, 64) + 0.3
    state, _ = follow(DenseMetric(), batches, np.linalg.inv(covariance))
    np.testing.assert_allclose(relative(state.metric.factor, covariance), 1.0, rtol=0.2)


@partial(jax.jit, static_argnums=0)
def renew(learner, state, moments):
    return learner.renew(state, moments, 100)


def chosen(points, grads, least_gain=0.5, count=1e6, dtype=np.float64):
    """The metric for two covariances that are known."""
    learner = DenseMetric(least_gain=least_gain)
    moments = moments_of(np.diag(points), dtype)
    state = learner.init(moments)
    points, grads, worth = (jnp.asarray(part, dtype) for part in (points, grads, count))
    known = state._replace(covariances=jnp.stack([points, grads]), worth=worth)
    found = renew(learner, known, moments)
    return found.metric.factor, found.gain, found.roughness


def test_correlations_are_not_used_where_the_target_is_rougher_than_they_are_strong():
    """As of a funnel: gradients vary a hundred times more than a Gaussian's of this width, and the
    correlations, of 0.8, promise a factor of three: (1 + 0.8) / (1 - 0.8) = 9 is the square of it.
    """
    points = np.eye(DIM)
    points[0, 1] = points[1, 0] = 0.8
    rough = 1e4 * np.linalg.inv(points)
    factor, gain, roughness = chosen(points, rough)
    np.testing.assert_allclose([gain, roughness], [3.0, 100.0], rtol=1e-3)
    np.testing.assert_allclose(factor, np.eye(DIM), atol=1e-12)
    smooth, gain, roughness = chosen(points, np.linalg.inv(points))
    np.testing.assert_allclose([gain, roughness], [3.0, 1.0], rtol=1e-3)
    np.testing.assert_allclose(smooth @ smooth.T, points, atol=1e-4)
    always, _, _ = chosen(points, rough, least_gain=0.0)
    np.testing.assert_allclose(always @ always.T, points, atol=1e-4)


def test_no_coordinate_is_narrower_than_the_chains_show():
    points = turned(1e3)
    factor, _, _ = chosen(points, 1e4 * np.linalg.inv(points), least_gain=0.0)
    assert np.all(np.sum(factor**2, axis=1) > (1.0 - 1e-9) * np.diag(points))


@pytest.mark.parametrize("condition", [1e5, 1e6])
def test_strong_correlations_are_used_in_single_precision(condition):
    """What rounding asks for makes coordinates narrower, each by another share. Made as wide again
    one by one, they would leave a roughness of 6 at 1e5 and 270 at 1e6.
    """
    covariance = turned(condition, seed=5)
    factor, gain, roughness = chosen(covariance, np.linalg.inv(covariance), dtype=np.float32)
    assert roughness < 3.0 and gain > 10.0
    values = relative(factor, covariance)
    assert np.sqrt(values.max() / values.min()) < 10.0  # and not 1000, as it is without a metric


def test_few_chains_give_a_diagonal_metric():
    """The share exp(-n / 2d) of correlations is left out."""
    covariance = turned(1e3)
    scale = np.sqrt(np.diag(covariance))
    widths = []
    for count in (0.1, 10.0, 1e3):
        factor, _, _ = chosen(covariance, np.linalg.inv(covariance), 0.0, count)
        correlation = (factor @ factor.T) / np.outer(*2 * [np.linalg.norm(factor, axis=1)])
        widths.append(np.abs(correlation - np.eye(DIM)).max())
        assert np.all(np.linalg.norm(factor, axis=1) >= 0.999 * scale)
    assert widths[0] < 0.02 < widths[1] < widths[2]


FEW = {"1 chain": 1, "2 chains": 2, "4 chains": 4, "all": 8}
SHOWN = {
    "all equal": lambda x: np.repeat(x[:, :1], 8, axis=1),
    "at one point": lambda x: np.zeros_like(x) + x[:1, :1],
    "at the mode": np.zeros_like,
    "a coordinate constant": lambda x: x * (np.arange(DIM) != 3),
    "half of them copies": lambda x: np.concatenate([x[:, :4], x[:, :4]], axis=1),
}


def through(batches, num_chains, dtype, way):
    """The learner that never declines, through a hundred batches; eigenvalues of S^-1 W W^T at each
    since correlations are looked at.
    """
    covariance, weight = turned(1e2), np.arange(8) < num_chains
    _, states = follow(
        DenseMetric(WAYS[way], least_gain=0.0),
        batches.astype(dtype),
        np.linalg.inv(covariance),
        weight,
        variance=np.diag(covariance),
    )
    assert all(np.isfinite(part).all() for part in jax.tree.leaves(states))
    return np.array([relative(factor, covariance) for factor in states.metric.factor[FIRST:]])


@both_ways
@pytest.mark.parametrize("what", FEW)
def test_fewer_chains_than_dimensions_are_no_worse_than_a_diagonal_metric(what, dtype, way):
    """Whose eigenvalues lie between 0.3 and 15; a metric far too long in one direction forces small
    steps, far too short in another makes long trajectories.
    """
    found = through(at_rest(turned(1e2), 100, 8), FEW[what], dtype, way)
    assert found.max() < 100.0 and found.min() > 0.01
    assert found[-1].max() < 15.0 and found[-1].min() > 0.1


@both_ways
@pytest.mark.parametrize("what", SHOWN)
def test_chains_that_show_too_little_do_no_lasting_harm(what, dtype, way):
    """Never NaN or singular; when they have spread, the metric is good."""
    batches = at_rest(turned(1e2), 100, 8)
    batches[:30] = SHOWN[what](batches[:30])
    found = through(batches, 8, dtype, way)
    assert found[-1].max() < 15.0 and found[-1].min() > 0.1


def test_chains_that_have_not_moved_leave_the_metric_alone():
    """After a start at one point, where every chain rejects."""
    start = np.zeros((100, 64, DIM))
    variance = np.geomspace(1e-4, 1e4, DIM)
    state, _ = follow(DenseMetric(), start, np.eye(DIM), variance=variance)
    # Gain and roughness are both one, so that rounding says if L is diagonal or has its columns in
    # another order.
    sd = np.sqrt(variance)
    np.testing.assert_allclose(state.metric.square / np.outer(sd, sd), np.eye(DIM), atol=1e-12)


def test_chains_of_weight_zero_are_left_out():
    covariance = turned(1e2)
    batches, weight = at_rest(covariance, 100, 64), np.ones(64)
    weight[5] = 0.0
    wild = batches.copy()
    wild[:, 5] = 1e200
    found = [
        follow(DenseMetric(), x, np.linalg.inv(covariance), weight)[0].metric.factor
        for x in (batches, wild)
    ]
    np.testing.assert_array_equal(*found)


def test_decompositions_are_rare_and_at_steps_known_beforehand():
    """Five while the number of transitions doubles twice, whatever the chains show: at the first s
    with s + 2 >= 2^(2k/5), which for k from 8 on is 8 and more, for k of 24 less than 1000, and for
    k of 33 less than 10 000. Nothing new may have been seen since the first few.
    """
    known = np.flatnonzero(due(jnp.arange(10_000), DenseMetric().per_doubling))
    assert known[0] == FIRST and np.sum(known < 1000) == 17 and len(known) == 26
    assert np.all(known[1:] + 1 < 2 ** (2 / 5) * (known[:-1] + 2))  # neighbours are never far apart
    for seed in (0, 1):
        batches = (2.0 + seed) * at_rest(np.eye(2), 10_000, 4, seed)
        _, states = follow(DenseMetric(least_gain=0.0), batches, np.eye(2))
        changed = np.any(np.diff(np.asarray(states.metric.factor), axis=0) != 0, axis=(1, 2))
        found = 1 + np.flatnonzero(changed)
        # One more or less, where a logarithm is rounded.
        np.testing.assert_allclose(found[found >= 30], known[known >= 30], atol=1)


def test_what_is_due_between_looks_is_due_at_the_look_before():
    steps, every = jnp.arange(10_000), 4
    each, seldom = (np.asarray(due(steps, 8.0, n)) for n in (1, every))
    assert not seldom[steps % every != 0].any()
    np.testing.assert_array_equal(seldom[::every], each.reshape(-1, every).any(axis=1))


@pytest.mark.parametrize(("num_chains", "given"), [(64, False), (64, True), (63, False)])
def test_one_transition_in_four_is_looked_at_while_enough_is_known(num_chains, given):
    """After the first of a run: given what another one learnt, which is worth much, they count
    anew. What was seen is worth sixteen chains per dimension after a few transitions. Fewer chains
    than 64 are all looked at.
    """
    batches = at_rest(np.eye(DIM), 60, num_chains)
    learner = DenseMetric(closely=20)
    known = learner.init(moments_of(np.ones(DIM)), metric.dense(jnp.eye(DIM)) if given else None)
    _, states = follow(learner, batches, np.eye(DIM), first=1000 * given, state=known)
    changed = np.any(np.diff(np.asarray(states.covariances[:, 0]), axis=0) != 0, axis=(1, 2))
    looks = 1 + np.flatnonzero(changed)
    closely, seldom = np.arange(1, 20), np.arange(23, 60, 4)
    expected = np.arange(1, 60) if num_chains < 64 else np.concatenate([closely, seldom])
    np.testing.assert_array_equal(looks, expected)


def test_chains_are_looked_at_again_where_not_enough_is_known():
    """64 chains in 40 dimensions: one look in four keeps sixteen chains per dimension in mind after
    100 transitions, before only more looks do.
    """
    batches = at_rest(np.eye(40), 200, 64)
    _, states = follow(DenseMetric(closely=20), batches, np.eye(40))
    changed = np.any(np.diff(np.asarray(states.covariances[:, 0]), axis=0) != 0, axis=(1, 2))
    assert np.sum(changed[20:60]) > 15 and np.sum(changed[100:140]) == 10
    assert np.all(np.asarray(states.worth[20:]) > 10 * 40)


@pytest.mark.parametrize("num_chains", [4, 16])
def test_few_chains_are_all_looked_at(num_chains):
    """A hundred dimensions of condition 1e4: what is known gets better, not worse, once chains are
    looked at less often. Else 4 chains fell from a roughness of 3 to one of 15, and 16 chains that
    were thought stale by chance to one of 12 to 24.
    """
    rng = np.random.default_rng(num_chains)
    axes = np.linalg.qr(rng.normal(size=(100, 100)))[0] * np.geomspace(0.01, 1.0, 100)
    batches = rng.normal(size=(1000, num_chains, 100)) @ axes.T
    covariance = axes @ axes.T
    learner = DenseMetric(least_gain=0.0)
    state, states = follow(
        learner, batches, np.linalg.inv(covariance), variance=np.diag(covariance)
    )
    assert state.roughness < 1.1 * states.roughness[512] and state.roughness < 4.0


def test_decompositions_are_counted_from_the_beginning_of_a_run():
    """Not of what it was given."""
    learner = DenseMetric(least_gain=0.0)
    given = learner.init(moments_of(np.ones(DIM)), metric.dense(jnp.eye(DIM)))
    batches = at_rest(turned(10.0), 200, 64)
    _, states = follow(learner, batches, np.linalg.inv(turned(10.0)), first=1000, state=given)
    changed = np.any(np.diff(np.asarray(states.metric.factor), axis=0) != 0, axis=(1, 2))
    known = np.flatnonzero(due(jnp.arange(200), learner.per_doubling))
    np.testing.assert_array_equal(1 + np.flatnonzero(changed), known)


def test_what_is_stale_is_forgotten_as_fast_where_chains_are_seldom_looked_at():
    """A fifth of the weight per transition: 1e6 times too wide, until a factor of 5 remains, takes
    55 of them, one of four or all.
    """
    for enough in (1e9, 0.0):
        batches = at_rest(np.eye(DIM), 60, 64)
        learner = DenseMetric(closely=0, enough=enough)
        state = learner.init(moments_of(np.full(DIM, 1e6)))
        state, _ = follow(learner, batches, np.eye(DIM), first=1000, state=state)
        assert np.diag(state.covariances[0]).max() < 6.0


@pytest.mark.parametrize("closely", [128, 0])
def test_where_correlations_do_not_pay_it_is_the_diagonal_metric(closely):
    """Not only when the matrices are decomposed, and with its memory; also where chains are looked
    at now and then.
    """
    batches, variance = at_rest(np.eye(DIM), 40, 64), np.geomspace(0.1, 10.0, DIM)
    learner = DenseMetric(settled=20, closely=closely, enough=float(closely))
    state, _ = follow(learner, batches, np.eye(DIM), variance=variance)
    np.testing.assert_allclose(state.metric.array() ** 2, variance)
    np.testing.assert_allclose(state.metric.square, np.diag(variance))
    state, _ = follow(replace(learner, settled=512), batches, np.eye(DIM), variance=variance)
    np.testing.assert_allclose(np.diag(state.metric.square), 1.0, rtol=0.3)  # what chains showed


def test_what_is_looked_at_seldom_is_remembered_as_long():
    """The weights of batches then depend on how long ago they were as if all were looked at: what
    is known of a variance after 400 transitions is worth a quarter.
    """
    batches = at_rest(np.eye(DIM), 400, 64)
    worth = [
        float(follow(DenseMetric(closely=0, enough=enough), batches, np.eye(DIM))[0].worth)
        for enough in (1e9, 0.0)
    ]
    np.testing.assert_allclose(worth[0] / worth[1], 4.0, rtol=0.1)


def test_forward_and_inverse_mass_are_l_and_its_square():
    v, g = jax.random.normal(jax.random.key(0), (2, 5, DIM))
    factor = jax.random.normal(jax.random.key(1), (DIM, DIM))
    dense = metric.dense(factor)
    np.testing.assert_array_equal(dense.array(), factor)
    np.testing.assert_allclose(dense.forward(v)[0], factor @ v[0])
    np.testing.assert_allclose(dense.inverse_mass(g)[0], factor @ (factor.T @ g[0]))


def test_as_plain_numbers_a_diagonal_factor_is_its_diagonal():
    scale = jnp.array([3.0, 2.0, 1.0])
    dense, diagonal = metric.dense(jnp.diag(scale)), metric.Diagonal(scale)
    np.testing.assert_array_equal(dense.array(), scale)
    assert metric.dense(jnp.diag(scale).at[0, 2].set(1e-9)).array().shape == (3, 3)
    for other in (dense, diagonal):
        np.testing.assert_allclose(other.variance(jnp.asarray(2.0)), 4.0 * scale**2)


@pytest.mark.parametrize("learner", [DenseMetric(), AutoMetric()])
def test_a_given_metric_is_kept(learner):
    """A hundred transitions of four chains hardly change what a run has learnt."""
    covariance = turned(1e3)
    factor = jnp.asarray(np.linalg.cholesky(covariance))
    moments = moments_of(np.diag(covariance))
    state = learner.init(moments, metric.dense(factor))
    np.testing.assert_array_equal(learner.value(state, moments).factor, factor)
    batches, few = at_rest(covariance, 100, 64), np.arange(64) < 4
    state, _ = follow(learner, batches, np.linalg.inv(covariance), few, first=1000, state=state)
    np.testing.assert_allclose(relative(state.metric.factor, covariance), 1.0, rtol=0.25)


def test_a_given_diagonal_metric_is_where_it_starts():
    variance = np.geomspace(0.1, 10.0, DIM)
    moments, given = moments_of(variance), metric.Diagonal(jnp.asarray(np.sqrt(variance)))
    value = DenseMetric().value(DenseMetric().init(moments, given), moments)
    np.testing.assert_allclose(value.array(), np.sqrt(variance))


def test_the_metric_that_suits_the_dimension():
    for dim, kind in ((2, metric.Dense), (3, metric.LowRank)):
        learner, moments = AutoMetric(largest=2), moments_of(np.ones(dim))
        assert isinstance(learner.value(learner.init(moments), moments), kind)


def test_what_the_way_in_showed_is_forgotten_once_it_is_wrong():
    """Chains a thousand times wider than the target for 20 transitions. By memory alone they would
    still count 1600-fold; a fifth of the weight, until a factor of five remains, takes 55.
    """
    covariance = turned(1e2)
    batches = at_rest(covariance, 100, 64)
    batches[:20] *= 1000.0
    state, _ = follow(DenseMetric(), batches, np.linalg.inv(covariance))
    assert np.max(np.diag(state.covariances[0]) / np.diag(covariance)) < 6.0


@pytest.mark.parametrize(
    ("running", "chains", "says"),
    [(4.1, 64, True), (3.9, 64, False), (780.0, 4, True), (770.0, 4, False), (1e9, 3, False)],
)
def test_stale_is_what_hardly_ever_happens_at_rest(running, chains, says):
    found = stale(jnp.array([running, 1.0]), jnp.ones(2), jnp.ones(chains))
    assert found.tolist() == [says, False]


@pytest.mark.parametrize(("chains", "share"), [(4, 1e-4), (8, 2e-5), (16, 2e-5), (64, 1e-5)])
def test_chains_at_rest_hardly_ever_call_what_is_right_stale(chains, share):
    """For 4 the probability is 3e-6, that of a chi-square of 4 degrees being less than 4 / 777;
    about their own mean, with 3 degrees, 6e-5.
    """
    x = np.random.default_rng(0).normal(size=(200_000, chains))
    called = stale(jnp.ones(200_000), jnp.asarray(np.mean(x**2, axis=1)), jnp.ones(chains))
    assert np.mean(called) < share

"""Two normal factors of each coordinate, the second of which follows pivots, from points and
gradients by regression: see docs/theory.md.
"""

from typing import Any, NamedTuple

import numpy as np

from .pivots import Following

POWERS = (2.0, 1.0, 4.0, 0.5)  # of pivots: precisions follow a scale's second, a variance's first;
USUAL = 2  # of these are tried first,
CLEAR = 0.02  # and no others where no more than this is left of a gradient's variance
EXPLAINED = 0.5  # of that variance, at least, where a coordinate is two normal factors,
HALF = 0.5  # with no more than this of what is left where no pivot is asked, or one less
FEW = 3  # coordinates, at least, that follow a pivot together, or whose centres move together
MOVES = 0.1  # of a centre with another coordinate, both in standard deviations, at least,
SMALL = 0.3  # and of the largest move of that centre
ANCHORS = 64  # at most
LIKELY = 4  # pivots that one coordinate may follow, by their slopes
SHARED = 8  # pivots, at most, whose followers are asked whether their centres move
LEANING = 100.0  # of its own widths, at most, by which a factor's centre leans
FAR = 30.0  # standard deviations of a coordinate, at most, from its mean to a factor's centre
STEEPEST = 100.0  # log precision of a factor, at most, from what it is at the pivots' means
BROAD = 1e-6  # of a coordinate's precision: what a factor has at least
ENOUGH = 4  # points for each dimension, at least, in each half
_RIDGE = 1e-9
_TINY = 1e-30


class Factors(NamedTuple):
    """Of all coordinates; NaN where nothing is known."""

    pivots: np.ndarray  # places of what precisions follow
    anchors: np.ndarray  # places of what centres move with
    moves: np.ndarray  # of the second factor's centre, [dim, anchor]
    powers: np.ndarray  # that its precision follows, [dim, pivot]
    leans: np.ndarray  # of its centre, in units of its own width, [dim]
    precisions: np.ndarray  # where pivots are at their means, [factor, dim]
    centres: np.ndarray  # where anchors are, too, [factor, dim]

    def plainest(self, mean: np.ndarray) -> "Factors":
        """The second is centred at anchors themselves, or at zero, as most models have it: `mean`
        [dim] is where coordinates are.
        """
        moves = np.round(self.moves)
        centres = np.stack([self.centres[0], moves @ mean[self.anchors]])
        return self._replace(moves=moves, centres=centres)


class _Points(NamedTuple):
    """All coordinates, in units of standard deviations from their means."""

    x: np.ndarray  # [point, coordinate]
    score: np.ndarray
    features: np.ndarray  # of pivots, [point, pivot]

    def some(self, which: np.ndarray) -> "_Points":
        return _Points(*(each[which] for each in self))

    def linear(self) -> np.ndarray:
        return np.column_stack([np.ones(len(self.x)), self.x])

    def log_times(self, powers: np.ndarray) -> np.ndarray:
        return np.clip(self.features @ powers, -STEEPEST, STEEPEST)


class _Told(NamedTuple):
    """What a regression on one pivot tells of each coordinate."""

    lost: np.ndarray  # of gradients' variance
    plainly: np.ndarray  # where the pivot is not asked
    own: np.ndarray  # what a coordinate pulls on itself with in the second factor
    pulls: np.ndarray  # and each other on it

    @property
    def is_normal(self) -> np.ndarray:
        return _is_normal(self.lost, self.plainly, self.own)


class _Product(NamedTuple):
    """What a regression on a product of pivots tells of one coordinate."""

    powers: np.ndarray  # [pivot]
    lost: float
    plainly: float
    own: np.ndarray  # precisions, [factor]
    ahead: np.ndarray  # what both pull with at the mean, [factor]
    lean: float
    moves: np.ndarray  # [anchor]

    @property
    def is_normal(self) -> bool:
        return bool(_is_normal(self.lost, self.plainly, self.own[1]))


def _is_normal(lost: Any, plainly: Any, own: Any) -> Any:
    return (lost < np.minimum(1.0 - EXPLAINED, HALF * plainly)) & (own > 0.0)


def find(
    x: np.ndarray, grad: np.ndarray, features: np.ndarray, following: Following, chain: np.ndarray
) -> Factors | None:
    """From points [point, dim], gradients, and features of the pivots that widths follow. What
    centres of some that follow a pivot move with is an anchor, and follows nothing itself. None
    where nothing is known.
    """
    sd, mean, dim = x.std(axis=0), x.mean(axis=0), x.shape[1]
    points = _Points((x - mean) / sd, grad * sd, features - features.mean(axis=0))
    rank = np.unique(chain, return_inverse=True)[1]  # not every chain may have points
    halves = [points.some(rank % 2 == half) for half in (0, 1)]
    if not following.edges.any() or min(len(half.x) for half in halves) < ENOUGH * dim:
        return None
    moving = _moving(points, halves, following)
    found = _products(points, halves, following.slopes, moving)
    apart = {*following.pivots[_asked(found)], *np.flatnonzero(moving.any(axis=0))}
    found = {row: each for row, each in found.items() if row not in apart}
    if not found:
        return None
    asked, anchors = _asked(found), np.flatnonzero(moving[list(found)].any(axis=0))
    moves, powers = np.zeros((dim, dim)), np.full((dim, len(following.pivots)), np.nan)
    leans, (precisions, centres) = np.zeros(dim), np.full((2, 2, dim), np.nan)
    for row, each in found.items():
        own = np.maximum(each.own, BROAD)
        powers[row], leans[row] = each.powers, each.lean
        moves[row, moving[row]] = each.moves * sd[row] / sd[moving[row]]
        precisions[:, row] = own / sd[row] ** 2
        centres[:, row] = mean[row] + sd[row] * np.clip(each.ahead / own, -FAR, FAR)
    pivots, powers = following.pivots[asked], powers[:, asked]
    return Factors(pivots, anchors, moves[:, anchors], powers, leans, precisions, centres)


def _asked(found: dict[int, _Product]) -> np.ndarray:
    """Numbers of the pivots that somebody follows."""
    asked = {int(pivot) for each in found.values() for pivot in np.flatnonzero(each.powers)}
    return np.array(sorted(asked), int)


def _moving(points: _Points, halves: list[_Points], following: Following) -> np.ndarray:
    """Whose centres move with which coordinates, [coordinate, coordinate], in the factor that
    follows the pivot which explains it best.
    """
    slopes = following.slopes
    followers = np.count_nonzero(slopes, axis=0)
    told = {
        pivot: each
        for pivot in np.argsort(-np.sum(slopes**2, axis=0), kind="stable")[:SHARED]
        if followers[pivot] >= FEW and (each := _told(points, halves, pivot, slopes[:, pivot]))
    }
    count = len(slopes)
    whose, least = np.full(count, -1), np.full(count, np.inf)
    for pivot, each in told.items():
        better = np.all([one.is_normal for one in each], axis=0) & (each[0].lost < least)
        whose[better], least[better] = pivot, each[0].lost[better]
    moving = np.zeros((count, count), bool)
    for pivot, (_, *parts) in told.items():
        steep = _steep(*parts)
        moving |= (steep != 0.0) & (whose == pivot)[:, None] & _common(steep, whose == pivot)
    most = np.argsort(-moving.sum(axis=0), kind="stable")[ANCHORS:]
    moving[:, most] = False
    moving[:, following.pivots] = False  # widths follow these
    moving[moving.any(axis=0)] = False  # anchors follow nothing
    return moving


def _told(points: _Points, halves: list[_Points], pivot: int, slopes: np.ndarray) -> list[_Told]:
    """By all points, and anew by those of each half of the chains; with the power that explains
    most of what is thought to follow. Nothing where few are normal.
    """
    sign = -np.sign(slopes.sum())  # of precisions, where slopes are of widths
    usual = POWERS[:USUAL]
    told = {power: _regression(points, pivot, sign * power) for power in usual}
    power = min(usual, key=lambda power: float(np.mean(told[power].lost[slopes != 0.0])))
    if np.sum(told[power].is_normal) < FEW:
        return []
    return [told[power], *(_regression(half, pivot, sign * power) for half in halves)]


def _regression(points: _Points, pivot: int, power: float) -> _Told:
    r"""Gradients are $-P_1 u (x - M a - m_1) - P_0 (x - m_0)$, where $u$ is a power of the pivot:
    linear in coordinates, as they are and times u. Each point counts as if u were at most one.
    """
    powers = np.where(np.arange(points.features.shape[1]) == pivot, power, 0.0)
    weight = 1.0 / (1.0 + np.exp(points.log_times(powers)))[:, None]
    plain = points.linear()
    basis, wanted = np.hstack([plain * weight, plain * (1.0 - weight)]), points.score * weight
    gram, by_gram, size = basis.T @ basis, basis.T @ wanted, plain.shape[1]
    gram.flat[:: len(gram) + 1] += _RIDGE * len(plain)
    total = np.maximum(np.sum(wanted**2, axis=0), _TINY)

    def fitted(count: int) -> tuple[np.ndarray, np.ndarray]:
        by = np.linalg.solve(gram[:count, :count], by_gram[:count])
        return by, np.sum((wanted - basis[:, :count] @ by) ** 2, axis=0) / total

    (_, plainly), (by, lost) = fitted(size), fitted(2 * size)
    pulls = by[size + 1 :].T.copy()
    own = -np.diag(pulls)
    np.fill_diagonal(pulls, 0.0)
    return _Told(lost, plainly, own, pulls)


def _steep(one: _Told, other: _Told) -> np.ndarray:
    """How centres move with others, as far as both halves of the chains tell the same."""
    ones, others = (
        each.pulls / np.maximum(np.abs(each.own), BROAD)[:, None] for each in (one, other)
    )
    agree = np.minimum(np.abs(ones), np.abs(others)) * (np.sign(ones) == np.sign(others))
    least = np.maximum(MOVES, SMALL * np.max(agree, axis=1, keepdims=True))
    return np.where(agree > least, (ones + others) / 2, 0.0)


def _common(steep: np.ndarray, follows: np.ndarray) -> np.ndarray:
    """Whether a coordinate is an anchor: one after the other, each the one that moves most of those
    whom enough move with.
    """
    found = np.zeros(len(steep), bool)
    while True:
        rows = steep[follows & ~found]
        enough = (np.sum(rows != 0.0, axis=0) >= FEW) & ~found
        most = np.sum(np.minimum(rows**2, 1.0), axis=0) * enough
        best = int(np.argmax(most))
        if most[best] == 0.0:
            return found
        found[best] = True


class _Residual(NamedTuple):
    """Gradients less what is linear in coordinates."""

    points: _Points
    q: np.ndarray  # orthonormal, of what is linear
    inverse: np.ndarray  # from these to coordinates
    score: np.ndarray
    plainly: np.ndarray  # of gradients' variance, that is left

    @classmethod
    def of(cls, points: _Points) -> "_Residual":
        q, r = np.linalg.qr(points.linear())
        score = points.score - q @ (q.T @ points.score)
        total = np.maximum(np.sum(points.score**2, axis=0), _TINY)
        plainly = np.sum(score**2, axis=0) / total
        return cls(points, q, np.linalg.pinv(r, rcond=_RIDGE), score, plainly)

    def product(self, row: int, powers: np.ndarray, anchors: np.ndarray) -> _Product:
        r"""The same of one coordinate where $u$ is a product of powers, and the second factor's
        centre leans by a number of its widths, $u^{-1/2}$: what it pulls with is $\sqrt{u}$.
        """
        score, x = self.points.score[:, row], self.points.x
        logs = self.points.log_times(powers)
        root = np.exp(0.5 * logs)[:, None]
        times = np.column_stack([x[:, row], np.ones(len(x)), x[:, anchors]])
        steep = np.hstack([root, root**2 * times])
        size = np.sqrt(np.mean(steep**2, axis=0))
        steep /= size
        left = steep - self.q @ (self.q.T @ steep)
        by = np.linalg.lstsq(left, self.score[:, row], rcond=1e-8)[0]
        lost = np.sum((self.score[:, row] - left @ by) ** 2) / max(np.sum(score**2), _TINY)
        first = self.inverse[[0, 1 + row]] @ (self.q.T @ (score - steep @ by))
        pull, minus_own, ahead, *pulls = by / size
        own = max(-minus_own, _TINY)
        return _Product(
            powers=powers,
            lost=float(lost) if np.max(np.abs(logs)) < STEEPEST else np.inf,
            plainly=float(self.plainly[row]),
            own=np.array([-first[1], -minus_own]),
            ahead=np.array([first[0], ahead]),
            lean=float(np.clip(pull / np.sqrt(max(own, BROAD)), -LEANING, LEANING)),
            moves=np.asarray(pulls) / own,
        )


def _products(
    points: _Points, halves: list[_Points], slopes: np.ndarray, moving: np.ndarray
) -> dict[int, _Product]:
    """By row, for those that are normal where a product of pivots is known, by all points and anew
    by those of each half of the chains.
    """
    whole, *parts = (_Residual.of(each) for each in (points, *halves))
    found: dict[int, _Product] = {}
    for row in map(int, np.flatnonzero(slopes.any(axis=1))):
        anchors = np.flatnonzero(moving[row])
        best = _best(whole, row, slopes[row], anchors)
        again = (part.product(row, best.powers, anchors) for part in parts)
        if best.is_normal and all(each.is_normal for each in again):
            found[row] = best
    return found


def _best(whole: _Residual, row: int, slopes: np.ndarray, anchors: np.ndarray) -> _Product:
    """By power: the pivot that explains most, then, where that is enough, others, as long as one
    more halves what is left; of these the one that leaves least.
    """
    likely = [pivot for pivot in np.argsort(-np.abs(slopes))[:LIKELY] if slopes[pivot] != 0.0]
    unit = np.diag(-np.sign(slopes))  # precisions, where slopes are of widths

    def with_one_more(before: np.ndarray, power: float) -> list[_Product]:
        others = [pivot for pivot in likely if before[pivot] == 0.0]
        tried = [whole.product(row, before + power * unit[one], anchors) for one in others]
        return sorted(tried, key=lambda each: each.lost)[:1]

    found: list[_Product] = []
    for power in POWERS:
        least = min((each.lost for each in found), default=np.inf)
        if len(found) == USUAL and (least < CLEAR or not any(each.is_normal for each in found)):
            break
        best = with_one_more(np.zeros(len(slopes)), power)[0]
        while more := with_one_more(best.powers, power):
            if more[0].lost > HALF * best.lost:
                break
            best = more[0]
        found.append(best)
    return min(found, key=lambda each: each.lost)

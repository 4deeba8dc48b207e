"""Which coordinates' widths follow which others, from points and gradients: see docs/theory.md."""

from typing import NamedTuple

import numpy as np

from .target import Target

SPREAD = np.pi / np.sqrt(8)  # standard deviation of log |y| for a normal y
STEEP = 0.1  # slopes of log widths, per standard deviation, that tell who follows whom,
SURE = 4.0  # if they are so many standard errors or more
POWER = 0.05  # sum of squared slopes for a pivot to be one
EDGE = 0.05  # a slope that is worth an exponent of its own,
LIKELY = 3.0  # if it is so many standard errors
COMMON = 1 / 3  # of the others, by whom a pivot is followed that all may follow
SCALE = 3.0  # how much rather what is positive is a pivot
LEFT = 0.3  # of a pivot's standard deviation that others must not explain
MOST = 64  # pivots
GROUPS = 64  # of chains, at most, that tell how sure slopes are
_TINY = 1e-30
_RIDGE = 1e-3
_ROUNDING = 1e-9


class Kinds(NamedTuple):
    """Of coordinates, [dim]."""

    is_positive: np.ndarray  # whether exp or softplus of it is a parameter
    is_softplus: np.ndarray


class Following(NamedTuple):
    """Which coordinates follow which."""

    pivots: np.ndarray  # their places
    edges: np.ndarray  # who may follow whom, [dim, pivot]
    slopes: np.ndarray  # of log widths, per standard deviation of a pivot's feature, [dim, pivot]


def kinds(target: Target, x: np.ndarray, values: dict[str, np.ndarray]) -> Kinds:
    """By the parameters' values at points x [point, dim]."""
    is_exp, is_softplus = np.zeros((2, x.shape[1]), bool)
    begin = 0
    for parameter in target.parameters:
        place = slice(begin, begin := begin + parameter.size)
        value, free = np.asarray(values[parameter.name]), x[:, place]
        if value.size != free.size:
            continue
        with np.errstate(over="ignore"):
            is_exp[place] = _same(value.reshape(free.shape), np.exp(free))
            is_softplus[place] = _same(value.reshape(free.shape), np.logaddexp(0, free))
    return Kinds(is_exp | is_softplus, is_softplus)


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return np.allclose(one, other, rtol=1e-3, atol=_TINY)


def find(
    score: np.ndarray, features: np.ndarray, is_positive: np.ndarray, chain: np.ndarray
) -> Following:
    """From gradients of points [point, dim] and what widths may follow powers of; `chain` [point]
    tells whose points they are.

    A coordinate is a pivot or follows, never both. Sides are taken such that slopes from the one to
    the other explain most; of the pivots those stay that explain what others do not.
    """
    (log_width, unit), (count, dim) = _units(score, features), score.shape
    slopes = log_width.T @ unit / count
    errors = _errors(log_width, unit, slopes, chain)
    np.fill_diagonal(slopes, 0.0)
    steep = np.abs(slopes) > np.maximum(STEEP, SURE * errors)
    is_pivot = _sides(np.where(steep, slopes**2, 0.0) * np.where(is_positive, SCALE, 1.0))
    chosen = _chosen(log_width[:, ~is_pivot], unit, is_pivot, LIKELY * errors[~is_pivot])
    others = np.setdiff1d(np.arange(dim), chosen)
    edges, found = np.zeros((2, dim, len(chosen)))
    if len(chosen):
        inverse = np.linalg.inv(_covariance(unit[:, chosen]) + _RIDGE * np.eye(len(chosen)))
        joint = (inverse @ (unit[:, chosen].T @ log_width[:, others]) / count).T
        likely = LIKELY * errors[others][:, chosen] * np.sqrt(np.diag(inverse))
        edge = np.abs(joint) > np.maximum(EDGE, likely)
        found[others] = joint * edge
        edges[others] = edge | (edge.mean(axis=0) >= COMMON)
    return Following(np.asarray(chosen, int), edges > 0, found)


def seeming(score: np.ndarray, features: np.ndarray, places: np.ndarray) -> Following:
    """Which widths may follow those at these `places`, each by itself, as far as slopes tell."""
    log_width, unit = _units(score, features)
    slopes = log_width.T @ unit[:, places] / len(score)
    slopes[places, np.arange(len(places))] = 0.0
    edges = np.abs(slopes) > STEEP
    return Following(places, edges, np.where(edges, slopes, 0.0))


def _units(score: np.ndarray, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log widths, and features in standard deviations, from their means."""
    log_width = -np.log(np.maximum(np.abs(score), _TINY))
    unit = features - features.mean(axis=0)
    return log_width - log_width.mean(axis=0), unit / np.maximum(unit.std(axis=0), _TINY)


def _errors(
    widths: np.ndarray, unit: np.ndarray, slopes: np.ndarray, chain: np.ndarray
) -> np.ndarray:
    """Standard errors of slopes, by how much groups of chains differ, as points of one chain are
    alike; no less than those of independent points.
    """
    rank = np.unique(chain, return_inverse=True)[1]  # not every chain may have points
    members = [rank % GROUPS == each for each in range(min(GROUPS, rank.max() + 1))]
    total = np.zeros_like(slopes)
    for some in members:
        total += (widths[some].T @ unit[some] - some.sum() * slopes) ** 2
    least = SPREAD / np.sqrt(len(unit))
    return np.maximum(least, np.sqrt(total * len(members) / max(len(members) - 1, 1)) / len(unit))


def _sides(power: np.ndarray) -> np.ndarray:
    """Who is a pivot, where `power` [follower, pivot] is gained by a pair: moves of one coordinate
    at a time, as long as they gain.
    """
    is_pivot = power.sum(axis=0) > power.sum(axis=1)
    while True:
        as_pivot, as_follower = power[~is_pivot].sum(axis=0), power[:, is_pivot].sum(axis=1)
        gain = np.where(is_pivot, as_follower - as_pivot, as_pivot - as_follower)
        best = int(np.argmax(gain))
        if not gain[best] > _ROUNDING * power.sum():
            return is_pivot
        is_pivot[best] = ~is_pivot[best]


def _chosen(
    widths: np.ndarray, unit: np.ndarray, is_pivot: np.ndarray, least: np.ndarray
) -> list[int]:
    """Pivots, one after the other, each the one that explains most of what is left of log widths
    [point, follower] by slopes of at `least` [follower, dim]; in order of their places.
    """
    chosen: list[int] = []
    while len(chosen) < MOST and widths.shape[1]:
        spread = unit.std(axis=0)
        usable = is_pivot & (spread > LEFT)
        usable[chosen] = False
        left = unit / np.maximum(spread, _TINY)
        slopes = widths.T @ left / len(left)
        power = np.where(np.abs(slopes) > least, slopes**2, 0.0).sum(axis=0) * usable
        best = int(np.argmax(power))
        if power[best] < POWER:
            break
        chosen.append(best)
        explains = left[:, best]
        widths = widths - np.outer(explains, slopes[:, best])
        unit = unit - np.outer(explains, explains @ unit / len(unit))
    return sorted(chosen)


def _covariance(unit: np.ndarray) -> np.ndarray:
    return unit.T @ unit / len(unit)

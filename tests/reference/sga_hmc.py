"""Algorithms 1 and 2 of Sountsov & Hoffman (2021) in NumPy, one chain and one line at a time.

Written for reading beside the paper, not for speed. Nothing is taken from the package: random
numbers and the density come in as arguments.

The paper leaves open, and here it is: the iteration index starts at zero; the learning rate of the
principal component, 8 / t, is at most one; the states it sees are centred on their batch mean;
during the first iterations the mean trajectory length follows the step size; chains with an
acceptance probability of 1e-4 or less are left out of the criterion, and for the harmonic mean
probabilities are at least 1e-5; centres of the criterion do not move with the trajectory length.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

KAPPA = 8.0
AVERAGING = 16.0
TARGET_ACCEPTANCE = 0.8


@dataclass
class Adam:
    """Kingma & Ba (2015), for one number, descending."""

    rate: float
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    first: float = 0.0
    second: float = 0.0
    count: int = 0

    def step(self, value: float, gradient: float) -> float:
        self.count += 1
        self.first = self.beta1 * self.first + (1 - self.beta1) * gradient
        self.second = self.beta2 * self.second + (1 - self.beta2) * gradient**2
        first = self.first / (1 - self.beta1**self.count)
        second = self.second / (1 - self.beta2**self.count)
        return value - self.rate * first / (math.sqrt(second) + self.epsilon)


@dataclass
class Learner:
    """Everything that Algorithm 1 carries from one iteration to the next."""

    x: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    direction: np.ndarray
    log_step: float
    log_length: float
    length_rate: float
    log_step_average: float = 0.0
    log_length_average: float = 0.0
    adam_step: Adam = field(init=False)
    adam_length: Adam = field(init=False)

    def __post_init__(self):
        self.adam_step = Adam(0.05)
        self.adam_length = Adam(self.length_rate, beta1=0.0, beta2=0.95)


@dataclass
class Move:
    """What one HMC transition of all chains gives."""

    x: np.ndarray
    proposal: np.ndarray
    velocity: np.ndarray
    accept_prob: np.ndarray
    num_leapfrog: int


Density = Callable[[np.ndarray], tuple[float, np.ndarray]]


def hmc(density: Density, x, momenta, uniforms, step_size, tau, variance) -> Move:
    """One transition of every chain. M^-1 = diag(variance / max variance)."""
    scale = np.sqrt(variance / variance.max())
    num_leapfrog = max(math.ceil(tau / step_size), 1)
    moved, proposal, velocity = x.copy(), x.copy(), x.copy()
    accept_prob = np.zeros(len(x))
    for k in range(len(x)):
        q, v = x[k].copy(), momenta[k].copy()
        logp_start, gradient = density(q)
        energy_start = -logp_start + 0.5 * float(v @ v)
        for _ in range(num_leapfrog):
            v = v + 0.5 * step_size * scale * gradient
            q = q + step_size * scale * v
            logp, gradient = density(q)
            v = v + 0.5 * step_size * scale * gradient
        energy = -logp + 0.5 * float(v @ v)
        accept_prob[k] = math.exp(min(energy_start - energy, 0.0))
        proposal[k], velocity[k] = q, scale * v
        if uniforms[k] < accept_prob[k]:
            moved[k] = q
    return Move(moved, proposal, velocity, accept_prob, num_leapfrog)


def criterion_and_slope(name, x, move: Move, tau, centre, centre_new, direction):
    """C and dC / d tau, where a proposal moves with its own velocity."""
    total = value = derivative = 0.0
    for k in range(len(x)):
        weight = move.accept_prob[k]
        if weight <= 1e-4:
            continue
        z, z_new, dz_new = x[k] - centre, move.proposal[k] - centre_new, move.velocity[k]
        if name == "esjd":
            jump = move.proposal[k] - x[k]
            f, df = float(jump @ jump), 2.0 * float(jump @ dz_new)
        elif name in ("chees", "chees_rate"):
            change = float(z_new @ z_new) - float(z @ z)
            f, df = 0.25 * change**2, 0.25 * 2.0 * change * 2.0 * float(z_new @ dz_new)
        else:
            before, after = float(z @ direction), float(z_new @ direction)
            change = after**2 - before**2
            f, df = change**2, 2.0 * change * 2.0 * after * float(dz_new @ direction)
        total, value, derivative = total + weight, value + weight * f, derivative + weight * df
    value, derivative = value / total, derivative / total
    if name in ("chees_rate", "snaper"):
        return value / tau, derivative / tau - value / tau**2
    return value, derivative


def harmonic_mean(accept_prob) -> float:
    return len(accept_prob) / sum(1.0 / max(alpha, 1e-5) for alpha in accept_prob)


def oja(x, direction, rate):
    """Algorithm 2."""
    centre = sum(x) / len(x)
    image = np.zeros_like(direction)
    for point in x:
        image = image + (point - centre) * float((point - centre) @ direction)
    image = image / math.sqrt(float(image @ image))
    moved = direction + rate * image
    return moved / math.sqrt(float(moved @ moved))


def iterate(
    state: Learner, density: Density, name, momenta, uniforms, jitter, t, one_step
) -> tuple[Move, float]:
    """Algorithm 1: iteration t, in place. `jitter` is uniform on (0, 2)."""
    step_size = math.exp(state.log_step)
    held = t < one_step
    tau = step_size if held else jitter * math.exp(state.log_length)
    x = state.x
    move = hmc(density, x, momenta, uniforms, step_size, tau, state.variance)

    rate = 1.0 / (math.ceil(t / KAPPA) + 1.0)
    counted = np.where(move.accept_prob > 1e-4, move.accept_prob, 0.0)
    proposed = sum(a * p for a, p in zip(counted, move.proposal, strict=True)) / sum(counted)
    centre = (1 - rate) * state.mean + rate * sum(x) / len(x)
    centre_new = (1 - rate) * state.mean + rate * proposed
    value, slope = criterion_and_slope(name, x, move, tau, centre, centre_new, state.direction)

    shortfall = TARGET_ACCEPTANCE - harmonic_mean(move.accept_prob)
    state.log_step = state.adam_step.step(state.log_step, shortfall)
    if held:
        state.log_length = state.log_step
    else:
        state.log_length = state.adam_length.step(state.log_length, -tau * slope)

    state.direction = oja(move.x, state.direction, min(8.0 / max(t, 1), 1.0))
    spread = sum((point - state.mean) ** 2 for point in move.x) / len(x)
    state.variance = (1 - rate) * state.variance + rate * spread
    state.mean = (1 - rate) * state.mean + rate * sum(move.x) / len(x)

    share = 1.0 / (math.ceil(t / AVERAGING) + 1.0)
    state.log_step_average += share * (state.log_step - state.log_step_average)
    state.log_length_average += share * (state.log_length - state.log_length_average)
    state.x = move.x
    return move, value


def sample(state: Learner, density: Density, momenta, uniforms, jitter) -> Move:
    """One transition after warm-up: averaged step size and trajectory length, nothing learnt."""
    step_size, tau = math.exp(state.log_step_average), jitter * math.exp(state.log_length_average)
    move = hmc(density, state.x, momenta, uniforms, step_size, tau, state.variance)
    state.x = move.x
    return move

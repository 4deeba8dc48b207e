r"""One-parameter item response model: which student answers which question correctly.

    m    ~ Normal(3/4, 1)                                   mean ability
    a_i  ~ Normal(0, 1)                                     i = 1..400, ability beyond the mean
    d_j  ~ Normal(0, 1)                                     j = 1..100, difficulty of a question
    y_ij ~ Bernoulli(sigmoid(m + a_i - d_j))                for the 30012 pairs that were asked

Abilities and difficulties are only known up to a common shift, which m and the priors pin down.
"""

import jax
import jax.numpy as jnp

from ..target import Target
from ._benchmark import Benchmark, shipped_moments
from ._data import load
from ._item_response_likelihood import answer_totals, log_likelihood

NUM_STUDENTS = 400
NUM_QUESTIONS = 100
DIM = 1 + NUM_STUDENTS + NUM_QUESTIONS
SUMMARY = "Ability of 400 students and difficulty of 100 questions from 30012 answers"
SOURCE = "Inference Gym SyntheticItemResponseTheory"


def log_density(params, data):
    mean = params["mean_student_ability"]
    ability = params["centered_student_ability"]
    difficulty = params["question_difficulty"]
    squares = (mean - 0.75) ** 2 + jnp.sum(ability**2) + jnp.sum(difficulty**2)
    return log_likelihood(mean + ability, difficulty, data) - squares / 2


def sample_prior(key):
    for_mean, for_ability, for_difficulty = jax.random.split(key, 3)
    return {
        "mean_student_ability": 0.75 + jax.random.normal(for_mean),
        "centered_student_ability": jax.random.normal(for_ability, (NUM_STUDENTS,)),
        "question_difficulty": jax.random.normal(for_difficulty, (NUM_QUESTIONS,)),
    }


def benchmark() -> Benchmark:
    like = {
        "mean_student_ability": jnp.zeros(()),
        "centered_student_ability": jnp.zeros(NUM_STUDENTS),
        "question_difficulty": jnp.zeros(NUM_QUESTIONS),
    }
    target = Target(
        log_density,
        like,
        answer_totals(load("item_response")["responses"]),
        sample_prior=sample_prior,
    )
    return Benchmark(target, sample_prior, shipped_moments("item-response"))

r"""The likelihood of a table of right and wrong answers, without a transcendental per answer.

With l = a_i - d_j, e = 1 if the question was asked and 0 otherwise, and sums over all pairs,

    log p(y) = sum e (y l - log(1 + exp l)),     log(1 + exp l) = (l + |l|) / 2 + log(1 + exp -|l|).

The terms in l alone need only each student's and each question's total. exp(-l) is the product of
exp(-a_i) and exp(d_j), so exponentials are taken of students and of questions, not of pairs. The
last logarithm is taken of the product over a hundred pairs, which lies between 1 and 2^100.
The derivative in a_i is the student's number of right answers less sum_j e / (1 + exp(-l)).
"""

import jax
import jax.numpy as jnp
import numpy as np

CHUNK = 100
"""How many factors, none above 2, are multiplied: single precision holds 2^127."""

BOUND = 80.0
"""In exp(-l), abilities and difficulties beyond it count as this much.

exp overflows a little above it in single precision. It only matters, and by at most log 2 for an
answer, where an ability and a difficulty are both beyond it and close to each other.
"""


def answer_totals(responses: np.ndarray) -> dict[str, jax.Array]:
    """The data of `log_likelihood` from a table: 1 is right, -1 is wrong, 0 is not asked."""
    asked, right = responses != 0, responses > 0

    def total(answers, axis):
        return jnp.asarray(answers.sum(axis=axis), dtype=float)

    return {
        "asked": jnp.asarray(asked),  # not 0 and 1: XLA turns sums of products into slow matmuls
        "asked_of_student": total(asked, axis=1),
        "asked_of_question": total(asked, axis=0),
        "right_of_student": total(right, axis=1),
        "right_of_question": total(right, axis=0),
    }


@jax.custom_jvp
def log_likelihood(ability: jax.Array, difficulty: jax.Array, data: dict[str, jax.Array]):
    """Of abilities [student] and difficulties [question]; data as from `answer_totals`."""
    of_students = (data["right_of_student"] - data["asked_of_student"] / 2) * ability
    of_questions = (data["right_of_question"] - data["asked_of_question"] / 2) * difficulty
    distances = jnp.where(data["asked"], jnp.abs(ability[:, None] - difficulty), 0.0)
    odds = _inverse_odds(ability, difficulty)
    factors = jnp.where(data["asked"], 1 + jnp.minimum(odds, 1 / odds), 1.0)
    chunks = _pad_rows(factors).reshape(-1, CHUNK, factors.shape[1])
    logs = jnp.log(jnp.prod(chunks, axis=1))
    return jnp.sum(of_students) - jnp.sum(of_questions) - jnp.sum(distances) / 2 - jnp.sum(logs)


@log_likelihood.defjvp
def _log_likelihood_jvp(primals, tangents):
    """The data are constants: their tangents are not used."""
    ability, difficulty, data = primals
    d_ability, d_difficulty, _ = tangents
    expected = jnp.where(data["asked"], 1 / (1 + _inverse_odds(ability, difficulty)), 0.0)
    to_ability = data["right_of_student"] - jnp.sum(expected, axis=1)
    to_difficulty = jnp.sum(expected, axis=0) - data["right_of_question"]
    # Else a GPU sums over answers again for each use of a slope.
    to_ability, to_difficulty = jax.lax.optimization_barrier((to_ability, to_difficulty))
    slope = jnp.sum(to_ability * d_ability) + jnp.sum(to_difficulty * d_difficulty)
    return log_likelihood(ability, difficulty, data), slope


def _inverse_odds(ability, difficulty):
    """exp(difficulty - ability), [student, question]; never NaN, whatever the distance."""
    of_students = jnp.exp(jnp.clip(-ability, -BOUND, BOUND))
    return of_students[:, None] * jnp.exp(jnp.clip(difficulty, -BOUND, BOUND))


def _pad_rows(factors):
    """Rows of ones up to a multiple of the chunk."""
    return jnp.pad(factors, ((0, -factors.shape[0] % CHUNK), (0, 0)), constant_values=1)

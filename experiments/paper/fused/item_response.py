"""Item response: a program has all students of one point in its lanes and takes questions one by
one. Who was asked is a table of bits, since reading and converting numbers takes longer than all
else.
"""

import jax
import jax.numpy as jnp
import numpy as np

from snaper import targets
from snaper.target import Target
from snaper.targets._item_response_likelihood import BOUND
from snaper.targets.item_response import NUM_QUESTIONS, NUM_STUDENTS

from .kernel import Kernel, fused, load, store

ROOM = 512  # for students: sizes of blocks are powers of two
BITS = 25  # questions in a word
WORDS = NUM_QUESTIONS // BITS


def target() -> Target:
    plain = targets.get("item-response")
    totals = plain.data
    right = [totals["right_of_student"], jnp.zeros(1), totals["right_of_question"]]
    words = jnp.asarray(_packed(np.asarray(totals["asked"])))
    # With a single warp, a sum over students is mostly one within lanes.
    return fused(plain, Kernel(_write, None, warps=1), jnp.concatenate(right), words)


def _packed(asked: np.ndarray) -> np.ndarray:
    """[word, student] of a table of truth values [student, question]."""
    values = asked.reshape(NUM_STUDENTS, WORDS, BITS) * 2 ** np.arange(BITS)
    words = values.sum(axis=2).astype(np.int32).T
    return np.pad(words, ((0, 0), (0, ROOM - NUM_STUDENTS)))


def _write(x_ref, right_ref, words_ref, grad_ref):
    """Abilities beyond the mean, the mean, difficulties."""
    student = jnp.arange(ROOM)
    there = student < NUM_STUDENTS
    of_mean, of_questions = NUM_STUDENTS, NUM_STUDENTS + 1
    mean, ability = x_ref[of_mean], load(x_ref, student, mask=there)
    of_students = jnp.exp(jnp.clip(-(mean + ability), -BOUND, BOUND))

    def some(word, expected):
        words = words_ref[word, :]

        def one(bit, expected):
            place = of_questions + word * BITS + bit
            difficulty = x_ref[place]
            odds = of_students * jnp.exp(jnp.clip(difficulty, -BOUND, BOUND))
            of_answers = jnp.where((words >> bit) & 1 != 0, 1.0 / (1.0 + odds), 0.0)
            grad_ref[place] = jnp.sum(of_answers) - right_ref[place] - difficulty
            return expected + of_answers

        return jax.lax.fori_loop(0, BITS, one, expected)

    expected = jax.lax.fori_loop(0, WORDS, some, jnp.zeros_like(ability))
    slope = load(right_ref, student, mask=there) - expected
    grad_ref[of_mean] = jnp.sum(slope) - (mean - 0.75)
    store(grad_ref, student, value=slope - ability, mask=there)

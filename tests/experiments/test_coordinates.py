"""When R-hat of kept draws falls below the threshold, beside the package's own estimator."""

import numpy as np
import pytest

from experiments import coordinates
from experiments.paper.long_run import _ratio
from experiments.paper.rhat import classic
from snaper.diagnostics import ess

LOOKS = range(10, 401, 10)


@pytest.fixture(scope="module")
def draws():
    """Chains that forget slowly, [chain, draw, dim]."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(16, 400, 2))
    x = np.zeros_like(noise)
    for step in range(1, 400):
        x[:, step] = 0.6 * x[:, step - 1] + noise[:, step]
    return 100.0 + x


def test_r_hat_is_below_for_the_first_time(draws):
    found = coordinates.first_below(draws, LOOKS)
    for rule, rhat in (("classic", classic_rhat), ("split", split_rhat)):
        expected = next(count for count in LOOKS if rhat(draws[:, :count]) < 1.01)
        assert found[rule] == expected > LOOKS[0]


def classic_rhat(x):
    return float(np.max(classic(_ratio(x), x.shape[0], x.shape[1])))


def split_rhat(x):
    return float(np.max(ess.split_rhat(x, xp=np)))


def test_what_never_is_below_is_told(draws):
    far = draws + np.arange(16)[:, None, None]
    assert coordinates.first_below(far, LOOKS) == {"classic": -1, "split": -1}

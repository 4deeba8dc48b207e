"""Conditions on functions of the parameters of models, deterministics included."""

import numpy as np
import pytest
import schools

import snaper
from snaper.diagnostics.ess import split_rhat

SIZES = {"chains": 16, "warmup": 60, "preset": "paper", "progress": False}  # quick to compile


def numpyro_arguments():
    return schools.numpyro_model, schools.Y, schools.SIGMA


def pymc_arguments():
    pytest.importorskip("pymc")
    return (schools.pymc_model(),)


@pytest.mark.parametrize("arguments", [numpyro_arguments, pymc_arguments])
def test_functions_see_what_the_model_names(arguments):
    """By stored draws: R-hat of the values, which are those of the constrained parameters."""

    def of(p):
        return {"spread": p["theta"] - p["mu"], "tau": p["tau"]}

    until = snaper.Until(rhat=1.00001, max_draws=40, of=of)
    run = snaper.sample(*arguments(), until=until, **SIZES)
    asked = run.watch.asked()
    assert [asked.name(i) for i in (0, 7, 8)] == ["spread[0]", "spread[7]", "tau"]
    draws = run.draws
    values = [draws["theta"] - draws["mu"][..., None], draws["tau"][..., None]]
    at = int(run.watch.look().split_at)
    expected = split_rhat(np.concatenate(values, axis=-1).astype(float), at, np)
    np.testing.assert_allclose(asked.rhat, expected, rtol=1e-6)
    with pytest.raises(ValueError, match="of names 'sigmas', which is not among mu, tau, ") as said:
        snaper.sample(*arguments(), until=snaper.Until(of=["sigmas"]), **SIZES)
    assert "theta" in str(said.value)

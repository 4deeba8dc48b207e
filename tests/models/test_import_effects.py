"""Models of other packages leave JAX's settings and the environment as they were."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
    import json, os, sys
    import jax

    config, environment = dict(jax.config.values), dict(os.environ)
    import pymc as pm
    import snaper

    with pm.Model() as model:
        pm.Normal("x", pm.Normal("mean"), 1, observed=[1.0, 2.0])
    target = snaper.from_pymc(model)
    x = jax.numpy.zeros(1)
    print(json.dumps({
        "config": [k for k, v in jax.config.values.items() if config.get(k, v) != v],
        "environment": [
            k for k in ("XLA_FLAGS", *environment) if os.environ.get(k) != environment.get(k)
        ],
        "devices": len(jax.devices()),
        "dtypes": [str(target.dtype), str(target.logp(x).dtype)],
        "pymc.sampling.jax": "pymc.sampling.jax" in sys.modules,
    }))
"""


def test_a_pymc_model_changes_no_setting():
    """Neither the x64 switch, which PyTensor would turn on, nor the number of devices, of which
    PyMC's own JAX samplers would make 100; and nothing is warned about.
    """
    pytest.importorskip("pymc")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XLA_"))}
    command = [sys.executable, "-W", "error::UserWarning", "-c", textwrap.dedent(PROGRAM)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "config": [],
        "environment": [],
        "devices": 1,
        "dtypes": ["float32", "float32"],
        "pymc.sampling.jax": False,
    }

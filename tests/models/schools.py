"""Eight schools (Rubin 1981), not centred, written three ways.

mu ~ Normal(0, 5)    tau ~ HalfCauchy(5)    z_i ~ Normal(0, 1)
theta_i = mu + tau z_i    y_i ~ Normal(theta_i, sigma_i)
"""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.distributions import constraints

from snaper import Target

Y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
SIGMA = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
SCHOOLS = ["Choate", "Deerfield", "Exeter", "Andover", "Hotchkiss", "Lawrenceville", "Hill", "Kent"]

traces = []  # grows by one whenever Python runs the NumPyro model


def log_density(params, data):
    mu, tau, z = params["mu"], params["tau"], params["z"]
    misfit = (data["y"] - mu - tau * z) / data["sigma"]
    priors = -0.5 * (mu / 5) ** 2 - jnp.log1p((tau / 5) ** 2) - 0.5 * jnp.sum(z**2)
    return priors - 0.5 * jnp.sum(misfit**2)


def plain(y=Y):
    like = {"mu": 0.0, "tau": 1.0, "z": jnp.zeros(8)}
    data = {"y": y, "sigma": SIGMA}
    return Target(log_density, like, data, {"tau": constraints.positive})


def numpyro_model(y, sigma):
    traces.append(1)
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("school", len(y)):
        z = numpyro.sample("z", dist.Normal(0, 1))
        theta = numpyro.deterministic("theta", mu + tau * z)
        numpyro.sample("y", dist.Normal(theta, sigma), obs=y)


def pymc_model():
    import pymc as pm

    with pm.Model(coords={"school": SCHOOLS}) as model:
        y = pm.Data("y_data", Y, dims="school")
        sigma = pm.Data("sigma", SIGMA, dims="school")
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfCauchy("tau", 5)
        z = pm.Normal("z", 0, 1, dims="school")
        theta = pm.Deterministic("theta", mu + tau * z, dims="school")
        pm.Normal("y", theta, sigma, observed=y, dims="school")
    return model

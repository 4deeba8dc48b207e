"""Sample a real posterior: logistic regression of 1000 credit decisions on 24 features."""

import snaper
from snaper import targets

run = snaper.sample(targets.get("logistic-regression"), chains=64, warmup=1000, draws=1000, seed=0)
print(run.summary())

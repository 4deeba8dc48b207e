# Needs only Python >= 3.11 with pip and venv: `make PYTHON=python3.12 test`.
PYTHON ?= python3
# Parallel test processes.
JOBS ?= 2
# `make lock` keeps the pins that still fit; `make lock LOCK_ARGS=--upgrade` takes the newest.
LOCK_ARGS ?=
UV_VERSION := 0.13.7

VENVS := .venv .venv-run .venv-peers
# Threads of LAPACK wait for each other busily, and test processes have a core each.
PYTEST = JAX_COMPILATION_CACHE_DIR=$(CURDIR)/.cache/jax \
	JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0.1 OPENBLAS_NUM_THREADS=1 \
	$(VENV)/bin/python -m pytest -n $(JOBS) --dist loadfile
# Most of the time of tests is XLA's. With its former emitters and fewer optimisations it takes half
# as long, for programs that are nearly as fast; `make test-all` compiles as users do.
QUICK = XLA_FLAGS="--xla_cpu_use_fusion_emitters=false --xla_backend_optimization_level=1 $$XLA_FLAGS"
COMPILE = .venv-lock/bin/uv pip compile --no-config --quiet --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-emit-find-links --no-header --no-annotate $(LOCK_ARGS)

.DELETE_ON_ERROR:
.PHONY: help demo lint test test-all test-peers paper paper-quick bench bench-page lock clean

help:  ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

demo: .venv-run/.stamp  ## Run the demonstration
	.venv-run/bin/python examples/demo.py

lint: .venv/.stamp  ## Check style, format and types
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/pyright --pythonpath .venv/bin/python

test: VENV = .venv
test: lint  ## Lint, then run the default tests (under ten minutes)
	$(PYTEST) -m "compiler and not slow and not peers"
	$(QUICK) $(PYTEST)

test-all: VENV = .venv
test-all: lint  ## Lint, then run all tests, slow ones too
	$(PYTEST) -m "not peers"

test-peers: VENV = .venv-peers
test-peers: .venv-peers/.stamp  ## Run the comparisons with other packages
	$(PYTEST) -m peers

paper: .venv/.stamp  ## Measure what is missing of the paper's tables and figures, and write the page
	.venv/bin/python -m experiments.paper
	.venv/bin/python -m experiments.paper.spectrum
	.venv/bin/python -m experiments.paper.traces
	.venv/bin/python -m experiments.paper.tails
	.venv/bin/python -m experiments.coordinates
	.venv/bin/python -m experiments.paper.page

paper-quick: .venv/.stamp  ## The same for small problems and few seeds (under 15 minutes, two cores)
	.venv/bin/python -m experiments.paper --quick --results build/paper-quick
	.venv/bin/python -m experiments.paper.page --results build/paper-quick

bench: .venv-peers/.stamp  ## Time it against bare gradients and other packages (hours on two cores)
	.venv-peers/bin/python -m experiments.bench overhead learning scale peers
	.venv-peers/bin/python -m experiments.bench.cores --results docs/results/bench
	.venv-peers/bin/python -m experiments.bench.page

bench-page: .venv/.stamp  ## Write the page of these times anew
	.venv/bin/python -m experiments.bench.page

lock: .venv-lock/.stamp  ## Write the lock files anew from pyproject.toml
	$(COMPILE) pyproject.toml --extra dev --extra all -o requirements/test.lock
	$(COMPILE) pyproject.toml -c requirements/test.lock -o requirements/run.lock
	$(COMPILE) pyproject.toml -c requirements/test.lock --extra dev --extra all --extra peers \
		-o requirements/peers.lock
	printf '%s\n' hatchling editables | \
		$(COMPILE) - -c requirements/peers.lock -o requirements/build.lock

clean:  ## Remove the environments and caches that these rules made
	rm -rf $(VENVS) .venv-lock .cache .hypothesis .pytest_cache .ruff_cache build dist

# One environment for each lock file.
.venv/.stamp: LOCK = requirements/test.lock
.venv-run/.stamp: LOCK = requirements/run.lock
.venv-peers/.stamp: LOCK = requirements/peers.lock
.venv/.stamp: requirements/test.lock
.venv-run/.stamp: requirements/run.lock
.venv-peers/.stamp: requirements/peers.lock

$(VENVS:=/.stamp): requirements/build.lock pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --require-hashes -r $(LOCK) -r requirements/build.lock
	$(@D)/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
	touch $@

.venv-lock/.stamp:
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet uv==$(UV_VERSION)
	touch $@

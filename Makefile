# Every target builds its own .venv when needed; a second call is quick.
PYTHON ?= python3
PIP = .venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# two workers share the cores; a second BLAS thread in each only gets in the way
ONE_THREAD = OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
# the theme announces its successor at every start; its versions are pinned and the site is static
MKDOCS = NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs

# a few workers are quickest; WORKERS=1 or 4, ORDER=random (or its seed) and SEED=n (other draws) must pass as well
WORKERS ?= 2
# without bytecode on disk every process that a test starts would compile all of tacit
PYTEST = PYTHONDONTWRITEBYTECODE= $(ONE_THREAD) .venv/bin/python -m pytest -n $(WORKERS) --dist worksteal -q $(if $(ORDER),--order $(ORDER)) $(if $(SEED),--seed $(SEED))
N ?= 20
# what the lowest versions are tested with; ray, and what is only needed to test, comes in its pinned version
FLOORS = sklearn,postgres,service,plot,sign,parquet,excel,dask,opendp
LOWEST = .venv-lowest/bin/python
LOWEST_TESTS = tests/cli tests/data tests/gp tests/integrations tests/report tests/run/test_study_store.py tests/methods/test_tune.py tests/privacy/ledger/test_ledger.py tests/training/test_train.py
# Optuna's own suite for samplers is newer than the lowest Optuna
LOWEST_TESTS += --ignore tests/integrations/test_samplers.py

.PHONY: demo test test-all shuffled lowest check mutants chaos bench bench-full peers results docs links clean help

help:            ## what can be made
	@grep -E '^[a-z-]+:.*##' Makefile | sed 's/:.*##/\t/'

demo: .venv/.demo   ## tune a model on a private validation set, print the release, write the report
	.venv/bin/python examples/demo.py

test: .venv/.ready   ## the tests, a few minutes
	$(PYTEST)

test-all: .venv/.docs   ## the tests with the slow ones, the site among them
	$(PYTEST) -m ''

shuffled: .venv/.ready   ## the tests N times (20), each time in another order; fails if any run does
	@failed=0; for run in $$(seq $(N)); do $(PYTEST) --order random || failed=$$((failed + 1)); done; \
	echo "$$failed of $(N) shuffled runs failed"; test $$failed = 0

lowest: .venv/.ready   ## quick tests with the lowest versions that pyproject.toml declares, in .venv-lowest
	$(PYTHON) -m venv --clear .venv-lowest
	$(LOWEST) tests/lowest.py pyproject.toml $(FLOORS) > .venv-lowest/constraints.txt
	$(LOWEST) -m pip install --quiet --disable-pip-version-check --constraint .venv-lowest/constraints.txt --editable '.[$(FLOORS)]' cmaes dp-accounting duckdb hypothesis mpmath polars pytest pytest-xdist
	$(ONE_THREAD) $(LOWEST) -m pytest -n $(WORKERS) --dist worksteal -q $(LOWEST_TESTS)
	$(LOWEST) examples/demo.py

check: .venv/.ready   ## format, lint, types
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy

mutants: .venv/.ready   ## put small faults into the modules guarantees rest on; fails if no test notices one (ALL=1, CHANGED=1, ONLY=...)
	$(ONE_THREAD) PYTHONPATH=tests .venv/bin/python -m mutation $(if $(ALL),--all) $(if $(CHANGED),--changed) $(if $(ONLY),--only $(ONLY))

chaos: .venv/.ready   ## break processes, disks, clocks, files and servers for ten minutes; fails at a violation
	$(ONE_THREAD) .venv/bin/python -m benchmarks chaos

bench: .venv/.ready   ## measure all that fits in 30 minutes on 2 cores; results in benchmarks/results
	.venv/bin/python -m benchmarks --within 30

bench-full: .venv/.ready   ## measure everything, going on where an earlier run stopped
	.venv/bin/python -m benchmarks --full

# torch comes with gigabytes of GPU libraries unless its CPU build is installed first
peers: .venv/.ready   ## install what benchmarks compare with (torch among it); without it those figures are missing
	$(PIP) --editable '.[bench]'

results: .venv/.ready   ## the pages that benchmarks fill: docs/results.md, docs/papers.md, docs/scale.md
	.venv/bin/python -m benchmarks --pages docs

docs: results .venv/.docs   ## the site in site/: open site/index.html, no server needed
	$(MKDOCS) build --strict --quiet

links: .venv/.ready   ## ask every address that the pages name; a report, it never fails
	.venv/bin/python docs/_parts/links.py

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "tacit needs Python 3.11 or newer, found $$($(PYTHON) --version). Set PYTHON=python3.x"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.demo: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[sklearn]'
	@touch .venv/.demo

.venv/.ready: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[test,dev]'
	@touch .venv/.ready .venv/.demo

.venv/.docs: .venv/.ready
	$(PIP) --editable '.[docs]'
	@touch .venv/.docs

clean:           ## remove what make built
	rm -rf .venv .venv-lowest build dist site .mypy_cache .pytest_cache .ruff_cache

# Every target builds its own .venv when needed; a second call is quick.
PYTHON ?= python3
PIP = .venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# two workers share the cores; a second BLAS thread in each only gets in the way
ONE_THREAD = OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

.PHONY: demo test test-all check bench docs clean help

help:            ## what can be made
	@grep -E '^[a-z-]+:.*##' Makefile | sed 's/:.*##/\t/'

demo: .venv/.ready   ## tune a model on a private validation set, print the release, write the report
	.venv/bin/python examples/demo.py

test: .venv/.ready   ## the tests, a few minutes
	$(ONE_THREAD) .venv/bin/python -m pytest -n 2 -q

test-all: .venv/.ready   ## the tests with the slow ones
	$(ONE_THREAD) .venv/bin/python -m pytest -n 2 -q -m ''

check: .venv/.ready   ## format, lint, types, layers
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/python -m pytest -q tests/test_layers.py tests/test_public_names.py

bench: .venv/.ready   ## measure; results in benchmarks/results
	.venv/bin/python -m benchmarks

docs: .venv/.ready   ## the pages that benchmarks fill
	.venv/bin/python -m benchmarks --page docs/results.md

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "tacit needs Python 3.11 or newer, found $$($(PYTHON) --version). Set PYTHON=python3.x"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.ready: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[test,dev]'
	@touch .venv/.ready

clean:           ## remove what make built
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache

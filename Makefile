# The two commands of the README, and what developers run. Needs python3 (3.11 or newer), git and make, nothing else.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do $$p -c "import sys; sys.exit(sys.version_info < (3, 11))" 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-all envs check null speed experiments everyday startup fixtures schema clean

$(VENV)/.demo: pyproject.toml
	@test -n "$(PYTHON)" || { echo "error: no Python 3.11 or newer on the path (make PYTHON=/path/to/python3)" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . pytest
	@: > $@

$(VENV)/.dev: $(VENV)/.demo
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@: > $@

demo: $(VENV)/.demo
	$(BIN)/triage run fixtures/hash_order/tests/test_book.py::test_both_tags_are_listed

envs: $(VENV)/.dev
	$(BIN)/python scripts/envs.py

test: $(VENV)/.dev
	$(BIN)/python scripts/envs.py --quick
	$(BIN)/python -m pytest -q -n 3 -m "not slow"

test-all: envs
	$(BIN)/python -m pytest -q -n 3

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

null: $(VENV)/.dev
	$(BIN)/python tests/benchmarks/null.py

speed: envs
	$(BIN)/python tests/benchmarks/speed.py

experiments: envs
	$(BIN)/python tests/benchmarks/experiments.py

everyday: $(VENV)/.dev
	$(BIN)/python scripts/sdists.py

startup: $(VENV)/.dev
	$(BIN)/python tests/benchmarks/startup.py

fixtures: envs
	$(BIN)/python scripts/triage_fixtures.py

schema: $(VENV)/.dev
	$(BIN)/python scripts/schema.py
	$(BIN)/python scripts/sweep_schema.py

clean:
	rm -rf $(VENV) .envs .triage

# `make help` lists what you can do here.
PYTHON ?= python3
VENV ?= .venv
PY := $(VENV)/bin/python

.DEFAULT_GOAL := help
.PHONY: help install run test lint types messages format bench faults demo-reset demo-break demo-mend lock

help: ## Show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  \033[36mmake %-12s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.installed: requirements-dev.txt requirements-kafka.txt requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Axiom needs Python 3.11 or newer: name one, for example make run PYTHON=python3.12."; exit 1; }
	@test -x $(PY) || { echo "Making a virtual environment in $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "Installing the pinned requirements, this once"
	@$(PY) -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

install: $(VENV)/.installed ## Make the virtual environment with the pinned requirements

run: install ## Start everything and print where it is
	@$(PY) manage.py run

test: install ## Run every test on servers of their own
	@$(PY) -m pytest -n auto --maxprocesses 8

faults: install ## Kill, cut and wipe everything in many rounds; ROUNDS=20 SEED=1234
	@AXIOM_FAULTS=long AXIOM_FAULTS_ROUNDS="$(ROUNDS)" AXIOM_FAULTS_SEED="$(SEED)" $(PY) -m pytest -n 2 tests/faults

bench: install ## Measure Axiom; ONLY=name measures one thing
	@ONLY="$(ONLY)" $(PY) -m benchmarks

demo-reset: install ## Empty the demo's data and load it anew
	@$(PY) manage.py embedded exec sh -c '$(PY) manage.py migrate --no-input --verbosity 0 && $(PY) manage.py demo reset'

demo-break: install ## Let a consumer fail, for the tour of the README
	@$(PY) manage.py embedded exec $(PY) manage.py demo break

demo-mend: install ## Take that back
	@$(PY) manage.py embedded exec $(PY) manage.py demo mend

lint: install ## Check style and types
	@$(VENV)/bin/ruff check . && $(VENV)/bin/ruff format --check .
	@$(MAKE) --no-print-directory types

# mypy reads the settings, which want servers named; it never talks to them.
types: install
	@SECRET_KEY=unused DATABASE_URL=postgres://unused/unused REDIS_URL=redis://unused $(VENV)/bin/mypy .

format: install ## Put the code into shape
	@$(VENV)/bin/ruff check --fix . ; $(VENV)/bin/ruff format .

messages: install ## Bring the Korean catalog up to date and compile it
	@$(PY) -m axiom.translation update

lock: install ## Pin requirements*.in into requirements*.txt
	@$(VENV)/bin/uv pip compile -q --universal --python-version 3.11 --no-header --annotation-style=line requirements.in -o requirements.txt
	@$(VENV)/bin/uv pip compile -q --universal --python-version 3.11 --no-header --annotation-style=line requirements-kafka.in -o requirements-kafka.txt
	@$(VENV)/bin/uv pip compile -q --universal --python-version 3.11 --no-header --annotation-style=line requirements-dev.in -o requirements-dev.txt

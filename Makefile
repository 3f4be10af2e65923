# make demo   sets up and anonymizes a hospital table of 20,000 rows
# make test   sets up and runs everything CI runs
# make check  the everyday one: lint, types, import contract, tests and doctests

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: setup demo test check lint types contract bench peers clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup
	$(BIN)/tclose demo --folder demo

test: setup lint types contract
	$(BIN)/pytest -n 2 --dist worksteal

check: setup lint types contract
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow"

lint: setup
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .

types: setup
	$(BIN)/mypy

contract: setup
	$(BIN)/lint-imports --no-cache

# What other packages need to be measured against lives in an environment of its own.
peers: setup
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/pip install --quiet --disable-pip-version-check --constraint benchmarks/constraints-peers.txt pycanon

bench: setup
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv .venv-peers demo benchmarks/results

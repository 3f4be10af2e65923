# make demo      sets up what a user installs, and anonymizes a hospital table of 20,000 rows
# make test      sets up and runs everything CI runs
# make check     the everyday one: lint, types, import contract, tests and doctests
# make docs      builds the site of the documentation: build/docs/index.html
# make bounds    runs every kernel with its indices checked; part of make test
# make fuzz      random tables against a slow judge; SECONDS=600 if not said
# make campaign  what takes long, by NAME (any_histories, bounds_of_loss, fuzz, histories, mutants, pairs, readers, seeds, shards, writers), for SECONDS; its counts are kept in benchmarks/campaigns

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
USED := .venv/.installed-for-use
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable
TESTS := $(BIN)/pytest -n 2 --dist worksteal --durations 25

# Byte code is kept, whatever the surroundings say: without it every process that tests start compiles the package anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup system demo test bounds check warm lint types contract bench peers campaign fuzz docs clean

setup: $(STAMP)

# What the demo needs, and no more: what a user installs.
$(USED): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) .
	touch $@

$(STAMP): $(USED)
	$(INSTALL) '.[dev]'
	touch $@

# Servers and browsers that some tests need, where they can be installed; without them these tests skip, and say why.
APT := [ "$$(id -u)" = 0 ] && command -v apt-get && apt-get update && apt-get install --yes --no-install-recommends

system:
	@command -v redis-server > /dev/null || { $(APT) redis-server; } > /dev/null 2>&1 || echo "no redis-server: its tests skip"
	@ls /usr/lib/postgresql/*/bin/postgres > /dev/null 2>&1 || { $(APT) postgresql; } > /dev/null 2>&1 || echo "no PostgreSQL: its tests skip"
	@ldconfig -p 2> /dev/null | grep -q libpangoft2 || { $(APT) libpangoft2-1.0-0 fonts-dejavu-core; } > /dev/null 2>&1 || echo "no Pango: tests of PDF skip"
	@command -v chromedriver > /dev/null || { $(APT) chromium chromium-driver; } > /dev/null 2>&1 || echo "no chromium: its tests skip"
	@command -v java > /dev/null || { $(APT) openjdk-17-jre-headless || $(APT) default-jre-headless; } > /dev/null 2>&1 || echo "no Java: tests of Spark skip"

demo: $(USED)
	$(BIN)/tclose demo --folder demo

test: setup system lint types contract warm
	$(TESTS)
	$(MAKE) bounds

# Kernels compiled so that they check every index, with little optimizing, into a cache of their own.
CHECKED := NUMBA_BOUNDSCHECK=1 NUMBA_OPT=1 NUMBA_LOOP_VECTORIZE=0 NUMBA_SLP_VECTORIZE=0 NUMBA_CACHE_DIR=$(CURDIR)/.venv/numba-bounds

bounds: setup
	$(CHECKED) $(BIN)/tclose warmup
	$(CHECKED) $(BIN)/pytest -m bounds tests/bounds

check: setup
	$(MAKE) --no-print-directory --jobs 2 --output-sync lint types contract warm
	$(TESTS) -m "not slow and not bounds and not campaign"

# Kernels are compiled once, before the workers start, and not in each of them.
warm: setup
	$(BIN)/tclose warmup

fuzz: setup
	$(BIN)/python -m tests.fuzz $(or $(SECONDS),600)

lint: setup
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .

types: setup
	$(BIN)/mypy

contract: setup
	$(BIN)/lint-imports --no-cache

# Generated pages are written anew, and the site is built without a warning. Nothing is loaded from elsewhere.
docs: setup
	$(BIN)/python -m docs.generate
	$(BIN)/sphinx-build -W --keep-going -q -j 2 -b html docs build/docs
	@echo "build/docs/index.html"

# What other packages need to be measured against lives in an environment of its own.
peers: setup
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/pip install --quiet --disable-pip-version-check --constraint benchmarks/constraints-peers.txt pycanon

bench: setup
	$(BIN)/python -m benchmarks

# A fuzzer of readers is guided by atheris where that can be installed, and goes on without it where not.
campaign: setup
	@if [ "$(NAME)" = readers ]; then $(INSTALL) '.[fuzz]' || echo "no atheris: bytes are changed at random"; fi
	$(if $(SECONDS),READERS_SECONDS=$(SECONDS) FUZZ_SECONDS=$(SECONDS)) $(BIN)/python -m benchmarks.campaigns $(NAME)

clean:
	rm -rf .venv .venv-peers demo benchmarks/results

# `make` alone prints what there is. Every target sets up what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One more than cores: much of a test is waiting for a process or a disk. With four, tests that wait
# for parts of a second fail now and then.
WORKERS ?= 3
# Under root the database's own account must reach the folder, wherever the checkout lies.
DEMO_HOME ?= $(shell [ "$$(id -u)" = 0 ] && echo /var/lib/vademecum-demo || echo "$(CURDIR)/.demo")

.DEFAULT_GOAL := help
.PHONY: help demo setup test test-all unit lint types fmt screenshots build stop clean

help: ## print this
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

demo: $(VENV)/installed ## ingest a ticket seller's documents and ask six questions
	@VADE_HOME="$(DEMO_HOME)" $(BIN)/vade demo

setup: $(VENV)/developed ## make the virtual environment with everything for development

test: lint types $(VENV)/developed ## check and test, as CI does (under 30 minutes on two cores)
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "not slow" --durations 15

test-all: test ## the same with the long tiers (up to 3 hours)
	$(BIN)/pytest -m slow --timeout 3600 --durations 15

unit: $(VENV)/developed ## only the tests that need no database and no model
	$(BIN)/pytest -q tests/unit

lint: $(VENV)/developed ## style, layers, import cycles
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-logo

types: $(VENV)/developed ## types, strictly, of the benchmarks too: nothing else calls them
	$(BIN)/mypy
	$(BIN)/mypy benchmarks

fmt: $(VENV)/developed ## format, and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

screenshots: $(VENV)/developed ## take pictures of every page of the demo into docs/images (needs chromium)
	@VADE_HOME="$(DEMO_HOME)" VADE="$(BIN)/vade" PYTHON="$(BIN)/python" sh tools/screenshots.sh

build: $(VENV)/developed ## build the wheel into dist/
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .
	@ls dist

stop: $(VENV)/installed ## stop the demo's database server
	@VADE_HOME="$(DEMO_HOME)" $(BIN)/vade stop

clean: ## remove what was built; the demo's data stays
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "installing (once)"
	@$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/developed: $(VENV)/installed
	@$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

# Every target works on a fresh machine: what it needs, it installs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: install run test test-all lint format bench clean

install: $(VENV)/.installed
$(VENV)/.installed: pyproject.toml $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.test-installed: pyproject.toml $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@ $(VENV)/.installed

$(VENV)/.lint-installed: pyproject.toml $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[lint]'
	@touch $@ $(VENV)/.test-installed $(VENV)/.installed

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "forewarn needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

run: install
	$(BIN)/forewarn serve --demo

lint: $(VENV)/.lint-installed
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.lint-installed
	$(BIN)/ruff format src tests benchmarks
	$(BIN)/ruff check --fix src tests benchmarks

test: $(VENV)/.test-installed
	$(BIN)/pytest -m "not system and not long"

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache

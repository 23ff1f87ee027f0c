# Every target works on a fresh machine: what it needs, it installs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CODE   := src tests tools benchmarks
PIP    := $(BIN)/pip install --quiet --disable-pip-version-check --editable

# What `make test-all` and `make bench` take from Debian.
SYSTEM_PACKAGES := curl dnsmasq-base haproxy iproute2 isc-dhcp-client nginx-light wrk

# Tests that talk to real parts wait for them half of the time: one more worker than there are cores.
WORKERS = $$(($$(nproc) + 1))

# Azure's own clients, which `make test-all` runs against us: an SDK of years ago, and the newest CLI. Each has a
# virtual environment of its own, as they want other versions of the same libraries.
AZURE_OLD := .venv-azure-old
AZURE_CLI := .venv-azure-cli

# `make test-newest` takes the first of these that this machine has, and runs these tests: a minute or two.
NEWER_PYTHONS := 3.14 3.13 3.12
FAST_TESTS := $(addprefix tests/,control core edge rest rollouts store wire)

# The agent's tests also run on these, in virtual environments without the service.
AGENT_PYTHONS := 3.9 3.13

# What guests read their metadata with, of two Debian releases, which `make test-all` runs against us. The packages are
# unpacked and not installed, as they bring services; the libraries that they import have a virtual environment.
GUESTS          := .venv-guests
GUEST_RELEASES  := bookworm trixie
GUEST_LIBRARIES := configobj distro jinja2 jsonpatch jsonschema oauthlib pyyaml requests

.PHONY: help install agent run test test-newest test-part test-agent test-all system-packages azure-clients \
        guest-agents simulate soak lint format docs bench clean

help: ## what there is
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

install: $(VENV)/.installed ## .venv with .venv/bin/forewarn, and nothing more

agent: $(VENV)/.agent-installed ## dist/forewarn-agent.pyz: the program in the guest, one file for Python 3.9 or later
	@$(BIN)/python tools/agent_file.py dist/forewarn-agent.pyz

run: install ## the demo: a small fleet, simulated guests, something always going on
	@$(BIN)/forewarn serve --demo

test: $(VENV)/.test-installed ## every test that needs no root and no system package
	$(BIN)/pytest -n $$(($$(nproc) + 2)) --dist worksteal -m "not system and not long"  # half of the time tests wait

test-all: $(VENV)/.test-installed system-packages azure-clients guest-agents test-agent ## on Debian as root: everything, nothing skipped
	$(BIN)/pytest -n $(WORKERS)

test-newest: ## a fast part of the tests on the newest Python on this machine
	@for version in $(NEWER_PYTHONS); do \
	  if python=$$($(PYTHON) tools/pythons.py $$version 2>/dev/null); then \
	    exec $(MAKE) --no-print-directory test-part PYTHON=$$python VENV=.venv-$$version; \
	  fi; \
	  echo "There is no Python $$version on this machine."; \
	done; \
	echo "error: The tests need one of Python $(NEWER_PYTHONS). Install one, for example: pyenv install 3.13" >&2; \
	exit 1

test-part: $(VENV)/.test-installed
	$(BIN)/pytest -n auto -m "not system and not long" $(FAST_TESTS)

test-agent: $(AGENT_PYTHONS:%=test-agent-%) ## the agent's tests on the oldest and the newest Python that guests may have

test-agent-%: .venv-agent-%/.installed
	PYTHONPATH=src $(<D)/bin/pytest -n $(WORKERS) -m "not system and not long" --confcutdir=tests/agent \
	  --ignore=tests/agent/with_service tests/agent

simulate: $(VENV)/.test-installed ## a thousand simulated days; SEEDS=0-99999 for more
	$(BIN)/python -m tests.simulation --seeds $(or $(SEEDS),0-999)

soak: $(VENV)/.test-installed ## connections, events, rollouts and streams for MINUTES=30: does memory level off?
	$(BIN)/python -m benchmarks.churn --minutes $(or $(MINUTES),30)

lint: $(VENV)/.lint-installed ## formatting, types, import contracts
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.lint-installed ## what `make lint` asks for, done
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

docs: $(VENV)/.test-installed ## the generated pages, anew
	$(BIN)/python -m tools.reference

bench: $(VENV)/.test-installed ## the benchmarks, each next to a peer in the same run
	@command -v wrk >/dev/null && test -x "$$(command -v nginx || echo /usr/sbin/nginx)" || $(MAKE) system-packages
	$(BIN)/python -m benchmarks.polls
	$(BIN)/python -m benchmarks.agent

clean: ## what the other targets made
	rm -rf $(VENV) $(NEWER_PYTHONS:%=.venv-%) .venv-agent-* $(AZURE_OLD) $(AZURE_CLI) $(GUESTS) dist
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

system-packages:
	@test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	  || { echo "this needs Debian and root, to install: $(SYSTEM_PACKAGES)" >&2; exit 1; }
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $(SYSTEM_PACKAGES) >/dev/null

azure-clients: $(AZURE_OLD)/.installed $(AZURE_CLI)/.installed

guest-agents: $(GUESTS)/.installed

$(GUESTS)/.installed: Makefile tools/debian_packages.sh | system-packages
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check $(GUEST_LIBRARIES)
	set -e; for each in $(GUEST_RELEASES); do tools/debian_packages.sh $(@D)/$$each $$each cloud-init waagent; done
	@touch $@

$(VENV)/.installed: pyproject.toml $(BIN)/python
	$(PIP) .
	@touch $@

$(VENV)/.agent-installed: pyproject.toml $(BIN)/python
	$(PIP) '.[agent-file]'
	@touch $@ $(VENV)/.installed

$(VENV)/.test-installed: pyproject.toml $(BIN)/python
	$(PIP) '.[test]'
	@touch $@ $(VENV)/.agent-installed $(VENV)/.installed

$(VENV)/.lint-installed: pyproject.toml $(BIN)/python
	$(PIP) '.[lint]'
	@touch $@ $(VENV)/.test-installed $(VENV)/.agent-installed $(VENV)/.installed

$(AZURE_OLD)/.installed: AZURE_PACKAGE := azure-mgmt-compute==30.6.0
$(AZURE_CLI)/.installed: AZURE_PACKAGE := azure-cli
$(AZURE_OLD)/.installed $(AZURE_CLI)/.installed: Makefile
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check $(AZURE_PACKAGE)
	@touch $@

.PRECIOUS: .venv-agent-%/.installed
.venv-agent-%/.installed: pyproject.toml
	python=$$($(PYTHON) tools/pythons.py $*) && $$python -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check hypothesis pytest pytest-xdist tomli
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "forewarn needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

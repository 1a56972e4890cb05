# Needs Python 3.11 or newer, make and git; everything else is installed from the lock files, by hash.
PYTHON ?= python3
PORT ?= 8080
WORKERS ?= -n auto --maxprocesses 4 --dist loadscope
BIN := .venv/bin
export PYTHONPATH := functions
LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--custom-compile-command "make lock" $(UPGRADE)

.DEFAULT_GOAL := help
.PHONY: help .venv .venv-sam local check test validate lock schemas

help: ## Show this list
	@grep -hE '^[.a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

.venv: .venv/.stamp ## Install the locked development environment
.venv/.stamp: requirements/dev.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement $<
	@touch $@

.venv-sam: .venv-sam/.stamp
.venv-sam/.stamp: requirements/sam.txt
	$(PYTHON) -m venv .venv-sam
	.venv-sam/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement $<
	@touch $@

local: .venv/.stamp ## Run the whole stack on this machine (PORT=8080)
	@exec $(BIN)/python -m infra.local --port $(PORT)

check: .venv/.stamp ## Lint, formats, types, imports, template
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/cfn-lint template.yaml

test: check ## Everything in check, then the tests with their coverage
	$(BIN)/pytest --cov --cov-report=term-missing $(WORKERS) $(PYTEST_ARGS)

validate: .venv-sam/.stamp ## Have the SAM CLI validate the template
	SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=eu-west-1 .venv-sam/bin/sam validate --lint

schemas: .venv/.stamp ## Write what is rendered from the code: tool schemas, OpenAPI, their copies in the template
	$(BIN)/python -m infra.schemas

lock: .venv/.stamp ## Remake the lock files (UPGRADE=--upgrade takes newer versions)
	$(LOCK) --extra local --extra dev --output-file requirements/dev.txt pyproject.toml
	$(LOCK) --output-file requirements/sam.txt requirements/sam.in

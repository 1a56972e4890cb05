# Needs Python 3.11 or newer with its venv, make and git; everything else is installed from the lock files, by hash.
PYTHON ?= python3
PORT ?= 8080
CONFIG_ENV ?= default
# Three at a time even on two processors: the page's tests, and those of time-outs, mostly wait.
WORKERS ?= -n 3 --dist loadfile --no-loadscope-reorder
BIN := .venv/bin
SAM = SAM_CLI_TELEMETRY=0 .venv-sam/bin/sam
export PYTHONPATH := functions
LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--custom-compile-command "make lock" $(UPGRADE)

.DEFAULT_GOAL := help
.PHONY: help .venv local check check-panel check-locks second-engine test coverage test-deployment test-panel test-examples prove mutants validate audit lock schemas package build deploy deploy-agent destroy export \
	smoke bench compare \
	build-ApiFunction build-AgentFunction build-HistoryFunction

help: ## Show this list
	@grep -hE '^[.a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

.venv: .venv/.stamp ## Install the locked development environment
.venv/.stamp: requirements/dev.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement $<
	@touch $@

# What needs versions of its own: .venv-sam, .venv-checkov, .venv-schemathesis, .venv-peer, and for the examples
# .venv-strands, .venv-langgraph, for the comparison .venv-compare-*.
.PRECIOUS: .venv-%/.stamp
.venv-%: .venv-%/.stamp ;
.venv-%/.stamp: requirements/%.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement $<
	@touch $@

local: .venv/.stamp ## Run the whole stack on this machine (PORT=8080, ORIGINS=http://localhost:3000 for a page there)
	@exec $(BIN)/python -m infra.local --port $(PORT) $(if $(ORIGINS),--parameter 'AllowedOrigins=$(ORIGINS)')

check: .venv/.stamp ## Lint, formats, types, imports, templates, and the panel's scripts where npm is
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/cfn-lint template.yaml agent.yaml
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory check-panel; \
		else echo "skipped: the panel's scripts and styles, which need npm to be checked"; fi

# Also holds them to the browsers of the last three years.
check-panel: tests/page/node_modules/.package-lock.json
	tests/page/node_modules/.bin/tsc --project tests/page
	tests/page/node_modules/.bin/eslint --config tests/page/eslint.config.js functions/preferences/api/assets infra/local 'tests/page/*.js'
	node tests/page/browsers.js

tests/page/node_modules/.package-lock.json: tests/page/package-lock.json
	npm ci --prefix tests/page --no-audit --no-fund --ignore-scripts
	@touch $@

# Tests on a second DynamoDB engine are skipped without it. Only for Linux on x64.
second-engine: tests/engines/node_modules/.package-lock.json
tests/engines/node_modules/.package-lock.json: tests/engines/package-lock.json
	npm ci --prefix tests/engines --no-audit --no-fund
	@touch $@

test: check ## Everything in check, then the tests
	$(BIN)/pytest $(WORKERS) $(PYTEST_ARGS)

coverage: .venv/.stamp ## The tests once more, half as slow again, and the lines that none of them runs
	$(BIN)/pytest --cov --cov-report=term-missing $(WORKERS) $(PYTEST_ARGS)

test-deployment: .venv/.stamp .venv-sam/.stamp .venv-checkov/.stamp ## Build and check what would be deployed, in every form (takes some minutes)
	$(BIN)/pytest -m deployment $(PYTEST_ARGS)

test-panel: .venv/.stamp ## Try the panel in other hosts and browsers, with answers lost, with two people at once
	$(BIN)/pytest -m panel $(WORKERS) $(PYTEST_ARGS)

test-examples: .venv/.stamp .venv-strands/.stamp .venv-langgraph/.stamp ## Run each example against a local stack, with the framework that it is for
	REQUIRE_EXAMPLES=1 $(BIN)/pytest -m examples $(PYTEST_ARGS)

prove: .venv/.stamp .venv-schemathesis/.stamp ## Try to break the promise, for some minutes, and tell what held (docs/proof.md)
	@$(BIN)/python -m tests.prove $(PYTEST_ARGS)

mutants: .venv/.stamp ## Break the code on purpose, line by line, and count what no test notices (docs/proof.md)
	@$(BIN)/python -m tests.mutants $(MUTANTS_ARGS)

validate: .venv-sam/.stamp ## Have the SAM CLI validate the templates
	AWS_DEFAULT_REGION=eu-west-1 $(SAM) validate --lint
	AWS_DEFAULT_REGION=eu-west-1 $(SAM) validate --lint --template-file agent.yaml

audit: .venv-checkov/.stamp ## Look for insecure settings in the templates (.checkov.yaml says what is not followed)
	@found=$$(.venv-checkov/bin/checkov --config-file .checkov.yaml 2>&1); status=$$?; echo "$$found"; \
	case "$$found" in *"Parsing errors:"*) echo "a template was not read, so nothing was looked at" >&2; exit 1;; esac; exit $$status

package: .venv/.stamp ## Build what Lambda runs: build/lambda, and packed build/preferences.zip
	$(BIN)/python -m infra.build build/lambda --zip build/preferences.zip

build: package .venv-sam/.stamp ## The same, with the template that `make deploy` sends
	PACKAGED=1 $(SAM) build

# What `sam build` calls for each function: all three run from the same files.
build-ApiFunction build-AgentFunction build-HistoryFunction: $(if $(PACKAGED),,package)
	cp -Rp build/lambda/. "$(ARTIFACTS_DIR)/"

OUTPUTS = $(SAM) list stack-outputs --config-env $(CONFIG_ENV) --output json

deploy: build ## Deploy template.yaml as samconfig.toml says (CONFIG_ENV=default, SAM_ARGS=… for sam deploy)
	$(SAM) deploy --config-env $(CONFIG_ENV) $(SAM_ARGS)
	@change=$$($(OUTPUTS) | $(BIN)/python -m infra.outputs change) && \
	if [ -n "$$change" ]; then echo "Once more, now that the stack is there: $$change"; \
		$(SAM) deploy --config-env $(CONFIG_ENV) $(SAM_ARGS) --parameter-overrides "$$change"; fi

deploy-agent: .venv/.stamp .venv-sam/.stamp ## Deploy agent.yaml for that stack (PARAMETERS='Gateway=NONE ClassicAgent=FUNCTIONS')
	@arn=$$($(OUTPUTS) | $(BIN)/python -m infra.outputs AgentFunctionArn) && \
	$(SAM) deploy --config-env $(CONFIG_ENV)-agent --template-file agent.yaml $(SAM_ARGS) \
		--parameter-overrides "FunctionArn=$$arn$(if $(PARAMETERS), $(PARAMETERS))"

destroy: .venv/.stamp ## Remove both stacks and what they store, after asking (KEEP=yes keeps that, EXPORT=file saves it first)
	@$(BIN)/python -m infra.destroy --environment $(CONFIG_ENV) $(if $(KEEP),--keep) $(if $(EXPORT),--export "$(EXPORT)")

# Every shell has a variable USER, which is not meant.
export: .venv/.stamp .venv-sam/.stamp ## Print all that is stored of a user (USER=the sub of their tokens)
	$(if $(filter command line,$(origin USER)),,$(error say whose: make export USER=the-sub-of-their-tokens))
	@table=$$($(OUTPUTS) | $(BIN)/python -m infra.outputs TableName) && \
	$(BIN)/python -m infra.export --table "$$table" --user "$(USER)"

smoke: .venv/.stamp ## Try the README's story on what is deployed (CONFIG_ENV=default, or URL=… TOKEN=… AGENT=function)
	@$(BIN)/python -m infra.smoke $(if $(URL),--url "$(URL)",--environment "$(CONFIG_ENV)") \
		$(if $(TOKEN),--token "$(TOKEN)") $(if $(AGENT),--agent "$(AGENT)")

bench: .venv/.stamp ## Measure it, beside bare boto3 and a peer, and write docs/benchmark.* (or only print, BENCH_ARGS=--only=cold,warm)
	@$(MAKE) --no-print-directory .venv-peer || echo "going on without the peer" >&2
	@npm ci --silent --prefix tests/bench/tokens || echo "going on without the tokenizer" >&2
	PYTHONPATH=functions:. $(BIN)/python -m tests.bench $(BENCH_ARGS)

COMPARED := compare-langmem compare-mem0 compare-agno compare-anthropic compare-letta
compare: .venv/.stamp ## Put it beside what one could pick instead, and write docs/comparison.md (COMPARE_ARGS=--short only prints)
	@$(MAKE) --no-print-directory .venv-peer
ifeq ($(filter --short,$(COMPARE_ARGS)),)
	@for name in $(COMPARED); do $(MAKE) --no-print-directory .venv-$$name || echo "going on without $$name" >&2; done
	npm ci --silent --prefix tests/compare/npm
	npm ci --silent --prefix tests/bench/tokens
endif
	PYTHONPATH=functions:. $(BIN)/python -m tests.compare $(COMPARE_ARGS)

schemas: .venv/.stamp ## Write what is rendered from the code: tool schemas, OpenAPI, their copies in the template
	$(BIN)/python -m infra.schemas

lock: .venv/.stamp ## Remake the lock files (UPGRADE=--upgrade takes newer versions)
	$(LOCK) --extra testing --extra local --extra dev --output-file requirements/dev.txt pyproject.toml
	$(LOCK) --output-file requirements/lambda.txt functions/requirements.txt
	$(LOCK) --output-file requirements/sam.txt requirements/sam.in
	$(LOCK) --output-file requirements/checkov.txt requirements/checkov.in
	$(LOCK) --output-file requirements/schemathesis.txt requirements/schemathesis.in
	$(LOCK) --output-file requirements/peer.txt requirements/peer.in
	$(LOCK) --output-file requirements/oldest-boto3.txt requirements/oldest-boto3.in
	$(LOCK) --output-file requirements/strands.txt requirements/strands.in
	$(LOCK) --output-file requirements/langgraph.txt requirements/langgraph.in
	for name in langmem mem0 agno anthropic; do \
		$(LOCK) --output-file requirements/compare-$$name.txt requirements/compare-$$name.in || exit; done
	$(LOCK) --exclude-newer 2026-06-01 --output-file requirements/compare-letta.txt requirements/compare-letta.in

check-locks: .venv/.stamp ## Remake the lock files, and fail if one of them was not what `make lock` makes
	@rm -rf build/locks && mkdir -p build && cp -R requirements build/locks
	@$(MAKE) --no-print-directory lock
	@diff -ru build/locks requirements || { echo "stale lock files: commit what \`make lock\` made" >&2; exit 1; }

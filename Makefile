# The verbs of this project; `make` alone lists them. Options: PYTHON=…, CONFIG=…, ARGS="…" for the tool behind a verb.

VENV := .venv/bin
CONFIG ?= hermes.yaml
ARGS ?=
export PYTHON

.DEFAULT_GOAL := help
.PHONY: help run test check bench soak lock up down rebuild logs image-size clean

help: ## List the verbs
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(firstword $(MAKEFILE_LIST)) | expand -t 14

run: ## Start the daemon on hermes.yaml
	@scripts/setup core
	@exec $(VENV)/hermes run -c $(CONFIG) $(ARGS)

test: ## Run all tests
	@scripts/setup all
	@$(VENV)/python -m pytest -n 3 --dist loadfile $(ARGS)

check: ## Format, lint, types, import rules, lock, sizes
	@scripts/setup all
	scripts/ruff format --check
	scripts/ruff check
	$(VENV)/mypy
	$(VENV)/mypy scripts/*.py
	$(VENV)/lint-imports
	$(VENV)/python scripts/check_lock.py
	$(VENV)/python -m pytest -q tests/test_sizes.py

bench: ## Compare with what the machine can do; prints ratios (ARGS="appends --full" for one subject, at length)
	@scripts/setup all
	@$(VENV)/python -m benchmarks $(ARGS)

soak: ## Run the chaos tests at full length
	@scripts/setup all
	@HERMES_SOAK=1 $(VENV)/python -m pytest --timeout=1800 tests/chaos $(ARGS)

lock: ## Make requirements.lock anew (ARGS=--upgrade for the newest)
	@scripts/lock $(ARGS)

up: ## Start Hermes and Redis in containers
	docker compose up -d

down: ## Stop the containers, keep their data
	docker compose down

rebuild: ## Build the image anew and start it
	docker compose up -d --build hermes-agent

logs: ## Follow the log of the container
	docker compose logs --follow hermes-agent

image-size: ## Tell how much the image adds to its base; needs no engine
	@scripts/setup all
	@$(VENV)/python scripts/image_size.py

clean: ## Remove everything that was made, but not the state in .hermes
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
	find hermes plugins tests benchmarks scripts -name __pycache__ -exec rm -rf {} +

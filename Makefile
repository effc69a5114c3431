# `make help` lists the targets. Everything runs in .venv, which `make` builds from the lock when it is missing or older.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help install data run up test lint screenshots clean lock

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

install: $(VENV)/.installed ## Make .venv and install the lock

$(VENV)/.installed: requirements.lock requirements-dev.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --progress-bar on --requirement requirements-dev.lock
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	@touch $@

data/dataset.json: | install # a data folder that is there is left alone
	dvc pull data

data: data/dataset.json ## Fetch the sample dataset from the DVC remote inside the repository

run: install data ## Train once on the sample dataset, from annotated trades to a registered model
	pivotline run

up: install data ## Start MLflow, Prefect, the worker and the page on 127.0.0.1; Ctrl-C ends them all
	pivotline up

lint: install ## Check style and types
	ruff check .
	ruff format --check .
	mypy

test: lint data ## Lint, types and all tests
	pytest

screenshots: install ## Picture every view of the running page (make up) into docs/, light, dark and on a phone
	python -m bench.screenshots

clean: ## Remove what runs have written (state/, artifacts/, checkpoints/), not the data
	rm -rf state artifacts checkpoints

lock: ## Resolve pyproject.toml anew and write both lock files
	bash docker/lock.sh

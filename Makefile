# `make help` lists the targets. Everything runs in .venv, which `make` builds from the lock when it is missing or older.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help install data run up test lint bench screenshots clean lock secrets stack stack-down test-stack test-stack-life backup restore upgrade tidy

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 17

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

test: lint data ## Lint, types and all tests, two files of them at a time
	pytest -n 2 --dist loadfile --no-loadscope-reorder

bench: install data ## Measure every claim beside its peers (about 15 minutes) and write the table of the README
	$(BIN)/python -m pip install --quiet --requirement requirements-bench.lock
	python -m bench

screenshots: install ## Picture every view of the running page (make up) into docs/, light, dark and on a phone
	python -m bench.screenshots

clean: ## Remove what runs have written (state/, artifacts/, checkpoints/), not the data
	rm -rf state artifacts checkpoints

lock: ## Resolve pyproject.toml anew and write both lock files
	bash docker/lock.sh

secrets: ## Make .env for the containers: random secrets, mode 600; those that are there are kept
	python3 docker/envfile.py

.env:
	$(MAKE) secrets

stack: .env ## Build and start the whole stack in containers; the page is on 127.0.0.1:8501
	docker compose up --detach --wait

stack-down: ## End the containers; databases, models and runs stay
	docker compose down

test-stack: install ## Try the containers end to end: start, run, hardening; needs a Docker engine
	pytest -m stack tests/stack/test_start.py tests/stack/test_hardening.py

test-stack-life: install ## Try what the containers live through: logins, kills, outages, backup, upgrade (half an hour)
	pytest -m stack tests/stack/test_login.py tests/stack/test_faults.py tests/stack/test_life.py

backup: ## Copy databases, artifacts, runs and the dataset store into a new folder below backups/
	bash docker/backup.sh

restore: ## Bring a backup into a stack that has nothing yet: make restore FROM=backups/...
	bash docker/restore.sh $(FROM)

upgrade: ## Move the databases to the schemas of newly built servers, after a backup
	bash docker/upgrade.sh

tidy: ## Take the files of MLflow runs that were deleted over 30 days ago from the disk
	docker compose exec -T mlflow sh /srv/stack/tidy.sh

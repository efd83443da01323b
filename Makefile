# Everything sets itself up in .venv; nothing else on the machine is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What pytest runs; .ci/run passes -m "not bench" to run all but the benchmarks.
PYTEST_ARGS ?=
# More for `docker build`, as --build-arg BASE=….
BUILD_ARGS ?=
# Where `make demo` leaves its run.
OUT ?= runs

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench compile images up down lock clean

help: ## say what there is
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.demo ## images to a served model: the whole flow on handwritten digits, about 8 minutes
	$(BIN)/towpath run train_to_prod --data digit-scenes --approve legal,fit,cost,live --out $(OUT)

test: $(VENV)/.dev ## run the tests
	$(BIN)/python -m pytest --cov --cov-report=term $(PYTEST_ARGS)

lint: $(VENV)/.dev ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.dev ## measure, each beside a peer or the physical limit
	$(BIN)/python -m pytest -m bench -s tests/bench

compile: $(VENV)/.demo ## write pipelines and components as YAML for Kubeflow
	$(BIN)/towpath compile --out compiled

images: ## build the container images
	for target in serve core train-cpu; do \
	  DOCKER_BUILDKIT=1 docker build $(BUILD_ARGS) -f docker/Dockerfile --target $$target -t towpath/$$target:0.1.0 . \
	  || exit 1; done

up: ## run the flow and the four environments in containers
	DOCKER_BUILDKIT=1 docker compose -p towpath -f docker/compose.yaml up --build

down: ## stop the containers and remove their data
	docker compose -p towpath -f docker/compose.yaml down --volumes

lock: ## pin every version anew, for all Pythons; needs uv
	uv pip compile --quiet --universal --python-version 3.10 --extra dev --no-annotate --no-header \
	  --no-emit-index-url --output-file requirements.lock pyproject.toml

clean: ## remove what setting up and building left
	rm -rf $(VENV) compiled dist .mypy_cache .pytest_cache .ruff_cache .coverage

$(VENV)/.demo: pyproject.toml requirements.lock
	$(call install,demo)

$(VENV)/.dev: pyproject.toml requirements.lock
	$(call install,dev)

define install
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 10) <= v < (3, 14) else f"Python {v[0]}.{v[1]} is not supported: give one from 3.10 to 3.13, as in: make PYTHON=python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "python3 has no venv: install it (Debian: apt install python3-venv)" >&2; exit 1; }
	@echo "installing towpath[$(1)] into $(VENV); the first time takes some minutes"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[$(1)]'
	@touch $@
endef

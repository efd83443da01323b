# Everything sets itself up in .venv; nothing else on the machine is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests at a time.
JOBS ?= 2
# More for pytest, such as -k NAME or --durations=15.
PYTEST_ARGS ?=
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup
# More for `docker build`, as --build-arg BASE=….
BUILD_ARGS ?=
# Where `make demo` leaves its run.
OUT ?= runs
VERSION := $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' towpath/__init__.py)

.DEFAULT_GOAL := help
.PHONY: help demo test check slow coverage lint format bench compile images up down lock release clean

help: ## show the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.demo ## images to a served model: the whole flow on handwritten digits, about 8 minutes
	$(BIN)/towpath run train_to_prod --data digit-scenes --approve legal,fit,cost,live --out $(OUT)

test: $(VENV)/.dev ## run the default tests, about 3 minutes
	$(PYTEST) $(PYTEST_ARGS)

check: $(VENV)/.dev ## run these, a small whole flow, and the browser and container tests: what .ci/run runs, about 7 minutes
	$(PYTEST) -m 'not slow and not cluster and not bench' $(PYTEST_ARGS)

slow: $(VENV)/.dev ## run the rest, one test at a time: by hand before a release, about 15 minutes
	$(BIN)/python -m pytest -m slow $(PYTEST_ARGS)

coverage: $(VENV)/.dev ## run the default tests and list the lines that none of them reaches
	$(PYTEST) --cov --cov-report=term-missing $(PYTEST_ARGS)

lint: $(VENV)/.dev ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev ## mend what the linters can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev ## measure, each beside a peer or the physical limit
	$(BIN)/python -m pytest -m bench -s tests/bench $(PYTEST_ARGS)

compile: $(VENV)/.demo ## write pipelines and components as YAML for Kubeflow
	$(BIN)/towpath compile --out compiled

images: ## build the container images
	for target in serve core train-cpu; do \
	  DOCKER_BUILDKIT=1 docker build $(BUILD_ARGS) -f docker/Dockerfile --target $$target -t towpath/$$target:$(VERSION) . \
	  || exit 1; done

up: ## run the flow and the four environments in containers
	DOCKER_BUILDKIT=1 docker compose -p towpath -f docker/compose.yaml up --build

down: ## stop the containers and remove their data
	docker compose -p towpath -f docker/compose.yaml down --volumes

lock: $(VENV)/.dev ## pin the versions that pyproject.toml asks for, for all Pythons; what is pinned stays
	$(BIN)/uv pip compile --quiet --universal --python-version 3.10 --extra dev --no-annotate --no-header \
	  --no-emit-index-url --output-file requirements.lock pyproject.toml

release: $(VENV)/.dev ## build wheel and sdist into dist/, and try the wheel in an empty environment
	rm -rf dist
	$(BIN)/uv build --quiet --out-dir dist
	$(PYTHON) -m venv dist/venv
	$(BIN)/uv pip install --quiet --python dist/venv/bin/python -c requirements.lock "$$(ls dist/*.whl)[pipelines]"
	dist/venv/bin/towpath --version
	dist/venv/bin/towpath compile --out dist/compiled
	rm -rf dist/venv dist/compiled
	ls dist

clean: ## remove what setting up and building left
	rm -rf $(VENV) compiled dist .mypy_cache .pytest_cache .ruff_cache .coverage

$(VENV)/.demo: pyproject.toml requirements.lock
	$(call install,demo)

$(VENV)/.dev: pyproject.toml requirements.lock
	$(call install,dev)

# uv takes a tenth of pip's time; pip remains for those whose package index only pip is set up for.
define install
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 10) <= v < (3, 14) else f"Python {v[0]}.{v[1]} is not supported: give one from 3.10 to 3.13, as in: make PYTHON=python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "python3 has no venv: install it (Debian: apt install python3-venv)" >&2; exit 1; }
	@echo "installing towpath[$(1)] into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock uv
	@$(BIN)/uv pip install --quiet --python $(BIN)/python -c requirements.lock -e '.[$(1)]' || \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[$(1)]'
	@touch $@
endef

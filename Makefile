# Three commands matter: `make demo`, `make test-fast` and `make test`. Each sets up all it needs.
PYTHON ?= $(shell scripts/find-python)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TORCH := $(VENV)/.installed-torch

.PHONY: demo test test-fast check format reference lock clean

demo: $(STAMP)
	$(BIN)/vivant demo

test: check $(TORCH)
	scripts/ensure-chromium
	$(BIN)/python -m pytest -n 2

# The quick tests alone. Nothing in them needs torch, Chromium or Ray.
test-fast: $(STAMP)
	$(BIN)/python -m pytest -n 2 -m "not slow and not browser and not cluster and not torch"

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# What is derived from the declarations of options: evaluate's signature, docs/reference/options.md.
reference: $(STAMP)
	$(BIN)/python tools/option_reference.py

lock:
	scripts/lock

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache

# The lock holds every package with its version, so nothing is resolved here.
$(STAMP): requirements.lock pyproject.toml
	scripts/make-venv $(PYTHON) $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps -r requirements.lock
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --editable .
	@touch $@

$(TORCH): requirements-torch.lock $(STAMP)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -r requirements-torch.lock
	@touch $@

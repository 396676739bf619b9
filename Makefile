# Three commands matter: `make demo`, `make test-fast` and `make test`. Each sets up all it needs.
PYTHON ?= $(shell scripts/find-python)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TORCH := $(VENV)/.installed-torch
VISION := $(VENV)/torchvision
VIDEO := tests/models/test_native_video.py
BRIDGES := $(VENV)/bridges
REAL := tests/bridges/real
DOCS := $(VENV)/.installed-docs
# The tests start many processes. Without bytecode on disk each of them would compile the sources anew.
unexport PYTHONDONTWRITEBYTECODE

PIP := $(BIN)/python -m pip install --disable-pip-version-check --quiet

.PHONY: demo test test-fast check docs wheel format reference lock clean

demo: $(STAMP)
	$(BIN)/vivant demo

# Browsers have the machine to themselves: beside other tests, videos stutter and pages are slow.
test: check $(TORCH) $(BRIDGES)/.installed
	scripts/ensure-programs
	$(BIN)/python -m pytest -n 2 -m "not browser" --ignore=$(VIDEO) --ignore=$(REAL)
	$(BIN)/python -m pytest -m browser
	PYTHONPATH=$(VISION) $(BIN)/python -m pytest $(VIDEO)
	PYTHONPATH=$(CURDIR)/$(BRIDGES) $(BIN)/python -m pytest $(REAL)

# The quick tests alone. Nothing in them needs torch, Chromium or Ray.
test-fast: $(STAMP)
	$(BIN)/python -m pytest -n 2 -m "not slow and not browser and not cluster and not torch and not bridges"

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The site, in site/. A page, link or anchor that is missing is an error.
docs: $(DOCS)
	$(BIN)/python tools/build_site.py --strict

# What users install: dist/vivant-VERSION-py3-none-any.whl.
wheel: $(STAMP)
	$(BIN)/python -m pip wheel --disable-pip-version-check --quiet --no-deps --wheel-dir dist .

# What is derived from the declarations of options: evaluate's signature, docs/reference/options.md.
reference: $(STAMP)
	$(BIN)/python tools/option_reference.py

lock:
	scripts/lock

clean:
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache

# The lock holds every package with its version and the hashes of its files, so nothing is resolved here.
$(STAMP): requirements.lock pyproject.toml
	scripts/make-venv $(PYTHON) $(VENV)
	$(PIP) --no-deps --require-hashes -r requirements.lock
	$(PIP) --no-deps --editable .
	@touch $@

# torchvision lies apart: its compiled half fits only the torch that it was built for, and whoever imports transformers
# beside one that does not fit fails. Video processors need its Python half, and so do their tests.
# pip takes no constraints with hashes for packages without, so these are the lock's versions alone.
$(TORCH): requirements-torch.lock $(STAMP)
	sed -e '/--hash/d' -e 's/ *\\$$//' requirements.lock > $(VENV)/versions.txt
	$(PIP) --constraint $(VENV)/versions.txt -r requirements-torch.lock
	$(PIP) --no-deps --upgrade --target $(VISION) torchvision==0.28.0 num2words==0.5.14 docopt==0.6.2
	@touch $@

# Other harnesses and trackers lie apart too: they need older versions of packages that are in the lock.
$(BRIDGES)/.installed: requirements-bridges.lock $(TORCH)
	rm -rf $(BRIDGES)
	$(PIP) --no-deps --require-hashes --target $(BRIDGES) -r requirements-bridges.lock
	@touch $@

$(DOCS): requirements-docs.lock $(STAMP)
	$(PIP) --no-deps --require-hashes -r requirements-docs.lock
	@touch $@

# Two commands matter: `make demo` and `make test`. Each installs what it needs and nothing else.
PYTHON ?= $(shell scripts/find-python)
VENV := .venv
BIN := $(VENV)/bin
RUN := $(VENV)/.installed-run
TEST := $(VENV)/.installed-test
BRIDGES := $(VENV)/bridges
DOCS := $(VENV)/.installed-docs
PACKAGES := vivant vivant-study vivant-build vivant-train
# The tests start many processes. Without bytecode on disk each of them would compile the sources again.
unexport PYTHONDONTWRITEBYTECODE

# Bytecode is compiled when a module is first imported: most modules never are.
PIP := $(BIN)/python -m pip install --disable-pip-version-check --quiet --no-compile
LOCAL := --no-deps --no-build-isolation
PYTEST := $(BIN)/python -m pytest
REAL := packages/vivant/tests/bridges/real
# Video processors need torchvision, which other tests must not see.
VIDEO := packages/vivant/tests/models/test_native_video.py
# Three workers for two cores: many tests wait for a server, a browser or a timer.
QUICK := -n 3 --dist loadgroup --no-loadscope-reorder -m "not full" --ignore $(VIDEO)
NATIVE := PYTHONPATH=$(VENV)/torchvision $(PYTEST) $(VIDEO)

.PHONY: demo test test-full test-changed test-vivant test-study test-build test-train check check-types check-rest docs wheel format reference lock clean

demo: $(RUN)
	$(BIN)/vivant demo

# Checks, then every test that is not marked `full`. This is what CI runs.
test: check
	scripts/ensure-programs
	$(PYTEST) $(QUICK)
	$(NATIVE)

# Everything: slow proofs, other browsers, real harnesses and trainers. Nightly, and before a release.
test-full: check $(BRIDGES)/.installed
	scripts/ensure-programs --all
	$(PYTEST) -n 3 --dist loadgroup --no-loadscope-reorder --ignore $(REAL) --ignore $(VIDEO)
	$(NATIVE)
	PYTHONPATH=$(CURDIR)/$(BRIDGES) $(PYTEST) $(REAL)

# One package: make test-vivant, test-study, test-build, test-train.
test-vivant: PACKAGE := vivant
test-study test-build test-train: PACKAGE = $(@:test-%=vivant-%)
test-vivant test-study test-build test-train: $(TEST)
	scripts/ensure-programs
	$(PYTEST) $(QUICK) packages/$(PACKAGE)/tests

# The tests nearest to the changes since the last commit, by the import graph. SINCE=main compares with a branch.
# pytest exits with 5 if all of them are marked `full`.
SINCE ?= HEAD
test-changed: $(TEST)
	$(BIN)/python tools/changed_tests.py --near $(SINCE) > $(VENV)/changed-tests
	[ ! -s $(VENV)/changed-tests ] || $(PYTEST) $(QUICK) $$(cat $(VENV)/changed-tests) || [ $$? = 5 ]

check: $(TEST)
	+$(MAKE) --no-print-directory --jobs=2 --output-sync check-types check-rest

check-types:
	$(BIN)/mypy

check-rest:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python tools/budget.py

format: $(TEST)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The site, in site/. A page, link or anchor that is missing is an error.
docs: $(DOCS)
	$(BIN)/python tools/build_site.py --strict

# What users install: four wheels in dist/.
wheel: $(RUN)
	rm -rf dist
	$(BIN)/python -m pip wheel --disable-pip-version-check --quiet $(LOCAL) --wheel-dir dist $(PACKAGES:%=./packages/%)

# What is derived from the declarations of options: evaluate's signature, docs/reference/options.md.
reference: $(TEST)
	$(BIN)/python tools/option_reference.py

lock:
	scripts/lock

clean:
	rm -rf $(VENV) dist site .mypy_cache .ruff_cache .pytest_cache

# A lock holds every package with its version and the hashes of its files, so nothing is resolved here.
$(RUN): locks/run.lock packages/vivant/pyproject.toml
	scripts/make-venv $(PYTHON) $(VENV)
	$(PIP) --no-deps --require-hashes -r locks/run.lock
	$(PIP) $(LOCAL) --editable packages/vivant
	@touch $@

# torchvision lies apart: its compiled half fits only the torch that it was built for, and whoever imports transformers
# beside one that does not fit fails. Video processors need its Python half; their tests put it on the path.
# pip takes no constraints with hashes for packages without, so these are the lock's versions alone.
$(TEST): locks/test.lock locks/torch.lock $(RUN) $(PACKAGES:%=packages/%/pyproject.toml)
	$(PIP) --no-deps --require-hashes -r locks/test.lock
	sed -e '/--hash/d' -e 's/ *\\$$//' locks/test.lock > $(VENV)/versions.txt
	$(PIP) --constraint $(VENV)/versions.txt -r locks/torch.lock
	$(PIP) --no-deps --upgrade --target $(VENV)/torchvision torchvision==0.28.0 num2words==0.5.14 docopt==0.6.2
	$(PIP) $(LOCAL) $(PACKAGES:%=--editable packages/%)
	# ppi-python installs a top-level package `tests`, which would hide ours.
	rm -rf $(VENV)/lib/python*/site-packages/tests
	@touch $@

# Other harnesses and trackers lie apart too: they need older versions of packages that are in the lock.
$(BRIDGES)/.installed: locks/bridges.lock $(TEST)
	rm -rf $(BRIDGES)
	$(PIP) --no-deps --require-hashes --target $(BRIDGES) -r locks/bridges.lock
	@touch $@

$(DOCS): locks/docs.lock $(TEST)
	$(PIP) --no-deps --require-hashes -r locks/docs.lock
	@touch $@

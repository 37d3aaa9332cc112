# All targets need Python 3.11 or later and make an environment of their own: demo the small build/env, most others .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH := .venv-bench
RUN := build/env
SPAM := build/spam.joblib
BANK := build/bank.joblib

.PHONY: demo test test-exhaustive test-room lint types unit bench corpora-given docs dist app clean

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

test: lint
	@$(MAKE) --no-print-directory --jobs 2 types unit

lint: $(VENV)/.ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python -m tests.prose

types: $(VENV)/.ready
	$(BIN)/mypy

# One more than there are processors, since a test often waits for a process or a disk.
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# Many interpreters are started: they share compiled modules, also where the environment says that none are to be written.
# The workers take the processors; threads of their own would only wait for each other. They steal tests: loadgroup looks through all at each.
PYTEST := PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal

unit: $(VENV)/.ready
	$(PYTEST)

# The same properties over every system call, hundreds of kills and twice the examples; the site and the public corpora, where they are.
test-exhaustive: $(VENV)/.ready
	$(PYTEST) --hypothesis-profile exhaustive

# The tests of one room, with fewer examples of each property. They compute more than they wait: as many workers as processors.
test-room: $(VENV)/.ready
	@test -n "$(ROOM)" || { echo "make test-room ROOM=counts or ROOM=cli/train: a folder or file of nbtext/, without .py" >&2; exit 2; }
	$(PYTEST) --hypothesis-profile room --numprocesses $$(getconf _NPROCESSORS_ONLN) tests/test_$(subst /,_,$(ROOM))*.py tests/test_structure.py

# What running needs and no more: 270 MB in place of the 560 MB of .venv.
$(RUN)/.ready: pyproject.toml
	@echo "Installing nbtext and what it needs into $(RUN)/ ..."
	@$(PYTHON) -m venv $(RUN)
	@$(RUN)/bin/python -m pip install -qq --disable-pip-version-check --editable .
	@touch $@

# Each line is printed, then run.
demo: SHELL := /bin/bash
demo: export PATH := $(CURDIR)/$(RUN)/bin:$(PATH)
demo: $(RUN)/.ready
	# A spam filter, learnt from 3,740 text messages:
	nbtext train corpora/sms-spam/train.tsv.bz2 -m $(SPAM) --quiet
	# How often is it right about 1,834 others?
	nbtext evaluate corpora/sms-spam/test.tsv.bz2 -m $(SPAM) | head -n 2
	# Which words say that a message is spam?
	nbtext explain -m $(SPAM) --limit 3 --output table \
	  --text "Congratulations! Call now to claim your prize"
	# What does a bank's customer want? 77 intents, learnt from 10,003 questions:
	nbtext train corpora/banking77/train.csv.bz2 -m $(BANK) --quiet
	nbtext evaluate corpora/banking77/test.csv.bz2 -m $(BANK) | head -n 2
	nbtext classify -m $(BANK) --output table --limit 2 \
	  --text "I am still waiting for my new card to arrive"

# CORPORA is a folder with unpacked corpora, see bench/README.md; the other tools go into an environment of their own.
$(BENCH)/.ready: pyproject.toml
	$(PYTHON) -m venv $(BENCH)
	echo '*' > $(BENCH)/.gitignore
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]"
	touch $@

corpora-given:
	@test -d "$(CORPORA)" || { echo "make bench CORPORA=folder, where the unpacked corpora of bench/README.md are" >&2; exit 2; }

bench: corpora-given $(BENCH)/.ready
	$(BENCH)/bin/python bench/all.py "$(CORPORA)"

# The site goes to build/docs; Sphinx first makes docs/reference.md and docs/code/ from the code.
# The pictures of pages are made anew only if they are not up to date, which needs Chromium.
docs: $(VENV)/.ready
	$(BIN)/python docs/pictures.py
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -d build/doctrees docs build/docs

# What is published: both archives checked, the wheel used in clean environments of each Python and of the lowest versions declared.
RELEASE := build/release
$(RELEASE)/.ready:
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip install -qq --disable-pip-version-check build check-wheel-contents shiv twine
	touch $@

dist: $(RELEASE)/.ready
	rm -rf dist
	$(RELEASE)/bin/python -m build
	$(RELEASE)/bin/twine check --strict dist/*
	$(RELEASE)/bin/check-wheel-contents dist/*.whl
	$(RELEASE)/bin/python release/environments.py dist/*.whl

# One file with all packages, for this system and this version of Python: dist/nbtext.
app: $(RELEASE)/.ready
	@mkdir -p dist
	$(RELEASE)/bin/shiv --quiet --console-script nbtext --output-file dist/nbtext --python '/usr/bin/env python3' --compressed .

clean:
	rm -rf $(VENV) $(BENCH) build dist

# make demo   scans fixtures/demo/model.py and writes graphdoctor-report.html
# make test   lint, types, layers and all tests
# make quick  the tests of the static pass, the diagnosis and the language server, in half a minute
# Both make the virtual environment .venv when there is none. Another Python: make test PYTHON=python3.12

PYTHON ?= python3
VENV ?= .venv
REPORT ?= graphdoctor-report.html
# The tested versions; nothing takes the newest that pip finds.
CONSTRAINTS ?= constraints.txt

BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --quiet $(if $(CONSTRAINTS),--constraint $(CONSTRAINTS))

.PHONY: demo test quick lint picture clean

# A scan ends with 1 when it found something, which the demo is there for. 2 is an error.
demo: $(VENV)/installed-torch
	@$(BIN)/python -m graphdoctor scan fixtures/demo/model.py --html $(REPORT) || test $$? -eq 1
	@echo "The report: $(abspath $(REPORT))"

test: lint
	$(BIN)/python -m pytest

# Generated programs take longer than all the others together.
quick: $(VENV)/installed-dev
	$(BIN)/python -m pytest tests/source tests/syntax tests/static tests/lint tests/diagnosis tests/lsp --ignore tests/lint/test_fuzz.py

lint: $(VENV)/installed-dev
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/lint-imports --config setup.cfg --no-logo --no-cache

$(VENV)/installed-torch: setup.cfg constraints.txt | $(BIN)/python
	$(INSTALL) --editable '.[torch]'
	@touch $@

$(VENV)/installed-dev: setup.cfg constraints.txt | $(BIN)/python
	$(INSTALL) --editable '.[torch,dev]'
	@touch $@ $(VENV)/installed-torch

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The picture in the README, from the report that `make demo` wrote.
picture: demo
	profile=$$(mktemp -d) && chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1100,1090 \
	    --no-first-run --disable-background-networking --user-data-dir=$$profile \
	    --screenshot="$(abspath docs/report.png)" "file://$(abspath $(REPORT))"; rm -rf $$profile

clean:
	rm -rf $(VENV) $(REPORT) build graphdoctor.egg-info

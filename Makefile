# Two commands do everything: `make demo` and `make test`. All that is built lies in build/.

PYTHON ?= python3
VENV := build/venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp

.PHONY: setup demo test test-full lint clean

setup: $(STAMP)

$(STAMP): pyproject.toml tools/check_host.sh
	@sh tools/check_host.sh $(PYTHON)
	@echo "setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: setup
	@$(BIN)/caesura preempt pathfinder --mechanism live --preset gtx480

lint: setup
	$(BIN)/ruff check src/caesura/*.py src/caesura/hw src/caesura/software src/caesura/sim tests
	$(BIN)/basedpyright --level error --pythonpath $(BIN)/python

test: lint
	$(BIN)/pytest -n 2 --dist worksteal -m "not full" $(ARGS)

test-full: lint
	$(BIN)/pytest -n 2 --dist worksteal $(ARGS)

clean:
	rm -rf build

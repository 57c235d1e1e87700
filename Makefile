# Two commands do everything: `make demo` and `make test`. All that is built lies in build/.

PYTHON ?= python3
VENV := build/venv
BIN := $(VENV)/bin
RUN := $(VENV)/.run
DEV := $(VENV)/.dev

.PHONY: setup lock demo test cocotb test-full prove coverage mutate record style lint prose house verilog opencl release time-demo clean

# What running needs; developers need more, and only `make test` installs it. Versions are those of requirements.lock.
setup: $(RUN)

$(RUN): pyproject.toml requirements.lock tools/check_host.sh tools/setup.sh tools/type_links.py
	@sh tools/check_host.sh $(PYTHON)
	@sh tools/setup.sh $(PYTHON) $(VENV) --editable .
	@touch $@

$(DEV): $(RUN)
	@sh tools/setup.sh $(PYTHON) $(VENV) --editable '.[dev]'
	@touch $@

# The versions that `make setup` installs, written anew for what pyproject.toml asks for. What is there stays, unless
# ARGS=--upgrade or ARGS='--upgrade-package numpy' says otherwise. To build
# the package pip needs hatchling, and editables for `--editable`.
lock:
	@sh tools/setup.sh $(PYTHON) $(VENV) uv
	@echo 'hatchling editables' | tr ' ' '\n' | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --all-extras \
		--annotation-style line --custom-compile-command 'make lock' --output-file requirements.lock $(ARGS) pyproject.toml -

demo: setup
	@$(BIN)/caesura preempt pathfinder --mechanism live --preset gtx480

TYPES = $(BIN)/basedpyright --level error --pythonpath $(BIN)/python

style: $(DEV)
	$(BIN)/ruff check src sim software tests tools
	$(BIN)/ruff check --line-length 100 hw
	@$(PYTHON) tools/prose.py

# Phrases that readers stumble over: no room gains any. ARGS='--list hw/core' says where they stand (CONTRIBUTING.md).
prose:
	@$(PYTHON) tools/prose.py $(ARGS)

# Sizes, types, wiring, repetition and prose of the sources; ARGS='--list rooms' says where (docs/architecture.md).
house:
	@$(PYTHON) tools/house.py $(ARGS)

lint: style
	$(TYPES)

# Types are checked by `make lint`, which takes minutes of one core; continuous integration runs both.
test: style
	$(BIN)/pytest -n 2 --dist worksteal -m "not full" $(ARGS)

# The benches of exported SystemVerilog alone, in short form (docs/cocotb.md).
cocotb: $(DEV)
	$(BIN)/pytest -m "not full" tests/cocotb $(ARGS)

# The campaigns are long enough to pay for optimised simulators of the two SMs that most of them run. PART=1/4 runs every
# fourth test: what takes hours goes to several machines, or one after the other.
PARTS = $(subst /, ,$(PART))
test-full: lint
	$(BIN)/caesura build --preset gtx480 --optimise
	$(BIN)/caesura build --geometry tests/support/campaign.toml --optimise
	$(BIN)/pytest -n 2 --dist worksteal $(if $(PART),--splitting-algorithm least_duration --group $(word 1,$(PARTS)) \
		--splits $(word 2,$(PARTS))) $(ARGS)

# All that is proved of blocks, as a table; ARGS=axi proves what has that in its name (docs/formal.md).
prove: $(DEV)
	@PYTHONPATH=tests $(BIN)/python -m support.formal $(ARGS)

# What the benches run of the preemption rooms, counted by Verilator; and which of many small faults they notice. ARGS=packer
# looks at what has that in its name, ARGS=--record keeps the figures (docs/coverage.md).
coverage mutate: $(DEV)
	@PYTHONPATH=tests $(BIN)/python -W ignore -m support.$(if $(filter mutate,$@),mutation,coverage) $(ARGS)

# What every kernel does in every cycle, recorded anew; the commit says which rows moved and why (docs/verification.md).
record: $(DEV)
	$(BIN)/caesura bench cycles tests/regression/recorded --record --jobs 2 $(ARGS)

# SystemVerilog of the presets as part of the package, so that nobody who installs it waits for Amaranth (docs/cache.md).
verilog: setup
	@$(BIN)/python -m caesura.sim.rtl.write_prebuilt

# gfx906 assembly of the OpenCL kernels, and of those that the reader of AMD's assembly is tried on; needs clang-19.
opencl:
	@sh tools/compile_opencl.sh software/kernels/opencl
	@sh tools/compile_opencl.sh tests/software/compiler/amdgpu/corpus CL2.0

# Wheel and sdist, with the ready-made SystemVerilog.
release: verilog
	@sh tools/setup.sh $(PYTHON) $(VENV) build
	@$(BIN)/python -m build --outdir build/dist

# How long `make demo` takes on a fresh clone, with and without ready-made SystemVerilog.
time-demo:
	@$(PYTHON) tools/time_demo.py $(ARGS)

clean:
	rm -rf build

# perflab. `make help` lists the targets. Each does only what is not done yet: edit, and say the same again.
# PYTHON=python3.12 chooses the Python that .venv is made with; CXX the compiler. WERROR=ON refuses warnings in the build itself.

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
PIP    := $(PY) -m pip install --quiet --disable-pip-version-check --no-build-isolation
BUILD  := build/cmake
WERROR ?= OFF
TORCH  := torch==2.13.0

PACKAGES := runtime profiler dashboards server benchmarks
CPP      := $(wildcard runtime/core/*.cpp runtime/core/*.h runtime/core/kernels/*.cpp runtime/core/kernels/*.h)
CPPTESTS := $(wildcard tests/core/*.cpp tests/core/*.h)
INITS    := $(wildcard $(PACKAGES:%=%/*/__init__.py))  # the editable install keeps a list of packages

# What pyproject.toml says under one of its keys, one requirement a line.
requirements = $(PY) -c 'import functools, sys, tomllib; \
	t = tomllib.load(open("pyproject.toml", "rb")); \
	print(*functools.reduce(dict.__getitem__, sys.argv[1:], t), sep="\n")' $(1)

export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
.DELETE_ON_ERROR:
.PHONY: help build demo test wheel-test test-torch test-gil readers fuzz conformance gate lint format asan debug bench bench-peers off clean

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | awk -F'\t' '{ printf "  make %-12s %s\n", $$1, $$2 }'

# ---- set-up

$(VENV)/.made:
	@command -v $(firstword $(PYTHON)) >/dev/null || { echo "There is no $(PYTHON): install Python 3.11 or later, or name one, as in make PYTHON=python3.12." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "perflab needs Python 3.11 or later and $(PYTHON) is %d.%d: name another, as in make PYTHON=python3.12" % sys.version_info[:2])'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) cannot make virtual environments: install its venv module (Debian and Ubuntu: apt install python3-venv)." >&2; exit 1; }
	@$(PYTHON) -c 'import os, sysconfig, sys; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' || { echo "$(PYTHON) has no header files: install them (Debian and Ubuntu: apt install python3-dev)." >&2; exit 1; }
	@for compiler in $(CXX) c++ g++ clang++; do command -v "$$compiler" >/dev/null && exit 0; done; echo "No C++ compiler was found: install g++ 11 or later (Debian and Ubuntu: apt install g++) or clang 14 or later, or name one with CXX=." >&2; exit 1
	@echo "Setting up $(VENV)"
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.tools: $(VENV)/.made pyproject.toml
	@echo "Installing the build tools"
	@$(call requirements,build-system requires) | $(PIP) -r /dev/stdin cmake ninja
	@touch $@

$(VENV)/.built: $(VENV)/.tools CMakeLists.txt $(CPP) $(INITS)
	@echo "Building perflab (the first time takes two or three minutes)"
	@$(PIP) -C build-dir=$(BUILD) -C cmake.define.PERFLAB_WERROR=$(WERROR) -C cmake.define.PERFLAB_CPP_TESTS=ON -e .
	@touch $@

# After the build, as two pips at once must not write into one environment.
$(VENV)/.test: $(VENV)/.tools | $(VENV)/.built
	@echo "Installing what the tests need"
	@$(call requirements,project optional-dependencies test) | $(PIP) -r /dev/stdin
	@touch $@

$(VENV)/.lint: $(VENV)/.tools | $(VENV)/.built
	@echo "Installing what the checks need"
	@$(call requirements,project optional-dependencies lint) | $(PIP) -r /dev/stdin
	@touch $@

$(VENV)/.torch: $(VENV)/.test
	@echo "Installing $(TORCH)"
	@$(PIP) $(TORCH)
	@touch $@

# A suite of benchmarks as its authors wrote it, from the source distribution of their package.
build/suite/.made: $(VENV)/.test
	@echo "Fetching the benchmarks of cattrs"
	@rm -rf build/suite; mkdir -p build/suite
	@$(PY) -m pip download --quiet --disable-pip-version-check --no-deps --no-binary cattrs -d build/suite cattrs==26.2.1
	@tar -xzf build/suite/cattrs-26.2.1.tar.gz -C build/suite --strip-components=1
	@touch $@

# The page tests drive a real browser.
$(VENV)/.browser: $(VENV)/.made
	@if ! command -v chromium >/dev/null; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "Installing Chromium"; apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; \
		else \
			echo "The page tests need a program called chromium: install it (Debian: sudo apt install chromium)." >&2; exit 1; \
		fi; \
	fi
	@touch $@

build: $(VENV)/.built ## set up .venv and build (editable: edits to Python files are seen at once)

# ---- use

demo: build ## the whole way: train, profile, compare, gate, and the dashboard (DEMO_EXIT=1 ends after the gate)
	@$(VENV)/bin/perflab demo $(if $(DEMO_EXIT),--exit)

bench: build $(VENV)/.test ## measure perflab itself
	@$(PY) -m pytest benchmarks -q

bench-peers: build $(VENV)/.torch ## the same beside PyTorch, in turn, as a table with the goals (keep the machine quiet: some minutes)
	@$(PY) -m pytest benchmarks -q

# A core of its own, without the checks whether something is recorded.
off: build ## instructions of a training step with the recorder off, and without it: needs valgrind (some minutes)
	@cmake -S . -B build/off -G Ninja -DPython_EXECUTABLE=$(CURDIR)/$(PY) -DPERFLAB_NEVER_RECORDS=ON >build/off.log || { cat build/off.log; exit 1; }
	@cmake --build build/off --target _core
	@$(PY) -m perflab.benchmarks.off build/off/_core.*.so

# ---- checks

# The servers' threads live in processes apart from the tests that look at a process's threads. Most of these wait now and then,
# for a page or another process: three keep two cores busy. A file's tests stay together: they share what it starts.
test: build $(VENV)/.test $(VENV)/.browser $(BUILD)/core_tests build/suite/.made wheel-test ## every test that needs no PyTorch
	@ctest --test-dir $(BUILD) --output-on-failure
	@$(PY) -m pytest -q -m "not torch" -n 2 --dist worksteal tests/runtime
	@$(PY) -m pytest -q -m "not torch" -n 3 --dist loadfile tests/dashboards tests/server
	@$(PY) -m pytest -q -m "not torch" -n 3 --dist loadfile --ignore tests/runtime --ignore tests/dashboards --ignore tests/server

test-torch: build $(VENV)/.torch ## the tests that compare with PyTorch, which it installs
	@$(PY) -m pytest -q -m torch -n 2 --dist loadfile tests/torch

gate: build $(VENV)/.test ## hold what the benchmarks do against benchmarks/counters.json (UPDATE=1 accepts it as it is now)
	@$(PY) -m pytest benchmarks -q --benchmark-disable --perflab-counters benchmarks/counters.json $(if $(UPDATE),--perflab-update)

# Another Python has its environment and its build in build/.
OTHER = build/python$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')

test-gil: ## the tests of the GIL's tracer and of the stack sampler under another Python: PYTHON=python3.13
	@$(MAKE) --no-print-directory VENV=$(OTHER) BUILD=$(OTHER)/cmake build $(OTHER)/.test
	@$(OTHER)/bin/python -m pytest -q tests/profiler/test_gil_truth.py tests/profiler/test_gil_processes.py tests/profiler/test_gil_probe.py \
		tests/profiler/test_stacks.py

# A checkout of data-apis/array-api-tests with its submodule. What it requires is installed once; the run is offline.
$(VENV)/.conformance: $(VENV)/.made
	@$(PIP) -r $(SUITE)/requirements.txt
	@touch $@

conformance: build $(if $(SUITE),$(VENV)/.conformance) ## the array API's conformance suite: SUITE=<its checkout> [EXAMPLES=20]
	@test -n "$(SUITE)" || { echo "Say where the suite is: make conformance SUITE=<a checkout of data-apis/array-api-tests>" >&2; exit 1; }
	@$(PY) tests/conformance/run.py $(SUITE) --max-examples $(or $(EXAMPLES),20)

# What tests/readers needs, in an environment of its own. The last line is what TraceLens imports.
build/readers/.made:
	@echo "Installing HTA and speedscope"
	@$(PYTHON) -m venv build/readers
	@build/readers/bin/python -m pip install --quiet --disable-pip-version-check HolisticTraceAnalysis==0.5.0
	@npm install --silent --prefix build/readers speedscope@1.25.0 >/dev/null
	@build/readers/bin/python -m pip install --quiet --disable-pip-version-check tqdm openpyxl tabulate orjson pandas
	@touch $@

readers: build $(VENV)/.test $(VENV)/.browser build/readers/.made ## HTA, speedscope and TraceLens read a trace of ours: TRACELENS=<a checkout of AMD-AGI/TraceLens>
	@TRACELENS="$(TRACELENS)" $(PY) -m pytest -q tests/readers

fuzz: build $(VENV)/.test ## 100,000 damaged files of every format are read or refused: COUNT=, SEED= (10 minutes)
	@$(PY) -m tests.fuzz $(or $(COUNT),100000) $(or $(SEED),0)

$(BUILD)/core_tests: $(VENV)/.built $(CPPTESTS)
	@echo "Building the C++ tests"
	@cmake --build $(BUILD) --target core_tests
	@touch $@

wheel-test: build/wheel/.tested ## build the wheel and try it in a clean environment

# After the C++ tests, as two builds at once must not write into one folder.
build/wheel/.tested: $(VENV)/.built pyproject.toml tests/wheel_check.py $(foreach p,$(PACKAGES),$(shell find $(p) -name '*.py' -o -name '*.html' -o -name '*.css' -o -name '*.js')) | $(BUILD)/core_tests
	@echo "Trying the wheel in a clean environment"
	@rm -f build/wheel/*.whl
	@$(PY) -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps -C build-dir=$(BUILD) -w build/wheel .
	@test -x build/wheel/venv/bin/python || $(PY) -m venv build/wheel/venv
	@build/wheel/venv/bin/python -m pip install --quiet --disable-pip-version-check build/wheel/*.whl
	@build/wheel/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall build/wheel/*.whl
	@cd build/wheel && venv/bin/python -W error ../../tests/wheel_check.py
	@touch $@

# mypy does not see through the editable install: it reads the folders through links.
build/src/perflab/%:
	@mkdir -p $(@D) && ln -s $(CURDIR)/$* $@

# Where warnings are errors in the build itself, nothing is compiled a second time.
LINT_BUILD := $(if $(filter ON,$(WERROR)),$(BUILD),build/lint)

lint: $(VENV)/.lint build $(addprefix build/src/perflab/,$(PACKAGES)) ## ruff, mypy, clang-format, and a C++ build without warnings
	@ruff check .
	@ruff format --check .
	@mypy $(addprefix -p perflab.,$(PACKAGES))
	@clang-format --dry-run -Werror $(CPP) $(CPPTESTS)
	@cmake -S . -B $(LINT_BUILD) -G Ninja -DPython_EXECUTABLE=$(CURDIR)/$(PY) -DPERFLAB_WERROR=ON -DPERFLAB_CPP_TESTS=ON >build/lint.log || { cat build/lint.log; exit 1; }
	@cmake --build $(LINT_BUILD)

format: $(VENV)/.lint ## let ruff and clang-format write the files
	@ruff check --fix .
	@ruff format .
	@clang-format -i $(CPP) $(CPPTESTS)

# A second environment on top of the first, in which the extension is the one with the address sanitizer. Leaks are not looked for:
# the interpreter itself keeps memory to its end. NVRTC, which is not ours, takes minutes there.
ASAN := build/asan/venv
ASAN_ENV = LD_PRELOAD="$$($${CXX:-g++} -print-file-name=libasan.so) $$($${CXX:-g++} -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 PYTHONMALLOC=malloc

asan: $(VENV)/.test $(VENV)/.built ## C++, runtime and CUDA tests under the address sanitizer
	@mkdir -p build/asan
	@test -x $(ASAN)/bin/python || $(PY) -m venv --without-pip $(ASAN)
	@$(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > $$($(ASAN)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/perflab_parent.pth
	@echo "Building with the address sanitizer"
	@$(PY) -m pip --python $(ASAN)/bin/python install --quiet --disable-pip-version-check --no-build-isolation --no-deps --ignore-installed \
		-C build-dir=build/asan/cmake -C cmake.define.PERFLAB_SANITIZE=address -C cmake.define.PERFLAB_CPP_TESTS=ON -e .
	@cmake --build build/asan/cmake --target core_tests
	@ASAN_OPTIONS=detect_leaks=1 PERFLAB_FUZZ_STEPS=1000000 build/asan/cmake/core_tests
	@$(ASAN_ENV) $(ASAN)/bin/python -m pytest -q tests/runtime tests/cuda --ignore tests/cuda/test_compiled.py

debug: build $(VENV)/.test ## runtime tests in Python's development mode, with its checking allocator
	@PYTHONMALLOC=debug $(PY) -X dev -m pytest -q -m "not torch" tests/runtime

clean: ## remove what was built, and .venv
	rm -rf build $(VENV)

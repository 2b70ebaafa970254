# Two commands do everything on a fresh machine with Python >= 3.11 and a C++20 compiler:
#   make demo   builds mercer and fits a machine
#   make test   builds mercer, checks style and types, runs the tests
# The tests have three tiers (docs/testing.md):
#   make check  style, types, the native tests and the quick tests: a minute or so, while one works
#   make test   all that, and the slow tests: minutes, for every change
#   make stress memory, time and Ctrl-C at full size, sanitizers, all combinations of cases: before a release
PYTHON ?= python3
ifeq ($(origin CXX),default)
CXX := c++
endif
VENV := .venv
BIN := $(VENV)/bin
NATIVE_TESTS := $(BIN)/cmake -S . -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DMERCER_PYTHON=OFF -DMERCER_TESTS=ON

.PHONY: demo check test stress static native-tests sanitize arm64 arm64-tools bench stubs format clean

demo: $(VENV)/installed
	$(BIN)/python examples/demo.py

PYTEST := $(BIN)/python -m pytest
# Two workers share the tests out; one that has nothing left to do takes tests of the other.
SHARED := -n 2 --dist worksteal

check: static native-tests
	$(PYTEST) $(SHARED) -m "not slow and not alone and not stress"

test: static native-tests
	$(PYTEST) $(SHARED) -m "not alone and not stress"
	$(PYTEST) -m "alone and not stress"

# With all combinations where pairs are the rule, on the public sets where MERCER_DATA names their folder.
stress: static native-tests
	MERCER_ALL_CASES=1 $(PYTEST) $(SHARED) -m "not alone and not stress"
	MERCER_ROWS=1000 $(PYTEST) $(SHARED) tests/peers/test_objectives.py
	$(PYTEST) -m "alone or stress"
	$(MAKE) sanitize

static: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	find native -name '*.?pp' | xargs $(BIN)/clang-format --dry-run -Werror

native-tests: $(VENV)/installed
	mkdir -p build
	$(NATIVE_TESTS) -B build/native -DMERCER_WERROR=ON > build/native.log || (cat build/native.log; false)
	$(BIN)/cmake --build build/native
	$(BIN)/ctest --test-dir build/native -j 2 --output-on-failure

# The tests of the native core under AddressSanitizer with UndefinedBehaviorSanitizer, then under ThreadSanitizer.
# The first thing that one of them reports ends its test and fails it.
sanitize: export UBSAN_OPTIONS = print_stacktrace=1
sanitize: export TSAN_OPTIONS = halt_on_error=1
sanitize: $(VENV)/installed
	mkdir -p build
	set -e; for kind in address,undefined thread; do \
	  build=build/sanitize-$${kind%%,*}; \
	  $(NATIVE_TESTS) -B $$build -DMERCER_SANITIZE=$$kind > $$build.log || (cat $$build.log; false); \
	  $(BIN)/cmake --build $$build; \
	  $(BIN)/ctest --test-dir $$build --output-on-failure; \
	done

# The tests of the native core as a 64-bit ARM processor runs them: cross-compiled, and executed by an emulator.
arm64: arm64-tools $(VENV)/installed
	mkdir -p build
	$(NATIVE_TESTS) -B build/arm64 -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DMERCER_WERROR=ON \
	  -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
	  '-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64;-L;/usr/aarch64-linux-gnu' > build/arm64.log || (cat build/arm64.log; false)
	$(BIN)/cmake --build build/arm64
	$(BIN)/ctest --test-dir build/arm64 --output-on-failure

arm64-tools:
	@command -v aarch64-linux-gnu-g++ > /dev/null && command -v qemu-aarch64 > /dev/null || \
	  { echo "make arm64 needs aarch64-linux-gnu-g++ and qemu-aarch64; on Debian: apt-get install g++-aarch64-linux-gnu qemu-user"; exit 1; }

bench: $(VENV)/installed
	$(BIN)/python -m benchmarks

# The types of the native module as Python sees them, from the module itself; to be run after a change of native/bind.
stubs: $(VENV)/installed
	$(BIN)/python -m nanobind.stubgen -q -m mercer._native -o src/mercer/_native.pyi
	$(BIN)/ruff format -q src/mercer/_native.pyi

format: $(VENV)/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	find native -name '*.?pp' | xargs $(BIN)/clang-format -i

# The environment is made again when what it is made of has changed.
$(VENV)/installed: pyproject.toml CMakeLists.txt $(shell find native -name '*.?pp')
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "mercer needs Python 3.11 or newer, but '$(PYTHON)' is $$($(PYTHON) --version 2>/dev/null || echo missing); try make PYTHON=python3.12"; exit 1; }
	@echo 'int main() { return [](auto x) { return x; }(0); }' | $(CXX) -std=c++20 -x c++ -fsyntax-only - 2>/dev/null || \
	  { echo "mercer needs a C++20 compiler, but '$(CXX)' is missing or too old; install g++ >= 11 or clang >= 14"; exit 1; }
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) build dist

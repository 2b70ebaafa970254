# Two commands do everything on a fresh machine with Python >= 3.11 and a C++20 compiler:
#   make demo   builds mercer and fits a machine
#   make test   builds mercer, checks style and types, runs all tests
PYTHON ?= python3
CXX ?= c++
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test sanitize bench format check clean

demo: $(VENV)/installed
	$(BIN)/python examples/demo.py

test: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	find native -name '*.?pp' | xargs $(BIN)/clang-format --dry-run -Werror
	$(BIN)/cmake -S . -B build/native -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja \
	  -DMERCER_PYTHON=OFF -DMERCER_TESTS=ON -DMERCER_WERROR=ON > build/native.log || (cat build/native.log; false)
	$(BIN)/cmake --build build/native
	$(BIN)/ctest --test-dir build/native --output-on-failure
	$(BIN)/python -m pytest -n 2

# The tests of the native core under AddressSanitizer with UndefinedBehaviorSanitizer, then under ThreadSanitizer.
# The first thing that one of them reports ends its test and fails it.
sanitize: export UBSAN_OPTIONS = print_stacktrace=1
sanitize: export TSAN_OPTIONS = halt_on_error=1
sanitize: $(VENV)/installed
	mkdir -p build
	set -e; for kind in address,undefined thread; do \
	  build=build/sanitize-$${kind%%,*}; \
	  $(BIN)/cmake -S . -B $$build -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja \
	    -DMERCER_PYTHON=OFF -DMERCER_TESTS=ON -DMERCER_SANITIZE=$$kind > $$build.log || (cat $$build.log; false); \
	  $(BIN)/cmake --build $$build; \
	  $(BIN)/ctest --test-dir $$build --output-on-failure; \
	done

bench: $(VENV)/installed
	$(BIN)/python -m benchmarks

format: $(VENV)/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	find native -name '*.?pp' | xargs $(BIN)/clang-format -i

# The environment is made again when what it is made of has changed.
$(VENV)/installed: pyproject.toml CMakeLists.txt $(shell find native -name '*.?pp')
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "mercer needs Python 3.11 or newer, but '$(PYTHON)' is $$($(PYTHON) --version 2>&1 || echo missing); try make PYTHON=python3.12"; exit 1; }
	@echo 'int main() { return [](auto x) { return x; }(0); }' | $(CXX) -std=c++20 -x c++ -fsyntax-only - 2>/dev/null || \
	  { echo "mercer needs a C++20 compiler, but '$(CXX)' is missing or too old; install g++ >= 11 or clang >= 14"; exit 1; }
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) build dist

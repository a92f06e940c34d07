PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet -c constraints.txt

.PHONY: demo test test-slow lint bench docs-results clean

demo: .venv/demo  ## Split beside PLCP on the paper's synthetic task: a table and a plot
	$(BIN)/plcp demo

# One thread per worker: two pools of threads on the same cores stall each other.
test: .venv/dev  ## every test but the slow ones, doctests included
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto -m "not slow"

test-slow: .venv/dev  ## stress, interrupts, fuzz, faults, many fits
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto -m slow tests

lint: .venv/dev  ## format, style, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/rivals  ## the measured claims of the docs; needs the data directory in PLCP_DATA
	$(BIN)/python -m benchmarks.accuracy.run
	$(BIN)/python -m benchmarks.speed.run
	$(BIN)/python -m benchmarks.scale.run
	$(BIN)/python -m benchmarks.reliability.run
	$(MAKE) docs-results

docs-results: .venv/dev  ## the pages and tables of results, drawn from the committed JSON
	$(BIN)/python -m benchmarks.accuracy.tables
	$(BIN)/python -m benchmarks.scale.page
	$(BIN)/python -m benchmarks.reliability.page
	$(BIN)/python -c "from plcp.experiments.runner import redraw; redraw('docs/results')"

.venv/demo: pyproject.toml constraints.txt | .venv
	$(PIP) -e '.[cli,plot]'
	touch $@

.venv/dev: pyproject.toml constraints.txt | .venv
	$(PIP) -e '.[dev,bench]'
	touch $@

.venv/rivals: .venv/dev
	$(PIP) -e '.[rivals]'
	touch $@

.venv:
	$(PYTHON) -m venv $@

clean:
	rm -rf .venv dist build

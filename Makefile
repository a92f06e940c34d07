PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet -c constraints.txt

.PHONY: demo help test test-slow foreign test-oldest lint bench docs docs-results dist test-dist sbom clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

demo: .venv/demo  ## Split beside PLCP on the paper's synthetic task: a table and a plot
	$(BIN)/plcp demo

# One thread per worker: two pools of threads on the same cores stall each other.
test: .venv/dev  ## every test but the slow ones, doctests included
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto -m "not slow"

test-slow: .venv/dev build/foreign/made  ## stress, interrupts, fuzz, faults, many fits
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto -m slow tests

foreign: .venv/dev build/foreign/made  ## tests of other projects, recorded and drawn for their page
	$(BIN)/python tests/foreign/runner.py
	$(BIN)/python -m benchmarks.reliability.foreign

# Old versions warn of what is new to them, and a few tests are of newer ones: how scikit-learn's
# ensembles and routing refuse weights, and names that LightGBM no longer gives to arrays.
OLDEST ?= tests/test_quantiles.py tests/test_sets.py tests/test_conformal.py tests/test_teachers.py \
	tests/test_groups_of_rows.py tests/partitions tests/regressors
test-oldest: .venv-oldest/made  ## the core on the oldest supported versions; OLDEST= names the tests
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 .venv-oldest/bin/python -m pytest -q -n auto -m "not slow" \
		-o filterwarnings=default --ignore tests/partitions/torch \
		--deselect tests/regressors/test_fast_trees.py::test_lightgbm_stops_at_its_best_tree \
		--deselect tests/regressors/test_fast_trees.py::test_the_mean_of_lightgbm_models \
		--deselect "tests/test_conformal.py::test_a_model_without_weights_is_warned_of[ensemble]" \
		--deselect tests/test_conformal.py::test_weights_are_routed_as_scikit_learn_routes_them \
		$(OLDEST)

lint: .venv/dev  ## format, style, words, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/codespell -D - -D .ci/words.txt
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/repo-review .
	$(BIN)/zizmor --offline --quiet .github

dist: .venv/dist  ## wheel and sdist, in dist/: the same bytes whenever they are made from the same files
	rm -rf dist
	SOURCE_DATE_EPOCH=1577836800 $(BIN)/python -m build --quiet
	$(BIN)/twine check --strict dist/*
	$(BIN)/python .ci/check_dist.py

test-dist: dist  ## what each extra is for, in an environment with the wheel and this extra alone
	$(BIN)/python .ci/check_dist.py --extras

sbom: .venv/dist  ## what an environment with all extras holds, in build/sbom.json
	mkdir -p build
	$(PYTHON) -m venv build/all
	build/all/bin/python -m pip install --quiet -c constraints.txt '.[all]'
	$(BIN)/cyclonedx-py environment build/all/bin/python --output-reproducible -o build/sbom.json

bench: .venv/rivals  ## the measured claims of the docs; needs the data directory in PLCP_DATA
	$(BIN)/python -m benchmarks.accuracy.run
	$(BIN)/python -m benchmarks.speed.run
	$(BIN)/python -m benchmarks.scale.run
	$(BIN)/python -m benchmarks.reliability.run
	$(BIN)/python -m benchmarks.published.run
	$(MAKE) docs-results

docs: .venv/docs docs-results  ## the site, in docs/_build/html; warnings are errors, links and pages are checked
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/sphinx-build --fail-on-warning --keep-going -q docs docs/_build/html
	$(BIN)/python .ci/check_site.py

docs-results: .venv/dev  ## the pages, tables and pictures of results, drawn from the committed JSON
	$(BIN)/python -m benchmarks.accuracy.tables
	$(BIN)/python -m benchmarks.scale.page
	$(BIN)/python -m benchmarks.reliability.page
	$(BIN)/python -m benchmarks.reliability.foreign
	$(BIN)/python -m benchmarks.published.page
	$(BIN)/python -c "from plcp.experiments.runner import redraw; redraw('docs/results')"

.venv/demo: pyproject.toml constraints.txt | .venv
	$(PIP) -e '.[cli,plot]'
	touch $@

.venv/dev: pyproject.toml constraints.txt | .venv
	$(PIP) -e '.[dev,bench]'
	touch $@

# source distributions, which hold the tests; some wheels do not
build/foreign/made: constraints.txt | .venv
	rm -rf build/foreign
	$(BIN)/python -m pip download --quiet -c constraints.txt --no-deps --no-binary mapie,torchcp \
		--dest build/foreign mapie torchcp
	for sdist in build/foreign/*.tar.gz; do tar -xzf $$sdist -C build/foreign || exit; done
	touch $@

.venv/docs: .venv/dev
	$(PIP) -e '.[docs]'
	touch $@

.venv/rivals: .venv/dev
	$(PIP) -e '.[rivals]'
	touch $@

.venv/dist: .venv/dev
	$(PIP) build cyclonedx-bom twine
	touch $@

.venv-oldest/made: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet -c constraints-oldest.txt -e '.[boosting,frames,progress]' \
		hypothesis pytest pytest-xdist
	touch $@

.venv:
	$(PYTHON) -m venv $@

clean:
	rm -rf .venv .venv-oldest dist build docs/_build docs/tutorials docs/reference/generated

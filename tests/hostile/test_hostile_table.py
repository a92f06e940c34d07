"""Nothing that is handed in by mistake passes in silence: the whole table, cell by cell."""

import importlib
import inspect
from dataclasses import is_dataclass
from pathlib import Path

import pytest
from hostile_elsewhere import ELSEWHERE, SKIPPED
from hostile_entries import SUBJECTS
from hostile_judging import RIGHT
from hostile_table import ENTRIES, VALUES, cells, kind, try_cell

TESTS = Path(__file__).parents[1]
MODULES = [
    "plcp",
    "plcp.evaluation",
    "plcp.conformal",
    "plcp.explain",
    "plcp.regressors",
    "plcp.metrics",
    "plcp.partitions",
    "plcp.partitions.torch",
    "plcp.scores",
    "plcp.groups",
    "plcp.theory",
    "plcp.thresholds",
    "plcp.interop",
    "plcp.dask",
    "plcp.datasets",
    "plcp.kernels",
    "plcp.models",
    "plcp.monitoring",
    "plcp.onnx",
    "plcp.plotting",
    "plcp.storage",
    "plcp.tables",
]


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_bad_value_is_refused_in_words_or_answered_right(entry):
    found = {cell: try_cell(cell) for cell in cells(entry)}
    assert found
    assert {cell: how for cell, how in found.items() if how not in RIGHT} == {}


def test_every_argument_has_bad_values():
    kinds = {kind(entry, name) for entry in ENTRIES.values() for name in entry.given}
    assert kinds == set(VALUES)


def is_given_nothing(value):
    """Whether this is a warning, a base to build on, or what is given back rather than taken."""
    if not inspect.isclass(value):
        return False
    return issubclass(value, Warning | tuple) or inspect.isabstract(value) or is_dataclass(value)


@pytest.mark.parametrize("name", MODULES)
def test_no_public_name_is_forgotten(name):
    module = importlib.import_module(name)
    public = {key: value for key in module.__all__ if callable(value := getattr(module, key))}
    asked = {key for key, value in public.items() if not is_given_nothing(value)}
    tried = {entry.split(".")[0] for entry in ENTRIES}
    tried |= {type(subject.estimator).__name__ for subject in SUBJECTS.values()}
    numbers = {key for key in asked if name == "plcp.theory"} - tried
    assert asked <= tried | set(ELSEWHERE) | set(SKIPPED) | numbers
    table = (TESTS / "theory/test_theory_input.py").read_text()
    assert all(f'"{key}"' in table for key in numbers)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_is_tested_elsewhere_is_tested_there(name):
    assert name in (TESTS / ELSEWHERE[name]).read_text()

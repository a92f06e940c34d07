"""Nothing that is handed in by mistake passes in silence: the whole table, cell by cell."""

import importlib
import inspect
from dataclasses import is_dataclass
from pathlib import Path

import pytest
from hostile_entries import SUBJECTS
from hostile_judging import RIGHT
from hostile_table import ENTRIES, VALUES, cells, kind, try_cell

TESTS = Path(__file__).parents[1]
MODULES = [
    "plcp",
    "plcp.audit",
    "plcp.certificate",
    "plcp.conformal",
    "plcp.explain",
    "plcp.indices",
    "plcp.metrics",
    "plcp.partitions",
    "plcp.partitions.torch",
    "plcp.scores",
    "plcp.shifts",
    "plcp.theory",
    "plcp.thresholds",
]
# whose arguments are no rows: files, summaries, single numbers, parts of others
ELSEWHERE = {
    "KernelShifts": "shifts/test_smooth.py",
    "RuleTree": "explain/test_rule_tree.py",
    "audit": "audit/test_judged_columns.py",
    "choice_of": "audit/test_choice.py",
    "NestedSets": "test_nested_sets.py",
    "choose_features": "audit/test_chosen_features.py",
    "compare": "metrics/test_comparison.py",
    "embed": "partitions/torch/test_embedding.py",
    "improvement": "metrics/test_improvement.py",
    "load": "storage/test_refused_files.py",
    "mlp": "partitions/torch/test_modules.py",
    "model_groups": "audit/test_summary.py",
    "one_conv": "partitions/torch/test_modules.py",
    "parse_by": "audit/test_named_groups.py",
    "partition_importance": "explain/test_importance.py",
    "save": "storage/test_refused_files.py",
    "small_cnn": "partitions/torch/test_modules.py",
    "summarise": "audit/test_summary.py",
    "to_device": "partitions/torch/test_rough_use.py",
    "to_text": "audit/test_audit_text.py",
    "violations": "audit/test_violations.py",
}


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
    public = {key: getattr(module, key) for key in module.__all__}
    asked = {key for key, value in public.items() if not is_given_nothing(value)}
    tried = {entry.split(".")[0] for entry in ENTRIES}
    tried |= {type(subject.estimator).__name__ for subject in SUBJECTS.values()}
    numbers = {key for key in asked if name == "plcp.theory"} - tried
    assert asked <= tried | set(ELSEWHERE) | numbers
    table = (TESTS / "theory/test_theory_input.py").read_text()
    assert all(f'"{key}"' in table for key in numbers)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_is_tested_elsewhere_is_tested_there(name):
    assert name in (TESTS / ELSEWHERE[name]).read_text()

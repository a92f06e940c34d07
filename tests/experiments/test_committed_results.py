"""docs/results is what the committed trials say, no more and no less."""

import json
from math import isclose
from pathlib import Path

import pytest

from plcp.experiments import NAMES, find_experiment
from plcp.experiments.report import file_stem, to_dict, to_markdown
from plcp.experiments.runner import Ledger, to_markdown as overview

RESULTS = Path(__file__).parents[2] / "docs" / "results"
REPRODUCED = [name for name in NAMES if name != "rxrx1"]  # whose images are not ours to have
every_result = pytest.mark.parametrize("name", REPRODUCED)


def written(name):
    return (RESULTS / name).read_text(encoding="utf-8")


def same(one, other):
    """Whether two values read from JSON are equal, numbers up to the rounding of their sums."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return isclose(one, other)
    return one == other


def trials_of(name):
    return sorted(Ledger(RESULTS / f"{name}.jsonl"), key=lambda record: record["seed"])


@every_result
def test_trials_are_all_there_and_of_one_kind(name):
    records, experiment = trials_of(name), find_experiment(name)
    assert [record["seed"] for record in records] == list(range(experiment.trials))
    own = experiment.settings
    for record in records:
        assert {key: record["settings"].get(key) for key in own} == own  # the paper's, not quick
        assert record["settings"] == records[0]["settings"]
        assert "changes" not in record["versions"]["commit"]


@every_result
def test_pages_are_written_from_the_trials(name):
    records = trials_of(name)
    report = find_experiment(name).report(records)
    assert (RESULTS / f"{name}.md").read_text(encoding="utf-8") == to_markdown(
        name, report, records
    )
    written = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    assert same(written, to_dict(name, report, records))
    for title in report.figures:
        for ending in ("svg", "png"):
            assert (RESULTS / f"{file_stem(name, report, title)}.{ending}").stat().st_size > 0


def test_the_overview_is_written_from_the_pages():
    pages = [
        json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8")) for name in REPRODUCED
    ]
    assert (RESULTS / "README.md").read_text(encoding="utf-8") == overview(pages)

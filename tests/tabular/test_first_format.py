"""Models of tables in files of the first format keep loading, and answer as they did."""

import json
from pathlib import Path

import pytest
from tabular_worlds import batch_of, make_table

import plcp
from plcp.storage.archive import read_parts, write_parts
from plcp.tabular import Applier, load_manifest

FILES = Path(__file__).parent.parent / "storage" / "files"
TABLES = {"format1_groups": "regression", "format1_labels": "classes"}


@pytest.mark.parametrize("name", TABLES)
def test_a_model_of_a_table_answers_as_it_did(name):
    path = FILES / f"{name}.plcp"
    wanted = json.loads(path.with_suffix(".json").read_text())
    found = Applier(plcp.load(path)).apply(batch_of(make_table(TABLES[name], 20, 1)))
    assert {column: found.column(column).to_pylist() for column in wanted} == wanted
    assert load_manifest(path)["method"] in ("plcp", "mondrian")


@pytest.mark.parametrize("part", ["rule.skops", "split.skops", "sha256.json"])
def test_a_file_of_the_first_format_that_was_changed_is_refused(part, tmp_path):
    parts = read_parts((FILES / "format1_labels.plcp").read_bytes())
    for change in (parts | {part: b"{}"}, {name: parts[name] for name in parts if name != part}):
        path = tmp_path / "m.plcp"
        path.write_bytes(write_parts(change))
        with pytest.raises(ValueError, match=r"was changed since|has no part"):
            plcp.load(path)

"""Files of every format that was ever written keep loading, and answer as they did."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import plcp
from plcp.storage.archive import read_parts, write_parts
from plcp.storage.manifest import FORMAT
from plcp.tabular import Applier, load_manifest

FILES = Path(__file__).parent / "files"
sys.path.append(str(Path(__file__).parent.parent / "tabular"))
from tabular_worlds import batch_of, make_table  # noqa: E402

TABLES = {"format1_groups": "regression", "format1_labels": "classes"}
ROWS = np.linspace(-2.0, 2.0, 40).reshape(20, 2)


def test_there_is_a_file_of_every_format():
    found = {
        json.loads(read_parts(file.read_bytes())["manifest.json"])["format"]
        for file in FILES.glob("*.plcp")
    }
    assert found == {*range(1, FORMAT + 1)}


@pytest.mark.parametrize("name", TABLES)
def test_a_model_of_a_table_answers_as_it_did(name):
    path = FILES / f"{name}.plcp"
    wanted = json.loads(path.with_suffix(".json").read_text())
    found = Applier(plcp.load(path)).apply(batch_of(make_table(TABLES[name], 20, 1)))
    assert {column: found.column(column).to_pylist() for column in wanted} == wanted
    assert load_manifest(path)["method"] in ("plcp", "mondrian")


@pytest.mark.parametrize("path", sorted(FILES.glob("format2_*.plcp")), ids=lambda path: path.stem)
def test_a_rule_answers_as_it_did(path):
    wanted = json.loads(path.with_suffix(".json").read_text())
    assert plcp.load(path).predict(ROWS).tolist() == wanted


@pytest.mark.parametrize("part", ["rule.skops", "split.skops", "sha256.json"])
def test_a_file_of_the_first_format_that_was_changed_is_refused(part, tmp_path):
    parts = read_parts((FILES / "format1_labels.plcp").read_bytes())
    for change in (parts | {part: b"{}"}, {name: parts[name] for name in parts if name != part}):
        path = tmp_path / "m.plcp"
        path.write_bytes(write_parts(change))
        with pytest.raises(ValueError, match=r"was changed since|has no part"):
            plcp.load(path)

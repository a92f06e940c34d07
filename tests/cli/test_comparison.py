"""`plcp compare`: methods on a table of predictions, as text, JSON and a picture."""

import json

import numpy as np
import pyarrow as pa
import pytest
from people import people, write
from running import INCOME, run

METHODS = ("--methods", "split,mondrian,conditional-groups,crepes-split")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared")
    table = people(600)
    gaps = np.where(np.arange(600) == 5, None, table["income"].to_numpy())
    at = table.column_names.index("income")
    write(table, folder / "cal.parquet")
    write(table.set_column(at, "income", pa.array(gaps, pa.float64())), folder / "gap.csv")
    return folder


def test_text_and_json_recommend_the_same(folder):
    command = ("compare", "cal.parquet", *INCOME, "--by", "school,age:3", *METHODS, "--cv", "3")
    text = run(*command, folder=folder).stdout
    found = json.loads(run(*command, "--json", folder=folder).stdout)
    assert f"Recommended: {found['recommended']}," in text
    assert "plcp calibrate" in text
    assert {one["method"] for one in found["methods"]} == {*METHODS[1].split(",")}
    assert "school is doctorate" in found["groups"]
    assert len(found["groups"]) == 6
    assert found["rows"] == 600
    assert found["folds"] == 3
    by_name = {one["method"]: one for one in found["methods"]}
    assert by_name["crepes-split"]["conditional_error_minus"] == 0
    assert by_name["split"]["group"] in found["groups"]


def test_a_picture_is_drawn_and_rows_without_outcome_are_counted(folder):
    command = ("compare", "gap.csv", *INCOME, "--methods", "split,rlcp", "--rows", "500")
    output = run(*command, "--exclude", "id", "-o", "methods.png", folder=folder)
    assert (folder / "methods.png").read_bytes().startswith(b"\x89PNG")
    assert "wrote methods.png" in output.stdout
    assert "sample" in output.stdout
    exists = run(*command, "-o", "methods.png", folder=folder, code=2)
    assert "methods.png exists" in exists.stderr
    found = json.loads(run(*command[:-2], "--json", folder=folder).stdout)
    assert any("1 of 600 rows has no target" in one for one in found["notes"])


def test_probabilities_and_quantiles_are_predictions(folder):
    rng = np.random.default_rng(0)
    chances = rng.dirichlet([1, 1, 1], 300)
    label = [["cat", "dog", "owl"][rng.choice(3, p=p)] for p in chances]
    columns = {f"p_{name}": chances[:, i] for i, name in enumerate(["cat", "dog", "owl"])}
    write(pa.table({**columns, "label": label, "x": rng.random(300)}), folder / "animals.csv")
    options = ("--target", "label", "--probabilities", "p_*", "--methods", "split,aps", "--json")
    found = json.loads(run("compare", "animals.csv", *options, folder=folder).stdout)
    assert found["task"] == "classification"
    x, y = rng.random(300), rng.normal(size=300)
    write(pa.table({"x": x, "y": y, "low": x - 2, "high": x + 1}), folder / "band.csv")
    ends = ("--target", "y", "--lower", "low", "--upper", "high")
    options = ("--methods", "split,mapie-split", "--json")
    found = json.loads(run("compare", "band.csv", *ends, *options, folder=folder).stdout)
    assert [one["method"] for one in found["methods"]] == ["split"]
    assert "not single numbers" in found["left_out"]["mapie-split"]

"""The summary of a model says what its test rows are, and what they are not."""

import numpy as np
import pyarrow as pa
import pytest
from markup import parse

from plcp.evaluation.html import render_page
from plcp.tables import calibrate, choose_roles
from plcp.tables.report import summarise_model


def rows(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    noise = rng.normal(size=n) * (1 + 4 * (x > 0))
    return pa.table({"x": x, "yhat": x, "y": x + noise, "w": rng.integers(1, 3, n)})


def model(weight=None, **options):
    table = rows(200, seed=0)
    roles = choose_roles(
        table.column_names, target="y", prediction="yhat", features="x", weight=weight
    )
    return calibrate(table, roles, about={"digest": "c0ffee"}, method="split", **options)


@pytest.mark.parametrize("digest", [None, "beef", "c0ffee"])
def test_rows_that_were_calibrated_on_prove_nothing(digest):
    summary = summarise_model(model(), rows(200, seed=1), digest=digest).to_dict()
    page = parse(render_page(summary))
    told = [text for text in page.texts if "proves nothing" in text]
    if digest == "c0ffee":
        assert told == [summary["headline"]["warning"]]
        texts = list(page.texts)
        assert texts.index(told[0]) < texts.index(summary["headline"]["holds"])
    else:
        assert not told
        assert summary["headline"]["warning"] is None
    sources = {one["name"]: one["value"] for one in summary["provenance"]}
    assert sources.get("SHA-256 of the test file") == digest


def test_without_a_digest_of_the_calibration_rows_nothing_is_alleged():
    table = rows(50, seed=0)
    roles = choose_roles(table.column_names, target="y", prediction="yhat", features="x")
    unknown = calibrate(table, roles, method="split")
    assert summarise_model(unknown, table).headline["warning"] is None


@pytest.mark.parametrize("weight", [None, "w"])
def test_it_is_said_that_weights_do_not_count_on_the_page(weight):
    notes = " ".join(summarise_model(model(weight), rows(50, seed=1)).summary["notes"])
    assert ("weighted by 'w'; here every row counts once" in notes) == (weight is not None)


@pytest.mark.parametrize("groups", [1, 2])
def test_a_model_of_one_group_is_searched_for_rows_it_fails(groups):
    table = rows(400, seed=0)
    roles = choose_roles(table.column_names, target="y", prediction="yhat", features="x")
    learned = calibrate(table, roles, method="plcp-split", groups=groups)
    summary = summarise_model(learned, rows(100, seed=1)).to_dict()
    assert summary["learned"]["about"].startswith("No kinds of rows") == (groups == 1)
    assert (summary["explanation"] is None) == (groups == 1)
    assert summary["choice"]["chosen"] == groups

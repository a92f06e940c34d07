"""Groups: the same indicators from every source, and sources that say nothing clear."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from plcp.exceptions import UnseenCategoryWarning
from plcp.groups import Groups
from strategies import few

labels = hnp.arrays(np.intp, st.tuples(st.integers(1, 20), st.just(2)), elements=st.integers(0, 3))


@few
@given(labels)
def test_each_value_of_each_column_is_a_group(X):
    groups = Groups([0, 1])
    matrix = groups.fit_transform(X)
    pairs = [(j, value) for j in range(2) for value in sorted(set(X[:, j].tolist()))]
    assert groups.names_ == [f"x{j}={value}" for j, value in pairs]
    assert_array_equal(matrix, np.column_stack([X[:, j] == value for j, value in pairs]))
    assert_array_equal(matrix.sum(axis=1), 2)


def frame():
    return pd.DataFrame(
        {"sex": [1.0, 2, 1, 2], "town": [*"abca"], "old": [True, False, True, True]}
    )


EXPECTED = np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1], [0, 1, 1]])


def female(X):
    return np.asarray(X["sex"]) == 1


@pytest.mark.parametrize(
    ("by", "names"),
    [
        (["sex", "old"], ["sex=1", "sex=2", "old"]),
        ([0, -1], ["sex=1", "sex=2", "old"]),
        ([np.int64(0), 2], ["sex=1", "sex=2", "old"]),
        ({"s": "sex", "aged": "old"}, ["s=1", "s=2", "aged"]),
        ([female, lambda X: X["sex"] == 2, "old"], ["female", "group 1", "old"]),
        ({"f": female, "m": lambda X: 1 - female(X), "o": "old"}, ["f", "m", "o"]),
        (lambda X: np.column_stack([female(X), ~female(X), X["old"]]), ["group 0", "group 1"]),
    ],
)
@pytest.mark.parametrize("table", [frame(), pl.from_pandas(frame())], ids=["pandas", "polars"])
def test_every_source_gives_the_same(table, by, names):
    groups = Groups(by).fit(table)
    assert groups.names_[: len(names)] == names
    assert_array_equal(groups.transform(table), EXPECTED)


@pytest.mark.parametrize(
    "convert", [np.array, pd.DataFrame, pl.DataFrame, np.ndarray.tolist, csr_array]
)
@pytest.mark.parametrize("kind", [bool, int, float])
def test_a_matrix_handed_in(convert, kind):
    given = convert(EXPECTED.astype(kind))
    groups = Groups().fit(frame(), given=given)
    assert_array_equal(groups.transform(frame(), given=given), EXPECTED)
    assert_array_equal(Groups().fit_transform(frame(), given=given), EXPECTED)


def test_a_matrix_with_names_keeps_them():
    given = pd.DataFrame(EXPECTED, columns=["f", "m", "old"])
    assert Groups().fit(frame(), given=given).names_ == ["f", "m", "old"]
    assert Groups(lambda X: given).fit(frame()).names_ == ["f", "m", "old"]
    assert Groups().fit(frame(), given=given.set_axis([*"xxy"], axis=1)).names_ == [*"xxy"]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_matrix_with_names_in_another_order(kind):
    given = kind({"f": EXPECTED[:, 0], "m": EXPECTED[:, 1], "old": EXPECTED[:, 2]})
    groups = Groups().fit(frame(), given=given)
    assert_array_equal(groups.transform(frame(), given=given[["old", "f", "m"]]), EXPECTED)
    with pytest.raises(ValueError, match=r"columns \['f', 'm'\], but the groups in fit were"):
        groups.transform(frame(), given=given[["f", "m"]])


@pytest.mark.parametrize("dtype", ["category", "string", object])
def test_text_of_any_type(dtype):
    table = frame().astype({"town": dtype})
    groups = Groups("town").fit(table)
    assert groups.names_ == ["town=a", "town=b", "town=c"]
    assert_array_equal(groups.transform(table), np.eye(3)[[0, 1, 2, 0]])


@pytest.mark.parametrize("dtype", [bool, object, "boolean"])
def test_a_boolean_column_is_one_group(dtype):
    table = frame().astype({"old": dtype})
    assert_array_equal(Groups("old").fit_transform(table), EXPECTED[:, [2]])


def test_a_value_never_seen_is_in_none_of_its_columns_groups():
    groups = Groups(["sex", "town"]).fit(frame())
    new = pd.DataFrame({"sex": [3.0, 1.0], "town": ["b", "z"], "old": [True, True]})
    with pytest.warns(UnseenCategoryWarning) as caught:
        found = groups.transform(new)
    assert_array_equal(found, [[0, 0, 0, 1, 0], [1, 0, 0, 0, 0]])
    fate = "of {!r} that fit never saw ({!r}: 1): they belong to no group of that column"
    expected = [fate.format("sex", "3"), fate.format("town", "z")]
    assert [str(w.message) for w in caught] == [
        f"1 row holds a value {which}" for which in expected
    ]


@pytest.mark.parametrize(
    ("by", "message"),
    [
        (None, "groups is None: name columns"),
        ([], r"names no group, got \[\]"),
        ({}, r"names no group, got \{\}"),
        ("land", r"'land', but X has only \['sex', 'town', 'old'\]"),
        (7, "the column 7, but X has only"),
        (lambda X: [True, False], r"for each of 4 rows .* got shape \(2,\)"),
        (lambda X: np.ones((4, 0)), r"at least one group, got shape \(4, 0\)"),
        (lambda X: True, r"got shape \(\)"),
        (lambda X: [0, 1, np.nan, 1], r"True or False, got .*nan.* at row 2, group 0"),
        (lambda X: pd.array([True, None, True, True], dtype="boolean"), "<NA> at row 1"),
        (lambda X: X["town"], "got 'a' at row 0, group 0: compare"),
        (lambda X: np.array([0, True, 2, 1], dtype=object), "got 2 at row 2, group 0"),
        (lambda X: [[0, 1], [1, 0], [0, 2], [1, 1]], "got .*2.* at row 2, group 1"),
        (
            ["sex", lambda X: X["sex"] > 5, lambda X: X["sex"] > 6],
            r"\['group 2', 'group 3'\] hold no",
        ),
        ({"rich": lambda X: X["sex"] > 5}, r"\['rich'\] hold no calibration point: .* drop them"),
    ],
)
def test_sources_that_say_nothing_clear(by, message):
    with pytest.raises(ValueError, match=message):
        Groups(by).fit(frame())


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA])
def test_a_gap_in_a_column_is_named(gap):
    table = frame().astype({"town": object})
    table.loc[2, "town"] = gap
    with pytest.raises(ValueError, match="no label at row 2 in column 'town'"):
        Groups("town").fit(table)
    with pytest.raises(ValueError, match="no label at row 2 in column 'town'"):
        Groups("town").fit(frame()).transform(table)


def test_a_column_of_numbers_is_no_group():
    with pytest.raises(ValueError, match=r"column 0 holds 1001 different values.*: cut it"):
        Groups(0).fit(np.arange(1001.0)[:, None])


def test_text_that_was_numbers():
    with pytest.raises(ValueError, match="in column 'sex' were numbers in fit and are text now"):
        Groups("sex").fit(frame()).transform(frame().astype({"sex": str}))


def test_another_number_of_groups():
    groups = Groups().fit(frame(), given=EXPECTED)
    with pytest.raises(ValueError, match="has 2 columns, but there were 3 groups in fit"):
        groups.transform(frame(), given=EXPECTED[:, :2])
    with pytest.raises(ValueError, match="groups is None"):
        groups.transform(frame())
    with pytest.raises(ValueError, match="groups are given twice"):
        Groups("sex").fit(frame(), given=EXPECTED)


def test_an_array_without_that_column():
    with pytest.raises(ValueError, match="the column 2, but X has only 2"):
        Groups(2).fit(np.zeros((3, 2)))

"""A text that many rows hold is read once, and they are given what each would be given alone."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st

from plcp._rows import one_row_each, same_text
from plcp.regressors.encoding import TableEncoder
from strategies import few

WORDS = ["", "a", "b", "B", "é", "10", "9", "nan", "a b"]
COLUMNS = {
    "pandas object": lambda values: pd.Series(values, dtype=object),
    "pandas text": lambda values: pd.Series(values, dtype="str"),
    "pandas string": lambda values: pd.Series(values, dtype="string[python]"),
    "pandas arrow": lambda values: pd.Series(values, dtype="string[pyarrow]"),
    "pandas category": lambda values: pd.Series(
        pd.Categorical(values, categories=["never", *WORDS[::-1]])
    ),
    "polars text": lambda values: pl.Series(values, dtype=pl.String),
    "polars category": lambda values: pl.Series(values, dtype=pl.Categorical),
    "polars enum": lambda values: pl.Series(values, dtype=pl.Enum([*WORDS[::-1], "never"])),
}
every_column = pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
texts = st.lists(st.none() | st.sampled_from(WORDS), min_size=1, max_size=30)


def framed(column):
    library = pl if isinstance(column, pl.Series) else pd
    return library.DataFrame({"c": column})


@every_column
@few
@given(known=texts, new=texts)
def test_codes_are_those_of_each_row_by_itself(column, known, new):
    encoder = TableEncoder().fit(framed(column(known)))
    codes = {text: i for i, text in enumerate(sorted({*known} - {None}))}
    expected = [codes.get(text, np.nan) if codes else 0.0 for text in new]
    np.testing.assert_array_equal(encoder.transform(framed(column(new)))[:, 0], expected)
    assert encoder.n_categories_[0] == len(codes)


@every_column
def test_the_most_frequent_rows_count_and_not_the_most_frequent_texts(column, monkeypatch):
    monkeypatch.setattr("plcp.regressors.encoding.MAX_CATEGORIES", 2)
    frame = framed(column(["a", "9", "9", "b", "b", "b", None, None]))
    codes = TableEncoder().fit(frame).transform(frame)[:, 0]
    np.testing.assert_array_equal(codes, [np.nan, 0, 0, 1, 1, 1, np.nan, np.nan])


@every_column
def test_rows_of_the_same_text_share_a_number(column):
    first, gap, second, again = same_text(column(["b", None, "a", "b"]))
    assert gap == -1
    assert first == again != second


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, True, "x"], dtype=object),
        pd.Series([1.0, 2.0]),
        pd.Series([1, None], dtype="Int64"),
        pl.Series([1.0, 2.0]),
        pl.Series([["a"], ["b"]]),
    ],
    ids=lambda column: str(column.dtype),
)
def test_what_is_equal_need_not_be_the_same(column):
    assert same_text(column) is None


def test_categories_that_differ_only_in_type_have_one_text():
    frame = pd.DataFrame({"c": pd.Categorical([1, "1", 2, None], categories=[2, "1", 1])})
    codes = TableEncoder().fit(frame).transform(frame)[:, 0]
    np.testing.assert_array_equal(codes, [0, 0, 1, np.nan])


@given(st.lists(st.integers(-1, 9)))
def test_every_number_has_a_row_and_every_row_a_place(numbers):
    numbers = np.array(numbers, dtype=np.intp)
    rows, places = one_row_each(numbers)
    assert sorted(numbers[rows]) == sorted({*numbers.tolist()} - {-1})
    there = numbers >= 0
    np.testing.assert_array_equal(numbers[rows][places[there]], numbers[there])
    assert (places[~there] == len(rows)).all()

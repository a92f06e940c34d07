"""A row that is asked about alone hears what it hears among others, to the last bit."""

import numpy as np
import pandas as pd
import pytest

from estimators import CASES, answer, make_rows
from plcp._validation import FEW

# whose answers neither are drawn row after row nor come out of a product of matrices
ROW_BY_ROW = [
    "split",
    "mondrian",
    "plcp",
    "plcp, split",
    "plcp, joint",
    "plcp, tree",
    "plcp, lightgbm",
    "plcp, levels",
    "plcp, shared levels",
    "rectified",
    "ordered",
]


@pytest.mark.parametrize("name", ROW_BY_ROW)
def test_a_row_alone_is_answered_as_among_others(name):
    fitted, X = CASES[name].fit(make_rows()), make_rows(1, 100)[0]
    alone = np.concatenate([answer(fitted, X[i : i + 1]) for i in range(20)])
    np.testing.assert_array_equal(alone, answer(fitted, X)[:20])


@pytest.mark.parametrize("n", [1, FEW])
def test_few_rows_are_refused_in_the_words_that_many_are(n):
    X, scores, _ = make_rows()
    fitted, new = CASES["plcp, joint"].fit((X, scores, None)), make_rows(1, n)[0]
    for wrong, expected in [
        (np.where(np.arange(new.shape[1]) == 0, np.nan, new), "contains NaN"),
        (np.where(np.arange(new.shape[1]) == 0, np.inf, new), "contains infinity"),
        (new[:, 1:], "features"),
        (new[:0], "0 sample"),
        (new[0], "Expected 2D array"),
    ]:
        with pytest.raises(ValueError, match=expected):
            fitted.predict(wrong)


def test_a_row_without_the_names_of_fit_is_told_so():
    X, scores, _ = make_rows()
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    fitted = CASES["split"].fit((frame, scores, None))
    with pytest.warns(UserWarning, match="feature names"):
        fitted.predict(X[:1])

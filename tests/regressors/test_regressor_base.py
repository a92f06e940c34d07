"""What regressors share: quantiles and seeds they are given, and exact lines."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, QuantileRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plcp.regressors import (
    LinearQuantile,
    ScaledQuantile,
    SparseScale,
    StackedQuantile,
    base as lines,
)
from plcp.regressors.base import at_quantile, line, seeded
from strategies import few


def test_open_quantile_is_set_inside_a_pipeline():
    pipe = make_pipeline(StandardScaler(), LinearQuantile())
    assert at_quantile(pipe, 0.8).get_params()["linearquantile__quantile"] == 0.8
    assert pipe.get_params()["linearquantile__quantile"] is None


def test_given_quantile_is_kept():
    assert at_quantile(QuantileRegressor(quantile=0.7), 0.9).quantile == 0.7
    assert at_quantile(LinearRegression(), 0.9).get_params() == LinearRegression().get_params()


def test_each_open_seed_is_drawn():
    rng = np.random.RandomState(0)
    assert seeded(HistGradientBoostingRegressor(random_state=5), rng).random_state == 5
    first, second = (seeded(HistGradientBoostingRegressor(), rng).random_state for _ in range(2))
    assert first != second


LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "every other": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
}


@st.composite
def rows_and_weights(draw):
    shape = draw(st.integers(1, 60)), draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 6, shape[1])
    kinds = st.sampled_from([np.float64, np.float32])
    return X.astype(draw(kinds)), rng.standard_normal(shape[1]).astype(draw(kinds))


@few
@given(drawn=rows_and_weights(), layout=st.sampled_from(sorted(LAYOUTS)))
def test_a_row_alone_is_the_row_in_its_block(drawn, layout):
    X, coef = drawn
    alone = [line(row[None], coef).item() for row in X]
    assert_array_equal(line(LAYOUTS[layout](X), coef), alone)


@few
@given(drawn=rows_and_weights())
def test_the_value_is_that_of_exact_sums(drawn):
    X, coef = drawn
    for row, value in zip(X, line(X, coef), strict=True):
        terms = [Fraction(float(x)) * Fraction(float(c)) for x, c in zip(row, coef, strict=True)]
        # each of the products and sums of d columns is off by half a unit in the last place
        slack = (len(row) + 1) * np.finfo(float).eps * float(sum(map(abs, terms)))
        assert abs(float(Fraction(value) - sum(terms))) <= slack


def test_slices_meet_without_a_seam(rng, monkeypatch):
    X, coef = rng.standard_normal((1000, 7)), rng.standard_normal(7)
    whole = line(X, coef)
    monkeypatch.setattr(lines, "ENTRIES", 1)
    monkeypatch.setattr(lines, "FEWEST", 3)
    assert_array_equal(line(X, coef), whole)


def test_no_rows_have_no_values():
    assert line(np.empty((0, 3)), np.ones(3)).shape == (0,)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize(
    "regressor",
    [
        LinearQuantile(0.9),
        SparseScale(),
        SparseScale(categorical_features=[False] * 8 + [True]),
        ScaledQuantile(0.9, random_state=0),
        StackedQuantile(0.9, random_state=0),
    ],
)
def test_a_regressor_predicts_each_row_by_itself(regressor, kind, rng):
    X = rng.standard_normal((400, 9))
    X[:, 8] = rng.integers(0, 4, 400)
    X = X.astype(kind)
    regressor.fit(X, np.abs(X[:, 0] * rng.standard_normal(400)))
    if not isinstance(regressor, LinearQuantile):
        X[::50, 1] = np.nan  # a gap in one row is no matter of the others
    alone = np.concatenate([regressor.predict(row[None]) for row in X[:101]])
    for layout in LAYOUTS.values():
        assert_array_equal(regressor.predict(layout(X[:101])), alone)

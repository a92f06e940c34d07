"""Conditional calibration: reductions, the law of its coverage, and what it refuses."""

import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from bands import binomial_band
from plcp import ConditionalCalibration, ConformalRegressor, Mondrian, SplitConformal
from plcp.exceptions import InfiniteThresholdWarning, UnseenCategoryWarning
from plcp.quantiles import conformal_rank
from strategies import alphas, few

unbounded = pytest.mark.filterwarnings("ignore::plcp.exceptions.InfiniteThresholdWarning")


def constant(X):
    return np.ones(len(X))


@unbounded
@few
@given(st.integers(1, 80), alphas, st.booleans(), st.integers(0, 99))
def test_a_constant_feature_gives_split(n, alpha, ties, seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 6, n).astype(float) if ties else rng.normal(size=n)
    X = rng.normal(size=(n, 2))
    rule = ConditionalCalibration(constant, alpha=alpha).fit(X, scores)
    assert_array_equal(rule.predict(X), SplitConformal(alpha).fit(X, scores).predict(X))


@unbounded
@few
@given(st.integers(2, 80), alphas, st.booleans(), st.integers(0, 99))
def test_disjoint_groups_give_mondrian(n, alpha, ties, seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 6, n).astype(float) if ties else rng.normal(size=n)
    X = rng.integers(0, 3, (n, 1))
    rule = ConditionalCalibration(groups=0, alpha=alpha).fit(X, scores)
    assert_array_equal(rule.predict(X), Mondrian(0, alpha).fit(X, scores).predict(X))


@unbounded
@few
@given(st.integers(5, 16), st.sampled_from([0.1, 0.2, 0.5]), st.booleans(), st.integers(0, 99))
def test_every_overlapping_group_is_covered_over_all_places_of_the_test_row(n, alpha, ties, seed):
    """Leaving each row out in turn, at least (1 - alpha) of every group is covered: no chance."""
    rng = np.random.default_rng(seed)
    groups = rng.uniform(size=(n, 3)) < 0.5
    scores = rng.integers(0, 4, n).astype(float) if ties else rng.normal(size=n)
    features = np.column_stack([groups, rng.normal(size=n)]).astype(float)
    covered = np.empty(n, dtype=bool)
    for j in range(n):
        others = np.arange(n) != j
        rule = ConditionalCalibration(alpha=alpha).fit(features[others], scores[others])
        covered[j] = scores[j] <= rule.predict(features[[j]])[0]
    for members in [*groups.T, np.ones(n, dtype=bool)]:
        assert covered[members].sum() >= conformal_rank(members.sum() - 1, alpha) * members.any()


def test_a_threshold_among_tied_scores_covers_them(rng):
    """Sums that rounding leaves a digit below an atom would lose all of its rows."""
    X = rng.normal(size=(600, 5))
    scores = np.minimum(rng.exponential(size=300), 1.0)
    q = ConditionalCalibration().fit(X[:300], scores).predict(X[300:])
    at_the_atom = np.abs(q - 1.0) < 1e-9
    assert at_the_atom.any()
    assert (q[at_the_atom] >= 1.0).all()


def test_draws_are_uniform_over_the_range_of_a_dual():
    """Of five scores at alpha = 0.2 the largest is the threshold where u > 0, else the fourth.

    Together they cover a sixth score with (0.8 * 5 + 0.2 * 4) / 6 = 0.8, to the last digit.
    """
    X, scores = np.zeros((5, 1)), np.arange(1.0, 6.0)
    all_rows = {"groups": lambda X: np.ones(len(X), dtype=bool)}  # whatever X holds
    rule = ConditionalCalibration(**all_rows, alpha=0.2, randomized=True, random_state=0)
    q = rule.fit(X, scores).predict(np.arange(20_000.0)[:, None])
    assert set(q) == {4.0, 5.0}
    low, high = binomial_band(len(q), 0.8)
    assert low <= (q == 5).sum() <= high


def test_values_of_the_authors_package(monkeypatch):
    """Stored thresholds, randomised ones too, and the script that made them stand beside."""
    stored = json.loads((Path(__file__).parent / "conditional_oracle.json").read_text())
    for case in stored["cases"]:
        X, new, thresholds = (np.array(case[name]) for name in ("X", "new", "thresholds"))
        rule = ConditionalCalibration(alpha=case["alpha"]).fit(X, case["scores"])
        assert_allclose(rule.predict(new), thresholds[:, 0], rtol=1e-6)
        for u, expected in zip(case["targets"], thresholds.T, strict=True):
            monkeypatch.setattr(rule, "_targets", lambda X, _, u=u: np.full(len(X), u))
            assert_allclose(rule.predict(new), expected, rtol=1e-6)


def wavy(rng, n=300):
    X = rng.uniform(-1, 1, size=(n, 3))
    return X, (2 + X[:, 0]) * rng.exponential(size=n)


def test_features_as_function_pipeline_or_columns(rng):
    X, scores = wavy(rng)
    pipeline = make_pipeline(StandardScaler(), PolynomialFeatures(1, include_bias=False)).fit(X)
    plain = ConditionalCalibration().fit(X, scores).predict(X[:20])
    for features in (FrozenEstimator(pipeline), pipeline, pipeline.transform, np.asarray):
        rule = ConditionalCalibration(features).fit(X, scores)
        assert rule.n_columns_ == 4
        assert_allclose(rule.predict(X[:20]), plain, rtol=1e-9)


def test_a_frame_of_numbers_and_named_groups(rng):
    X, scores = wavy(rng)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(sex=rng.choice(["f", "m"], 300))
    by_name = ConditionalCalibration(groups=["sex"]).fit(frame, scores)
    assert by_name.groups_ == ["sex=f", "sex=m"]
    assert (by_name.guarantee_.scope, by_name.guarantee_.n_groups) == ("given groups", 2)
    members = np.column_stack([frame["sex"] == "f", frame["sex"] == "m"])
    by_matrix = ConditionalCalibration().fit(X, scores, groups=members)
    assert_array_equal(by_matrix.predict(X, groups=members), by_name.predict(frame))


def test_a_frozen_pipeline_survives_the_conformal_estimator(rng):
    X, y = rng.normal(size=(400, 2)), rng.normal(size=400)
    features = FrozenEstimator(make_pipeline(StandardScaler(), PolynomialFeatures(2)).fit(X))
    model = ConformalRegressor(LinearRegression(), threshold=ConditionalCalibration(features))
    assert model.fit(X, y).predict_interval(X[:5]).shape == (5, 2)
    model.set_params(threshold=ConditionalCalibration(PolynomialFeatures(2).fit(X)))
    with pytest.raises(ValueError, match=r"fitted transformer.*FrozenEstimator"):
        model.fit(X, y)


def test_shift_scale_and_row_order(rng):
    X, scores = wavy(rng)
    rule = ConditionalCalibration()
    base = rule.fit(X, scores).predict(X)
    assert_allclose(rule.fit(X, scores + 8).predict(X), base + 8, rtol=1e-9)
    assert_allclose(rule.fit(X, 4 * scores).predict(X), 4 * base, rtol=1e-9)
    assert_allclose(rule.fit(X[::-1], scores[::-1]).predict(X), base, rtol=1e-9)
    assert_allclose(
        rule.fit(1e3 * X @ np.tri(3) - 5, scores).predict(1e3 * X @ np.tri(3) - 5), base
    )


def test_weights_count_rows(rng):
    X, scores = wavy(rng, 60)
    counts = rng.integers(0, 4, 60)
    weighted = ConditionalCalibration().fit(X, scores, sample_weight=counts)
    repeated = ConditionalCalibration().fit(np.repeat(X, counts, axis=0), np.repeat(scores, counts))
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-8)
    assert weighted.guarantee_.kind == "approximate"
    assert repeated.guarantee_.kind == "exact"


def test_nothing_of_a_first_fit_remains(rng):
    X, scores = wavy(rng)
    members = X[:, :2] > 0
    rule = ConditionalCalibration(random_state=0)
    rule.fit(X, scores, groups=members).predict(X, groups=members)
    again = rule.fit(X[:100, :2], scores[:100])
    fresh = ConditionalCalibration(random_state=0).fit(X[:100, :2], scores[:100])
    assert vars(again).keys() == vars(fresh).keys()
    assert_array_equal(again.predict(X[:, :2]), fresh.predict(X[:, :2]))
    assert again.groups_ == []


@pytest.mark.parametrize("randomized", [False, True])
def test_alpha_is_that_of_the_fit(rng, randomized):
    X, scores = wavy(rng)
    rule = ConditionalCalibration(randomized=randomized, random_state=0).fit(X, scores)
    q = rule.predict(X)
    assert_array_equal(rule.set_params(alpha=0.5).predict(X), q)


def test_equality_is_promised_only_without_ties():
    """Equal scores are covered by every finite threshold: more often than drawn."""
    X = np.zeros((9, 1))
    rule = ConditionalCalibration(alpha=0.2, randomized=True, random_state=0).fit(X, np.ones(9))
    assert (rule.predict(np.zeros((500, 1))) >= 1.0).all()
    assert rule.guarantee_.assumptions[-1] == "no scores tie"


def test_draws_repeat_and_threads_change_nothing(rng, monkeypatch):
    monkeypatch.setattr("plcp.quantile_programs.path.BLOCK_ENTRIES", 3000)  # ten rows a block
    X, scores = wavy(rng)
    rule = ConditionalCalibration(randomized=True, random_state=0).fit(X, scores)
    q = rule.predict(X)
    assert_array_equal(rule.predict(X), q)
    assert_array_equal(pickle.loads(pickle.dumps(rule)).set_params(n_jobs=2).predict(X), q)
    other = ConditionalCalibration(randomized=True, random_state=1).fit(X, scores)
    assert (other.predict(X) != q).any()


def test_more_shifts_than_the_rows_can_bear_are_unbounded(rng):
    X, scores = rng.normal(size=(30, 8)), rng.normal(size=30)
    rule = ConditionalCalibration().fit(X, scores)
    with pytest.warns(InfiniteThresholdWarning, match=r"\d+ rows, the first of them row \d+"):
        assert np.isinf(rule.predict(5 * X)).any()


def test_a_group_unlike_any_before_is_unbounded(rng):
    X = np.repeat([[0], [1]], 50, axis=0)
    rule = ConditionalCalibration(groups=0).fit(X, rng.normal(size=100))
    with (
        pytest.warns(UnseenCategoryWarning, match="1 row holds a value of 0"),
        pytest.warns(InfiniteThresholdWarning, match="1 rows, the first of them row 1"),
    ):
        q = rule.predict([[0], [2]])
    assert np.isinf(q).tolist() == [False, True]


def nan_at(row, column):
    def features(X):
        values = np.array(X)
        values[row, column] = np.nan
        return values

    return features


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (ConditionalCalibration(nan_at(3, 1)), "got nan at row 3, column 1"),
        (
            ConditionalCalibration(lambda X: X @ np.ones((3, 2))),
            r"2 columns of rank 1 on 300 rows: columns \[1\]",
        ),
        (ConditionalCalibration(lambda X: X[:5]), r"each of the 300 rows.*got shape \(5, 3\)"),
        (ConditionalCalibration(StandardScaler()), "must be a fitted transformer"),
        (ConditionalCalibration(groups=lambda X: X[:, 0] > 9), "hold no calibration point"),
        (ConditionalCalibration(alpha=1.0), "alpha must lie in"),
    ],
)
def test_bad_maps_are_refused(rng, rule, message):
    X, scores = wavy(rng)
    with pytest.raises(ValueError, match=message):
        rule.fit(X, scores)


def test_columns_that_are_no_numbers_are_refused_by_name(rng):
    frame = pd.DataFrame({"age": rng.normal(size=20), "sex": ["f", "m"] * 10})
    with pytest.raises(ValueError, match="column 'sex'"):
        ConditionalCalibration().fit(frame, rng.normal(size=20))


def test_maps_and_groups_that_change_between_fit_and_predict_are_refused(rng):
    X, scores = wavy(rng)
    rule = ConditionalCalibration(lambda X: X if len(X) > 5 else X[:, 1:]).fit(X, scores)
    with pytest.raises(ValueError, match=r"gives 3 columns.*gave 4 in fit"):
        rule.predict(X[:5])
    with pytest.raises(ValueError, match="handed to predict, but there were none in fit"):
        ConditionalCalibration().fit(X, scores).predict(X, groups=X > 0)


def test_gaps_in_columns_that_are_not_looked_at(rng):
    X, scores = wavy(rng)
    members = X > 0
    q = ConditionalCalibration().fit(X, scores, groups=members).predict(X, groups=members)
    gaps = np.where(members, np.nan, X)
    rule = ConditionalCalibration().fit(gaps, scores, groups=members)
    assert_array_equal(rule.predict(gaps, groups=members), q)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": ["a", "b"]}, r"features must be a function .*, got \['a', 'b'\]"),
        ({"kernel": "gaussian"}, "kernel must be a KernelShifts, got 'gaussian'"),
    ],
)
def test_what_is_no_class_of_shifts(rng, options, message):
    with pytest.raises(ValueError, match=message):
        ConditionalCalibration(**options).fit(*wavy(rng))


@pytest.mark.parametrize("unit", [1e-300, 1e-170, 1e170, 1e300])
def test_columns_in_any_unit(rng, unit):
    X, scores = wavy(rng)
    units = np.array([1.0, unit, 1.0])
    q = ConditionalCalibration().fit(X, scores).predict(X)
    rule = ConditionalCalibration().fit(X * units, scores)
    assert_allclose(rule.predict(X * units), q)


@pytest.mark.parametrize("size", [1e302, 1e308, -1e308])
def test_scores_too_large_to_be_added_up_are_refused(rng, size):
    X, scores = wavy(rng)
    largest = ConditionalCalibration().fit(X, scores / scores.max() * 1e301).predict(X)
    assert np.isfinite(largest).all()
    with pytest.raises(ValueError, match=r"scores must be at most .*divide all of them"):
        ConditionalCalibration().fit(X, scores / scores.max() * size)

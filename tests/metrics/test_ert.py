"""The excess risk of the target coverage, where it is known."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, binomtest, norm
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from bands import FALSE_ALARM
from plcp.metrics import ert
from plcp.metrics.ert import PredictedCoverage, excess_risk, excess_terms, predict_coverage
from strategies import alphas, few

norms = st.sampled_from(["L1", "L2"])
shares = st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.8, 0.95, 1.0])


def loss(p, covered, target, norm):
    """Losses of Braun et al., whose risk at the target less that of p is the excess."""
    if norm == "L2":
        return (covered - p) ** 2
    return np.where(p > target, -1, np.where(p < target, 1, 0)) * (covered - target)


@st.composite
def predicted(draw):
    n = draw(st.integers(1, 30))
    p = draw(hnp.arrays(float, n, elements=shares))
    return p, draw(hnp.arrays(bool, n))


@few
@given(predicted(), alphas, norms)
def test_terms_are_the_loss_of_the_target_less_that_of_the_classifier(drawn, alpha, norm):
    p, covered = drawn
    constant = np.full(len(p), 1 - alpha)
    expected = loss(constant, covered, 1 - alpha, norm) - loss(p, covered, 1 - alpha, norm)
    assert_allclose(excess_terms(p, covered, alpha, norm), expected, atol=1e-15)


@few
@given(hnp.arrays(float, 20, elements=shares), hnp.arrays(float, 20, elements=shares), alphas)
def test_no_classifier_beats_the_truth(p, truth, alpha):
    def expected(result, norm):
        hit, miss = (excess_terms(result, c, alpha, norm) for c in (True, False))
        return truth * hit + (1 - truth) * miss

    error = truth - (1 - alpha)
    assert_allclose(expected(truth, "L1"), np.abs(error), atol=1e-15)
    assert (expected(p, "L1") <= np.abs(error) + 1e-15).all()
    assert_allclose(expected(p, "L2"), error**2 - (p - truth) ** 2, atol=1e-15)


@few
@given(predicted(), alphas, norms, st.data())
def test_weights_count_rows_and_order_does_not(drawn, alpha, norm, data):
    p, covered = drawn
    counts = data.draw(hnp.arrays(np.intp, len(p), elements=st.integers(0, 3)))
    counts[0] += 2
    copies = np.repeat(np.arange(len(p)), counts)
    copied = excess_risk(
        PredictedCoverage(np.arange(len(copies)), p[copies]), covered[copies], alpha, norm
    )
    result = PredictedCoverage(*(values[::-1] for values in (np.arange(len(p)), p)))
    weighted = excess_risk(result, covered, alpha, norm, counts=counts.astype(float))
    for field in ("estimate", "low", "high", "standard_error"):
        assert_allclose(getattr(weighted, field), getattr(copied, field), rtol=1e-9, atol=1e-12)
    for column in copied.table:
        assert_allclose(weighted.table[column], copied.table[column])


@few
@given(st.integers(1, 60), st.data(), alphas)
def test_interval_of_a_constant_is_that_of_agresti_and_coull(n, data, alpha):
    hits = data.draw(st.integers(0, n))
    covered = np.arange(n) < hits
    measure = excess_risk(PredictedCoverage(np.arange(n), np.ones(n)), covered, alpha, "L1")
    z = norm.isf(0.025)
    center = (hits + z**2 / 2) / (n + z**2)
    reach = z * np.sqrt(center * (1 - center) / (n + z**2))
    assert_allclose(
        np.array([measure.low, measure.high]) + 1 - alpha, [center - reach, center + reach]
    )


class Frequencies(BaseEstimator, ClassifierMixin):
    """Predicts the share covered among the known rows of the same kind, and logs the calls."""

    def __init__(self, kinds=4, log=None):
        self.kinds = kinds
        self.log = log

    def __sklearn_clone__(self):
        return Frequencies(self.kinds, self.log)

    def fit(self, X, y):
        self.known_ = X
        kind = X[:, 0].astype(int)
        n = np.bincount(kind, minlength=self.kinds)
        self.share_ = np.bincount(kind, y, minlength=self.kinds) / np.maximum(n, 1)
        return self

    def predict_proba(self, X):
        self.log.append((self.known_, X, self.share_))
        p = self.share_[X[:, 0].astype(int)]
        return np.column_stack([1 - p, p])


def test_each_row_is_predicted_by_those_before_it(rng):
    log, n = [], 103
    X = np.column_stack([rng.integers(0, 4, n), np.arange(n)])
    measure = ert(X, rng.uniform(size=n) < 0.7, 0.1, classifier=Frequencies(log=log), cv=4)
    known, result = ([{*step[i][:, 1]} for step in log] for i in (0, 1))
    assert len(log) == 4
    assert len(known[0]) == 34
    for step in range(4):
        assert not known[step] & result[step]
        if step:
            assert known[step] == known[step - 1] | result[step - 1]
    assert known[-1] | result[-1] == {*range(n)}
    assert {*np.flatnonzero(measure.weights)} == {*range(n)} - known[0]
    assert_allclose(np.average(measure.terms, weights=measure.weights), measure.estimate)


@pytest.mark.slow
@pytest.mark.parametrize("coverage", [(0.9, 0.9, 0.9, 0.9), (0.7, 0.9, 0.95, 1.0)])
def test_intervals_hold_as_often_as_they_say(rng, coverage):
    """Also where coverage does not depend on x: folds that train each other fail there."""
    coverage, n, sets = np.array(coverage), 300, 1000
    held = {"L1": 0, "L2": 0}
    for seed in range(sets):
        X, log = rng.integers(0, 4, (n, 1)), []
        covered = rng.uniform(size=n) < coverage[X[:, 0]]
        result = predict_coverage(
            X, covered, classifier=Frequencies(log=log), cv=5, random_state=seed
        )
        shares = [share for *_, share in log]
        shares += [np.ones(4)] * (
            5 - len(log)
        )  # no classifier is fitted while all known rows are covered
        for name in held:
            found = excess_risk(result, covered, 0.1, name)
            hit, miss = (excess_terms(np.array(shares), c, 0.1, name) for c in (True, False))
            risk = np.mean(coverage * hit + (1 - coverage) * miss)
            held[name] += found.low <= risk <= found.high
    least, most = binom.ppf(FALSE_ALARM, sets, 0.94), binom.isf(FALSE_ALARM, sets, 0.97)
    assert all(least <= count <= most for count in held.values()), held


@pytest.mark.parametrize("name", ["L1", "L2"])
def test_ert_of_what_is_known_is_the_error_of_coverage(rng, name):
    x = rng.integers(0, 4, 4000)
    coverage = np.array([0.5, 0.85, 0.95, 1.0])[x]
    covered = rng.uniform(size=4000) < coverage
    found = ert(x[:, None], covered, 0.1, norm=name, classifier=DecisionTreeClassifier())
    truth = np.mean(np.abs(coverage - 0.9) ** int(name[1]))
    assert abs(found.estimate - truth) < norm.isf(FALSE_ALARM / 2) * found.standard_error
    assert_array_equal(found.table["n"].sum(), (found.weights > 0).sum())
    exact = [
        binomtest(round(share * n), n).proportion_ci(0.95, method="exact")
        for share, n in zip(found.table["coverage"], found.table["n"], strict=True)
    ]
    assert_allclose(np.column_stack([found.table["low"], found.table["high"]]), exact)


@pytest.mark.parametrize("covered", [True, False])
def test_all_or_nothing_covered_is_a_constant_prediction(covered):
    outcomes = np.full(60, covered)
    measure = ert(np.zeros((60, 1)), outcomes, 0.1)
    tested = np.flatnonzero(measure.weights)
    expected = excess_risk(
        PredictedCoverage(tested, np.full(40, float(covered))), outcomes, 0.1, "L1"
    )
    assert measure.estimate == pytest.approx(abs(covered - 0.9))
    assert (measure.low, measure.high) == (expected.low, expected.high)


@pytest.mark.parametrize("missed", [0, 1, 3])
@pytest.mark.parametrize("n", [2, 3, 5, 200])
def test_few_rows_and_few_misses_are_no_trouble(rng, missed, n):
    covered = np.arange(n) >= missed
    measure = ert(rng.normal(size=(n, 1)), covered, 0.1, classifier=DecisionTreeClassifier())
    assert measure.low < measure.high
    assert np.isfinite([measure.estimate, measure.low, measure.high]).all()


def test_rows_of_weight_zero_are_not_there(rng):
    X, covered = rng.normal(size=(300, 2)), rng.uniform(size=300) < 0.8
    counts = rng.integers(1, 4, 300)
    tree = DecisionTreeClassifier(random_state=0)
    part = ert(X, covered, 0.1, classifier=tree, sample_weight=counts)
    whole = ert(
        np.vstack([X, 9 + X]),
        np.append(covered, ~covered),
        0.1,
        classifier=tree,
        sample_weight=np.append(counts, np.zeros(300)),
    )
    ends = [(each.estimate, each.low, each.high) for each in (whole, part)]
    assert_allclose(*ends, rtol=1e-12)  # sums of other lengths round otherwise


def test_weights_reach_the_classifier():
    covered = np.array([True, False] * 50)
    counts = np.where(covered, 9, 1)
    prior = DummyClassifier(strategy="prior")
    result = ert(np.zeros((100, 1)), covered, 0.3, classifier=prior, sample_weight=counts).table
    assert (result["predicted"] > 0.8).all()


def test_missing_values_frames_and_pipelines_reach_the_classifier(rng):
    kind = rng.choice(["a", "b"], 800)
    covered = rng.uniform(size=800) < np.where(kind == "a", 0.6, 1.0)
    frame = pd.DataFrame({"kind": kind, "noise": rng.normal(size=800)})
    columns = make_column_transformer((OneHotEncoder(), ["kind"]))
    by_name = ert(frame, covered, 0.2, classifier=make_pipeline(columns, LogisticRegression()))
    holes = ert(np.where(kind == "a", np.nan, 1.0)[:, None], covered, 0.2)
    assert by_name.low > 0
    assert holes.low > 0


def test_ert_is_the_same_twice_and_another_with_another_seed(rng):
    X, covered = rng.normal(size=(300, 2)), rng.uniform(size=300) < 0.8
    first, again, other = (ert(X, covered, 0.1, random_state=seed) for seed in (0, 0, 1))
    assert_array_equal(first.terms, again.terms)
    assert not np.array_equal(first.terms, other.terms)


X, MASK = np.zeros((4, 1)), [True, False, True, True]


class Bad(DummyClassifier):
    """Tells no probability at all."""

    def predict_proba(self, X):
        return np.full((len(X), 2), np.nan)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ert(X, MASK[:3], 0.1), r"inconsistent numbers of samples: \[4, 3\]"),
        (lambda: ert(X[:0], [], 0.1), r"covered must have shape \(n,\), n at least 1, got \(0,\)"),
        (lambda: ert(None, [1, 1, 1], 0.1), "X is None: give what coverage may depend on"),
        (lambda: ert(X, [1, 0, 1, np.nan], 0.1), "covered must be True or False, got nan at row 3"),
        (lambda: ert(X[:1], [True], 0.1), "one row counts, but some must train"),
        (lambda: ert(X, MASK, 0.1, sample_weight=[5, 0, 0, 0]), "one row counts"),
        (lambda: ert(X, MASK, 0.1, sample_weight=[0.5] * 4), "counts rows, got 0.5 at row 0"),
        (lambda: ert(X, MASK, 1.0), r"alpha must lie in \(0, 1\), got 1.0"),
        (lambda: ert(X, MASK, 0.1, confidence=95), r"confidence must lie in \(0, 1\), got 95"),
        (lambda: ert(X, MASK, 0.1, norm="l1"), "norm must be one of 'L1', 'L2', got 'l1'"),
        (lambda: ert(X, MASK, 0.1, cv=0), "cv must be a whole number, at least 1, got 0"),
        (
            lambda: ert(X, MASK, 0.1, classifier=Perceptron()),
            "Perceptron has no predict_proba: wrap",
        ),
        (
            lambda: ert(X, MASK, 0.1, classifier=make_pipeline(Bad()), sample_weight=[1, 1, 1, 1]),
            "Pipeline.fit takes no sample_weight: use a classifier that does",
        ),
        (
            lambda: ert(np.zeros((50, 1)), np.arange(50) % 2, 0.1, classifier=Bad()),
            "predict_proba must be finite, got nan at row 0",
        ),
    ],
)
def test_errors_name_the_value_and_the_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_frame_of_any_columns_goes_to_the_default_classifier(rng):
    kind, day = rng.choice(["a", "b"], 600), rng.integers(0, 300, 600)
    frame = pd.DataFrame(
        {
            "kind": np.where(day > 250, None, kind),
            "code": pd.Categorical(kind),
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(day, unit="D"),
            "number": pd.array(np.where(day > 200, None, day), dtype="Int64"),
        }
    )
    covered = rng.uniform(size=600) < np.where(kind == "a", 0.99, 0.6)
    measure = ert(frame, covered, 0.1)
    assert measure.low > 0
    renamed = frame.assign(kind=frame["kind"].replace({"a": "z"}))  # names mean nothing
    assert_allclose(ert(renamed, covered, 0.1).estimate, measure.estimate)

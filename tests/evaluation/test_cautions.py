"""What a certificate warns of: rows that calibrated the rule, thresholds without end."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from test_certified_rules import pairs

from plcp import (
    PLCP,
    BatchGCP,
    ConformalRegressor,
    LinearQuantile,
    LocalCP,
    Mondrian,
    OrderedPartition,
    Rectified,
    SplitConformal,
    certify,
)
from plcp.evaluation.outcome import Outcome, cautions_of, rows_met
from test_estimator_checks import sign

KNOWN_BY_THEIR_THRESHOLD = [
    SplitConformal(),
    Mondrian(sign),
    BatchGCP(sign),
    LocalCP(bandwidth=np.inf),
    Rectified(FrozenEstimator(LinearQuantile().fit([[0.0] * 3, [1.0] * 3], [1.0, 2.0]))),
    PLCP(OrderedPartition(LinearQuantile()), n_groups=2, calibration="split", random_state=0),
]


@pytest.mark.parametrize("rule", KNOWN_BY_THEIR_THRESHOLD, ids=lambda rule: type(rule).__name__)
def test_rows_that_calibrated_are_noticed(rng, rule):
    X, scores = pairs(rng, 400)
    rule.fit(X[:200], scores[:200])
    with pytest.warns(UserWarning, match="rows that calibrated the rule seem to be among these"):
        certificate = certify(rule, X, scores)
    assert "no bound here holds" in certificate.cautions[0]
    assert certify(rule, X[200:], scores[200:]).cautions == ()
    few_tie = np.r_[X, X[-3:]], np.r_[scores, scores[-3:]]
    with pytest.warns(UserWarning, match="hardly two rows have the same score"):
        certify(rule, *few_tie)
    twice = np.r_[X, X], np.r_[scores, scores]
    assert certify(rule, *twice).cautions == ()  # where scores tie, a threshold met says nothing


def test_one_open_side_is_enough_for_a_caution():
    scores = np.array([[0.1, 0.2], [0.3, 0.4]])
    thresholds = np.array([[1.0, np.inf], [1.0, 1.0]])
    (caution,) = cautions_of(Outcome(np.ones(2, dtype=bool), scores=scores, thresholds=thresholds))
    assert caution.startswith("1 of 2 rows have an infinite threshold")


def test_a_threshold_met_but_for_rounding():
    assert rows_met(np.array([[0.3], [0.5]]), np.array([[0.1 + 0.2], [0.4]])) == 1


@pytest.mark.parametrize(("tied", "met"), [(0, 1), (2, 1), (3, 0)])
def test_a_threshold_met_says_nothing_where_more_than_one_in_twenty_ties(tied, met):
    scores = np.arange(40.0)[:, None]
    scores[:tied] = -1.0
    assert rows_met(scores, np.full((40, 1), 7.0)) == met
    assert rows_met(scores, np.full((40, 1), -1.0)) == 0


def test_rows_that_calibrated_a_model_are_noticed(rng):
    X, noise = pairs(rng, 400)
    base = FrozenEstimator(LinearRegression().fit(X[:100], noise[:100]))
    model = ConformalRegressor(base, threshold=SplitConformal()).fit(X[100:200], noise[100:200])
    with pytest.warns(UserWarning, match="1 of 100 scores equal their threshold"):
        certify(model, X[100:200], noise[100:200])
    assert certify(model, X[200:], noise[200:]).cautions == ()

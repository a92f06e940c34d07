"""Several levels: the columns of single fits, raised where they cross, and exact at every level."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plcp import (
    PLCP,
    RLCP,
    BatchGCP,
    BatchMVP,
    ConditionalCalibration,
    LinearQuantile,
    LocalCP,
    Mondrian,
    OrderedPartition,
    PosteriorConformal,
    Rectified,
    SoftmaxPartition,
    SplitConformal,
    TreePartition,
)
from plcp.exceptions import InfiniteThresholdWarning, SmallGroupWarning
from plcp.quantiles import conformal_rank
from plcp.thresholds import Guarantee, ThresholdRule
from plcp.thresholds.base import check_alphas, never_crossing
from strategies import alphas, distinct_scores, few, scores_with_groups

LEVELS = [0.1, 0.3, 0.2]
fewer = settings(few, max_examples=15)  # as many fits as scores in each of them
lists_of_levels = st.lists(alphas, min_size=1, max_size=4, unique=True)


def sign(X):
    return np.asarray(X)[:, 0] > 0


LINEAR = OrderedPartition(LinearQuantile())
RULES = {
    "split": SplitConformal(),
    "mondrian": Mondrian(sign),
    "batch_gcp": BatchGCP(sign),
    "batch_mvp": BatchMVP(sign),
    "conditional": ConditionalCalibration(),
    "conditional, drawn": ConditionalCalibration(groups=sign, randomized=True),
    "rlcp": RLCP(),
    "local": LocalCP(),
    "posterior": PosteriorConformal(LINEAR, precision=2),
    "rectified": Rectified(LinearQuantile()),
    "plcp": PLCP(LINEAR, 3),
    "plcp, split": PLCP(LINEAR, 3, calibration="split"),
    "plcp, joint": PLCP(LINEAR, 3, calibration="joint"),
    "plcp, constant": PLCP(TreePartition(min_samples_leaf=20), 3, within="constant"),
    "plcp, drawn": PLCP(SoftmaxPartition(n_starts=1, max_rounds=3), 2, assignment="sample"),
}
over_rules = pytest.mark.parametrize("name", RULES)


def make(name, alpha):
    rule = clone(RULES[name]).set_params(alpha=alpha)
    return rule.set_params(random_state=0) if hasattr(rule, "random_state") else rule


def draw(rng, n=300):
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, (2 + X[:, 0]) * rng.exponential(size=n)


def quietly(work, *given):
    """Result of a call; infinite thresholds are under test elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfiniteThresholdWarning)
        return work(*given)


class Rising(ThresholdRule):
    """Thresholds that rise with alpha, and so cross as badly as can be."""

    def __init__(self, alpha=0.1):
        self.alpha = alpha

    def _fit(self, X, scores, weights):
        self.threshold_ = self.alpha
        self.guarantee_ = Guarantee("none", "marginal", self.alpha, len(scores))

    def _predict(self, X):
        return np.full(len(X), self.threshold_)


@few
@given(lists_of_levels, st.data())
def test_a_threshold_is_raised_to_the_largest_at_its_alpha_and_beyond(levels, data):
    values = st.integers(-5, 5).map(float) | st.just(np.inf)
    thresholds = data.draw(hnp.arrays(float, (3, len(levels)), elements=values))
    raised = never_crossing(levels, thresholds)
    for j, level in enumerate(levels):
        beyond = [i for i, other in enumerate(levels) if other >= level]
        assert_array_equal(raised[:, j], thresholds[:, beyond].max(axis=1))
    assert_array_equal(never_crossing(levels, raised), raised)


@over_rules
def test_columns_are_the_single_fits_raised_where_they_cross(rng, name):
    X, scores = draw(rng)
    single = [quietly(make(name, level).fit(X, scores).predict, X) for level in LEVELS]
    rule = make(name, LEVELS).fit(X, scores)
    thresholds = quietly(rule.predict, X)
    assert_array_equal(thresholds, never_crossing(LEVELS, np.column_stack(single)))
    falling = thresholds[:, np.argsort(LEVELS)]
    assert (np.diff(falling, axis=1) <= 0).all()
    assert rule.n_features_in_ == 2
    assert [each.alpha for each in rule.rules_] == LEVELS


@over_rules
def test_one_level_in_a_list_is_that_level(rng, name):
    X, scores = draw(rng)
    listed = quietly(make(name, [0.2]).fit(X, scores).predict, X)
    assert_array_equal(listed, quietly(make(name, 0.2).fit(X, scores).predict, X)[:, None])


@pytest.mark.parametrize("alpha", [(0.1, 0.2), np.array([0.1, 0.2])])
def test_levels_may_come_in_any_sequence(alpha):
    rule = SplitConformal(alpha).fit(np.zeros((20, 1)), np.arange(20.0))
    assert_array_equal(
        clone(rule).fit(np.zeros((20, 1)), np.arange(20.0)).predict([[0.0]]), [[18, 16]]
    )


@fewer
@given(distinct_scores(min_size=2, max_size=25), lists_of_levels)
def test_leaving_each_out_covers_exactly_the_rank_of_every_level(scores, levels):
    n = len(scores) - 1
    covered = np.zeros(len(levels))
    for i, score in enumerate(scores):
        rule = quietly(SplitConformal(levels).fit, np.zeros((n, 1)), np.delete(scores, i))
        covered += score <= rule.predict([[0.0]])[0]
    assert_array_equal(covered, [conformal_rank(n, level) for level in levels])


@fewer
@given(scores_with_groups(), lists_of_levels)
def test_leaving_each_out_covers_exactly_the_rank_in_every_cell(drawn, levels):
    scores, groups = drawn
    covered = np.zeros((4, len(levels)))
    for i, score in enumerate(scores):
        rest = np.delete(np.arange(len(scores)), i)
        rule = quietly(Mondrian(0, levels).fit, groups[rest, None], scores[rest])
        covered[groups[i]] += score <= quietly(rule.predict, groups[[i], None])[0]
    sizes = np.bincount(groups, minlength=4)
    ranks = [[conformal_rank(n - 1, a) if n else 0 for a in levels] for n in sizes]
    assert_array_equal(covered, ranks)


def test_crossing_thresholds_are_raised_and_the_guarantee_says_so():
    rule = Rising([0.1, 0.3, 0.2]).fit(np.zeros((5, 1)), np.arange(5.0))
    assert_array_equal(rule.predict(np.zeros((2, 1))), np.full((2, 3), 0.3))
    assert [one.alpha for one in rule.guarantee_] == [0.1, 0.3, 0.2]
    assert "raised" in str(rule.guarantee_)


@over_rules
def test_every_level_has_its_guarantee(rng, name):
    X, scores = draw(rng)
    rule = quietly(make(name, LEVELS).fit, X, scores)
    for level, each in zip(LEVELS, rule.rules_, strict=True):
        assert f"At alpha = {level:g}: {each.guarantee_}" in str(rule.guarantee_)
        assert each.guarantee_ == quietly(make(name, level).fit, X, scores).guarantee_


def test_score_is_the_mean_over_levels(rng):
    X, scores = draw(rng)
    rule, weights = SplitConformal(LEVELS).fit(X, scores), rng.uniform(size=len(scores))
    single = [SplitConformal(level).fit(X, scores) for level in LEVELS]
    assert rule.score(X, scores) == np.mean([each.score(X, scores) for each in single])
    weighted = np.mean([each.score(X, scores, weights) for each in single])
    assert rule.score(X, scores, weights) == weighted


def test_an_infinite_level_leaves_the_others_finite():
    with pytest.warns(InfiniteThresholdWarning, match="alpha = 0.01"):
        rule = SplitConformal([0.01, 0.5]).fit(np.zeros((9, 1)), np.arange(9.0))
    assert_array_equal(rule.predict([[0.0]]), [[np.inf, 4.0]])


@pytest.mark.parametrize("alpha", [0.01, [0.01, 0.5]])
@pytest.mark.parametrize("rule", [SplitConformal(), Mondrian(0), BatchGCP(0)])
def test_a_warning_names_the_line_that_asked(rule, alpha):
    with pytest.warns((InfiniteThresholdWarning, SmallGroupWarning)) as caught:
        clone(rule).set_params(alpha=alpha).fit(np.zeros((9, 1)), np.arange(9.0))
    assert {warning.filename for warning in caught} == {__file__}


def test_a_refit_at_other_levels_leaves_nothing_behind(rng):
    X, scores = draw(rng)
    rule = SplitConformal(0.1).fit(X, scores)
    rule.set_params(alpha=LEVELS).fit(X, scores)
    assert not hasattr(rule, "threshold_")
    rule.set_params(alpha=0.1).fit(X, scores)
    assert not hasattr(rule, "rules_")
    assert_array_equal(rule.predict(X), SplitConformal(0.1).fit(X, scores).predict(X))


def test_a_failed_refit_leaves_the_earlier_fit(rng):
    X, scores = draw(rng)
    rule = SplitConformal(LEVELS).fit(X, scores)
    before = rule.predict(X)
    with pytest.raises(ValueError, match="finite"):
        rule.fit(X, np.full(len(scores), np.nan))
    assert_array_equal(rule.predict(X), before)


def test_nothing_is_predicted_before_a_fit():
    with pytest.raises(NotFittedError):
        SplitConformal(LEVELS).predict([[0.0]])


@pytest.mark.parametrize(
    ("alpha", "said"),
    [
        ([], "alpha lists no rate"),
        ([0.1, 0.1], "lists a rate twice"),
        ([0.1, 1.0], r"must lie in \(0, 1\), got 1.0"),
        ([[0.1], [0.2]], "must be one rate here"),
        (np.full((2, 2), 0.1), "must be one rate here"),
        (["0.1"], r"must lie in \(0, 1\), got '0.1'"),
        ([True], r"must lie in \(0, 1\), got True"),
        ("0.1", r"must lie in \(0, 1\), got '0.1'"),
        ({0.1, 0.2}, r"must lie in \(0, 1\), got {"),
    ],
)
@over_rules
def test_what_is_no_list_of_levels_is_refused(rng, name, alpha, said):
    with pytest.raises(ValueError, match=said):
        make(name, alpha).fit(*draw(rng))
    with pytest.raises(ValueError, match=said):
        check_alphas(alpha)


def test_shares_groups_on_groups_that_were_given(rng):
    X, scores = draw(rng)
    for name in ("mondrian", "batch_gcp", "batch_mvp", "conditional, drawn"):
        members = make(name, LEVELS).fit(X, scores).members(X)
        single = make(name, 0.1).fit(X, scores).members(X)
        assert members.keys() == single.keys()
        for rows, expected in zip(members.values(), single.values(), strict=True):
            assert_array_equal(rows, expected)
    cells = Mondrian(alpha=LEVELS).fit(X, scores, groups=sign(X))
    assigned = cells.assign(X, groups=~sign(X))
    assert_array_equal(assigned.groups, 1 - sign(X))
    assert_array_equal(assigned.thresholds, cells.predict(X, groups=~sign(X)))


def test_levels_that_learn_each_their_own_say_whom_to_ask(rng):
    X, scores = draw(rng)
    rule = make("plcp", LEVELS).fit(X, scores)
    for ask in (rule.groups, rule.members, rule.memberships):
        with pytest.raises(ValueError, match=rf"result of its own.*at\(0.1\).{ask.__name__}"):
            ask(X)
    assert rule.assign(X).groups is None
    assert_array_equal(rule.assign(X).thresholds, rule.predict(X))
    with pytest.raises(ValueError, match=r"at\(0.1\).predict_quantile"):
        make("rectified", LEVELS).fit(X, scores).predict_quantile(X)


@pytest.mark.parametrize("random_state", [None, np.random.RandomState(0)])
def test_levels_share_their_draws_whatever_the_seed(rng, random_state):
    """One division of the rows for all levels: the halves that teach are the same."""
    X, scores = draw(rng)
    rule = Rectified(LinearQuantile(), LEVELS, random_state=random_state).fit(X, scores)
    assert len({each.random_state for each in rule.rules_}) == 1


def test_weights_reach_every_level(rng):
    X, scores = draw(rng)
    weights = rng.integers(0, 3, size=len(scores))
    repeated = SplitConformal(LEVELS).fit(np.repeat(X, weights, axis=0), np.repeat(scores, weights))
    weighted = SplitConformal(LEVELS).fit(X, scores, sample_weight=weights)
    assert_array_equal(weighted.predict(X), repeated.predict(X))


def test_frames_keep_their_names_at_every_level(rng):
    X, scores = draw(rng)
    frame = pd.DataFrame(X, columns=["a", "b"])
    rule = make("plcp", LEVELS).fit(frame, scores)
    assert rule.feature_names_in_.tolist() == ["a", "b"]
    assert rule.predict(frame).shape == (len(X), 3)
    with pytest.raises(ValueError, match="feature names"):
        rule.predict(frame.rename(columns={"a": "c"}))


def test_the_tools_of_scikit_learn_take_lists_of_levels(rng):
    X, scores = draw(rng)
    rule = make("plcp", LEVELS)
    fitted = clone(rule).fit(X, scores)
    assert fitted.get_params()["alpha"] == LEVELS
    assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
    piped = make_pipeline(StandardScaler(), clone(rule)).fit(X, scores)
    assert piped.predict(X).shape == (len(X), 3)
    search = GridSearchCV(rule, {"n_groups": [1, 2]}, cv=2).fit(X, scores)
    assert search.best_score_ < 0

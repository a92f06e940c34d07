"""Rows that belong together: divided as one, counted as one, exact for a row of a new group."""

import json
from typing import ClassVar

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score
from sklearn.naive_bayes import GaussianNB

from bands import binomial_band
from plcp import (
    PLCP,
    RLCP,
    ClassifierPartition,
    ConformalClassifier,
    ConformalRegressor,
    LinearQuantile,
    Mondrian,
    OrderedPartition,
    Rectified,
    SplitConformal,
)
from plcp.monitoring.watches import _watches_of_rule
from plcp.thresholds._plcp_learning import Pairs
from plcp.thresholds.guarantees import Guarantee
from plcp.thresholds.labels import LabelConditional

LINEAR = OrderedPartition(LinearQuantile())
RULES = {
    "split": SplitConformal(),
    "rectified": Rectified(LinearQuantile(), random_state=0),
    "rotate": PLCP(LINEAR, random_state=0),
    "held-out": PLCP(LINEAR, calibration="held-out", random_state=0),
    "split PLCP": PLCP(LINEAR, calibration="split", random_state=0),
    "cross": PLCP(LINEAR, calibration="cross", random_state=0),
    "joint": PLCP(LINEAR, calibration="joint", random_state=0),
    "soft": PLCP(ClassifierPartition(), 2, random_state=0),
    "shared": PLCP(LINEAR, alpha=[0.1, 0.2], calibration="cross", share_partition=True),
}
every_rule = pytest.mark.parametrize("name", [*RULES])


def draw(rng, n_groups, largest=6):
    """Groups of several sizes, whose rows are alike in features and in the scale of the score."""
    sizes = rng.integers(1, largest + 1, size=n_groups)
    ids = np.repeat(np.arange(n_groups), sizes)
    centres, scales = rng.normal(size=n_groups), rng.exponential(size=n_groups)
    X = centres[ids, None] + 0.1 * rng.normal(size=(len(ids), 2))
    return X, rng.exponential(size=len(ids)) * scales[ids], ids


# what is exact: each group in turn is the new one, and all others calibrate


def missed_mass(fit, X, scores, ids, cell_of=lambda rule, X: np.zeros(len(X), dtype=int)):
    """Share of rows beyond their threshold, and share of rows, in each cell, over new groups."""
    missed, mass = np.zeros(9), np.zeros(9)
    for new in np.unique(ids):
        own = ids == new
        rule = fit(X[~own], scores[~own], ids[~own])
        cells = cell_of(rule, X[own])
        beyond = scores[own] > rule.predict(X[own])
        missed += np.bincount(cells, beyond / own.sum(), 9)
        mass += np.bincount(cells, np.full(own.sum(), 1 / own.sum()), 9)
    return missed, mass


sizes_of_groups = st.lists(st.integers(1, 4), min_size=3, max_size=12)


@pytest.mark.filterwarnings("ignore::plcp.exceptions.InfiniteThresholdWarning")
@given(sizes=sizes_of_groups, alpha=st.sampled_from([0.1, 0.25, 0.5]), data=st.data())
@settings(max_examples=60)
def test_split_covers_a_row_of_each_group_left_out(sizes, alpha, data):
    ids = np.repeat(np.arange(len(sizes)), sizes)
    values = st.integers(0, 5)  # with ties
    scores = np.array(data.draw(st.lists(values, min_size=len(ids), max_size=len(ids))), float)
    rule = SplitConformal(alpha)
    missed, mass = missed_mass(
        lambda X, s, groups: clone(rule).fit(X, s, groups=groups),
        np.zeros((len(ids), 1)),
        scores,
        ids,
    )
    assert missed.sum() <= alpha * mass.sum() + 1e-9
    # and no smaller threshold would do: infinity alone has the new group's part
    whole = rule.fit(np.zeros((len(ids), 1)), scores, groups=ids).threshold_
    weights = 1 / np.array(sizes, float)[ids]
    below = weights[scores < whole].sum()
    assert below < (1 - alpha) * (len(sizes) + 1) + 1e-9


@pytest.mark.parametrize("alpha", [0.2, 0.5])
@pytest.mark.parametrize("calibration", ["held-out", "split"])
def test_taught_rules_cover_a_row_of_each_group_left_out(rng, calibration, alpha):
    taught = draw(rng, 60)[:2]
    rule = PLCP(LINEAR, 3, alpha, calibration=calibration, random_state=0)
    X, scores, ids = draw(rng, 40)
    missed, mass = missed_mass(
        lambda X, s, groups: clone(rule).fit(X, s, groups=groups, teachers=taught),
        X,
        np.round(scores, 1),
        ids,
        cell_of=lambda fitted, X: (
            fitted.groups(X) if calibration == "split" else np.zeros(len(X), int)
        ),
    )
    assert (missed <= alpha * mass + 1e-9).all()


def test_given_groups_cover_a_row_of_each_group_left_out(rng):
    X, scores, ids = draw(rng, 40)
    X[:, 0] = rng.integers(3, size=len(ids))  # differs within groups of rows
    model = ConformalRegressor(AsGiven(), threshold=Mondrian(0, 0.2))

    def fit(X, scores, groups):
        return clone(model.threshold)._fit_alphas(X, scores, None, None, clusters=groups)

    missed, mass = missed_mass(fit, X, scores, ids, cell_of=lambda rule, X: X[:, 0].astype(int))
    assert (missed <= 0.2 * mass + 1e-9).all()


def test_labels_cover_a_row_of_each_group_left_out(rng):
    X, scores, ids = draw(rng, 40)
    codes = rng.integers(2, size=len(ids))

    missed, mass = np.zeros(2), np.zeros(2)
    for new in np.unique(ids):
        own = ids == new
        rule = LabelConditional(SplitConformal(0.2), ["a", "b"])._fit_alphas(
            X[~own], scores[~own], None, codes[~own], clusters=ids[~own]
        )
        beyond = scores[own] > rule.predict(X[own], codes[own])
        for code in np.unique(codes[own]):  # a row is any one of its group with this label
            rows = codes[own] == code
            missed[code] += beyond[rows].mean()
            mass[code] += 1
    assert (missed <= 0.2 * mass + 1e-9).all()


def test_each_rule_of_a_rotation_covers_a_row_of_each_group_of_its_block(rng):
    X, scores, ids = draw(rng, 45)
    block_of_group = np.arange(45) % 3
    rule = PLCP(LINEAR, alpha=0.3, random_state=0)
    missed, new_groups = 0.0, np.flatnonzero(block_of_group == 0)
    for new in new_groups:
        own, rest = ids == new, np.flatnonzero(ids != new)
        blocks = block_of_group[ids[rest]]
        folds = [(np.flatnonzero(blocks != k), np.flatnonzero(blocks == k)) for k in range(3)]
        fitted = clone(rule).set_params(cv=folds).fit(X[rest], scores[rest], groups=ids[rest])
        missed += np.mean(scores[own] > fitted.rotation_[0].predict(X[own]))
    assert missed <= 0.3 * len(new_groups) + 1e-9


# how rows are divided


@every_rule
def test_groups_of_one_row_are_no_groups(name, rng):
    X, scores = rng.normal(size=(400, 2)), rng.exponential(size=400)
    alone = clone(RULES[name]).set_params(random_state=0) if name != "split" else clone(RULES[name])
    grouped = clone(alone).fit(X, scores, groups=np.arange(400))
    for one in grouped.guarantee_ if hasattr(grouped, "rules_") else [grouped.guarantee_]:
        assert one.n_clusters is None or one.n_clusters <= 400
    if name in ("split", "rectified", "split PLCP", "joint"):  # others fold as groups are folded
        assert_array_equal(grouped.predict(X), alone.fit(X, scores).predict(X))


class Recorder(LinearQuantile):
    """Records the groups, its first column, of the rows of each fit."""

    seen: ClassVar[list] = []

    def fit(self, X, y, sample_weight=None):
        self.seen.append({*np.asarray(X)[:, 0].astype(int)})
        return super().fit(X, y, sample_weight)

    def _fit(self, X, scores, weights):
        self.seen.append({*np.asarray(X)[:, 0].astype(int)})
        return super()._fit(X, scores, weights)


@pytest.mark.parametrize("calibration", ["rotate", "held-out", "split", "cross"])
@pytest.mark.parametrize("cv", ["auto", 4, GroupKFold(4)])
def test_no_division_parts_a_group(calibration, cv, rng, monkeypatch):
    monkeypatch.setattr(Recorder, "seen", [])
    X, scores, ids = draw(rng, 150)
    X[:, 0] = ids
    divided = []
    take = Pairs.take

    def spy(self, rows, folds=None):
        part = take(self, rows, folds)
        divided.append({*part.clusters} & {*np.delete(self.clusters, rows)})
        return part

    monkeypatch.setattr(Pairs, "take", spy)
    rule = PLCP(OrderedPartition(Recorder()), 2, calibration=calibration, cv=cv, random_state=0)
    rule.fit(X, scores, groups=ids)
    assert calibration == "cross" or divided
    assert not any(divided)
    n_rows = {group: np.sum(ids == group) for group in range(150)}
    assert Recorder.seen
    if calibration != "split":  # some models have not seen some groups at all
        assert any(len(groups) < len(n_rows) for groups in Recorder.seen)


class AsGiven(RegressorMixin, BaseEstimator):
    """Records the groups, its first column, that it is trained on; predicts zero."""

    seen: ClassVar[list] = []

    def fit(self, X, y):
        self.seen.append({*X[:, 0].astype(int)})
        self.is_fitted_ = True
        return self

    def predict(self, X):
        self.seen.append({*X[:, 0].astype(int)})
        return np.zeros(len(X))


@pytest.mark.parametrize("cv", [3, GroupKFold(3)])
def test_a_conformal_estimator_keeps_groups_whole(cv, rng, monkeypatch):
    monkeypatch.setattr(AsGiven, "seen", [])
    X, y, ids = draw(rng, 150)
    X[:, 0] = ids
    ConformalRegressor(AsGiven(), threshold=PLCP(LINEAR), cv=cv, random_state=0).fit(
        X, y, groups=ids
    )
    training, *folds, calibration = AsGiven.seen
    assert len(folds) == 6
    assert training | calibration == {*ids}
    assert not training & calibration
    fits, held = folds[::2], folds[1::2]
    for learned, judged in zip(fits, held, strict=True):
        assert not learned & judged
        assert learned | judged == training


@pytest.mark.filterwarnings("ignore:.*that no training row has")
def test_labels_have_no_say_in_which_groups_calibrate(rng):
    """A label of one group calibrates as often as the group: groups are exchangeable."""
    ids = np.repeat(np.arange(30), 4)
    y = np.zeros(120, dtype=int)
    y[::4] = 1  # in each group
    y[1] = 2  # in one
    X = rng.normal(size=(120, 2))
    model = ConformalClassifier(GaussianNB(), threshold=SplitConformal(), cv=None)
    times = sum(
        2 not in model.set_params(random_state=seed).fit(X, y, groups=ids).classes_
        for seed in range(100)
    )
    low, high = binomial_band(100, 0.3)
    assert low <= times <= high


def test_a_search_is_given_the_groups(rng):
    X, y, ids = draw(rng, 100)
    search = GridSearchCV(Ridge(), {"alpha": [0.1, 10.0]}, cv=GroupKFold(3))
    model = ConformalRegressor(search, threshold=PLCP(LINEAR), random_state=0)
    text = np.array([f"patient {i}" for i in ids])
    numbers = clone(model).fit(X, y, groups=ids)
    assert_array_equal(
        model.fit(X, y, groups=text).predict_interval(X), numbers.predict_interval(X)
    )


def test_groups_are_routed_as_scikit_learn_routes_them(rng):
    X, scores, ids = draw(rng, 200)
    with sklearn.config_context(enable_metadata_routing=True):
        rule = SplitConformal().set_fit_request(groups=True)
        scores_of_folds = cross_val_score(rule, X, scores, cv=GroupKFold(3), params={"groups": ids})
        by_hand = [
            clone(rule).fit(X[learn], scores[learn], groups=ids[learn]).score(X[hold], scores[hold])
            for learn, hold in GroupKFold(3).split(X, scores, ids)
        ]
        search = GridSearchCV(Ridge(), {"alpha": [1.0]}, cv=GroupKFold(3))
        model = ConformalRegressor(search, threshold=SplitConformal(), random_state=0)
        model.fit(X, scores, groups=ids)
    assert_array_equal(scores_of_folds, by_hand)


# what the fitted rule says


@every_rule
def test_the_guarantee_speaks_of_groups(name, rng):
    X, scores, ids = draw(rng, 250)
    rule = clone(RULES[name]).fit(X, scores, groups=ids)
    for promise in [*rule.guarantee_] if hasattr(rule, "rules_") else [rule.guarantee_]:
        if name in ("cross", "shared"):
            assert "as the number of groups of rows grows" in str(promise)
        elif name != "joint":
            assert promise.kind == "exact"
            assert "groups of rows are exchangeable" in str(promise)
            assert f"from {promise.n_clusters} groups of rows" in str(promise)
            assert promise.n_clusters <= len(np.unique(ids))
            assert Guarantee.from_dict(json.loads(json.dumps(promise.to_dict()))) == promise
    assert not any(watch.exact for watch in _watches_of_rule(rule))


def test_a_later_fit_without_groups_forgets_them(rng):
    X, scores, ids = draw(rng, 100)
    for name in ("split", "rotate", "rectified"):
        rule = clone(RULES[name])
        again = rule.fit(X, scores, groups=ids).fit(X, scores)
        assert again.guarantee_ == clone(RULES[name]).fit(X, scores).guarantee_
        assert not again._clustered


def test_few_groups_with_many_rows_share_one_threshold(rng):
    X, scores, ids = draw(rng, 30, largest=60)
    for calibration in ("rotate", "held-out"):
        rule = PLCP(calibration=calibration, random_state=0).fit(X, scores, groups=ids)
        assert rule.thresholds_[0] == SplitConformal().fit(X, scores, groups=ids).threshold_
        assert rule.guarantee_.n_clusters == 30


def test_too_few_groups_for_a_finite_threshold(rng):
    X, scores, ids = draw(rng, 8, largest=60)
    with pytest.warns(UserWarning, match="8 groups of rows are fewer than the 9 that alpha = 0.1"):
        assert np.isinf(SplitConformal().fit(X, scores, groups=ids).threshold_)


# what is refused


def refuse(rule, message, groups, **options):
    n = 60
    X, scores = np.arange(2.0 * n).reshape(n, 2), np.arange(float(n))
    with pytest.raises((ValueError, TypeError), match=message):
        rule.fit(X, scores, groups=groups, **options)
    assert not [name for name in vars(rule) if name.endswith("_") and not name.startswith("_")]


@pytest.mark.parametrize(
    "rule",
    [SplitConformal(), PLCP(LINEAR), Rectified(), ConformalRegressor(LinearRegression())],
    ids=lambda rule: type(rule).__name__,
)
def test_groups_that_mean_nothing_are_refused(rule):
    refuse(
        clone(rule), r"groups must give the group of each row, shape \(60,\), got \(59,\)", [0] * 59
    )
    refuse(clone(rule), r"shape \(60,\), got \(60, 1\)", [[0]] * 60)
    refuse(clone(rule), "groups has one group alone, 'a'", ["a"] * 60)
    refuse(clone(rule), "groups has no label at row 3", [1, 2, 3, np.nan, *[5] * 56])
    refuse(clone(rule), "groups has labels of several types", np.array(["a", 1] * 30, dtype=object))
    refuse(
        clone(rule), "not supported with sample_weight", [0, 1] * 30, sample_weight=np.full(60, 2.0)
    )


@pytest.mark.parametrize("calibration", ["rotate", "cross"])
def test_fewer_groups_than_folds_are_refused(calibration):
    refuse(
        PLCP(LINEAR, calibration=calibration, cv=5),
        "too few groups of rows, 4, for 5 folds",
        [0, 1, 2, 3] * 15,
    )


def test_fewer_training_groups_than_folds_are_refused_before_training(monkeypatch):
    monkeypatch.setattr(AsGiven, "seen", [])
    refuse(ConformalRegressor(AsGiven()), "too few groups of rows, 2, for 5 folds", [0, 1, 2] * 20)
    assert AsGiven.seen == []


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored by KFold")
def test_folds_that_part_groups_are_refused():
    ids = np.arange(60) // 2
    parted = [(np.r_[1:60], [0]), (np.r_[0:30], np.r_[30:60]), (np.r_[30:60], np.r_[1:30])]
    for cv in (parted, KFold(5, shuffle=True, random_state=0)):
        refuse(PLCP(LINEAR, calibration="cross", cv=cv), "of a group it also learns from", ids)


@pytest.mark.parametrize(
    "rule",
    [
        SplitConformal(confidence=0.9),
        SplitConformal(randomize=True),
        PLCP(calibration="held-out", confidence=0.9),
    ],
    ids=str,
)
def test_ranks_that_count_rows_are_refused(rule):
    refuse(rule, r"groups= is not supported with", np.arange(60) // 2)


def test_a_rule_that_knows_no_groups_of_rows_is_refused():
    model = ConformalRegressor(LinearRegression(), threshold=RLCP())
    refuse(model, "RLCP counts every row as one, and takes no groups of rows", np.arange(60) // 2)

"""Models at several levels: nested sets by level, in arrays and frames, in both tasks."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression

from bands import beta_binomial_band
from plcp import (
    PLCP,
    BatchGCP,
    ConformalClassifier,
    ConformalRegressor,
    CumulativeProbability,
    Intervals,
    LinearQuantile,
    Mondrian,
    NestedSets,
    OrderedPartition,
    QuantilePair,
    QuantileResidual,
    SignedResidual,
    SplitConformal,
)
from plcp.metrics import coverage
from plcp.quantiles import conformal_rank

LEVELS = [0.1, 0.4, 0.2]
LINEAR = OrderedPartition(LinearQuantile())
RULES = {
    "split": SplitConformal(),
    "mondrian": Mondrian(lambda X: np.asarray(X)[:, 0] > 0),
    "batch_gcp": BatchGCP(lambda X: np.asarray(X)[:, 0] > 0),
    "plcp": PLCP(LINEAR, 2, random_state=0),
    "plcp, shared": PLCP(LINEAR, 2, share_partition=True, random_state=0),
}
over_rules = pytest.mark.parametrize("name", RULES)


def rows(rng, n=400):
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, X[:, 0] + (2 + X[:, 1]) * rng.normal(size=n)


def labelled(rng, n=400):
    X, y = rows(rng, n)
    return X, np.array(["low", "mid", "high"])[np.digitize(y, [-1.0, 1.0])]


def regressor(X, y, name, conformity=None, alpha=LEVELS):
    rule = clone(RULES[name]).set_params(alpha=alpha)
    model = FrozenEstimator(LinearRegression().fit(X, y))
    return ConformalRegressor(model, conformity, rule).fit(X, y)


def classifier(X, labels, name, conformity=None):
    rule = clone(RULES[name]).set_params(alpha=LEVELS)
    model = FrozenEstimator(LogisticRegression().fit(X, labels))
    return ConformalClassifier(model, conformity, rule).fit(X, labels)


@over_rules
@pytest.mark.parametrize("conformity", [None, SignedResidual()], ids=["one tail", "two tails"])
def test_intervals_are_nested(rng, name, conformity):
    sets = regressor(*rows(rng), name, conformity).predict_set(rows(rng)[0])
    assert list(sets) == LEVELS
    for inner, outer in [(0.4, 0.2), (0.2, 0.1)]:
        some = ~sets[inner].is_empty
        assert (sets[outer].lower[some] <= sets[inner].lower[some]).all()
        assert (sets[inner].upper[some] <= sets[outer].upper[some]).all()


@over_rules
@pytest.mark.parametrize("conformity", [None, CumulativeProbability()], ids=["default", "aps"])
def test_sets_of_labels_are_nested(rng, name, conformity):
    sets = classifier(*labelled(rng), name, conformity).predict_set(labelled(rng)[0])
    for inner, outer in [(0.4, 0.2), (0.2, 0.1)]:
        assert (sets[inner].mask <= sets[outer].mask).all()


def test_each_level_is_the_model_of_that_level(rng):
    X, y = rows(rng)
    for conformity in (None, SignedResidual()):
        sets = regressor(X, y, "split", conformity).predict_set(X)
        for level in LEVELS:
            single = regressor(X, y, "split", conformity, alpha=level).predict_set(X)
            assert_array_equal(sets[level].to_numpy(), single.to_numpy())


def test_quantile_models_take_levels_in_both_tails(rng):
    X, y = rows(rng)
    band = QuantilePair(LinearQuantile(0.25), LinearQuantile(0.75))
    model = ConformalRegressor(band, QuantileResidual(), SplitConformal(LEVELS), random_state=0)
    assert model.fit(X, y).predict_interval(X).shape == (len(X), 2, 3)


def test_arrays_have_the_levels_last(rng):
    X, y = rows(rng)
    model = regressor(X, y, "split")
    ends, sets = model.predict_interval(X), model.predict_set(X)
    assert ends.shape == (len(X), 2, 3)
    assert_array_equal(np.asarray(sets), ends)
    assert_array_equal(sets.size, ends[:, 1] - ends[:, 0])
    for j, level in enumerate(LEVELS):
        assert_array_equal(ends[:, :, j], sets[level].to_numpy())
        assert_array_equal(sets.contains(y)[:, j], sets[level].contains(y))


def test_each_level_is_clipped(rng):
    X, y = rows(rng)
    sets = regressor(X, y, "split").predict_set(X)
    clipped = sets.clip(-1, upper=1)
    assert list(clipped) == LEVELS
    for level in LEVELS:
        assert_array_equal(clipped[level].to_numpy(), sets[level].clip(-1, 1).to_numpy())


def test_metrics_look_at_one_level_at_a_time(rng):
    X, y = rows(rng)
    sets = regressor(X, y, "split").predict_set(X)
    with pytest.raises(ValueError, match=r"one level at a time, got \(400, 3\).*sets\[alpha\]"):
        coverage(sets.contains(y))
    assert float(coverage(sets[0.2].contains(y))) == sets.contains(y)[:, 2].mean()


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_columns_of_intervals_are_named_by_level(rng, container):
    X, y = rows(rng)
    frame = pd.DataFrame(X, columns=["a", "b"], index=np.arange(len(X)) + 7)
    model = regressor(frame, y, "plcp").set_output(transform=container)
    table = model.predict_interval(frame)
    assert list(table.columns) == [
        f"{end}_{level}" for level in LEVELS for end in ("lower", "upper")
    ]
    assert_array_equal(table["upper_0.4"], model.predict_set(frame)[0.4].upper)
    if container == "pandas":
        assert table.index.equals(frame.index)


def test_columns_of_labels_are_named_by_level(rng):
    X, labels = labelled(rng)
    sets = classifier(X, labels, "split").predict_set(X)
    names = [f"{label}_{level}" for level in LEVELS for label in ("high", "low", "mid")]
    assert sets.to_pandas().columns.to_list() == names == sets.to_polars().columns
    assert_array_equal(sets.to_polars()["mid_0.2"], sets[0.2].mask[:, 2])
    assert sets.to_numpy().shape == (len(X), 3, 3)


def test_a_level_that_is_not_there_is_named():
    sets = NestedSets([0.1], [Intervals([0.0], [1.0])])
    with pytest.raises(KeyError, match=r"no sets at alpha = 0.3, only at \[0.1\]"):
        _ = sets[0.3]


@pytest.mark.parametrize(
    ("make", "trained", "conformal"),
    [
        (rows, LinearRegression(), ConformalRegressor),
        (labelled, LogisticRegression(), ConformalClassifier),
    ],
    ids=["regression", "classification"],
)
def test_coverage_follows_its_law_at_every_level(rng, make, trained, conformal):
    n_cal, n_test = 500, 4000
    frozen = FrozenEstimator(trained.fit(*make(rng)))
    model = conformal(frozen, threshold=SplitConformal(LEVELS)).fit(*make(rng, n_cal))
    X, y = make(rng, n_test)
    hits = model.predict_set(X).contains(y).sum(axis=0)
    for level, covered in zip(LEVELS, hits, strict=True):
        low, high = beta_binomial_band(n_test, n_cal, conformal_rank(n_cal, level))
        assert low <= covered <= high


def test_every_level_and_tail_has_its_guarantee(rng):
    X, y = rows(rng)
    said = regressor(X, y, "split", SignedResidual()).guarantee_
    for level in LEVELS:
        assert f"At alpha = {level:g}: P(covered) >= {1 - level:g}" in said
    assert f"the union bound over 2 tails, each valid at {1 - 0.4 / 2:g}" in said


def test_examined_rows_have_levels_last(rng):
    X, y = rows(rng)
    examined = regressor(X, y, "split", SignedResidual()).examine(X, y)
    assert examined.scores.shape == (len(X), 2)
    assert examined.thresholds.shape == (len(X), 2, 3)
    inside = (examined.scores[:, :, None] <= examined.thresholds).all(axis=1)
    assert_array_equal(examined.sets.contains(y), inside)


def test_groups_that_all_levels_share_can_be_asked_for(rng):
    X, y = rows(rng)
    shared = regressor(X, y, "plcp, shared")
    assert_array_equal(shared.groups(X), shared.thresholds_[0].groups(X))
    assert [*shared.members(X)] == ["learned group 0", "learned group 1"]
    with pytest.raises(ValueError, match="result of its own"):
        regressor(X, y, "plcp").groups(X)


@over_rules
@pytest.mark.parametrize("conformity", [None, SignedResidual()])
def test_a_model_at_one_of_its_levels_is_that_fitted_there(rng, name, conformity):
    X, y = rows(rng)
    model = regressor(X, y, name, conformity)
    for i, level in enumerate(LEVELS):
        one, rules = model.at(level), [tail.rules_[i] for tail in model.thresholds_]
        assert one.at(level) is one
        assert one.threshold.alpha == level
        thresholds = np.stack([rule.predict(X) for rule in rules], axis=1)
        assert_array_equal(one.examine(X, y).thresholds, thresholds)
        if "shared" not in name:
            alone = regressor(X, y, name, conformity, level)
            assert one.guarantee_ == alone.guarantee_
            assert_array_equal(one.predict_interval(X), alone.predict_interval(X))
    assert len(model.predict_set(X)) == len(LEVELS), "the model itself has changed"


def test_a_classifier_at_one_of_its_levels(rng):
    X, labels = labelled(rng)
    model = classifier(X, labels, "split")
    for level, sets in model.predict_set(X).items():
        assert_array_equal(model.at(level).predict_set(X).to_numpy(), sets.to_numpy())


@pytest.mark.parametrize("alpha", [0.15, "0.1", None, [0.1], np.array([0.1, 0.2])])
def test_a_level_that_was_not_fitted_is_refused(rng, alpha):
    X, y = rows(rng)
    model = regressor(X, y, "split")
    said = r"no fit at alpha = .*, only at \[0.1, 0.4, 0.2\]: choose one of these"
    for fitted in (model, model.thresholds_[0]):
        with pytest.raises(ValueError, match=said):
            fitted.at(alpha)
    with pytest.raises(ValueError, match=r"only at \[0.4\]"):
        model.at(0.4).at(alpha)
    for unfitted in (clone(model), SplitConformal(LEVELS)):
        with pytest.raises(NotFittedError):
            unfitted.at(0.1)


def test_levels_are_checked_before_anything_is_trained(rng):
    model = ConformalRegressor(LinearRegression(), threshold=SplitConformal([0.1, 0.1]))
    with pytest.raises(ValueError, match="lists a rate twice"):
        model.fit(*rows(rng))
    assert not hasattr(model, "estimator_")

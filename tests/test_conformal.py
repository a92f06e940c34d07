"""Conformal estimators: who is trained, what is calibrated, and what goes in and out."""

import re
import warnings

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestRegressor, StackingRegressor, VotingRegressor
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bands import binomial_band
from plcp import (
    PLCP,
    AbsoluteResidual,
    ConformalClassifier,
    ConformalRegressor,
    CumulativeProbability,
    LabelProbability,
    LinearQuantile,
    MeanScalePair,
    Mondrian,
    NormalizedResidual,
    OrderedPartition,
    QuantilePair,
    QuantileResidual,
    SignedResidual,
    SplitConformal,
)
from plcp.conformal import is_frozen
from plcp.exceptions import InfiniteThresholdWarning
from plcp.quantiles import conformal_quantile

LINEAR = PLCP(OrderedPartition(LinearQuantile()), 2, random_state=0)


class Recorder(SplitConformal):
    """Split conformal that keeps what it was calibrated on."""

    def fit(self, X, y, sample_weight=None):
        self.X_, self.y_, self.weight_ = X, np.asarray(y), sample_weight
        return super().fit(X, y, sample_weight)


def regression(rng, n=300):
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, X[:, 0] + (1.5 + X[:, 1]) * rng.normal(size=n)


def classes(rng, n=300):
    X = rng.normal(size=(n, 2))
    return X, np.array(["no", "perhaps", "yes"])[np.clip(np.round(X[:, 0] + 1), 0, 2).astype(int)]


# who is trained


def test_a_frozen_model_leaves_all_rows_to_calibrate(rng):
    X, y = regression(rng)
    fitted = LinearRegression().fit(X[:50], y[:50])
    model = ConformalRegressor(FrozenEstimator(fitted), threshold=Recorder()).fit(X, y)
    [rule] = model.tail_rules_
    assert_array_equal(rule.y_, np.abs(y - fitted.predict(X)))
    assert_array_equal(rule.X_, X)
    assert_array_equal(model.predict(X), fitted.predict(X))


@pytest.mark.parametrize("share", [0.2, 0.3, 0.5])
def test_a_model_to_train_shares_the_rows(rng, share):
    X, y = regression(rng)
    model = ConformalRegressor(
        LinearRegression(), threshold=Recorder(), calibration_size=share, random_state=0
    ).fit(X, y)
    [rule] = model.tail_rules_
    assert len(rule.y_) == share * 300
    held = {tuple(row) for row in rule.X_}
    rest = np.array([tuple(row) not in held for row in X])
    assert rest.sum() == 300 - len(rule.y_)
    trained = LinearRegression().fit(X[rest], y[rest])
    assert_allclose(model.predict(X), trained.predict(X))  # and not one row of the others


@pytest.mark.filterwarnings("ignore:.*that no training row has")
def test_a_label_has_no_say_in_which_rows_calibrate(rng):
    """The one row of a rare label calibrates as often as any other: else ranks are not exact."""
    X = rng.normal(size=(60, 2))
    y = np.repeat(["common", "frequent", "single"], [39, 20, 1])
    model = ConformalClassifier(GaussianNB(), threshold=Recorder(), cv=None)
    times = 0
    for seed in range(200):
        model.set_params(random_state=seed)
        if "single" not in model.fit(X, y).classes_:
            times += 1
    low, high = binomial_band(200, 0.3)
    assert low <= times <= high


def rare_classes(rng, n=300):
    """Two labels of nearly all rows, and thirty of a few."""
    return rng.normal(size=(n, 2)), rng.choice(32, n, p=np.r_[0.48, 0.48, np.full(30, 0.04 / 30)])


@pytest.mark.parametrize(
    "score", [LabelProbability(), CumulativeProbability(), CumulativeProbability("full")]
)
def test_a_label_that_no_training_row_has_is_a_miss(rng, score):
    """Its score is above all others, as infinity is: ranks are those of exchangeable scores."""
    X, y = rare_classes(rng)
    model = ConformalClassifier(GaussianNB(), score, Recorder(0.2), random_state=0)
    with pytest.warns(
        UserWarning, match="of 90 calibration rows have a label that no training"
    ) as w:
        model.fit(X, y)
    assert "such rows count as misses" in str(w[0].message)
    [rule] = model.tail_rules_
    held, rest = halves(model, X)
    labels = y[[np.flatnonzero((row == X).all(axis=1))[0] for row in rule.X_]]
    assert_array_equal(model.classes_, np.unique(y[rest]))
    known = np.isin(labels, model.classes_)
    assert 0 < np.sum(~known) == np.sum(~np.isin(y[held], model.classes_))
    codes = np.searchsorted(model.classes_, labels[known])
    scores = np.full(90, np.inf)
    scores[known] = model.conformity_(model.predict_proba(rule.X_[known]), codes)
    assert rule.threshold_ == conformal_quantile(scores, 0.2)
    assert model.guarantee_.kind == "exact"


def test_too_many_unknown_labels_leave_no_guarantee(rng):
    """A common label and 300 rare ones: of each fifth row no training row has the label."""
    X, y = rng.normal(size=(400, 1)), rng.choice(301, 400, p=np.r_[0.6, np.full(300, 0.4 / 300)])
    rule = SplitConformal([0.1, 0.5])
    model = ConformalClassifier(DummyClassifier(), threshold=rule, random_state=0)
    message = "no set can hold it: too many misses for alpha = 0.1, so that sets hold every other"
    with pytest.warns(InfiniteThresholdWarning, match=message):
        model.fit(X, y)
    assert [promise.kind for promise in model.guarantee_] == ["none", "exact"]
    assert model.predict_set(X)[0.1].mask.all()
    assert (model.at(0.1).guarantee_.kind, model.at(0.5).guarantee_.kind) == ("none", "exact")
    given_label = pytest.warns(UserWarning, match="there is no promise given such a label")
    with pytest.warns(InfiniteThresholdWarning), given_label:
        model.set_params(label_conditional=True, threshold=SplitConformal(0.4)).fit(X, y)
    assert model.guarantee_.n < 120  # of rows with labels that the model knows


def test_labels_that_are_all_distinct_are_refused(rng):
    model = ConformalClassifier(GaussianNB(), threshold=SplitConformal(), random_state=0)
    with pytest.raises(ValueError, match="no calibration row has a label that the model was tr"):
        model.fit(rng.normal(size=(20, 2)), np.arange(20))


def test_what_counts_as_frozen(rng):
    X, y = regression(rng)
    frozen = FrozenEstimator(LinearRegression().fit(X, y))
    assert is_frozen(frozen)
    assert is_frozen(QuantilePair(frozen, frozen))
    assert not is_frozen(QuantilePair(frozen, LinearRegression()))
    assert is_frozen(MeanScalePair(frozen, frozen))
    assert not is_frozen(MeanScalePair(frozen, LinearRegression()))
    assert not is_frozen(LinearRegression())
    assert not is_frozen(CalibratedClassifierCV(frozen))  # still learns


def test_classes_too_rare_for_both_sides_of_the_split(rng):
    X, y = rng.normal(size=(200, 2)), np.repeat(np.arange(20), 10)  # 10 rows held out, 20 classes
    model = ConformalClassifier(GaussianNB(), threshold=Recorder(0.5), calibration_size=0.05)
    [rule] = model.set_params(random_state=0).fit(X, y).tail_rules_
    assert len(rule.y_) == 10


class Backwards(ClassifierMixin, BaseEstimator):
    """A classifier that lists its classes from last to first."""

    def fit(self, X, y):
        self.inner_ = GaussianNB().fit(X, y)
        self.classes_ = self.inner_.classes_[::-1]
        return self

    def predict_proba(self, X):
        return self.inner_.predict_proba(X)[:, ::-1]


def test_classes_in_any_order(rng):
    X, y = classes(rng)
    model = ConformalClassifier(Backwards(), threshold=Recorder(), random_state=0).fit(X, y)
    other = ConformalClassifier(GaussianNB(), threshold=Recorder(), random_state=0).fit(X, y)
    assert_array_equal(model.tail_rules_[0].y_, other.tail_rules_[0].y_)
    assert_array_equal(model.predict_set(X).contains(y), other.predict_set(X).contains(y))


# seeds


@pytest.mark.parametrize(
    "model",
    [
        ConformalRegressor(RandomForestRegressor(5), SignedResidual(), random_state=0),
        ConformalRegressor(LinearRegression(), threshold=PLCP(), random_state=0),
        ConformalRegressor(LinearRegression(), threshold=PLCP(calibration="split"), random_state=0),
        ConformalClassifier(GaussianNB(), CumulativeProbability("random"), random_state=0),
    ],
    ids=["forest", "cross", "split", "random-mass"],
)
def test_one_seed_is_enough(rng, model):
    X, y = classes(rng) if isinstance(model, ConformalClassifier) else regression(rng)
    first, second = (clone(model).fit(X, y).predict_set(X).to_numpy() for _ in range(2))
    assert_array_equal(first, second)


def test_seeds_of_the_user_are_kept(rng):
    X, y = regression(rng)
    rule = PLCP(OrderedPartition(LinearQuantile()), 2, random_state=7)
    model = ConformalRegressor(LinearRegression(), threshold=rule, random_state=0).fit(X, y)
    assert model.tail_rules_[0].random_state == 7
    assert rule.random_state == 7
    rule.set_params(random_state=None)
    model = ConformalRegressor(LinearRegression(), threshold=rule).fit(X, y)
    assert model.tail_rules_[0].random_state is None  # no seed, none handed on


# what is said to hold


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        (SplitConformal(), "exact"),
        (Mondrian(lambda X: X[:, 0] > 0), "exact"),
        (PLCP(OrderedPartition(LinearQuantile()), 2, calibration="split", random_state=0), "exact"),
        (
            PLCP(OrderedPartition(LinearQuantile()), 2, calibration="cross", random_state=0),
            "asymptotic",
        ),
        (PLCP(OrderedPartition(LinearQuantile()), 2, calibration="joint", random_state=0), "none"),
    ],
    ids=["split", "mondrian", "plcp-split", "plcp-cross", "plcp-joint"],
)
def test_the_guarantee_of_two_tails_is_that_of_the_set(rng, rule, kind):
    X, y = regression(rng)
    model = ConformalRegressor(LinearRegression(), SignedResidual("both"), rule, random_state=0)
    guarantee = model.fit(X, y).guarantee_
    assert (guarantee.kind, guarantee.scope, guarantee.alpha) == (kind, "marginal", 0.1)
    assert [tail.guarantee_.alpha for tail in model.tail_rules_] == [0.05, 0.05]
    assert "By the union bound: each of 2 tails covers 0.95" in str(guarantee)


def test_weights_leave_no_finite_sample_guarantee(rng):
    X, y = regression(rng)
    for score in (AbsoluteResidual(), SignedResidual()):
        model = ConformalRegressor(LinearRegression(), score, SplitConformal(), random_state=0)
        assert model.fit(X, y).guarantee_.kind == "exact"
        assert model.fit(X, y, np.full(300, 2.0)).guarantee_.kind == "approximate"


@pytest.mark.parametrize(("temperature", "said"), [("fit", True), (2.0, False), (None, False)])
def test_a_temperature_fitted_on_the_same_rows_is_said(rng, temperature, said):
    X, y = classes(rng)
    score = CumulativeProbability(temperature=temperature)
    model = ConformalClassifier(GaussianNB(), score, SplitConformal(), random_state=0).fit(X, y)
    assert ("fitted its temperature on the calibration rows" in model.guarantee_.note) == said
    assert model.guarantee_.kind == ("approximate" if said else "exact")


# what is calibrated


def test_two_tails_have_a_rule_each_at_half_alpha(rng):
    X, y = regression(rng)
    frozen = FrozenEstimator(DummyRegressor().fit(X, y))
    model = ConformalRegressor(frozen, SignedResidual("both"), SplitConformal(alpha=0.2)).fit(X, y)
    assert [rule.alpha for rule in model.tail_rules_] == [0.1, 0.1]
    below, above = conformal_quantile(y.mean() - y, 0.1), conformal_quantile(y - y.mean(), 0.1)
    assert_allclose(model.predict_interval(X[:1]), [[y.mean() - below, y.mean() + above]])
    with pytest.raises(ValueError, match=r"each tail has groups of its own: use tail_rules_\[0\]"):
        model.groups(X)


def test_sets_hold_what_scores_below_their_threshold(rng):
    X, y = regression(rng)
    model = ConformalRegressor(LinearRegression(), threshold=LINEAR, random_state=0).fit(X, y)
    [rule] = model.tail_rules_
    expected = np.abs(y - model.predict(X)) <= rule.predict(X)
    assert_array_equal(model.predict_set(X).contains(y), expected)
    assert_array_equal(model.groups(X), rule.groups(X))
    assert model.guarantee_ == rule.guarantee_


@pytest.mark.parametrize("conformity", [None, CumulativeProbability("full")])
def test_label_sets_hold_what_scores_below_their_threshold(rng, conformity):
    X, y = classes(rng)
    model = ConformalClassifier(LogisticRegression(), conformity, LINEAR, random_state=0).fit(X, y)
    assert_array_equal(model.classes_, ["no", "perhaps", "yes"])
    sets = model.predict_set(X)
    scores = model.conformity_(model.predict_proba(X), np.searchsorted(model.classes_, y))
    assert_array_equal(sets.contains(y), scores <= model.tail_rules_[0].predict(X))
    assert set().union(*sets.to_lists()) <= {"no", "perhaps", "yes"}
    assert_array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])


# what the rule sees


@pytest.mark.parametrize(
    ("kind", "features", "columns"),
    [
        ("array", [1], [1]),
        ("array", [1, 0], [1, 0]),
        ("pandas", ["b"], [1]),
        ("pandas", [1], [1]),
        ("polars", ["b", "a"], [1, 0]),
        ("polars", [1], [1]),
        ("polars", "b", [1]),
        ("pandas", 1, [1]),
        ("array", 1, [1]),
    ],
)
def test_features_by_name_or_position(rng, kind, features, columns):
    X, y = regression(rng)
    table = {"array": X, "pandas": pd.DataFrame(X, columns=["a", "b"])}
    table["polars"] = pl.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    frozen = FrozenEstimator(LinearRegression().fit(table[kind], y))
    model = ConformalRegressor(frozen, threshold=Recorder(), features=features).fit(table[kind], y)
    assert_array_equal(np.asarray(model.tail_rules_[0].X_), X[:, columns])
    assert model.n_features_in_ == 2
    assert model.predict_set(table[kind]).size.shape == (300,)


def test_features_may_be_an_embedding(rng):
    X, y = regression(rng)
    texts = [f"{a:.6f} {b:.6f}" for a, b in X]  # a model and an embedding of something else

    class Reader(LinearRegression):
        def fit(self, X, y):
            return super().fit(read(X), y)

        def predict(self, X):
            return super().predict(read(X))

    def read(texts):
        return np.array([text.split() for text in texts], dtype=float)

    rule = clone(LINEAR)
    model = ConformalRegressor(Reader(), threshold=rule, features=read, random_state=0)
    assert model.fit(texts, y).predict_interval(texts).shape == (300, 2)
    assert model.tail_rules_[0].n_features_in_ == 2


class Untrainable(LinearRegression):
    """A model for mistakes that are to be found before training."""

    def fit(self, X, y):
        raise AssertionError("trained")


def test_features_that_are_not_there(rng):
    X, y = regression(rng)
    frame = pd.DataFrame(X, columns=["a", "b"])
    a_column = "features must be a column, a list of names or of positions, or a function of X, got"
    for given, features, error, message in (
        (frame, ["c"], ValueError, "features names ['c'], but X has only ['a', 'b']"),
        (frame, [0, 7], ValueError, "features has the positions [7], but X has only 2 columns"),
        (frame, {"a"}, TypeError, "features must be ordered, got the set {'a'}: give a list"),
        (X, 2, ValueError, "positions [2], but X has only 2 columns"),
        (X, 1.5, TypeError, f"{a_column} 1.5"),
        (X, ["a", None], TypeError, f"{a_column} ['a', None]"),
        (X, "a", ValueError, "features names ['a'], but X is an array without names: give posit"),
        (X, [], ValueError, "features names no column"),
        (X, lambda X: X[:5], ValueError, "give one row for each of 90 rows of X, got 5 rows"),
        (X, lambda X: X[:, 0], ValueError, "features is a function that gave an array of shape"),
        (X, lambda X: None, ValueError, "one row for each of 90 rows of X, got None"),
    ):
        model = ConformalRegressor(Untrainable(), None, SplitConformal(), features=features)
        with pytest.raises(error, match=re.escape(message)):
            model.fit(given, y)


# tables in, tables out


def mixed_table(rng, n=300):
    """Numbers, gaps, categories, strings and dates."""
    day = np.datetime64("2024-01-01") + rng.integers(0, 365, n).astype("timedelta64[D]")
    age = rng.uniform(20, 80, n)
    age[::9] = np.nan
    frame = pd.DataFrame(
        {
            "age": age,
            "town": rng.choice(["Paris", "Oslo", "Rome"], n),
            "size": pd.Categorical(rng.choice(["s", "m"], n)),
            "day": day.astype("datetime64[ns]"),
            "member": rng.integers(0, 2, n).astype(bool),
        }
    )
    scale = np.where(frame["town"] == "Oslo", 4.0, 1.0)
    return frame, scale * rng.exponential(size=n)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_the_default_takes_tables_as_they_are(rng, kind):
    frame, scores = mixed_table(rng, n=1500)
    table = pl.from_pandas(frame) if kind == "polars" else frame
    rule = PLCP(random_state=0).fit(table, scores)
    assert_array_equal(rule.feature_names_in_, list(frame.columns))
    thresholds = rule.predict(table)
    assert np.isfinite(thresholds).all()
    oslo = (frame["town"] == "Oslo").to_numpy()
    assert thresholds[oslo].mean() > 2 * thresholds[~oslo].mean()


def test_pandas_and_polars_agree(rng):
    frame, scores = mixed_table(rng)
    pandas, polars = (
        PLCP(random_state=0).fit(table, scores).predict(table)
        for table in (frame, pl.from_pandas(frame))
    )
    assert_array_equal(pandas, polars)


@pytest.fixture
def fitted(rng):
    X, y = regression(rng)
    frame = pd.DataFrame(X, columns=["a", "b"], index=np.arange(300) * 10)
    model = ConformalRegressor(LinearRegression(), threshold=SplitConformal(), random_state=0)
    return model.fit(frame, y), frame


def test_output_container(fitted):
    model, frame = fitted
    plain = model.predict_interval(frame)
    assert isinstance(plain, np.ndarray)
    pandas = model.set_output(transform="pandas").predict_interval(frame)
    assert_array_equal(pandas.index, frame.index)
    assert_array_equal(pandas.to_numpy(), plain)
    polars = model.set_output(transform="polars").predict_interval(frame)
    assert isinstance(polars, pl.DataFrame)
    assert_array_equal(polars.to_numpy(), plain)
    assert isinstance(model.set_output().predict_interval(frame), pl.DataFrame)  # None: as before
    assert isinstance(model.set_output(transform="default").predict_interval(frame), np.ndarray)
    with pytest.raises(ValueError, match="transform must be one of 'default', 'pandas', 'polars'"):
        model.set_output(transform="excel")


def test_only_intervals_have_a_container_to_choose(rng):
    assert not hasattr(ConformalClassifier(LogisticRegression()), "set_output")
    X, y = classes(rng)
    model = ConformalClassifier(GaussianNB(), threshold=SplitConformal(), random_state=0).fit(X, y)
    assert list(model.predict_set(X).to_pandas().columns) == ["no", "perhaps", "yes"]


def test_output_container_of_the_configuration_and_of_clones(fitted, rng):
    model, frame = fitted
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(model.predict_interval(frame), pd.DataFrame)
        model.set_output(transform="polars")
        assert isinstance(model.predict_interval(frame), pl.DataFrame)
    again = clone(model).fit(frame, rng.normal(size=300))
    assert isinstance(again.predict_interval(frame), pl.DataFrame)


# other people's models


def test_lightgbm_as_model_and_as_index(rng):
    X, y = regression(rng, 600)
    quick = {"n_estimators": 10, "verbose": -1, "n_jobs": 1, "random_state": 0}
    index = lightgbm.LGBMRegressor(objective="quantile", alpha=0.9, **quick)
    rule = PLCP(OrderedPartition(index), 2, random_state=0)
    model = ConformalRegressor(lightgbm.LGBMRegressor(**quick), threshold=rule, random_state=0)
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame.iloc[::5, 1] = np.nan
    intervals = model.fit(frame, y).predict_interval(frame)
    assert np.isfinite(intervals).all()
    assert (intervals[:, 0] <= intervals[:, 1]).all()


# bad input


def test_labels_the_model_does_not_know(rng):
    X, y = classes(rng)
    frozen = FrozenEstimator(LogisticRegression().fit(X[y != "yes"], y[y != "yes"]))
    with pytest.raises(
        ValueError, match=r"labels \['yes'\] are not among the classes \['no', 'perha"
    ):
        ConformalClassifier(frozen, threshold=SplitConformal()).fit(X, y)


@pytest.mark.parametrize("conformal", [ConformalRegressor, ConformalClassifier])
def test_unfitted(conformal):
    model = conformal(LogisticRegression())
    for method in ("predict", "predict_set", "groups"):
        with pytest.raises(NotFittedError):
            getattr(model, method)(np.zeros((2, 2)))


def test_parameters_are_left_alone(rng):
    X, y = regression(rng)
    score, rule = AbsoluteResidual(), Mondrian(0, alpha=0.3)
    model = ConformalRegressor(LinearRegression(), score, rule, random_state=0)
    groups = np.column_stack([X[:, 0] > 0, X]).astype(float)
    model.fit(groups, y)
    assert not hasattr(rule, "thresholds_")
    assert model.tail_rules_[0].alpha == 0.3
    same = clone(model).fit(groups, y)
    assert_array_equal(same.predict_interval(groups), model.predict_interval(groups))


def test_examine_gives_sets_beside_what_made_them(rng):
    X, y = rng.normal(size=(300, 1)), rng.normal(size=300)
    model = ConformalRegressor(LinearRegression(), SignedResidual("both"), random_state=0)
    model.set_params(threshold=Mondrian(lambda X: X[:, 0] > 0)).fit(X[:200], y[:200])
    sets, scores, thresholds = model.examine(X[200:], y[200:])
    assert_array_equal(sets.to_numpy(), model.predict_set(X[200:]).to_numpy())
    assert scores.shape == thresholds.shape == (100, 2)
    assert_array_equal((scores <= thresholds).all(axis=1), sets.contains(y[200:]))


def test_members_of_each_tail(rng):
    X, y = rng.normal(size=(300, 1)), rng.normal(size=300)
    model = ConformalRegressor(LinearRegression(), threshold=Mondrian(lambda X: X[:, 0] > 0))
    assert_array_equal(model.fit(X, y).members(X)["True"], np.flatnonzero(X[:, 0] > 0))
    both = model.set_params(conformity=SignedResidual("both")).fit(X, y).members(X)
    assert [*both] == [f"tail {i}, {side}" for i in (1, 2) for side in ("False", "True")]
    assert_array_equal(both["tail 2, False"], np.flatnonzero(X[:, 0] <= 0))


# pipelines


@pytest.mark.parametrize("container", ["default", "pandas"])
def test_sets_of_a_pipeline(rng, container):
    """Around the model, or as its last step: either way in one line."""
    X, y = regression(rng)
    X = pd.DataFrame(X, columns=["a", "b"], index=rng.permutation(300))
    rule = Mondrian(lambda X: np.asarray(X)[:, 0] > 0)
    around = ConformalRegressor(make_pipeline(StandardScaler(), Ridge()), threshold=rule)
    lower, upper = around.fit(X, y).predict_set(X).to_numpy().T
    assert_allclose((lower + upper) / 2, around.predict(X))
    assert [*around.tail_rules_[0].feature_names_in_] == ["a", "b"]  # X as it was given
    pipeline = make_pipeline(StandardScaler(), ConformalRegressor(Ridge(), threshold=rule))
    pipeline.set_output(transform=container).fit(X, y)
    sets = pipeline[-1].predict_set(pipeline[:-1].transform(X))
    assert_allclose(sets.to_numpy().mean(axis=1), pipeline.predict(X))
    ends = pipeline[-1].predict_interval(pipeline[:-1].transform(X))
    assert_array_equal(ends, sets.to_numpy())


# weights


def halves(model, X):
    """Which rows calibrated, and which trained, by what Recorder kept."""
    held = {tuple(row) for row in model.tail_rules_[0].X_}
    held = np.array([tuple(row) in held for row in X])
    return held, ~held


WEIGHED = {
    "plain": (Ridge(), {}),
    "pipeline": (make_pipeline(StandardScaler(), Ridge()), {}),
    "nested": (make_pipeline(StandardScaler(), make_pipeline(Ridge())), {}),
    "search": (GridSearchCV(make_pipeline(Ridge()), {"ridge__alpha": [1.0, 9.0]}, cv=2), {}),
    "transformed": (TransformedTargetRegressor(make_pipeline(Ridge())), {}),
    "default-transformed": (TransformedTargetRegressor(), {}),
    "voting": (VotingRegressor([("a", Ridge()), ("b", LinearRegression())]), {}),
    "pair": (QuantilePair(make_pipeline(Ridge()), Ridge()), {"conformity": QuantileResidual()}),
    "scaled": (
        MeanScalePair(make_pipeline(Ridge()), Ridge()),
        {"conformity": NormalizedResidual()},
    ),
}


@pytest.mark.parametrize("name", WEIGHED)
def test_weights_train_the_model_and_calibrate(rng, name):
    estimator, params = WEIGHED[name]
    X, y = regression(rng)
    weights = rng.exponential(size=300)
    model = ConformalRegressor(estimator, threshold=Recorder(), random_state=0, **params)
    model.fit(X, y, sample_weight=weights)
    held, rest = halves(model, X)
    assert_array_equal(np.sort(model.tail_rules_[0].weight_), np.sort(weights[held]))
    if name == "plain":
        oracle = Ridge().fit(X[rest], y[rest], sample_weight=weights[rest])
        assert_allclose(model.predict(X), oracle.predict(X))
    assert not np.allclose(model.predict(X), clone(model).fit(X, y).predict(X))


def test_a_row_twice_is_a_row_of_weight_two(rng):
    """And no copy of a row that trains calibrates."""
    X, y = regression(rng)
    weights = rng.integers(0, 4, size=300)
    origin = rng.permutation(np.arange(300).repeat(weights))
    copied = ConformalRegressor(LinearRegression(), threshold=Recorder(), random_state=0)
    copied.fit(X[origin], y[origin])
    held, rest = halves(copied, X)
    assert len(copied.tail_rules_[0].y_) == weights[held].sum()
    model = LinearRegression().fit(X[rest], y[rest], sample_weight=weights[rest])
    weighted = ConformalRegressor(FrozenEstimator(model), threshold=SplitConformal())
    weighted.fit(X[held], y[held], sample_weight=weights[held])
    assert_allclose(weighted.predict_interval(X), copied.predict_interval(X))


def test_weights_reach_what_the_score_learns(rng):
    X, y = classes(rng)
    weights = rng.integers(0, 4, size=300)
    origin = np.arange(300).repeat(weights)
    frozen = FrozenEstimator(GaussianNB().fit(X, y))
    score = CumulativeProbability(temperature="fit")
    model = ConformalClassifier(frozen, score, SplitConformal())
    weighted = clone(model).fit(X, y, sample_weight=weights)
    copied = clone(model).fit(X[origin], y[origin])
    assert weighted.conformity_.temperature_ == pytest.approx(copied.conformity_.temperature_)
    assert weighted.conformity_.temperature_ != model.fit(X, y).conformity_.temperature_


def test_rows_of_no_weight_are_not_there(rng):
    X, y = regression(rng)
    counts = np.arange(300) % 3 > 0
    model = ConformalRegressor(RandomForestRegressor(5), threshold=Recorder(), random_state=0)
    some = clone(model).fit(X[counts], y[counts])
    assert_array_equal(
        model.fit(X, y, sample_weight=counts).predict_interval(X), some.predict_interval(X)
    )


@pytest.mark.parametrize(
    "estimator",
    [
        KNeighborsRegressor(),
        make_pipeline(StandardScaler(), KNeighborsRegressor()),
        StackingRegressor([("a", Ridge()), ("b", KNeighborsRegressor())], cv=2),
    ],
    ids=["plain", "pipeline", "ensemble"],
)
def test_a_model_without_weights_is_warned_of(rng, estimator):
    X, y = regression(rng)
    model = ConformalRegressor(estimator, threshold=Recorder(), random_state=0)
    blind = clone(model).fit(X, y)
    with pytest.warns(UserWarning, match=f"{type(estimator).__name__} takes no sample_weight"):
        model.fit(X, y, sample_weight=rng.uniform(1, 2, size=300))
    assert_array_equal(model.predict(X), blind.predict(X))
    pair = QuantilePair(FrozenEstimator(KNeighborsRegressor().fit(X, y)), Ridge())
    pair.fit(X, y, sample_weight=np.arange(300.0))  # what is frozen needs none
    with pytest.warns(UserWarning, match="takes no sample_weight"):
        pair.set_params(lower=estimator).fit(X, y, sample_weight=np.arange(300.0))


def test_weights_are_routed_as_scikit_learn_routes_them(rng):
    X, y = regression(rng)
    weights = rng.exponential(size=300)
    with sklearn.config_context(enable_metadata_routing=True):
        rule, wanted = SplitConformal(), Ridge().set_fit_request(sample_weight=True)
        model = ConformalRegressor(Ridge(), threshold=rule, random_state=0)
        with pytest.raises(UnsetMetadataPassedError, match=r"Ridge.fit.*ConformalRegressor.fit"):
            model.fit(X, y, sample_weight=weights)
        blind = clone(model).fit(X, y).predict(X)
        refused = clone(model).set_params(estimator=Ridge().set_fit_request(sample_weight=False))
        assert_array_equal(refused.fit(X, y, sample_weight=weights).predict(X), blind)
        model.set_params(estimator=wanted).fit(X, y, sample_weight=weights)
        assert not np.allclose(model.predict(X), blind)
        # as a step of a pipeline, whose steps request weights themselves
        step = clone(model).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        outer = make_pipeline(scaler, step).fit(X, y, sample_weight=weights)
        again = clone(model).fit(scaler.fit_transform(X), y, sample_weight=weights)
        assert_array_equal(outer.predict(X), again.predict(scaler.transform(X)))
        # and through a pair, to its members
        pair = MeanScalePair(make_pipeline(wanted), wanted)
        model.set_params(estimator=pair, conformity=NormalizedResidual())
        model.fit(X, y, sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=False):
        plain = clone(model).fit(X, y, sample_weight=weights)
    assert_array_equal(model.predict_interval(X), plain.predict_interval(X))


# alpha, in the estimator or in the rule


def test_alpha_reaches_the_rule(rng):
    X, y = regression(rng)
    for rule in (None, SplitConformal(0.2)):
        model = ConformalRegressor(LinearRegression(), threshold=rule, alpha=0.2, random_state=0)
        assert [tail.alpha for tail in model.fit(X, y).tail_rules_] == [0.2]
        tails = model.set_params(conformity=SignedResidual("both")).fit(X, y).tail_rules_
        assert [tail.alpha for tail in tails] == [0.1, 0.1]
    model = ConformalRegressor(LinearRegression(), threshold=SplitConformal(0.3))
    assert model.fit(X, y).tail_rules_[0].alpha == 0.3
    assert ConformalRegressor(LinearRegression()).fit(X, y).tail_rules_[0].alpha == 0.1


def test_alpha_fills_in_the_default_of_a_rule(rng):
    rule = PLCP(n_groups=1, calibration="split")
    model = ConformalRegressor(LinearRegression(), threshold=rule, alpha=0.2, random_state=0)
    assert model.fit(*regression(rng)).tail_rules_[0].alpha == 0.2
    assert rule.alpha == 0.1


@pytest.mark.parametrize(("of_rule", "alpha"), [(0.3, 0.1), (0.2, 0.3), (0.3, [0.3])])
def test_two_alphas_that_differ_are_refused(rng, of_rule, alpha):
    model = ConformalRegressor(LinearRegression(), threshold=SplitConformal(of_rule), alpha=alpha)
    message = f"alpha is {alpha} for the sets, but {of_rule} in threshold=Split"
    with pytest.raises(ValueError, match=re.escape(message)):
        model.fit(*regression(rng))


@pytest.mark.parametrize("rule", [None, SplitConformal([0.1, 0.3])])
def test_several_alphas_of_a_model(rng, rule):
    X, y = regression(rng)
    model = ConformalRegressor(LinearRegression(), threshold=rule, alpha=[0.1, 0.3], random_state=0)
    assert [*model.fit(X, y).predict_set(X)] == [0.1, 0.3]
    one = model.at(0.3)
    rule = None if rule is None else SplitConformal(0.3)
    single = clone(model).set_params(alpha=0.3, threshold=rule).fit(X, y)
    assert_array_equal(one.predict_interval(X), single.predict_interval(X))
    assert_array_equal(clone(one).fit(X, y).predict_interval(X), single.predict_interval(X))


@pytest.mark.parametrize(
    ("rule", "name"), [(PLCP(n_groups=1), "threshold__alpha"), (None, "alpha")], ids=str
)
def test_a_search_over_alpha(rng, rule, name):
    X, y = regression(rng)
    model = ConformalRegressor(LinearRegression(), threshold=rule, random_state=0)

    def length(model, X, y):
        return -model.predict_set(X).size.mean()

    search = GridSearchCV(model, {name: [0.05, 0.4, 0.1]}, scoring=length, cv=2).fit(X, y)
    assert search.best_params_ == {name: 0.4}
    assert search.best_estimator_.tail_rules_[0].alpha == 0.4


def test_two_tails_warn_of_an_alpha_that_either_half_would_not(rng):
    X, y = regression(rng)
    model = ConformalRegressor(LinearRegression(), SignedResidual("both"), SplitConformal(0.9))
    with pytest.warns(UserWarning, match="cover only 10 %"):
        model.fit(X, y)


def test_alphas_are_found_but_for_their_last_bits(rng):
    X, y = regression(rng)
    model = ConformalRegressor(
        LinearRegression(), threshold=SplitConformal(), alpha=[1 - 0.9, 1 - 0.98, 0.2]
    )
    sets = model.fit(X, y).predict_set(X)
    assert_array_equal(sets[0.1].to_numpy(), sets[1 - 0.9].to_numpy())
    assert 0.02 in sets
    assert 0.3 not in sets
    assert_array_equal(model.at(0.1).predict_interval(X), model.at(1 - 0.9).predict_interval(X))
    with pytest.raises(ValueError, match="lists a rate twice"):
        SplitConformal([0.1, 1 - 0.9]).fit(X, abs(y))


@pytest.mark.parametrize("method", ["groups", "members"])
def test_groups_that_each_alpha_has_are_those_of_the_model(rng, method):
    X, y = regression(rng)
    model = ConformalRegressor(LinearRegression(), threshold=LINEAR, alpha=[0.1, 0.3]).fit(X, y)
    message = rf"each alpha of this ConformalRegressor .* as at\(0.1\).{method} does"
    with pytest.raises(ValueError, match=message):
        getattr(model, method)(X)
    getattr(model.at(0.1), method)(X)


# warnings that the user meets once


def warnings_of(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(each.message) for each in caught]


def test_a_trained_model_that_is_not_frozen_is_trained_again_with_a_warning(rng):
    X, y = regression(rng)
    trained = Ridge().fit(X, y)
    pipeline = make_pipeline(StandardScaler(), Ridge()).fit(X, y)
    pair, both = QuantilePair(FrozenEstimator(trained), Ridge()), QuantilePair(trained, trained)
    for model, n in [
        (trained, 1),
        (pipeline, 1),
        (clone(trained), 0),
        (FrozenEstimator(trained), 0),
        (make_pipeline(StandardScaler(), FrozenEstimator(trained)), 0),
        (pair, 0),
        (both, 1),
    ]:
        score = QuantileResidual() if isinstance(model, QuantilePair) else None
        conformal = ConformalRegressor(model, score, SplitConformal())
        found = warnings_of(lambda c=conformal: c.fit(X, y))
        assert len([text for text in found if "FrozenEstimator" in text]) == n
        assert not warnings_of(lambda c=conformal: cross_val_score(c, X, y, cv=2))


@pytest.mark.parametrize("kind", ["array", "list"])
@pytest.mark.parametrize("polars", [False, True])
def test_an_array_after_a_fit_to_a_frame_gives_one_warning(rng, kind, polars):
    X, y = regression(rng)
    frame = pl.DataFrame(X, ["a", "b"]) if polars else pd.DataFrame(X, columns=["a", "b"])
    rows = X if kind == "array" else X.tolist()
    pair = QuantilePair(Ridge(), Ridge())
    for model in (
        ConformalRegressor(LinearRegression(), random_state=0),
        ConformalRegressor(LinearRegression(), threshold=SplitConformal(), features="b"),
        ConformalRegressor(pair, QuantileResidual(), random_state=0),
        PLCP(random_state=0),
        pair,
    ):
        method = "predict_set" if isinstance(model, ConformalRegressor) else "predict"
        predict = getattr(model.fit(frame, y), method)
        [message] = warnings_of(lambda p=predict: p(rows))
        assert f"but {type(model).__name__} was fitted with feature names" in message
        with warnings.catch_warnings(action="ignore"):
            # a product with a frame's columns may be added up in another order
            assert_allclose(np.asarray(predict(rows)), np.asarray(predict(frame)))


def test_an_array_of_columns_of_several_types_gives_one_warning(rng):
    X, y = regression(rng)
    frame = pd.DataFrame({"a": X[:, 0], "b": rng.integers(0, 3, 300)})
    model = ConformalRegressor(LinearRegression(), random_state=0).fit(frame, y)
    rows = frame.astype(object).to_numpy()
    [message] = warnings_of(lambda: model.predict_set(rows))
    assert "but ConformalRegressor was fitted with feature names" in message
    with warnings.catch_warnings(action="ignore"):
        assert_array_equal(model.predict_interval(rows), model.predict_interval(frame))


@pytest.mark.parametrize("size", [0.999, 1 - 1e-9])
def test_a_share_that_leaves_no_row_to_train_is_refused(rng, size):
    model = ConformalRegressor(LinearRegression(), calibration_size=size)
    with pytest.raises(ValueError, match=f"calibration_size={size} leaves none of 300 rows"):
        model.fit(*regression(rng))


def test_a_splitter_by_groups_needs_groups(rng):
    X, y = regression(rng)
    model = ConformalRegressor(Untrainable(), cv=GroupKFold(3))
    with pytest.raises(ValueError, match=r"cv=GroupKFold.* divides rows by groups.*groups= to fit"):
        model.fit(X, y)
    model.set_params(estimator=LinearRegression()).fit(X, y, groups=np.arange(300) // 3)


@pytest.mark.parametrize(
    ("part", "params"),
    [
        ("estimator", {"estimator": Ridge}),
        ("lower", {"estimator": QuantilePair(Ridge, Ridge()), "conformity": QuantileResidual()}),
        ("conformity", {"conformity": AbsoluteResidual}),
        ("threshold", {"threshold": PLCP}),
        ("cv", {"cv": GroupKFold}),
    ],
)
def test_classes_in_place_of_instances_are_refused(rng, part, params):
    model = ConformalRegressor(**{"estimator": Ridge(), **params})
    message = rf"{part} must be an instance, got the class (\w+): give an instance, {part}=\1\(\)"
    with pytest.raises(TypeError, match=message):
        model.fit(*regression(rng))


@pytest.mark.parametrize("cv", ["5", [([0, 1], [2, 3])]])
def test_folds_that_a_model_cannot_have_are_not_recommended(rng, cv):
    with pytest.raises(ValueError, match=r"splitter such as KFold\(5\) or None, got") as caught:
        ConformalRegressor(Untrainable(), cv=cv).fit(*regression(rng))
    assert "pairs" not in str(caught.value)


def test_copies_kept_together_are_said_to_make_the_guarantee_approximate(rng):
    X, y = rng.normal(size=(100, 2)), rng.normal(size=100)
    copies = np.r_[np.arange(100), np.arange(10)]
    model = ConformalRegressor(LinearRegression(), threshold=SplitConformal(), random_state=0)
    assert model.fit(X, y).guarantee_.kind == "exact"
    promise = model.fit(X[copies], y[copies]).guarantee_
    assert promise.kind == "approximate"
    assert "About 9.1 % of the rows are taken for copies" in str(promise)
    frozen = ConformalRegressor(FrozenEstimator(model.estimator_), threshold=SplitConformal())
    assert frozen.fit(X[copies], y[copies]).guarantee_.kind == "exact"  # divides no rows
    rules = SplitConformal([0.1, 0.2])
    several = clone(model).set_params(threshold=rules).fit(X[copies], y[copies])
    assert several.at(0.2).guarantee_.kind == "approximate"

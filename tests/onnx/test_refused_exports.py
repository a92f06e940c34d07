"""What has no graph is refused in a sentence that names the part and the remedy."""

import numpy as np
import onnx
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer

from plcp import (
    PLCP,
    RLCP,
    BatchGCP,
    ConformalClassifier,
    ConformalRegressor,
    LinearQuantile,
    LocalCP,
    Mondrian,
    OrderedPartition,
    Rectified,
    SoftmaxPartition,
    SplitConformal,
)
from plcp.dask import DaskSplitConformal
from plcp.onnx import NotExportableError, export
from plcp.partitions import ClassifierPartition
from plcp.scores import AbsoluteResidual


class OwnRule(SplitConformal):
    """A rule of one's own, which may answer in another way."""


class OwnScore(AbsoluteResidual):
    """A score of one's own, which may be inverted in another way."""


@pytest.fixture
def pairs(rng):
    X = rng.normal(size=(300, 2))
    return X, rng.exponential(1 + (X[:, 0] > 0))


def ordered(regressor):
    return PLCP(OrderedPartition(regressor), n_groups=2, cv=2, calibration="cross", random_state=0)


REFUSED = {
    "a rule of one's own": (OwnRule(), r"OwnRule .* serve it from Python, or use PLCP"),
    "kernels": (LocalCP(random_state=0), "LocalCP .* serve it from Python"),
    "draws": (RLCP(random_state=0), "RLCP .* serve it from Python"),
    "overlapping groups": (BatchGCP(groups=[lambda X: X[:, 0] > 0]), "BatchGCP"),
    "groups by a function": (Mondrian(lambda X: X[:, 0] > 0), "Mondrian .* into a column"),
    "groups by several columns": (Mondrian([0, 1]), "Mondrian .* into a column"),
    "a regressor of another kind": (
        ordered(KNeighborsRegressor()),
        "KNeighborsRegressor .* use the default",
    ),
    "a regressor that is averaged": (
        Rectified(FrozenEstimator(KNeighborsRegressor().fit([[0.0, 0.0]] * 5, [1.0] * 5))),
        "KNeighborsRegressor",
    ),
    "a step before the regressor": (
        ordered(make_pipeline(QuantileTransformer(n_quantiles=20), LinearQuantile())),
        "QuantileTransformer .* rows that have passed it",
    ),
    "a classifier as partition": (
        PLCP(
            ClassifierPartition(GaussianNB()), n_groups=2, cv=2, calibration="cross", random_state=0
        ),
        "GaussianNB .* use that, or OrderedPartition",
    ),
    "ranks by chance": (
        SplitConformal(randomize=True, random_state=0),
        "SplitConformal .* draws a rank for each row; fit with randomize=False",
    ),
    "groups by chance": (
        PLCP(
            SoftmaxPartition(),
            n_groups=2,
            assignment="sample",
            cv=2,
            calibration="cross",
            random_state=0,
        ),
        'PLCP .* by chance; fit with assignment="mode"',
    ),
}


@pytest.mark.filterwarnings("ignore::plcp.InfiniteThresholdWarning")
@pytest.mark.parametrize(("rule", "message"), REFUSED.values(), ids=REFUSED)
def test_a_rule_without_a_graph_is_refused(rule, message, pairs):
    X, scores = pairs
    if isinstance(rule, Mondrian):
        X = X.round()
    with pytest.raises(NotExportableError, match=message):
        export(rule.fit(X, scores))


def test_a_rule_that_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError, match="PLCP"):
        export(PLCP())
    with pytest.raises(NotFittedError, match="ConformalRegressor"):
        export(ConformalRegressor(LinearRegression()))


@pytest.mark.parametrize("value", [LinearRegression(), None, "rule.plcp"])
def test_what_is_no_rule_is_refused(value):
    with pytest.raises(NotExportableError, match="only threshold rules and ConformalRegressor"):
        export(value)


def test_a_rule_on_dask_is_refused_with_the_remedy():
    with pytest.raises(NotExportableError, match=r"give model\.to_local\(\)"):
        export(DaskSplitConformal())


def test_sets_of_labels_are_refused_with_the_remedy():
    X, y = load_iris(return_X_y=True)
    model = ConformalClassifier(
        LogisticRegression(max_iter=1000), threshold=SplitConformal(), random_state=0
    ).fit(X, y)
    with pytest.raises(NotExportableError, match=r"model\.tail_rules_\[0\]"):
        export(model)
    assert export(model.tail_rules_[0]).graph.output[0].name == "threshold"


def test_a_score_of_the_user_is_refused(pairs):
    model = ConformalRegressor(LinearRegression(), OwnScore(), SplitConformal(), random_state=0)
    with pytest.raises(
        NotExportableError, match=r"OwnScore .* invert the score where you serve it"
    ):
        export(model.fit(*pairs))


def test_features_by_a_function_are_refused(pairs):
    model = ConformalRegressor(
        LinearRegression(), threshold=SplitConformal(), features=lambda X: X[:, :1]
    )
    with pytest.raises(NotExportableError, match=r"features .* give it features\(X\)"):
        export(model.fit(*pairs))


def test_categories_that_a_booster_knows_by_text_are_refused(rng):
    frame = pd.DataFrame({"kind": pd.Categorical(rng.choice(["a", "b"], 300))})
    regressor = HistGradientBoostingRegressor(loss="quantile", categorical_features="from_dtype")
    rule = Rectified(regressor, random_state=0).fit(frame, rng.exponential(size=300))
    with pytest.raises(NotExportableError, match=r"HistGradientBoostingRegressor .* by text"):
        export(rule)


def test_a_file_is_written_whole_and_replaced(pairs, tmp_path):
    path = tmp_path / "rule.onnx"
    path.write_text("an older file")
    written = export(SplitConformal().fit(*pairs), path)
    assert onnx.load(path) == written
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("name", ["rule.plcp", "rule"])
def test_a_file_of_another_kind_is_not_replaced(name, pairs, tmp_path):
    path = tmp_path / name
    path.write_text("something else")
    with pytest.raises(ValueError, match=r"end its name in \.onnx"):
        export(SplitConformal().fit(*pairs), path)
    assert path.read_text() == "something else"


def test_a_refused_rule_leaves_an_older_file_as_it_was(pairs, tmp_path):
    path = tmp_path / "rule.onnx"
    path.write_text("an older file")
    with pytest.raises(NotExportableError):
        export(OwnRule().fit(*pairs), path)
    assert path.read_text() == "an older file"


def test_the_same_rule_gives_the_same_bytes(pairs):
    X, scores = pairs
    rules = [ordered(HistGradientBoostingRegressor(max_iter=3)).fit(X, scores) for _ in range(2)]
    first, second = (export(rule).SerializeToString(deterministic=True) for rule in rules)
    assert first == second


def test_the_text_of_a_graph_says_what_goes_in_and_comes_out(pairs):
    text = export(ordered(LinearQuantile()).fit(*pairs)).doc_string
    for line in ("PLCP of plcp", "Input X (n, 2), double", "Output group (n), int64"):
        assert line in text
    assert np.array([len(line) for line in text.splitlines()]).min() > 0

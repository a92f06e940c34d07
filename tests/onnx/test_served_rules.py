"""Every rule that can be exported answers as it does in Python."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from lightgbm import LGBMRegressor
from served import CLOSE, Served, assert_served, on_a_cut
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plcp import (
    PLCP,
    ClassifierPartition,
    LinearQuantile,
    Mondrian,
    OrderedPartition,
    Rectified,
    SoftmaxPartition,
    SplitConformal,
    TreePartition,
    load,
    save,
)
from plcp._validation import takes_nan
from plcp.onnx import export
from plcp.regressors import (
    ColorfulQuantile,
    CrossFitted,
    ScaledQuantile,
    SparseScale,
    StackedQuantile,
)
from strategies import few


def boosted(**options):
    return HistGradientBoostingRegressor(loss="quantile", max_iter=8, min_samples_leaf=5, **options)


def light():
    return LGBMRegressor(objective="quantile", alpha=0.9, n_estimators=8, n_jobs=1, verbose=-1)


def ordered(regressor, **options):
    options = {"calibration": "cross", **options}
    return PLCP(OrderedPartition(regressor), n_groups=4, random_state=0, **options)


RULES = {
    "split": SplitConformal(),
    "linear": ordered(LinearQuantile()),
    "linear, cut at its own rows": ordered(LinearQuantile(), calibration="joint"),
    "linear, held out": ordered(LinearQuantile(), calibration="split"),
    "linear, constants": ordered(LinearQuantile(), within="constant"),
    "linear, best cuts": PLCP(
        OrderedPartition(LinearQuantile(), cuts="optimal"), 3, calibration="cross", random_state=0
    ),
    "linear, one shift": ordered(LinearQuantile(), calibration="held-out"),
    "linear, mean of blocks": ordered(LinearQuantile(), calibration="rotate", assignment="mean"),
    "linear, one group": PLCP(
        OrderedPartition(LinearQuantile()), n_groups=1, calibration="cross", random_state=0
    ),
    "scaled, then linear": ordered(make_pipeline(StandardScaler(), LinearRegression())),
    "sparse": ordered(SparseScale()),
    "boosted": ordered(boosted()),
    "boosted scale": ordered(ScaledQuantile()),
    "light": ordered(light()),
    "mixed, given members": ordered(StackedQuantile(members=[LinearQuantile(), boosted()])),
    "mixed": PLCP(calibration="cross", random_state=0),
    "softmax": PLCP(SoftmaxPartition(), n_groups=3, calibration="cross", random_state=0),
    "softmax, joint": PLCP(SoftmaxPartition(), n_groups=3, calibration="joint", random_state=0),
    "softmax, mean": PLCP(
        SoftmaxPartition(), n_groups=3, assignment="mean", calibration="cross", random_state=0
    ),
    "softmax, regressor": PLCP(
        SoftmaxPartition(), n_groups=3, within="regressor", calibration="cross", random_state=0
    ),
    "tree": PLCP(
        TreePartition(min_samples_leaf=20), n_groups=4, calibration="cross", random_state=0
    ),
    "tree, held out": PLCP(TreePartition(), calibration="split", n_groups=3, random_state=0),
    "classifier": PLCP(
        ClassifierPartition(), n_groups=3, cv=2, calibration="cross", random_state=0
    ),
    "classifier, two groups": PLCP(
        ClassifierPartition(), n_groups=2, calibration="split", random_state=0
    ),
    "rectified": Rectified(boosted(), random_state=0),
    "rectified, difference": Rectified(LinearQuantile(), adjustment="difference", random_state=0),
    "colourful": Rectified(ColorfulQuantile(random_state=0), random_state=0),
    "averaged": Rectified(CrossFitted(LinearQuantile(), random_state=0), random_state=0),
}


def world(rng, n, gaps):
    X = rng.normal(size=(n, 3)).round(1)  # rounded: many values lie on the cuts of trees
    scores = np.abs(rng.normal(size=n)) * (1.0 + (X[:, 0] > 0) + np.abs(X[:, 1]))
    if gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, scores


def takes_gaps(rule):
    """A pipeline is left to answer for itself, and the one here does not take any."""
    return takes_nan(rule) and rule is not RULES["scaled, then linear"]


@pytest.fixture(scope="module", params=RULES, ids=str)
def fitted(request):
    rule = RULES[request.param]
    return rule.fit(*world(np.random.default_rng(5), 600, takes_gaps(rule)))


@pytest.fixture(scope="module")
def served(fitted):
    return Served(fitted)


def test_new_rows_have_the_same_thresholds_and_groups(fitted, served, rng):
    X, _ = world(rng, 2000, takes_gaps(fitted))
    assert_served(fitted, X, served)


def test_calibration_rows_have_the_same_thresholds_and_groups(fitted, served):
    X, _ = world(np.random.default_rng(5), 600, takes_gaps(fitted))
    assert_served(fitted, X, served)


def test_a_row_alone_is_predicted_as_among_others(fitted, served, rng):
    X, _ = world(rng, 50, takes_gaps(fitted))
    together = served(X)
    for name, values in together.items():
        alone = np.concatenate([served(X[[row]])[name] for row in range(len(X))])
        np.testing.assert_allclose(alone, values, rtol=CLOSE)


def test_numbers_of_any_size_are_predicted_alike(fitted, served):
    sizes = np.array([0.0, -0.0, 5e-324, -5e-324, 1e-35, -1e-35, 1e30, -1e30, 1e150, -1e150])
    X = np.stack(np.meshgrid(sizes, sizes, [0.5], indexing="ij"), axis=-1).reshape(-1, 3)
    assert_served(fitted, X, served)


def test_rows_that_predict_refuses_get_every_label_and_no_group(fitted, served, rng):
    X, _ = world(rng, 4, takes_gaps(fitted))
    bad = X.copy()
    bad[1, 2] = np.inf
    bad[2, 0] = -np.inf if takes_gaps(fitted) else np.nan
    if isinstance(fitted, SplitConformal):
        np.testing.assert_array_equal(served(bad)["threshold"], fitted.threshold_)
        return  # which looks at no number
    for row in (1, 2):
        with pytest.raises(ValueError, match=r"(?i)infinity|nan"):
            fitted.predict(bad[[row]])
    good, found = served(X), served(bad)
    assert np.isposinf(found["threshold"][1:3]).all()
    assert "group" not in found or (found["group"][1:3] == -1).all()
    for name, values in found.items():
        np.testing.assert_array_equal(values[[0, 3]], good[name][[0, 3]])


def test_numbers_too_large_for_sums_are_predicted_or_refused_by_both(fitted, served):
    X = np.array([[1e150, 0.0, 0.5], [1.1e150, 0.0, 0.5], [0.0, -1e300, 0.5]])
    found = served(X)
    for row, threshold in enumerate(found["threshold"]):
        try:
            wanted = fitted.predict(X[[row]])[0]
        except ValueError:
            wanted = np.inf
            assert "group" not in found or found["group"][row] == -1
        np.testing.assert_allclose(threshold, wanted, rtol=CLOSE)


def test_no_rows_have_no_thresholds(fitted, served):
    assert [values.shape for values in served(np.empty((0, 3))).values()] in ([(0,)], [(0,), (0,)])


@pytest.mark.filterwarnings("ignore::plcp.InfiniteThresholdWarning")
def test_too_few_points_give_infinite_thresholds(rng):
    X, scores = world(rng, 5, gaps=False)
    rule = PLCP(alpha=0.1, calibration="cross", random_state=0).fit(X, scores)
    found = assert_served(rule, X)(X)
    assert np.isposinf(found["threshold"]).all()
    assert (found["group"] == 0).all()


@pytest.mark.filterwarnings("ignore::plcp.InfiniteThresholdWarning")
def test_a_mean_with_an_infinite_threshold_is_infinite_where_that_has_a_share(rng):
    X, scores = world(rng, 300, gaps=False)
    rule = PLCP(
        SoftmaxPartition(), n_groups=2, calibration="joint", assignment="mean", random_state=0
    ).fit(X, scores)
    rule.corrections_ = np.array([rule.corrections_[0], np.inf])
    assert np.isposinf(assert_served(rule, X)(X)["threshold"]).all()
    rule.corrections_ = np.array(
        [-5.0, rule.corrections_[0]]
    )  # and no threshold is below the least score
    assert (assert_served(rule, X)(X)["threshold"] >= 0).all()


@pytest.mark.filterwarnings("ignore::plcp.InfiniteThresholdWarning")
def test_mondrian_knows_numbers_in_a_column_and_no_others(rng):
    X = rng.integers(0, 4, size=(400, 2)).astype(float)
    rule = Mondrian(1).fit(X, rng.exponential(size=400))
    new = np.array([[9.0, 0.0], [0.0, 3.0], [0.0, 4.0], [0.0, 1.5]])
    found = assert_served(rule, new)(new)
    assert found["group"].tolist() == [0, 3, -1, -1]
    assert np.isposinf(found["threshold"][2:]).all()


@pytest.mark.parametrize("regressor", [LinearQuantile(), boosted()], ids=["linear", "boosted"])
def test_signed_scores_may_have_negative_thresholds(regressor, rng):
    X, scores = world(rng, 600, gaps=False)
    rule = ordered(regressor).fit(X, scores - 10.0)
    assert (assert_served(rule, X)(X)["threshold"] < 0).all()


def test_the_default_rule_of_signed_scores_is_served(rng):
    X, scores = world(rng, 600, gaps=True)
    assert_served(PLCP(calibration="cross", random_state=0).fit(X, scores - 1.0), X)


@pytest.mark.parametrize("rule", [SplitConformal(), ordered(LinearQuantile())], ids=["one", "many"])
def test_several_alphas_are_columns_that_never_cross(rule, rng):
    X, scores = world(rng, 600, gaps=False)
    rule = clone(rule).set_params(alpha=[0.2, 0.05, 0.1]).fit(X, scores)
    served = Served(rule)
    found = served(X)
    np.testing.assert_allclose(found["threshold"], rule.predict(X), rtol=CLOSE)
    assert (np.diff(found["threshold"][:, [0, 2, 1]], axis=1) >= 0).all()
    for own, groups in zip(rule.rules_, found.get("group", np.empty((0, 0))).T, strict=False):
        kept = ~on_a_cut(own, X)
        np.testing.assert_array_equal(groups[kept], own.groups(X)[kept])


@pytest.mark.parametrize("partition", [OrderedPartition(boosted()), SoftmaxPartition()])
def test_alphas_that_share_a_partition_share_its_graph(partition, rng):
    X, scores = world(rng, 600, gaps=False)
    options = {"n_groups": 3, "share_partition": True, "within": "regressor", "random_state": 0}
    rule = PLCP(partition, alpha=[0.2, 0.05, 0.1], calibration="held-out", **options)
    rule.fit(X, scores)
    served = Served(rule)
    found, expected = served(X), rule.assign(X)
    kept = ~on_a_cut(rule, X)
    np.testing.assert_allclose(found["threshold"][kept], expected.thresholds[kept], rtol=CLOSE)
    np.testing.assert_array_equal(found["group"][kept], expected.groups[kept])
    kinds = [node.op_type for node in served.graph.graph.node]
    assert kinds.count("TreeEnsemble") + kinds.count("Softmax") in (1, 3)  # or one per fold


@pytest.mark.parametrize("name", ["linear", "boosted", "light", "softmax", "tree", "mixed"])
def test_single_precision_is_predicted_as_its_doubles(name, rng):
    rule = clone(RULES[name])
    X, scores = world(rng, 600, gaps=False)
    X = (X / 3).astype(np.float32)  # thirds are no floats
    assert_served(rule.fit(X, scores), X)


def test_a_rule_from_a_file_has_the_same_graph(rng, tmp_path):
    X, scores = world(rng, 400, gaps=True)
    rule = ordered(boosted(categorical_features=[False, False, True])).fit(X, scores)
    save(rule, tmp_path / "rule.plcp")
    again = load(tmp_path / "rule.plcp")
    assert export(again) == export(rule)


@pytest.fixture(scope="module")
def two_ways():
    """Rules of a line and of trees, with what serves them."""
    X, scores = world(np.random.default_rng(5), 300, gaps=False)
    rules = [ordered(regressor).fit(X, scores) for regressor in (LinearQuantile(), boosted())]
    return [(rule, Served(rule)) for rule in rules]


numbers = st.floats(-1e100, 1e100, allow_subnormal=True) | st.integers(-3, 3).map(float)
anything = numbers | st.sampled_from([np.nan, np.inf, -np.inf])


@few
@given(st.lists(st.tuples(anything, anything, anything), min_size=1, max_size=8))
def test_any_row_is_predicted_alike_or_given_every_label(two_ways, rows):
    X = np.array(rows)
    for rule, served in two_ways:
        refused = np.isinf(X) | (np.isnan(X) & (not takes_nan(rule)))
        known, found = ~refused.any(axis=1), served(X)
        assert np.isposinf(found["threshold"][~known]).all()
        assert (found["group"][~known] == -1).all()
        if known.any():
            expected = rule.assign(X[known])
            sure = ~on_a_cut(rule, X[known])
            thresholds, groups = found["threshold"][known], found["group"][known]
            np.testing.assert_allclose(thresholds[sure], expected.thresholds[sure], rtol=CLOSE)
            np.testing.assert_array_equal(groups[sure], expected.groups[sure])


def test_a_lone_group_of_a_classifier_is_served(rng):
    X, scores = world(rng, 300, gaps=False)
    rule = PLCP(ClassifierPartition(), n_groups=1, cv=2, calibration="cross", random_state=0).fit(
        X, scores
    )
    assert_served(rule, X)

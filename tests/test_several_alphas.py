"""Several alphas at once: nested sets, files, graphs, monitors, and what takes one alpha only."""

import dask.array as da
import numpy as np
import onnxruntime
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression

import plcp
import plcp.onnx
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
    SignedResidual,
    SoftmaxPartition,
    SplitConformal,
    certify,
)
from plcp.dask import DaskConformalRegressor, DaskMondrian, DaskPLCP, DaskSplitConformal
from plcp.explain import explain_groups
from plcp.metrics import coverage
from plcp.monitoring.watches import watches_of
from plcp.out_of_core.passes import Held
from plcp.plotting import (
    ComparisonDisplay,
    CoverageDisplay,
    HistoryDisplay,
    SelectionDisplay,
    SizeDisplay,
    ThresholdDisplay,
)
from plcp.quantiles import conformal_rank
from plcp.spark import interval_udf, threshold_udf

ALPHAS = [0.1, 0.4, 0.2]
LINEAR = OrderedPartition(LinearQuantile())
RULES = {
    "split": SplitConformal(),
    "mondrian": Mondrian(lambda X: np.asarray(X)[:, 0] > 0),
    "batch_gcp": BatchGCP(lambda X: np.asarray(X)[:, 0] > 0),
    "plcp": PLCP(LINEAR, 2, random_state=0),
    "plcp, shared": PLCP(LINEAR, 2, calibration="held-out", share_partition=True, random_state=0),
}
over_rules = pytest.mark.parametrize("name", RULES)


def rows(rng, n=400):
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, X[:, 0] + (2 + X[:, 1]) * rng.normal(size=n)


def labelled(rng, n=400):
    X, y = rows(rng, n)
    return X, np.array(["low", "mid", "high"])[np.digitize(y, [-1.0, 1.0])]


def regressor(X, y, name, conformity=None, alpha=ALPHAS):
    rule = clone(RULES[name]).set_params(alpha=alpha)
    model = FrozenEstimator(LinearRegression().fit(X, y))
    return ConformalRegressor(model, conformity, rule).fit(X, y)


def classifier(X, labels, name, conformity=None):
    rule = clone(RULES[name]).set_params(alpha=ALPHAS)
    model = FrozenEstimator(LogisticRegression().fit(X, labels))
    return ConformalClassifier(model, conformity, rule).fit(X, labels)


@over_rules
@pytest.mark.parametrize("conformity", [None, SignedResidual()], ids=["one tail", "two tails"])
def test_intervals_are_nested(rng, name, conformity):
    sets = regressor(*rows(rng), name, conformity).predict_set(rows(rng)[0])
    assert list(sets) == ALPHAS
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


def test_arrays_have_the_alphas_last(rng):
    X, y = rows(rng)
    model = regressor(X, y, "split")
    ends, sets = model.predict_interval(X), model.predict_set(X)
    assert ends.shape == (len(X), 2, 3)
    assert_array_equal(np.asarray(sets), ends)
    assert_array_equal(sets.size, ends[:, 1] - ends[:, 0])
    for j, alpha in enumerate(ALPHAS):
        assert_array_equal(ends[:, :, j], sets[alpha].to_numpy())
        assert_array_equal(sets.contains(y)[:, j], sets[alpha].contains(y))


def test_sets_at_each_alpha_are_clipped(rng):
    X, y = rows(rng)
    sets = regressor(X, y, "split").predict_set(X)
    clipped = sets.clip(-1, upper=1)
    assert list(clipped) == ALPHAS
    for alpha in ALPHAS:
        assert_array_equal(clipped[alpha].to_numpy(), sets[alpha].clip(-1, 1).to_numpy())


def test_metrics_take_one_alpha_at_a_time(rng):
    X, y = rows(rng)
    sets = regressor(X, y, "split").predict_set(X)
    with pytest.raises(ValueError, match=r"one alpha at a time, got \(400, 3\).*sets\[alpha\]"):
        coverage(sets.contains(y))
    assert float(coverage(sets[0.2].contains(y))) == sets.contains(y)[:, 2].mean()


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_columns_of_intervals_are_named_by_alpha(rng, container):
    X, y = rows(rng)
    frame = pd.DataFrame(X, columns=["a", "b"], index=np.arange(len(X)) + 7)
    model = regressor(frame, y, "plcp").set_output(transform=container)
    table = model.predict_interval(frame)
    assert list(table.columns) == [
        f"{end}_{alpha}" for alpha in ALPHAS for end in ("lower", "upper")
    ]
    assert_array_equal(table["upper_0.4"], model.predict_set(frame)[0.4].upper)
    if container == "pandas":
        assert table.index.equals(frame.index)


def test_columns_of_labels_are_named_by_alpha(rng):
    X, labels = labelled(rng)
    sets = classifier(X, labels, "split").predict_set(X)
    names = [f"{label}_{alpha}" for alpha in ALPHAS for label in ("high", "low", "mid")]
    assert sets.to_pandas().columns.to_list() == names == sets.to_polars().columns
    assert_array_equal(sets.to_polars()["mid_0.2"], sets[0.2].mask[:, 2])
    assert sets.to_numpy().shape == (len(X), 3, 3)


def test_an_alpha_without_sets_is_named():
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
def test_coverage_follows_its_law_at_every_alpha(rng, make, trained, conformal):
    n_cal, n_test = 500, 4000
    frozen = FrozenEstimator(trained.fit(*make(rng)))
    model = conformal(frozen, threshold=SplitConformal(ALPHAS)).fit(*make(rng, n_cal))
    X, y = make(rng, n_test)
    hits = model.predict_set(X).contains(y).sum(axis=0)
    for alpha, covered in zip(ALPHAS, hits, strict=True):
        low, high = beta_binomial_band(n_test, n_cal, conformal_rank(n_cal, alpha))
        assert low <= covered <= high


def test_every_alpha_and_tail_has_its_guarantee(rng):
    X, y = rows(rng)
    guarantee = regressor(X, y, "split", SignedResidual()).guarantee_
    text = str(guarantee)
    for alpha in ALPHAS:
        assert f"At alpha = {alpha:g}: P(covered) >= {1 - alpha:g}" in text
    assert f"By the union bound: each of 2 tails covers {1 - 0.4 / 2:g}" in text
    assert [one.kind for one in guarantee] == ["exact"] * len(guarantee.each)


def test_examined_rows_have_alphas_last(rng):
    X, y = rows(rng)
    examined = regressor(X, y, "split", SignedResidual()).examine(X, y)
    assert examined.scores.shape == (len(X), 2)
    assert examined.thresholds.shape == (len(X), 2, 3)
    inside = (examined.scores[:, :, None] <= examined.thresholds).all(axis=1)
    assert_array_equal(examined.sets.contains(y), inside)


def test_groups_that_all_alphas_share(rng):
    X, y = rows(rng)
    shared = regressor(X, y, "plcp, shared")
    assert_array_equal(shared.groups(X), shared.tail_rules_[0].groups(X))
    assert [*shared.members(X)] == ["learned group 0", "learned group 1"]
    with pytest.raises(ValueError, match="result of its own"):
        regressor(X, y, "plcp").groups(X)


@over_rules
@pytest.mark.parametrize("conformity", [None, SignedResidual()])
def test_a_model_at_one_alpha_is_that_fitted_there(rng, name, conformity):
    X, y = rows(rng)
    model = regressor(X, y, name, conformity)
    for i, alpha in enumerate(ALPHAS):
        one, rules = model.at(alpha), [tail.rules_[i] for tail in model.tail_rules_]
        assert one.at(alpha) is one
        assert one.threshold.alpha == alpha
        thresholds = np.stack([rule.predict(X) for rule in rules], axis=1)
        assert_array_equal(one.examine(X, y).thresholds, thresholds)
        if "shared" not in name:
            alone = regressor(X, y, name, conformity, alpha)
            assert one.guarantee_ == alone.guarantee_
            assert_array_equal(one.predict_interval(X), alone.predict_interval(X))
    assert len(model.predict_set(X)) == len(ALPHAS), "the model itself has changed"


def test_a_classifier_at_one_alpha(rng):
    X, labels = labelled(rng)
    model = classifier(X, labels, "split")
    for alpha, sets in model.predict_set(X).items():
        assert_array_equal(model.at(alpha).predict_set(X).to_numpy(), sets.to_numpy())


@pytest.mark.parametrize("alpha", [0.15, "0.1", None, [0.1], np.array([0.1, 0.2])])
def test_an_alpha_that_was_not_fitted_is_refused(rng, alpha):
    X, y = rows(rng)
    model = regressor(X, y, "split")
    message = r"no fit at alpha = .*, only at \[0.1, 0.4, 0.2\]: choose one of these"
    for fitted in (model, model.tail_rules_[0]):
        with pytest.raises(ValueError, match=message):
            fitted.at(alpha)
    with pytest.raises(ValueError, match=r"only at \[0.4\]"):
        model.at(0.4).at(alpha)
    for unfitted in (clone(model), SplitConformal(ALPHAS)):
        with pytest.raises(NotFittedError):
            unfitted.at(0.1)


def test_alphas_are_checked_before_anything_is_trained(rng):
    model = ConformalRegressor(LinearRegression(), threshold=SplitConformal([0.1, 0.1]))
    with pytest.raises(ValueError, match="lists a rate twice"):
        model.fit(*rows(rng))
    assert not hasattr(model, "estimator_")


SERVED = {
    "split": SplitConformal(ALPHAS),
    "own": PLCP(LINEAR, 3, ALPHAS, calibration="held-out", random_state=0),
    "shared": PLCP(LINEAR, 3, ALPHAS, calibration="held-out", share_partition=True, random_state=0),
}


@pytest.fixture(params=SERVED)
def served(rng, request):
    X = rng.uniform(-1, 1, size=(600, 2))
    scores = (2 + X[:, 0]) * rng.exponential(size=600)
    return clone(SERVED[request.param]).fit(X, scores), X, scores


def test_files_hold_every_alpha(served, tmp_path):
    rule, X, _ = served
    plcp.save(rule, tmp_path / "rule.plcp")
    again = plcp.load(tmp_path / "rule.plcp")
    assert again.alpha == ALPHAS
    assert again.guarantee_ == rule.guarantee_
    assert_array_equal(again.predict(X), rule.predict(X))


def test_graphs_answer_at_every_alpha(served):
    """Relative to 1e-5, as single numbers are served; alphas far apart share a partition here."""
    rule, X, _ = served
    session = onnxruntime.InferenceSession(plcp.onnx.export(rule).SerializeToString())
    thresholds = session.run(["threshold"], {"X": X})[0]
    assert_allclose(thresholds, rule.predict(X), rtol=1e-5)


def test_a_monitor_follows_every_alpha(served):
    rule, X, scores = served
    monitor = rule.monitor()
    monitor.update(X, scores)
    titles = {watch.title for watch in watches_of(rule)}
    assert titles == {f"alpha {alpha:g}, " for alpha in ALPHAS}


TWO = [0.1, 0.3]
ONE_AT_A_TIME = r"was fitted at 2 alphas, \[0.1, 0.3\], and only one .* by .at\(0.1\)"


@pytest.fixture
def pair(rng):
    X = rng.uniform(-1, 1, size=(200, 2))
    return X, X[:, 0] + (2 + X[:, 1]) * rng.normal(size=200)


def two_alphas(pair, conformity=None):
    rule = PLCP(LINEAR, 2, TWO, calibration="cross", share_partition=True, random_state=0)
    return ConformalRegressor(LinearRegression(), conformity, rule, random_state=0).fit(*pair)


USES = {
    "certificate": lambda model, X, y: certify(model, X, y),
    "coverage": lambda model, X, y: CoverageDisplay.from_estimator(model, X, y),
    "size": lambda model, X, y: SizeDisplay.from_estimator(model, X, y),
    "comparison": lambda model, X, y: ComparisonDisplay.from_estimator(model, X, y, before=model),
    "thresholds": lambda model, X, y: ThresholdDisplay.from_estimator(model, X, features=0),
    "history": lambda model, X, y: HistoryDisplay.from_estimator(model),
    "selection": lambda model, X, y: SelectionDisplay.from_estimator(model),
    "explanation": lambda model, X, y: explain_groups(model, X),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
def test_what_needs_one_alpha_refuses_several(pair, use):
    X, y = pair
    for model in (two_alphas(pair), two_alphas(pair).tail_rules_[0]):
        with pytest.raises(ValueError, match=ONE_AT_A_TIME):
            use(model, X, np.abs(y))


@pytest.mark.parametrize("use", sorted({*USES} - {"history", "selection"}))
def test_what_needs_one_alpha_takes_a_model_at_one(pair, use):
    X, y = pair
    model = two_alphas(pair)
    for one in (model.at(0.1), model.tail_rules_[0].at(0.1)):
        USES[use](one, X, np.abs(y))


def test_columns_of_spark_have_one_alpha(pair):
    with pytest.raises(ValueError, match=ONE_AT_A_TIME):
        threshold_udf(two_alphas(pair).tail_rules_[0])
    with pytest.raises(ValueError, match=ONE_AT_A_TIME):
        interval_udf(two_alphas(pair))


@pytest.mark.parametrize(
    "rule", [DaskPLCP(alpha=TWO), DaskSplitConformal(TWO), DaskMondrian(0, TWO)]
)
def test_rules_on_dask_have_one_alpha(pair, rule):
    X, y = (da.from_array(part, chunks=(100, *part.shape[1:])) for part in pair)
    message = "must be one rate here, got .*: fit one rule per alpha"
    with pytest.raises(ValueError, match=message):
        rule.fit(X, y)
    with pytest.raises(ValueError, match=message):
        DaskConformalRegressor(LinearRegression().fit(*pair), threshold=rule).fit(X, y)


def test_a_model_of_several_alphas_does_not_serve_dask(pair):
    with pytest.raises(ValueError, match=ONE_AT_A_TIME):
        DaskConformalRegressor.from_local(two_alphas(pair))


@pytest.mark.parametrize("partition", [LINEAR, SoftmaxPartition()])
def test_a_partition_has_one_alpha(pair, partition):
    partition = type(partition)(alpha=TWO)
    with pytest.raises(ValueError, match="must be one rate here"):
        partition.fit(*pair)


@pytest.mark.parametrize("rule", [SplitConformal(TWO), Mondrian(0, TWO)])
def test_rows_in_blocks_are_fitted_at_one_alpha(pair, rule):
    X, y = pair
    kinds = np.sign(X[:, 0])
    blocks = Held([(y,) if isinstance(rule, SplitConformal) else (kinds, y)])
    with pytest.raises(ValueError, match="must be one rate here"):
        rule.fit_blocks(blocks)
    rule.fit(kinds[:, None], y).set_params(alpha=0.1).fit_blocks(blocks)
    assert rule.predict(kinds[:, None]).shape == (len(y),)

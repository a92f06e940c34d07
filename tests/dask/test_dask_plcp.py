"""PLCP on Dask: samples, folds and ranks as in memory, whatever the parts, order and workers."""

import math
import pickle

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.config import set as configured
from dask.delayed import delayed
from dask_cases import LINE, cut, of_parts, random_lengths, rows as rows_of_groups
from lightgbm import DaskLGBMRegressor, LGBMRegressor
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_info, threadpool_limits

from plcp import PLCP, OrderedPartition, SoftmaxPartition
from plcp.dask import DaskPLCP
from plcp.dask.plcp import predict_out_of_fold
from plcp.datasets import make_nonlinear
from plcp.exceptions import InfiniteThresholdWarning
from plcp.out_of_core import hash_rows
from plcp.out_of_core.samples import LEAST_DRAWS, draws, fold_of, in_hash_order
from plcp.quantiles import conformal_rank
from plcp.thresholds._plcp_blocks import learn_without_thresholds
from plcp.thresholds._plcp_calibration import calibrate, join_small_groups
from plcp.thresholds._plcp_learning import Learned, Pairs, held_out_share, place_predicted

TREES = OrderedPartition(HistGradientBoostingRegressor(loss="quantile", max_iter=10))
QUANTILE = {"objective": "quantile", "n_estimators": 10, "verbose": -1}
ignore_n_jobs = pytest.mark.filterwarnings("ignore:Parameter n_jobs will be ignored")


def rows(n):
    task = make_nonlinear(n, random_state=0)
    return task.X, task.scores


def fitted(X, scores, lengths, **options):
    return DaskPLCP(**options).fit(*cut(X, scores, *lengths))


def assert_same(rule, other):
    local, other = rule.to_local(), other if isinstance(other, PLCP) else other.to_local()
    for name in ("thresholds_", "corrections_", "group_sizes_"):
        assert_array_equal(getattr(local, name), getattr(other, name))
    assert_array_equal(local.partition_.cuts_, other.partition_.cuts_)
    assert local.guarantee_ == other.guarantee_


# --- the same result


def rows_in_parts(seed):
    """Rows, the lengths of parts, and another order of the rows."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(9, 150))
    X = rng.normal(size=(n, int(rng.integers(1, 4))))
    scores = np.abs(rng.normal(size=n)) * (1 + (X[:, 0] > 0))
    if seed % 2:  # ties of features and of scores, and equal rows
        X, scores = np.round(X), np.round(scores)
    return X, scores, random_lengths(rng, n), rng.permutation(n)


partitions = pytest.mark.parametrize("partition", [LINE, TREES], ids=["line", "trees"])
withins = pytest.mark.parametrize("within", ["regressor", "constant"])
calibrations = pytest.mark.parametrize("calibration", ["cross", "split", "held-out"])


@pytest.mark.parametrize("seed", range(3))
@partitions
@withins
def test_a_sample_of_all_rows_gives_the_rule_in_memory(seed, partition, within):
    X, scores, lengths, order = rows_in_parts(seed)
    options = {"partition": partition, "n_groups": 3, "within": within, "random_state": 5}
    options["calibration"] = "cross"
    local = PLCP(**options).fit(*in_hash_order(X, scores, 5))
    assert_same(fitted(X[order], scores[order], lengths, **options), local)


@pytest.mark.parametrize("seed", range(2))
@partitions
@calibrations
@withins
def test_parts_and_order_change_nothing(seed, partition, calibration, within):
    X, scores, lengths, order = rows_in_parts(seed)
    X = X + np.random.default_rng(0).normal(size=X.shape) / 100  # no two rows equal
    options = {"partition": partition, "calibration": calibration, "within": within}
    options |= {"n_groups": 2, "sample_size": 60, "alpha": 0.3}
    expected = fitted(X, scores, [len(scores)], **options)
    assert_same(fitted(X[order], scores[order], lengths, **options), expected)


def test_workers_change_nothing(client):
    X, scores = rows(1500)
    alone = fitted(X, scores, [1500], sample_size=1000)
    assert_same(fitted(X, scores, [300] * 5, client=client, sample_size=1000), alone)


def threads_of_matrices():
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


class CountsThreads(RegressorMixin, BaseEstimator):
    """A regressor that records how many threads its matrix products could use."""

    def fit(self, X, y):
        self.threads_ = threads_of_matrices()
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0]


@calibrations
def test_regressors_multiply_matrices_in_one_thread(rng, calibration):
    """With more threads, sums may be added in another order."""
    X, scores = rng.normal(size=(200, 2)), np.abs(rng.normal(size=200))
    rule = DaskPLCP(OrderedPartition(CountsThreads()), n_groups=2, calibration=calibration)
    # in this thread: one that has set a limit is the only one that may
    with threadpool_limits(2, user_api="blas"), configured(scheduler="sync"):
        before = threads_of_matrices()
        assert 2 in before  # not every library that is loaded lets others set it
        rule.fit(*cut(X, scores, *[50] * 4))
        assert threads_of_matrices() == before
    regressor = rule.partition_.regressor_
    models = getattr(regressor, "models_", [regressor])
    assert [model.threads_ for model in models] == [{1}] * len(models)


# --- thresholds of all rows


@withins
@calibrations
def test_thresholds_of_all_rows_are_those_of_their_predictions_in_memory(calibration, within):
    X, scores = rows(3000)
    options = {"partition": LINE, "n_groups": 4, "calibration": calibration, "within": within}
    rule = fitted(X, scores, [1000] * 3, sample_size=500, random_state=3, **options)
    numbers = draws(X, scores, 3)
    inside = numbers <= np.sort(numbers)[499]
    sample = in_hash_order(X[inside], scores[inside], 3)
    learned, predicted = learn_without_thresholds(PLCP(**options, random_state=3), *sample)
    outside = learned.partition_.predict_quantile(X[~inside])
    every = np.append(predicted, outside), np.append(sample[1], scores[~inside])
    training, calibrating = (
        (every, every)
        if calibration == "cross"
        else ((predicted, sample[1]), (outside, scores[~inside]))
    )
    partition = learned.partition_.cut(*training, None)
    training, calibrating = (
        place_predicted(partition, values, Pairs(None, own, None))
        for values, own in (training, calibrating)
    )
    rule_in_memory = PLCP(calibration=calibration)
    rule_in_memory._follow = within == "regressor"
    in_memory = Learned(partition, [], training, calibrating)
    joined = join_small_groups(rule_in_memory, in_memory, rule_in_memory.alpha)
    expected = calibrate(rule_in_memory, in_memory, joined)
    assert_array_equal(rule.partition_.cuts_, partition.cuts_)
    assert_array_equal(rule.corrections_, expected.values)
    assert_array_equal(rule.thresholds_, expected.thresholds)
    assert_array_equal(rule.group_sizes_, expected.sizes)


def test_rows_outside_of_the_sample_are_covered_at_their_exact_rank():
    """With a split, ⌈(1 - α)(n + 1)⌉ of each group's n rows: no tie, no luck."""
    X, scores = rows(4000)
    options = {"calibration": "split", "sample_size": 1000, "partition": LINE}
    rule = fitted(X, scores, [1500, 2500], **options).to_local()
    numbers = draws(X, scores, 0)
    outside = numbers > np.sort(numbers)[999]
    groups, covered = rule.groups(X[outside]), scores[outside] <= rule.predict(X[outside])
    assert_array_equal(rule.group_sizes_, np.bincount(groups))
    ranks = [conformal_rank(n, 0.1) for n in np.bincount(groups)]
    assert_array_equal(np.bincount(groups, covered), ranks)


@calibrations
@pytest.mark.parametrize("least", [0.0, -0.25])
def test_thresholds_are_negative_only_if_a_score_is(least, calibration):
    """Of all rows, not of those of the sample: the least score is not among them."""
    X, scores = rows(1200)
    scores = scores + 1
    scores[0] = least
    numbers = draws(X, scores, 0)
    assert numbers[0] > np.sort(numbers)[99]
    options = {"partition": LINE, "n_groups": 2, "calibration": calibration, "sample_size": 100}
    rule = fitted(X, scores, [500, 700], **options).to_local()
    predict = rule.partition_.predict_quantile
    steep = np.sign(predict(np.eye(20)) - predict(np.zeros((20, 20))))
    far = -1e3 * steep[None]  # where a line is far below zero
    free = predict(far) + rule.corrections_[rule.groups(far)] + rule.shift_
    assert free[0] < 0
    assert_array_equal(rule.predict(far), free if least < 0 else [0.0])


@calibrations
def test_the_number_of_groups_is_chosen_as_in_memory(calibration):
    """One for 200 training rows, as no group here is too small."""
    X, scores = rows(1200)
    rule = fitted(X, scores, [500, 700], partition=LINE, calibration=calibration)
    share = {"cross": 0.0, "split": 0.5, "held-out": held_out_share(1200, 0.1)}[calibration]
    assert rule.n_groups_ == (1200 - math.ceil(share * 1200)) // 200


# --- regressors fitted in place


class Memory(RegressorMixin, BaseEstimator):
    """An ordinary model that remembers the scores it was fitted to."""

    def predict(self, X):
        return np.zeros(len(X))


class MemoryOnDask(BaseEstimator):
    """A model that is fitted to Dask collections, as LightGBM's is."""

    def __init__(self, client=None):
        self.client = client

    def fit(self, X, values):
        self.scores_ = np.sort(values.compute())
        return self

    def to_local(self):
        local = Memory()
        local.scores_ = self.scores_
        return local


def test_a_model_fitted_in_place_is_not_given_its_fold(client_of_threads):
    X, scores = rows(1200)
    options = {"n_groups": 2, "cv": 4, "sample_size": 700, "random_state": 7}
    options |= {"partition": OrderedPartition(MemoryOnDask()), "client": client_of_threads}
    rule = fitted(X, scores, [500, 700], **options)
    numbers = draws(X, scores, 7)
    sample = numbers <= np.sort(numbers)[699]
    folds = fold_of(hash_rows(X, scores, 7), 4)
    for fold, model in enumerate(rule.partition_.regressor_.models_):
        assert_array_equal(model.scores_, np.sort(scores[sample & (folds != fold)]))
    with pytest.raises(ValueError, match="give a number"):  # of groups
        fitted(X, scores, [1200], **options | {"within": "constant", "n_groups": "auto"})


class Constant(RegressorMixin, BaseEstimator):
    def __init__(self, value=0.0):
        self.value = value

    def predict(self, X):
        return np.full(len(X), self.value)


@pytest.mark.parametrize("n_folds", [2, 5])
def test_rows_are_predicted_by_the_model_of_their_fold(n_folds):
    X, scores = rows(1200)
    models = [Constant(float(fold)) for fold in range(n_folds)]
    predicted, given_scores = predict_out_of_fold(X, scores, models, 7)
    assert_array_equal(predicted, fold_of(hash_rows(X, scores, 7), n_folds))
    assert given_scores is scores
    models[1] = Constant(np.nan)
    for fold_models in (models, models[1:2]):
        with pytest.raises(ValueError, match="the regressor must predict finite numbers, got"):
            predict_out_of_fold(X, scores, fold_models, 7)


@ignore_n_jobs
@pytest.mark.parametrize("quantile", [{}, {"alpha": 0.8}])
def test_trees_of_lightgbm_are_fitted_in_place(client, quantile):
    X, scores = rows(6000)
    regressor = DaskLGBMRegressor(**QUANTILE, client=client, **quantile)
    rule = DaskPLCP(OrderedPartition(regressor), sample_size=2000, client=client)
    rule.fit(*cut(X, scores, *[2000] * 3))
    assert rule.partition.regressor is regressor
    local = rule.to_local()
    assert local.partition.regressor.get_params()["alpha"] == quantile.get("alpha", 0.9)
    assert rule.group_sizes_.sum() == 6000
    assert_array_equal(rule.predict(da.from_array(X)).compute(), local.predict(X))
    # the exact rank of all rows is covered, each at the prediction of a model not fitted to it
    numbers = draws(X, scores, 0)
    predicted, models = local.partition_.predict_quantile(X), local.partition_.regressor_.models_
    for fold, model in enumerate(models):
        own = fold_of(hash_rows(X, scores, 0), 3) == fold
        own &= numbers <= np.sort(numbers)[1999]
        predicted[own] = model.predict(X[own])
    groups = local._group_of[np.searchsorted(local.partition_.cuts_, predicted)]
    assert (scores <= predicted + local.corrections_[groups]).sum() == conformal_rank(6000, 0.1)


# --- frames and categories


def test_frames_with_categories_stay_frames_on_the_workers(client):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"kind": rng.choice(["a", "b"], 2000), "x": rng.normal(size=2000)})
    frame["score"] = np.abs(rng.normal(size=2000)) * np.where(frame["kind"] == "a", 1, 5)
    lazy = dd.from_pandas(frame, npartitions=3)
    rule = DaskPLCP(sample_size=800, client=client).fit(lazy[["kind", "x"]], lazy["score"])
    thresholds = rule.predict(lazy[["kind", "x"]])
    assert thresholds.name == "threshold"
    found = thresholds.compute(scheduler=client)
    assert_array_equal(found, rule.to_local().predict(frame[["kind", "x"]]))
    means = found.groupby(frame["kind"]).mean()
    assert means["b"] > 3 * means["a"]
    groups = rule.groups(lazy[["kind", "x"]]).compute(scheduler=client)
    assert_array_equal(groups, rule.to_local().groups(frame[["kind", "x"]]))


def of_categories(*known):
    """Rows of one column of categories, with scores: parts with these categories each."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 2, 300)
    labels = np.array(["hi", "lo"])[kinds]
    scores = rng.exponential(size=300) * np.array([9, 1])[kinds]
    parts = zip(np.split(labels, 3), known, strict=True)
    X = of_parts(*(pd.DataFrame({"c": pd.Categorical(own, of)}) for own, of in parts))
    return X, of_parts(*map(pd.Series, np.split(scores, 3))), labels


@pytest.mark.parametrize(
    "regressor",
    [
        HistGradientBoostingRegressor(loss="quantile", max_iter=10),
        LGBMRegressor(**QUANTILE, n_jobs=1),
    ],
)
def test_categories_of_parts_are_unified(regressor):
    with configured({"dataframe.convert-string": False}):
        X, y, labels = of_categories(["hi", "lo"], ["lo", "hi"], ["lo", "mid", "hi"])
        rule = DaskPLCP(OrderedPartition(regressor), 2, within="constant").fit(X, y)
        found = pd.Series(rule.predict(X).compute().to_numpy()).groupby(labels).unique()
    assert [len(thresholds) for thresholds in found] == [1, 1]
    assert found["hi"][0] > 3 * found["lo"][0]


@ignore_n_jobs
def test_trees_fitted_in_place_need_the_same_categories_in_all_parts(client_of_threads):
    regressor = DaskLGBMRegressor(client=client_of_threads, **QUANTILE)
    rule = DaskPLCP(OrderedPartition(regressor), 2)
    error = r"part 1 of 3.*column 'c'.*categories of its own.*as_known"
    with configured({"dataframe.convert-string": False}):
        with pytest.raises(ValueError, match=error):
            rule.fit(*of_categories(["hi", "lo"], ["lo", "hi"], ["hi", "lo"])[:2])
        rule.fit(*of_categories(*[["hi", "lo"]] * 3)[:2])


# --- copies of rows


def test_copies_of_rows_cost_no_coverage(rng):
    """Copies share a fold: no tree is fitted to a row that is held out."""

    def draw(n):
        X = rng.normal(size=(n, 3))
        return X, rng.exponential(size=n) * (1 + (X[:, 0] > 0))

    (X, scores), (new, new_scores) = draw(1000), draw(20_000)
    coverage = []
    for times in (1, 4):
        tree = DecisionTreeRegressor(min_samples_leaf=2, random_state=0)
        rule = DaskPLCP(OrderedPartition(tree), n_groups=2)
        rule.fit(np.repeat(X, times, axis=0), np.repeat(scores, times))
        coverage.append(np.mean(new_scores <= rule.predict(new)))
    noise = 4 * np.sqrt(0.1 * 0.9 / 1000)  # of a coverage, four standard deviations
    assert abs(coverage[0] - coverage[1]) < noise


@pytest.mark.parametrize("shared", [0, 1, 40, 1000])
def test_a_split_is_called_exact_unless_parts_share_rows(rng, shared):
    """Rows that are sampled together are not exchangeable with new ones."""
    X, scores = rng.normal(size=(1000, 3)), rng.exponential(size=1000)
    X, scores = np.append(X, X[:shared], axis=0), np.append(scores, scores[:shared])
    options = {"partition": LINE, "n_groups": 1, "calibration": "split"}
    guarantee = fitted(X, scores, [1000, shared], **options).guarantee_
    assert (guarantee.kind == "exact") == (shared == 0)
    if shared:
        assert guarantee.kind == "approximate"
        assert len(scores) <= LEAST_DRAWS  # so that all rows are in the summary
        assert (
            f"About {200 * shared / (1000 + shared):.2g} % of the rows have copies"
            in guarantee.note
        )
    else:
        assert "No two parts hold the same row and score" in guarantee.note
        twice = np.repeat(X, 2, axis=0), np.repeat(scores, 2)  # copies in the same part
        assert fitted(*twice, [1000, 1000], **options).guarantee_.note == guarantee.note


def test_thresholds_without_calibration_rows_are_infinite():
    """Copies of one row in parts of their own are sampled together: none is left to calibrate."""
    ones = da.ones((40, 1), chunks=(1, 1))
    rule = DaskPLCP(LINE, 1, calibration="split", within="regressor")
    with pytest.warns(InfiniteThresholdWarning):
        rule.fit(ones, ones[:, 0])
    assert np.isposinf(rule.thresholds_).all()
    assert np.isposinf(rule.predict(ones).compute()).all()


# --- the fitted rule, and what is refused


def test_the_local_rule_is_small_and_ordinary():
    sizes = []
    for n in (1000, 10_000):
        X, scores = rows(n)
        local = fitted(X, scores, [n], partition=TREES, n_groups=4).to_local()
        sizes.append(len(pickle.dumps(local)))
        assert type(local) is PLCP
    assert sizes[1] < 2 * sizes[0]  # ten times the rows, but as many trees
    again = pickle.loads(pickle.dumps(local))
    assert_array_equal(again.predict(X[:5]), local.predict(X[:5]))
    assert clone(DaskPLCP(sample_size=7)).sample_size == 7


def test_too_few_rows_give_infinite_thresholds():
    X, scores = rows(5)
    with pytest.warns(InfiniteThresholdWarning, match="5"):
        rule = fitted(X, scores, [2, 3])
    assert np.isinf(rule.predict(da.from_array(X)).compute()).all()
    assert "every outcome" in rule.guarantee_.note


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"partition": SoftmaxPartition()}, "OrderedPartition or None, got SoftmaxPartition"),
        ({"calibration": "joint"}, "'cross', 'held-out', 'split', got 'joint'"),
        ({"sample_size": 1}, "sample_size must be a whole number, at least 2, got 1"),
        ({"random_state": None}, "random_state must be a whole number, at least 0, got None"),
        ({"alpha": 1.5}, "alpha must lie in .0, 1., got 1.5"),
        ({"cv": 1}, "cv must be a whole number, at least 2, got 1"),
        ({"n_groups": 0}, "n_groups must be a whole number, at least 1, got 0"),
        ({"within": "regressor "}, "within must be one of"),
        ({"calibration": "split", "calibration_size": 0.99}, "0.99 leaves none of 50 rows"),
    ],
)
def test_invalid_options_are_refused(options, error):
    X, scores = rows(50)
    with pytest.raises(ValueError, match=error):
        fitted(X, scores, [50], **options)


def test_missing_features_are_refused_with_their_part_unless_the_regressor_takes_them():
    X, scores = rows(300)
    X[250, 3] = np.nan
    with pytest.raises(ValueError, match=r"part 2 of 3(.|\n)*contains NaN(.|\n)*boosted regressor"):
        fitted(X, scores, [100] * 3, partition=LINE)
    fitted(X, scores, [100] * 3)


def test_rows_that_change_between_passes_are_refused(tmp_path):
    made = [delayed(fewer_later, pure=True)(number, tmp_path) for number in range(4)]
    frame = dd.from_delayed(made, meta=fewer_later(0, tmp_path / "none")[:0])
    rule = DaskPLCP(LINE, 2, sample_size=60)
    error = r"gave 120 rows at first and 116 later.*persist\(\) both, or give a seed"
    with pytest.raises(ValueError, match=error):
        rule.fit(frame[["g", "x"]], frame["y"])
    kept = frame.persist()
    assert rule.fit(kept[["g", "x"]], kept["y"]).group_sizes_.sum() == 116


def fewer_later(number, folder):
    """Part of a source that loses a row after the first pass."""
    X, y = rows_of_groups(30, seed=number)
    n = 29 if (folder / str(number)).exists() else 30
    folder.mkdir(exist_ok=True)
    (folder / str(number)).touch()
    return pd.DataFrame({"g": X[:n, 0], "x": X[:n, 1], "y": y[:n]})

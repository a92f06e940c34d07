"""scikit-learn's own checks on every public estimator, and the tools people use them with."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import plcp
import plcp.partitions.torch
import plcp.regressors
from plcp import (
    PLCP,
    RLCP,
    BatchGCP,
    BatchMVP,
    ClassifierPartition,
    ConditionalCalibration,
    ConformalClassifier,
    ConformalRegressor,
    GroupProbabilities,
    Groups,
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
from plcp.kernels import GaussianKernel
from plcp.partitions.torch import TorchPartition, TorchQuantile, mlp
from plcp.regressors import (
    ColorfulQuantile,
    CrossFitted,
    ScaledQuantile,
    SparseScale,
    StackedQuantile,
)


class Sign:
    """Two groups known beforehand; a function's address would be part of the tests' names."""

    def __call__(self, X):
        return np.asarray(X, dtype=float)[:, 0] > 0

    def __repr__(self):
        return "sign"


sign = Sign()


LINEAR = OrderedPartition(LinearQuantile(), n_groups=2)
# without a penalty a line meets all rows where columns are more: ties that rounding would break
LINE = LinearQuantile(l2=0.1)
SOFTMAX = SoftmaxPartition(n_groups=2, n_starts=1, max_rounds=3)
LOGISTIC = ClassifierPartition(LogisticRegression(), n_groups=2, n_rounds=1)
NEURAL = TorchPartition(mlp(4), n_groups=2, epochs=2)
NEURAL_SOFTMAX = TorchPartition(mlp(4), n_groups=2, structure="softmax", epochs=2)
TREE = TreePartition(n_groups=2, min_samples_leaf=5)
RULES = [
    SplitConformal(),
    Mondrian(sign),
    BatchGCP(sign),
    BatchMVP(sign),
    ConditionalCalibration(),
    ConditionalCalibration(groups=sign, randomized=True, random_state=0),
    PLCP(),
    PLCP(calibration="split"),
    PLCP(calibration="joint"),
    PLCP(LINEAR, n_groups=2, cv=2),
    PLCP(LINEAR, n_groups=2, calibration="split"),
    PLCP(OrderedPartition(LINE, n_groups=2), n_groups=2, calibration="joint"),
    PLCP(SOFTMAX, n_groups=2, cv=2),
    PLCP(SOFTMAX, n_groups=2, calibration="split", assignment="mean"),
    PLCP(SOFTMAX, n_groups=2, calibration="joint", assignment="sample"),
    PLCP(LOGISTIC, n_groups=2, cv=2),
    PLCP(NEURAL, n_groups=2, cv=2),
    PLCP(NEURAL_SOFTMAX, n_groups=2, cv=2),
    PLCP(OrderedPartition(TorchQuantile(mlp(4), epochs=2)), n_groups=2, calibration="split"),
    PLCP(TREE, n_groups=2),
    Rectified(),
    LocalCP(),
    LocalCP("box", 1.0),
    LocalCP(GaussianKernel(1.0), calibrated=False),
    RLCP(),
    PosteriorConformal(),
    PosteriorConformal(OrderedPartition(LINE, n_groups=2), precision=2),
    RLCP("box", effective_size=5),
    Rectified(LINE, adjustment="difference"),
    SplitConformal([0.1, 0.5]),
    PLCP(LINEAR, n_groups=2, cv=2, alpha=[0.3, 0.5]),
    PLCP(LINEAR, n_groups=2, cv=2, alpha=[0.3, 0.5], share_partition=True),
]
PARTITIONS = [
    LINEAR,
    OrderedPartition(n_groups=2),
    SOFTMAX,
    LOGISTIC,
    NEURAL,
    NEURAL_SOFTMAX,
    TreePartition(),
    TREE,
]
INDICES = [
    StackedQuantile(),
    ScaledQuantile(),
    SparseScale(),
    CrossFitted(LinearQuantile(), cv=2, n_repeats=1),
    ColorfulQuantile(),
    ColorfulQuantile(LinearQuantile(), cv=2),
    TorchQuantile(mlp(4), epochs=2),
]
CONFORMAL = [
    ConformalRegressor(LinearRegression(), threshold=SplitConformal()),
    ConformalRegressor(LinearRegression()),
    ConformalRegressor(LinearRegression(), threshold=SplitConformal(), alpha=[0.1, 0.5]),
    ConformalClassifier(LogisticRegression(), threshold=SplitConformal()),
]
GROUPS = [Groups(sign), Groups([sign]), GroupProbabilities()]
EVERY = [*RULES, *PARTITIONS, *INDICES, *CONFORMAL, *GROUPS]
TESTED_ELSEWHERE = {"KernelShifts", "LinearQuantile", "MeanScalePair", "QuantilePair"}

WEIGHTS = "check_sample_weight_equivalence_on_dense_data"
FOLDS_OF_ALL = "the check lists folds of all rows, of which one half does not learn"
ROWS_NEARBY = "a bandwidth goes by how many rows lie near a point: one of weight 2 is one row"
ROWS_OF_A_LEAF = "a leaf of a tree needs 40 rows, whatever they weigh: as in scikit-learn's own"
BATCHES = "stochastic descent steps by batches of rows: one of weight 2 is in one, two are in two"


RANDOM_ROWS = "rows are divided at random: a row twice and a row of weight 2 fall differently"
DRAWN_GROUPS = "calibration rows draw a group each: a row of weight 2 draws once"


def known(estimator):
    """Checks that cannot hold, each with the reason why."""
    if isinstance(estimator, PLCP) and estimator.calibration == "split":
        return {WEIGHTS: FOLDS_OF_ALL}
    if isinstance(estimator, PLCP) and estimator.assignment == "sample":
        return {WEIGHTS: DRAWN_GROUPS}
    if isinstance(estimator, LocalCP | RLCP) and isinstance(estimator.kernel, str):
        if estimator.bandwidth != "auto":
            return {WEIGHTS: RANDOM_ROWS}
        few = estimator.effective_size == "auto"  # of so few rows, all are near each other
        return {} if few else {WEIGHTS: ROWS_NEARBY}
    if isinstance(estimator, Rectified) and estimator.regressor is not None:
        return {WEIGHTS: RANDOM_ROWS}
    if isinstance(estimator, ConformalRegressor | ConformalClassifier):
        return {} if isinstance(estimator.estimator, FrozenEstimator) else {WEIGHTS: RANDOM_ROWS}
    if isinstance(estimator, ScaledQuantile):
        return {WEIGHTS: ROWS_OF_A_LEAF}
    ordered = isinstance(estimator, PLCP) and getattr(estimator.partition, "structure", "")
    neural = ordered == "ordered" or isinstance(estimator, TorchQuantile)
    return {WEIGHTS: BATCHES} if neural else {}


# The checks fit a handful of rows and pure noise: infinite thresholds and collapse are then true.
@pytest.mark.filterwarnings("ignore::plcp.exceptions.InfiniteThresholdWarning")
@pytest.mark.filterwarnings("ignore::plcp.exceptions.SmallGroupWarning")
@pytest.mark.filterwarnings("ignore::plcp.exceptions.CollapseWarning")
@parametrize_with_checks(EVERY, expected_failed_checks=known)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_every_public_estimator_is_checked():
    modules = (plcp, plcp.regressors, plcp.partitions.torch)
    public = [getattr(module, name) for module in modules for name in module.__all__]
    estimators = {
        cls.__name__
        for cls in public
        if isinstance(cls, type)
        and issubclass(cls, BaseEstimator)
        and not issubclass(cls, plcp.scores.Score)
    }
    assert {type(estimator).__name__ for estimator in EVERY} == estimators - TESTED_ELSEWHERE


def draw(rng, n=300):
    X = rng.uniform(-1, 1, size=(n, 3))
    return X, (2 + X[:, 0]) * rng.exponential(size=n)


@pytest.mark.parametrize(
    "rule",
    [PLCP(random_state=0), PLCP(LINEAR, 2, random_state=0), SplitConformal(), Mondrian(sign)],
)
def test_pickle_and_clone(rng, rule):
    X, scores = draw(rng)
    fitted = clone(rule).fit(X, scores)
    again = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(again.predict(X), fitted.predict(X))
    assert_array_equal(clone(fitted).fit(X, scores).predict(X), fitted.predict(X))


def test_pipeline(rng):
    X, scores = draw(rng)
    model = make_pipeline(StandardScaler(), PLCP(LINEAR, 2, random_state=0)).fit(X, scores)
    assert_array_equal(model[-1].predict(model[0].transform(X)), model.predict(X))


def test_grid_search_by_pinball_loss(rng):
    """Two kinds of input, twenty times apart: constant thresholds need two groups."""
    X = rng.uniform(-1, 1, size=(400, 1))
    scores = np.where(X[:, 0] > 0, 20.0, 1.0) * rng.exponential(size=400)
    rule = PLCP(within="constant", random_state=0)
    search = GridSearchCV(rule, {"n_groups": [1, 2]}, cv=2).fit(X, scores)
    assert search.best_params_["n_groups"] == 2
    losses = cross_val_score(clone(rule).set_params(n_groups=1), X, scores, cv=2)
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(losses.mean())
    assert (losses < 0).all()


def test_parameters_reach_the_index(rng):
    X, scores = draw(rng)
    rule = PLCP(OrderedPartition(LinearQuantile()), 2, random_state=0)
    plain = rule.fit(X, scores).predict(X)
    rule.set_params(partition__regressor__l2=100.0, partition__cuts="optimal")
    flat = rule.fit(X, scores).predict(X)
    assert np.ptp(flat) < np.ptp(plain)
    grid = {"partition__regressor__l2": [0.0, 0.1]}
    assert len(GridSearchCV(rule, grid, cv=2).fit(X, scores).cv_results_["params"]) == 2

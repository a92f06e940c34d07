"""Every public estimator with small settings, rows to fit it on, and a way to ask it."""

from typing import Any, NamedTuple

import numpy as np
from lightgbm import LGBMRegressor
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from torch import nn

from plcp import (
    PLCP,
    RLCP,
    BatchGCP,
    BatchMVP,
    ClassifierPartition,
    ConditionalCalibration,
    ConformalClassifier,
    ConformalRegressor,
    CumulativeProbability,
    GroupProbabilities,
    Groups,
    KernelShifts,
    LinearQuantile,
    LocalCP,
    MeanScalePair,
    Mondrian,
    OrderedPartition,
    PosteriorConformal,
    QuantilePair,
    Rectified,
    SignedResidual,
    SoftmaxPartition,
    SplitConformal,
    TreePartition,
)
from plcp.partitions.torch import TorchPartition, TorchQuantile
from plcp.regressors import (
    ColorfulQuantile,
    CrossFitted,
    ScaledQuantile,
    SparseScale,
    StackedQuantile,
)

N_ROWS = 240
METHODS = ("predict_proba", "predict", "transform")


class Sign:
    """Two groups known beforehand, in a form that travels to other processes."""

    def __call__(self, X):
        return np.asarray(X, dtype=float)[:, 0] > 0

    def __repr__(self):
        return "sign"


class Case(NamedTuple):
    """An estimator, and what its y is: a score, or a class."""

    estimator: Any
    classes: bool = False

    def fit(self, rows, sample_weight=None, **params):
        """Fitted clone."""
        X, scores, labels = rows
        estimator = clone(self.estimator).set_params(**params)
        weights = () if sample_weight is None else (sample_weight,)
        return estimator.fit(X, labels if self.classes else scores, *weights)


def forgetful(width):
    """A network whose answers tell whether it is in training."""
    return nn.Sequential(nn.LazyLinear(width), nn.ReLU(), nn.BatchNorm1d(width), nn.Dropout(0.5))


def make_rows(seed=0, n=N_ROWS):
    """Features, scores whose size they tell, and classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    scores = np.exp(X[:, 0] / 2) * rng.exponential(size=n)
    return X, scores, rng.integers(0, 3, n)


def answer(fitted, X):
    """All that a fitted estimator says of rows, as one array."""
    if hasattr(fitted, "predict_set"):
        return fitted.predict_set(X).to_numpy()
    method = next(name for name in METHODS if hasattr(fitted, name))
    return np.asarray(getattr(fitted, method)(X))


MIXED = StackedQuantile(n_repeats=1, random_state=0)
SOFTMAX = SoftmaxPartition(n_groups=2, n_starts=1, max_rounds=3, random_state=0)
LINEAR = OrderedPartition(LinearQuantile(), n_groups=2)
TREE = TreePartition(n_groups=2, min_samples_leaf=20, random_state=0)
LIGHT = LGBMRegressor(
    objective="quantile", alpha=0.9, n_estimators=20, num_leaves=4, n_jobs=1, verbose=-1
)
NEURAL = TorchPartition(forgetful(4), n_groups=2, epochs=2, random_state=0)

RULES = {
    "split": SplitConformal(),
    "mondrian": Mondrian(Sign()),
    "batch gcp": BatchGCP(Sign()),
    "batch mvp": BatchMVP(Sign()),
    "conditional": ConditionalCalibration(),
    "conditional, drawn": ConditionalCalibration(groups=Sign(), randomized=True, random_state=0),
    "conditional, kernel": ConditionalCalibration(kernel=KernelShifts(), random_state=0),
    "plcp": PLCP(OrderedPartition(MIXED), random_state=0),
    "plcp, split": PLCP(OrderedPartition(MIXED), calibration="split", random_state=0),
    "plcp, joint": PLCP(LINEAR, 2, calibration="joint", random_state=0),
    "plcp, softmax": PLCP(SOFTMAX, 2, calibration="joint", assignment="sample", random_state=0),
    "plcp, folds of softmax": PLCP(
        SOFTMAX, 2, calibration="cross", assignment="mean", random_state=0
    ),
    "plcp, classifier": PLCP(
        ClassifierPartition(LogisticRegression(), 2, n_rounds=1),
        2,
        calibration="cross",
        random_state=0,
    ),
    "plcp, network": PLCP(NEURAL, 2, calibration="cross", random_state=0),
    "plcp, tree": PLCP(TREE, 2, calibration="cross", random_state=0),
    "plcp, lightgbm": PLCP(OrderedPartition(LIGHT), 2, random_state=0),
    "plcp, levels": PLCP(LINEAR, 2, alpha=[0.1, 0.3], random_state=0),
    "plcp, held out": PLCP(LINEAR, 2, calibration="held-out", random_state=0),
    "plcp, shared levels": PLCP(
        LINEAR, 2, alpha=[0.1, 0.3], calibration="cross", share_partition=True, random_state=0
    ),
    "rectified": Rectified(MIXED, random_state=0),
    "local": LocalCP(random_state=0),
    "rlcp": RLCP(random_state=0),
    "posterior": PosteriorConformal(SOFTMAX, random_state=0),
}
PARTITIONS = {
    "ordered": OrderedPartition(MIXED, n_groups=2, random_state=0),
    "softmax": SOFTMAX,
    "classifier": ClassifierPartition(n_groups=2, n_rounds=1, random_state=0),
    "tree": TREE,
    "network": NEURAL,
    "network, softmax": TorchPartition(
        forgetful(4), n_groups=2, structure="softmax", epochs=2, random_state=0
    ),
}
INDICES = {
    "mixed": MIXED,
    "scaled": ScaledQuantile(random_state=0),
    "sparse": SparseScale(),
    "line": LinearQuantile(),
    "cross-fitted trees": CrossFitted(LIGHT, n_repeats=1, random_state=0),
    "colorful": ColorfulQuantile(LinearQuantile(), random_state=0),
    "network quantile": TorchQuantile(forgetful(4), epochs=2, random_state=0),
}
LINES = QuantilePair(LinearQuantile(0.05), LinearQuantile(0.95))
OTHERS = {
    "groups": Groups([Sign()]),
    "band": LINES,
    "mean and scale": MeanScalePair(LinearRegression(), LinearRegression(), cv=3),
    "intervals": ConformalRegressor(
        LinearRegression(), threshold=PLCP(OrderedPartition(MIXED)), random_state=0
    ),
    "intervals, two tails": ConformalRegressor(
        LinearRegression(), SignedResidual(), PLCP(LINEAR, 2), random_state=0
    ),
    "intervals, embedded": ConformalRegressor(
        LinearRegression(), threshold=PLCP(LINEAR, 2), features=nn.Dropout(0.5), random_state=0
    ),
}
WITH_CLASSES = {
    "group probabilities": GroupProbabilities(),
    "labels": ConformalClassifier(
        LogisticRegression(),
        CumulativeProbability(random_state=0),
        PLCP(TREE, 2, calibration="cross"),
        random_state=0,
    ),
}
CASES = {name: Case(each) for name, each in (RULES | PARTITIONS | INDICES | OTHERS).items()}
CASES |= {name: Case(each, classes=True) for name, each in WITH_CLASSES.items()}
NEVER_ASKED = {"KernelShifts"}  # an option, not an estimator of its own

"""A fitted model of every public class, and all that it predicts."""

import inspect
import warnings

import numpy as np
import pandas as pd
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

import plcp
import plcp.kernels
import plcp.partitions.torch
import plcp.regressors
from plcp.datasets import make_toy
from plcp.kernels import BoxKernel, GaussianKernel
from plcp.partitions.torch import TorchPartition, TorchQuantile
from plcp.regressors import (
    ColorfulQuantile,
    CrossFitted,
    LinearQuantile,
    ScaledQuantile,
    SparseScale,
    StackedQuantile,
)

HOMES = (
    plcp,
    plcp.conformal,
    plcp.regressors,
    plcp.kernels,
    plcp.partitions,
    plcp.partitions.torch,
    plcp.scores,
    plcp.groups,
    plcp.thresholds,
)
# neither learned nor configured: results and contracts
NOT_SAVED = {
    "Certificate",
    "Intervals",
    "LabelSets",
    "NestedSets",
    "Partition",
    "Score",
    "ThresholdRule",
}
N = 160
task = make_toy(N, random_state=0)
rng = np.random.default_rng(0)
frame = pd.DataFrame(
    {
        "x": np.where(rng.uniform(size=N) < 0.1, np.nan, task.X[:, 0]),
        "sex": rng.choice(["f", "m"], N),
        "day": pd.date_range("2020-01-01", periods=N),
        "town": pd.Categorical(rng.choice([f"town {i}" for i in range(30)], N)),
    }
)
plane = np.column_stack([task.X[:, 0], rng.normal(size=N), rng.integers(0, 3, N)])
labels = np.where(task.X[:, 0] + rng.normal(size=N) > 0, "yes", "no")
probabilities = rng.dirichlet([1.0, 1.0, 1.0], N)


def public_classes():
    """Every class under a public name, by that name, but for those of no use in a file."""
    found = {name: getattr(home, name) for home in HOMES for name in home.__all__}
    return {
        name: thing
        for name, thing in found.items()
        if inspect.isclass(thing) and name not in NOT_SAVED and not issubclass(thing, Warning)
    }


def quietly(make):
    """Call a function whose rows may be too few for what it warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make()


def fitted(model, X=plane, y=task.scores, **options):
    """Fit without warnings."""
    return quietly(lambda: model.fit(X, y, **options))


def over_zero(X):
    """A group that is named by a function which every program can import."""
    return np.asarray(X)[:, 0] > 0


NETWORK = {"epochs": 2, "random_state": 0}
# by name of the class: fitted models, each with rows that it can predict
FITTED = {
    "PLCP": [
        lambda: (fitted(plcp.PLCP(random_state=0)), plane),
        lambda: (fitted(plcp.PLCP(random_state=0, cv=2), frame), frame),
        lambda: (fitted(plcp.PLCP(alpha=[0.1, 0.4], calibration="split", random_state=0)), plane),
        lambda: (
            fitted(
                plcp.PLCP(
                    plcp.SoftmaxPartition(),
                    3,
                    calibration="joint",
                    assignment="sample",
                    random_state=np.random.RandomState(3),
                )
            ),
            plane,
        ),
        lambda: (fitted(plcp.PLCP(plcp.TreePartition(), 2, random_state=0), frame), frame),
        lambda: (fitted(plcp.PLCP(alpha=1e-3)), plane),  # too few rows: one infinite threshold
    ],
    "RLCP": [lambda: (fitted(plcp.RLCP(random_state=0)), plane)],
    "LocalCP": [lambda: (fitted(plcp.LocalCP(random_state=0)), plane)],
    "BatchGCP": [
        lambda: (fitted(plcp.BatchGCP(["sex"]), frame), frame),
        lambda: (fitted(plcp.BatchGCP({"third": 2})), plane),
    ],
    "BatchMVP": [lambda: (fitted(plcp.BatchMVP(["sex"]), frame), frame)],
    "Mondrian": [
        lambda: (fitted(plcp.Mondrian("sex"), frame), frame),
        lambda: (fitted(plcp.Mondrian(2)), plane),
    ],
    "ConditionalCalibration": [
        lambda: (fitted(plcp.ConditionalCalibration(random_state=0)), plane[:9]),
        lambda: (fitted(plcp.ConditionalCalibration(groups="sex"), frame), frame[:9]),
        lambda: (
            fitted(plcp.ConditionalCalibration(kernel=plcp.KernelShifts(), random_state=0)),
            plane[:9],
        ),
    ],
    "PosteriorConformal": [lambda: (fitted(plcp.PosteriorConformal(random_state=0)), plane)],
    "Rectified": [lambda: (fitted(plcp.Rectified(random_state=0)), plane)],
    "SplitConformal": [lambda: (fitted(plcp.SplitConformal()), plane)],
    "ClassifierPartition": [
        lambda: (fitted(plcp.ClassifierPartition(n_groups=2, random_state=0)), plane)
    ],
    "OrderedPartition": [
        lambda: (fitted(plcp.OrderedPartition(n_groups=2, random_state=0), frame), frame)
    ],
    "SoftmaxPartition": [
        lambda: (fitted(plcp.SoftmaxPartition(n_groups=2, random_state=0)), plane)
    ],
    "TreePartition": [lambda: (fitted(plcp.TreePartition(n_groups=2)), plane)],
    "TorchPartition": [
        lambda: (fitted(TorchPartition(n_groups=2, **NETWORK)), plane),
        lambda: (fitted(TorchPartition(n_groups=2, structure="softmax", **NETWORK)), plane),
    ],
    "TorchQuantile": [lambda: (fitted(TorchQuantile(**NETWORK)), plane)],
    "ColorfulQuantile": [lambda: (fitted(ColorfulQuantile(random_state=0)), plane)],
    "CrossFitted": [
        lambda: (fitted(CrossFitted(LinearQuantile(), random_state=0)), plane),
        lambda: (fitted(CrossFitted(DummyRegressor(), n_repeats=1, random_state=0)), plane),
    ],
    "LinearQuantile": [lambda: (fitted(LinearQuantile()), plane)],
    "StackedQuantile": [lambda: (fitted(StackedQuantile(random_state=0), frame), frame)],
    "ScaledQuantile": [
        lambda: (
            fitted(ScaledQuantile(categorical_features=[False, False, True], random_state=0)),
            plane,
        )
    ],
    "SparseScale": [
        lambda: (fitted(SparseScale(categorical_features=[False, False, True])), plane)
    ],
    "GroupProbabilities": [
        lambda: (fitted(plcp.GroupProbabilities(), y=plane[:, 2].astype(int)), plane)
    ],
    "Groups": [
        lambda: (fitted(plcp.Groups(["sex", "town"]), frame), frame),
        lambda: (fitted(plcp.Groups(over_zero)), plane),
    ],
    "KernelShifts": [lambda: (plcp.KernelShifts(bandwidth=0.5), None)],
    "BoxKernel": [lambda: (BoxKernel(0.5), None)],
    "GaussianKernel": [lambda: (GaussianKernel(0.5), None)],
    "QuantilePair": [
        lambda: (
            fitted(
                plcp.QuantilePair(
                    HistGradientBoostingRegressor(loss="quantile", quantile=0.1, max_iter=5),
                    LinearRegression(),
                )
            ),
            plane,
        )
    ],
    "MeanScalePair": [
        lambda: (fitted(plcp.MeanScalePair(LinearRegression(), LinearRegression())), plane)
    ],
    "ConformalRegressor": [
        lambda: (
            fitted(plcp.ConformalRegressor(LinearRegression(), random_state=0), y=task.y),
            plane,
        ),
        lambda: (
            fitted(
                plcp.ConformalRegressor(
                    HistGradientBoostingRegressor(max_iter=5),
                    plcp.SignedResidual(),
                    plcp.SplitConformal(),
                    features=[0, 1],
                    random_state=0,
                ),
                y=task.y,
            ),
            plane,
        ),
    ],
    "ConformalClassifier": [
        lambda: (
            fitted(
                plcp.ConformalClassifier(
                    LogisticRegression(),
                    plcp.CumulativeProbability(temperature="fit"),
                    random_state=0,
                ),
                y=labels,
            ),
            plane,
        ),
        lambda: (
            fitted(
                plcp.ConformalClassifier(
                    HistGradientBoostingClassifier(max_iter=5),
                    None,
                    plcp.Mondrian(2),
                    random_state=0,
                ),
                y=labels,
            ),
            plane,
        ),
    ],
    "AbsoluteResidual": [lambda: (plcp.AbsoluteResidual(), task.y)],
    "SignedResidual": [lambda: (plcp.SignedResidual(side="upper"), task.y)],
    "NormalizedResidual": [lambda: (plcp.NormalizedResidual(min_scale=0.1), None)],
    "QuantileResidual": [lambda: (plcp.QuantileResidual(symmetric=False), None)],
    "LabelProbability": [lambda: (plcp.LabelProbability(never_empty=True), None)],
    "CumulativeProbability": [
        lambda: (
            plcp.CumulativeProbability(temperature="fit").fit(probabilities, np.arange(N) % 3),
            None,
        )
    ],
}
METHODS = ("predict", "predict_proba", "predict_quantile", "groups", "transform", "memberships")


def outputs(model, X):
    """All that a model predicts for rows, as plain arrays."""
    if X is None:
        return {}
    if isinstance(model, plcp.scores.Score):
        return {"scores": model(X, X + 1.0)}
    found = {}
    for name in METHODS:
        if callable(getattr(model, name, None)):
            try:
                found[name] = quietly(lambda name=name: np.asarray(getattr(model, name)(X)))
            except ValueError as refused:
                found[name] = np.array(str(refused))
    if hasattr(model, "predict_set"):
        found["sets"] = np.asarray(quietly(lambda: model.predict_set(X)))
    return found

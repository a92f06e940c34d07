"""A fitted model of every public class, pipelines of scikit-learn, and all that they predict."""

import inspect
import warnings

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_selection import SelectKBest, chi2, f_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, TweedieRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, OneHotEncoder, StandardScaler

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
NOT_SAVED = (
    *("Certificate", "Guarantee", "Guarantees", "Intervals", "LabelSets", "NestedSets"),
    *("MethodComparison", "Partition", "Score", "ThresholdRule"),
)
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


def on(model, X=plane, y=task.scores, rows=None):
    """A function that fits a model and returns it with rows that it can predict."""
    return lambda: (fitted(clone(model), X, y), X[:rows])


def as_it_is(model, X=None):
    """A function that returns what needs no fit."""
    return lambda: (model, X)


NETWORK = {"epochs": 2, "random_state": 0}
SEED = {"random_state": 0}
CODES = [False, False, True]
DRAWN = {"calibration": "joint", "assignment": "sample"}
FEW = HistGradientBoostingRegressor(max_iter=5)
LOW = HistGradientBoostingRegressor(loss="quantile", quantile=0.1, max_iter=5)
# by name of the class
FITTED = {
    "PLCP": [
        on(plcp.PLCP(**SEED)),
        on(plcp.PLCP(cv=3, **SEED), frame),
        on(plcp.PLCP(alpha=[0.1, 0.4], calibration="split", **SEED)),
        on(plcp.PLCP(plcp.SoftmaxPartition(), 3, random_state=np.random.RandomState(3), **DRAWN)),
        on(plcp.PLCP(plcp.TreePartition(), 2, **SEED), frame),
        on(plcp.PLCP(alpha=1e-3)),  # too few rows: one infinite threshold
    ],
    "RLCP": [on(plcp.RLCP(**SEED))],
    "LocalCP": [on(plcp.LocalCP(**SEED))],
    "BatchGCP": [on(plcp.BatchGCP(["sex"]), frame), on(plcp.BatchGCP({"third": 2}))],
    "BatchMVP": [on(plcp.BatchMVP(["sex"]), frame)],
    "Mondrian": [
        on(plcp.Mondrian("sex"), frame),
        on(plcp.Mondrian(2)),
        on(plcp.Mondrian("sex", randomize=True, **SEED), frame),
    ],
    "ConditionalCalibration": [
        on(plcp.ConditionalCalibration(**SEED), rows=9),
        on(plcp.ConditionalCalibration(groups="sex"), frame, rows=9),
        on(plcp.ConditionalCalibration(kernel=plcp.KernelShifts(), **SEED), rows=9),
    ],
    "PosteriorConformal": [on(plcp.PosteriorConformal(**SEED))],
    "Rectified": [on(plcp.Rectified(**SEED))],
    "SplitConformal": [
        on(plcp.SplitConformal()),
        on(plcp.SplitConformal(confidence=0.9)),
        on(plcp.SplitConformal([0.1, 0.3], randomize=True, **SEED)),
    ],
    "ClassifierPartition": [on(plcp.ClassifierPartition(n_groups=2, **SEED))],
    "OrderedPartition": [on(plcp.OrderedPartition(n_groups=2, **SEED), frame)],
    "SoftmaxPartition": [on(plcp.SoftmaxPartition(n_groups=2, **SEED))],
    "TreePartition": [on(plcp.TreePartition(n_groups=2))],
    "TorchPartition": [
        on(TorchPartition(n_groups=2, **NETWORK)),
        on(TorchPartition(n_groups=2, structure="softmax", **NETWORK)),
    ],
    "TorchQuantile": [on(TorchQuantile(**NETWORK))],
    "ColorfulQuantile": [on(ColorfulQuantile(**SEED))],
    "CrossFitted": [
        on(CrossFitted(LinearQuantile(), **SEED)),
        on(CrossFitted(DummyRegressor(), n_repeats=1, **SEED)),
    ],
    "LinearQuantile": [on(LinearQuantile())],
    "StackedQuantile": [on(StackedQuantile(**SEED), frame)],
    "ScaledQuantile": [on(ScaledQuantile(categorical_features=CODES, **SEED))],
    "SparseScale": [on(SparseScale(categorical_features=CODES))],
    "GroupProbabilities": [on(plcp.GroupProbabilities(), y=plane[:, 2].astype(int))],
    "Groups": [on(plcp.Groups(["sex", "town"]), frame), on(plcp.Groups(over_zero))],
    "KernelShifts": [as_it_is(plcp.KernelShifts(bandwidth=0.5))],
    "BoxKernel": [as_it_is(BoxKernel(0.5))],
    "GaussianKernel": [as_it_is(GaussianKernel(0.5))],
    "QuantilePair": [on(plcp.QuantilePair(LOW, LinearRegression()))],
    "MeanScalePair": [on(plcp.MeanScalePair(LinearRegression(), LinearRegression()))],
    "ConformalRegressor": [
        on(plcp.ConformalRegressor(LinearRegression(), **SEED), y=task.y),
        on(
            plcp.ConformalRegressor(
                FEW, plcp.SignedResidual(), plcp.SplitConformal(), features=[0, 1], **SEED
            ),
            y=task.y,
        ),
    ],
    "ConformalClassifier": [
        on(
            plcp.ConformalClassifier(
                LogisticRegression(), plcp.CumulativeProbability(temperature="fit"), **SEED
            ),
            y=labels,
        ),
        on(
            plcp.ConformalClassifier(
                HistGradientBoostingClassifier(max_iter=5), None, plcp.Mondrian(2), **SEED
            ),
            y=labels,
        ),
        on(
            plcp.ConformalClassifier(
                LogisticRegression(), alpha=[0.1, 0.3], label_conditional=True, **SEED
            ),
            y=np.where(np.arange(N) < 5, "rare", labels),  # without a rule of its own
        ),
    ],
    "AbsoluteResidual": [as_it_is(plcp.AbsoluteResidual(), task.y)],
    "SignedResidual": [as_it_is(plcp.SignedResidual(side="upper"), task.y)],
    "NormalizedResidual": [as_it_is(plcp.NormalizedResidual(min_scale=0.1))],
    "QuantileResidual": [as_it_is(plcp.QuantileResidual(symmetric=False))],
    "LabelProbability": [as_it_is(plcp.LabelProbability(never_empty=True))],
    "CumulativeProbability": [
        as_it_is(plcp.CumulativeProbability(temperature="fit").fit(probabilities, np.arange(N) % 3))
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


people = pd.DataFrame(
    {"age": rng.integers(18, 80, 300), "school": rng.choice(["none", "some"], 300)}
)
people["hours"] = np.where(rng.random(300) < 0.1, np.nan, rng.normal(40, 5, 300))
wages = people["age"] / 10 + rng.exponential(size=300)
classes = np.where(wages > wages.median(), "more", "less")
NET = {"hidden_layer_sizes": (4,), "max_iter": 30, "early_stopping": True, "random_state": 0}


def after_columns(*steps):
    """Return a pipeline that fills gaps and encodes text first."""
    filled = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    kinds = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=5)
    columns = make_column_transformer((filled, ["age", "hours"]), (kinds, ["school"]))
    return make_pipeline(columns, *steps)


lines = [("flat", Ridge(100.0)), ("steep", Ridge())]
vote = VotingClassifier([("line", LogisticRegression()), ("bayes", GaussianNB())], voting="soft")
selected = make_column_transformer(
    (SimpleImputer(), make_column_selector(dtype_include=np.number)),
    (OneHotEncoder(), make_column_selector(dtype_exclude=np.number, pattern="sch")),
)
PIPELINES = {
    "line": after_columns(Ridge()),
    "selected columns": make_pipeline(selected, Ridge()),
    "network": after_columns(MLPRegressor(**NET)),
    "bins": after_columns(KBinsDiscretizer(3, strategy="uniform"), Ridge()),
    "chosen columns": after_columns(SelectKBest(f_regression, k=2), Ridge()),
    "link": after_columns(TweedieRegressor(power=1.5)),
    "vote": after_columns(VotingRegressor(lines)),
    "stack": after_columns(
        StackingRegressor(lines, HistGradientBoostingRegressor(max_iter=5), cv=2)
    ),
    "sigmoid": after_columns(CalibratedClassifierCV(GaussianNB(), cv=2)),
    "isotonic": after_columns(CalibratedClassifierCV(GaussianNB(), method="isotonic", cv=2)),
    "network of labels": after_columns(MLPClassifier(solver="sgd", **NET)),
    "vote on labels": after_columns(MinMaxScaler(), SelectKBest(chi2, k=2), vote),
}

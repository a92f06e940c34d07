"""Models to fuzz: small fitted ones of every type that a file may hold, each with rows to predict.

They are those of the tests of storage, and here what these lack: `check_complete` compares the
names in all files with the lists of `plcp.storage`. `seeds` are the few that damage begins with.
"""

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.base import is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    BayesianRidge,
    ElasticNet,
    ElasticNetCV,
    GammaRegressor,
    HuberRegressor,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
    RidgeClassifier,
    RidgeCV,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OrdinalEncoder,
    RobustScaler,
)
from sklearn.svm import LinearSVC, LinearSVR
from torch import nn

import plcp
from plcp.partitions.torch import TorchQuantile
from plcp.regressors.encoding import without_rare
from plcp.storage.allowlist import HOME_OF
from plcp.storage.archive import read_parts
from plcp.storage.files import CODECS, model_bytes
from plcp.storage.networks import LAYERS
from plcp.tables import Applier, TabularModel, calibrate, choose_roles

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "storage"))

import saved_examples
import test_trees
from make_stored_files import FILES

ROWS = 9
# these need `trusted=`, so that a file of unknown origin cannot hold them
TRUSTED_CODECS = {"extension", "partial"}
METHODS = (
    *("predict", "predict_proba", "decision_function", "predict_quantile", "predict_set"),
    *("transform", "groups", "memberships"),
)

rng = np.random.default_rng(0)
numbers = rng.normal(size=(40, 3))
positive = rng.exponential(size=40)
classes = rng.integers(0, 3, 40)
text = rng.choice(["a", "b", "c"], size=(40, 2)).astype(object)


@dataclass(frozen=True)
class Example:
    """The bytes of a model's file, and rows that the model can predict for."""

    name: str
    content: bytes
    X: Any


def examples(*, small: bool = False) -> list[Example]:
    """Fit all models; ``small`` leaves out those that take long to fit, or are large."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        groups = [_own(), _pipelines()]
        groups += [] if small else [_of_plcp(), _boosters()]
        return [
            Example(name, model_bytes(model), X if X is None else X[:ROWS])
            for models in groups
            for name, model, X in models
        ]


def predict(model: Any, X: Any) -> int:
    """Call all methods that give predictions for rows; return how many did not raise.

    A model with altered values may raise any exception but that of too little memory.
    """
    predictions = 0
    for call in _calls(model, X):
        try:
            call()
            predictions += 1
        except Exception as error:
            if isinstance(error, MemoryError) or "allocate memory" in str(error):  # of torch
                raise MemoryError(str(error)) from error
    return predictions


def _calls(model: Any, X: Any) -> Iterator[Callable[[], Any]]:
    if isinstance(model, TabularModel):
        yield lambda: Applier(model).apply(X)
    elif isinstance(model, nn.Module):
        yield lambda: model(torch.tensor(X))
    elif isinstance(model, plcp.scores.Score):
        shares = X / X.sum(axis=1, keepdims=True)
        for prediction in (X[:, 0], X[:, :2], shares):
            yield lambda given=prediction: model(given, X[:, 0])
            yield lambda given=prediction: model(given, np.arange(len(X)) % 2)
            for tails in (1, 2):
                t = np.ones((len(X), tails))
                yield lambda given=prediction, t=t: model.invert(given, t)
    else:
        for name in METHODS:
            if callable(method := getattr(model, name, None)):
                yield lambda method=method: method(X)


def check_complete(given: list[Example]) -> None:
    """Refuse examples that lack a class, function, codec or layer that files may hold."""
    names, codecs = set(), set()
    for example in given:
        for entry in json.loads(read_parts(example.content)["model.json"]):
            ((codec, content),) = entry.items()
            codecs.add(codec)
            name = content[0] if isinstance(content, list) and content else content
            names |= {name} if isinstance(name, str) else set()
    lacking = {*HOME_OF, *(f".{name}" for name in LAYERS)} - names
    lacking |= {codec.name for codec in CODECS} - codecs - TRUSTED_CODECS
    if lacking:
        raise AssertionError(f"no example holds {', '.join(sorted(lacking))}")


def _of_plcp() -> Iterator[tuple[str, Any, Any]]:
    for name, makes in saved_examples.FITTED.items():
        for i, make in enumerate(makes):
            model, X = make()
            rows = saved_examples.probabilities if X is None or X.ndim == 1 else X
            yield f"{name} {i}", model, rows


def _pipelines() -> Iterator[tuple[str, Any, Any]]:
    table = saved_examples.people
    for name, model in saved_examples.PIPELINES.items():
        y = saved_examples.classes if is_classifier(model) else saved_examples.wages
        yield name, model.fit(table, y), table


def _boosters() -> Iterator[tuple[str, Any, Any]]:
    for name, make in test_trees.MODELS.items():
        yield name, make(), test_trees.frame if "frame" in name else test_trees.X


def _own() -> Iterator[tuple[str, Any, Any]]:
    """Models of this file: estimators, layers, a table's model and masked arrays."""
    for model in _regressors():
        yield type(model).__name__, model.fit(numbers, positive), numbers
    for model in _classifiers():
        yield type(model).__name__, model.fit(numbers, classes), numbers
    for model in (PCA(2), RobustScaler(), MaxAbsScaler(), FunctionTransformer(without_rare)):
        yield type(model).__name__, model.fit(numbers), numbers
    yield "OrdinalEncoder", OrdinalEncoder().fit(text), text
    scaled = make_pipeline(MinMaxScaler(), SelectKBest(f_classif, k=2), GaussianNB())
    yield "scaled", scaled.fit(numbers, classes), numbers
    search = GridSearchCV(Ridge(), {"alpha": [1.0, 2.0]}, cv=KFold(2)).fit(numbers, positive)
    yield "GridSearchCV", search, numbers
    search = RandomizedSearchCV(
        LogisticRegression(), {"C": [1.0, 2.0]}, n_iter=1, cv=StratifiedKFold(2), random_state=0
    )
    yield "RandomizedSearchCV", search.fit(numbers, classes), numbers
    for task in ("regression", "classes"):
        yield f"table, {task}", *_table(task)
    for name, layer, X in _layers():
        yield f"layer {name}", layer.eval(), X
    single = numbers.astype(np.float32)  # which a network may use without a copy
    network = nn.Sequential(nn.ReLU(), nn.Linear(3, 1))
    yield "network", TorchQuantile(network, epochs=1, random_state=0).fit(single, positive), single
    features = plcp.ConformalRegressor(
        LinearRegression(),
        threshold=plcp.SplitConformal(),
        features=nn.Sequential(nn.ReLU(), nn.Linear(3, 2)),
        random_state=0,
    )
    yield "features", features.fit(single, positive), single
    rule = plcp.PLCP(plcp.OrderedPartition(plcp.LinearQuantile()), 2, random_state=0)
    yield "rule", rule.fit(numbers, positive), numbers
    for score in (plcp.AbsoluteResidual(), plcp.SignedResidual("both"), plcp.LabelProbability()):
        yield type(score).__name__, score, np.abs(numbers)


def _regressors() -> Iterator[Any]:
    yield from (BayesianRidge(), ElasticNet(), ElasticNetCV(cv=2), GammaRegressor(), Lasso())
    yield from (HuberRegressor(), LassoCV(cv=2), LinearSVR(), PoissonRegressor(), RidgeCV())
    yield from (QuantileRegressor(), SGDRegressor(), FrozenEstimator(Ridge().fit(numbers, classes)))
    yield from (BaggingRegressor(Ridge(), 2), ExtraTreesRegressor(2, max_depth=2))
    yield TransformedTargetRegressor(Ridge(), transformer=MinMaxScaler())
    yield HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=5)


def _classifiers() -> Iterator[Any]:
    yield from (LinearSVC(), LogisticRegressionCV(cv=2), RidgeClassifier(), SGDClassifier())
    yield from (BaggingClassifier(GaussianNB(), 2), RandomForestClassifier(2, max_depth=2))
    yield StackingClassifier([("a", GaussianNB()), ("b", LogisticRegression())], cv=2)
    yield LGBMClassifier(n_estimators=2, num_leaves=3, verbose=-1, n_jobs=1)


def _table(task: str) -> tuple[Any, Any]:
    """Return a model of the command line, and a batch of its rows."""
    columns = {"x": numbers[:, 0], "kind": text[:, 0], "same": np.zeros(40)}
    if task == "classes":
        shares = rng.dirichlet([1.0, 1.0], 40)
        columns |= {"y": rng.choice(["no", "yes"], 40), "p_no": shares[:, 0], "p_yes": shares[:, 1]}
        given = {"probabilities": "p_*"}
    else:
        columns |= {"y": positive, "yhat": numbers[:, 1]}
        given = {"prediction": "yhat"}
    table = pa.table(columns)
    model = calibrate(table, choose_roles(table.column_names, target="y", **given), explain=False)
    return model, table.to_batches()[0]


def _layers() -> Iterator[tuple[str, Any, Any]]:
    """Return each layer of the list, with an input that suits it."""
    flat, line, image, cube = (
        rng.normal(size=shape).astype(np.float32)
        for shape in ((5, 4), (2, 4, 8), (2, 4, 8, 8), (2, 4, 3, 3, 3))
    )
    inputs = {"1d": line, "2d": image, "3d": cube}
    arguments: dict[str, tuple[Any, ...]] = {
        "Embedding": (9, 2),
        "GroupNorm": (2, 4),
        "LayerNorm": (4,),
        "LazyLinear": (2,),
        "Linear": (4, 2),
        "Unflatten": (1, (2, 2)),
    }
    sizes = {"Pool": (2,), "LazyConv": (2, 2), "Conv": (4, 2, 2), "LazyBatch": (), "Norm": (4,)}
    for name in sorted(LAYERS - {"Sequential", "ModuleDict", "ModuleList"}):
        dimension = name[-2:]
        given = arguments.get(name)
        if given is None and dimension in inputs:
            given = next((size for part, size in sizes.items() if part in name), ())
        X = inputs.get(dimension, flat)
        layer = nn.Sequential(getattr(nn, name)(*(given or ())))
        yield name, layer, np.arange(5) if name == "Embedding" else X
    holder = nn.Sequential(nn.Identity())
    holder.others = [nn.ModuleDict({"a": nn.ELU()}), nn.ModuleList([nn.ELU()])]
    holder.numbers = np.ma.MaskedArray([1.0, 2.0], [True, False])
    yield "holders", holder, flat


def seeds() -> dict[str, bytes]:
    """Return small files with every kind of part, by name."""
    kept = {path.name: path.read_bytes() for path in sorted(FILES.glob("*.plcp"))}
    return kept | {f"{name}.plcp": model_bytes(model) for name, model in _seeds()}


def _seeds() -> Iterator[tuple[str, object]]:
    """Return models that hold what the stored files lack: LightGBM, rows, classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    scores, labels = rng.exponential(1 + (X[:, 0] > 0)), rng.integers(0, 3, 150)
    people = pd.DataFrame({"sex": rng.choice(["f", "m"], 150), "age": X[:, 0]})
    light = LGBMRegressor(n_estimators=3, num_leaves=3, n_jobs=1, verbose=-1)
    tree = plcp.TreePartition(min_samples_leaf=20, random_state=0)
    forest = RandomForestClassifier(2, max_depth=2, random_state=0)
    yield "light", plcp.PLCP(plcp.OrderedPartition(light), 2, random_state=0).fit(X, scores)
    yield "tree", plcp.PLCP(tree, 2, random_state=0).fit(X, scores)
    yield "local", plcp.LocalCP(random_state=0).fit(X[:30], scores[:30])
    yield "groups", plcp.BatchGCP(["sex"]).fit(people, scores)
    yield (
        "alphas",
        plcp.PLCP(plcp.OrderedPartition(plcp.LinearQuantile()), 2, alpha=[0.1, 0.3]).fit(X, scores),
    )
    labelled = plcp.ConformalClassifier(forest, threshold=plcp.SplitConformal(), random_state=0)
    yield "forest", labelled.fit(X, labels)

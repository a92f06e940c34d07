"""Every public entry point with clean arguments: what can be asked, and what it takes."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import hostile_data as data
from hostile_data import ALPHA, Positive
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression

import plcp
from plcp import indices
from plcp.partitions.torch import TorchPartition, TorchQuantile, mlp
from plcp.thresholds import ThresholdRule

# what tables may hold, for those who read none of it, or all columns of any type
ANY_TABLE = {"gaps", "gaps in text", "text", "mixed", "one row", "any type"}
TABLE = ANY_TABLE - {"one row", "any type"}
LABELS = ANY_TABLE - {"gaps in text", "any type"}
OPTIONS = ("alpha", "n_groups", "cv", "random_state")


@dataclass(frozen=True)
class Entry:
    """A call, its clean arguments by kind, and what of the bad it takes."""

    call: Callable[..., Any]
    given: dict[str, Any]
    takes: frozenset[str]
    fits: bool = True
    kind_of: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Subject:
    """An estimator, the kind of its target, and what its tables may hold."""

    estimator: Any
    takes: set[str] = field(default_factory=set)
    target: str = "scores"
    answer: str = "predict"
    lacks: set[str] = field(default_factory=set)  # methods and options that are others' own
    also: set[str] = field(default_factory=lambda: {"one column", "object columns"})


LINE = plcp.OrderedPartition(plcp.LinearQuantile(), 2)
SOFT = plcp.SoftmaxPartition(2, n_starts=1, max_rounds=2)
LOGISTIC = plcp.ClassifierPartition(LogisticRegression(), 2, n_rounds=1, cv=2)
DUMMY = FrozenEstimator(DummyRegressor(strategy="constant", constant=0.0).fit(data.X, data.Y))
CLASSIFIER = LogisticRegression()

SKIPPED = {
    "learned_index": "for the rows of fit alone, which were checked there",
    "tune": "gives another estimator, which is checked when it is fitted",
}

SUBJECTS = {
    "SplitConformal": Subject(plcp.SplitConformal(), ANY_TABLE),
    "Mondrian": Subject(plcp.Mondrian(Positive()), ANY_TABLE),
    "Mondrian, column": Subject(plcp.Mondrian(2), LABELS, also={"object columns"}),
    "BatchGCP": Subject(plcp.BatchGCP(Positive()), ANY_TABLE),
    "BatchMVP": Subject(plcp.BatchMVP(Positive()), ANY_TABLE),
    "ConditionalCalibration": Subject(plcp.ConditionalCalibration(groups=Positive()), ANY_TABLE),
    "PLCP": Subject(plcp.PLCP(), TABLE),
    "PLCP, line": Subject(plcp.PLCP(LINE, 2, cv=2)),
    "PLCP, line, split": Subject(plcp.PLCP(LINE, 2, calibration="split")),
    "PLCP, line, joint": Subject(plcp.PLCP(LINE, 2, calibration="joint")),
    "PLCP, softmax": Subject(plcp.PLCP(SOFT, 2, assignment="mean", cv=2)),
    "PLCP, classifier": Subject(plcp.PLCP(LOGISTIC, 2, cv=2)),
    "PLCP, tree": Subject(plcp.PLCP(plcp.TreePartition(2, min_samples_leaf=5), 2), TABLE),
    "Rectified": Subject(plcp.Rectified(), TABLE),
    "Rectified, line": Subject(plcp.Rectified(plcp.LinearQuantile())),
    "RLCP": Subject(plcp.RLCP(), {"one row"}),
    "LocalCP": Subject(plcp.LocalCP(), {"one row"}),
    "PosteriorConformal": Subject(plcp.PosteriorConformal(SOFT)),
    "OrderedPartition": Subject(LINE),
    "OrderedPartition, default": Subject(plcp.OrderedPartition(n_groups=2), TABLE),
    "SoftmaxPartition": Subject(SOFT),
    "ClassifierPartition": Subject(LOGISTIC),
    "TreePartition": Subject(plcp.TreePartition(2, min_samples_leaf=5), TABLE),
    "LinearQuantile": Subject(plcp.LinearQuantile(), {"one row"}),
    "MixedIndex": Subject(indices.MixedIndex(), TABLE),
    "ScaledQuantile": Subject(indices.ScaledQuantile(), {"gaps"}),
    "SparseScale": Subject(indices.SparseScale(), {"gaps"}),
    "CrossFitted": Subject(indices.CrossFitted(plcp.LinearQuantile(), n_repeats=1)),
    "ColorfulQuantile": Subject(indices.ColorfulQuantile(plcp.LinearQuantile())),
    "ConformalRegressor": Subject(
        plcp.ConformalRegressor(DUMMY, threshold=plcp.PLCP(LINE, 2, cv=2)),
        set(),
        "y",
        "predict_set",
        lacks={"predict"},
    ),
    "ConformalRegressor, trained": Subject(
        plcp.ConformalRegressor(LinearRegression(), threshold=plcp.SplitConformal()),
        set(),
        "y",
        "predict_set",
        lacks={"groups", "predict", "predict_proba"},
    ),
    "ConformalClassifier": Subject(
        plcp.ConformalClassifier(CLASSIFIER, threshold=plcp.SplitConformal()),
        set(),
        "labels",
        "predict_set",
        lacks={"groups", "predict", "predict_proba"},
    ),
    "Groups": Subject(plcp.Groups(Positive()), ANY_TABLE, "", "transform"),
    "Groups, column": Subject(plcp.Groups(2), LABELS, "", "transform", also={"object columns"}),
    "GroupProbabilities": Subject(plcp.GroupProbabilities(), set(), "groups", "transform"),
    "QuantilePair": Subject(
        plcp.QuantilePair(plcp.LinearQuantile(0.1), plcp.LinearQuantile(0.9)), set(), "y"
    ),
    "MeanScalePair": Subject(
        plcp.MeanScalePair(LinearRegression(), plcp.LinearQuantile(0.5)),
        set(),
        "y",
        lacks={"cv"},
    ),
    "TorchPartition": Subject(TorchPartition(mlp(2), 2, epochs=1), also={"one column"}),
    "TorchQuantile": Subject(TorchQuantile(mlp(2), epochs=1), also={"one column"}),
}
TARGETS = {"scores": data.SCORES, "y": data.Y, "labels": data.LABELS, "groups": data.GROUPS}


def made(name, **options):
    """Return a copy at our alpha, with a seed."""
    estimator = clone(SUBJECTS[name].estimator)
    known = estimator.get_params(deep=True)
    wanted = {"alpha": ALPHA, "threshold__alpha": ALPHA, "random_state": 0} | options
    return estimator.set_params(**{key: value for key, value in wanted.items() if key in known})


@cache
def fitted(name, base):
    """Return an estimator fitted to clean rows in some dress; nobody changes it afterwards."""
    target = SUBJECTS[name].target
    return made(name).fit(base(data.X), *([TARGETS[target]] if target else []))


def methods(estimator):
    """Return every public method of new rows."""
    found = inspect.getmembers(estimator, inspect.ismethod)
    for name, method in found:
        asked = [*inspect.signature(method).parameters]
        ours = inspect.getmodule(method).__name__.startswith("plcp")  # R² is scikit-learn's own
        if ours and asked[:1] == ["X"] and not name.startswith(("_", "fit", *SKIPPED)):
            yield name, asked[1:2] == ["y"]


def of_estimator(name, subject):
    target = subject.target
    targets = {target: TARGETS[target]} if target else {}
    takes = frozenset(subject.takes | subject.also)

    def fit(X, base=None, **given):
        model = made(name).fit(X, *given.values())
        return getattr(model, subject.answer)(X)

    def weighted(weights):
        model = made(name).fit(data.X, TARGETS[target], sample_weight=weights)
        return getattr(model, subject.answer)(data.X)

    def optional(**options):
        return getattr(made(name, **options).fit(data.X, *targets.values()), subject.answer)(data.X)

    yield f"{name}.fit", Entry(fit, {"X": data.X, **targets}, takes)
    if "sample_weight" in inspect.signature(subject.estimator.fit).parameters:
        yield f"{name}.fit, weights", Entry(weighted, {"weights": data.WEIGHTS}, takes)
    known = made(name).get_params(deep=False)
    options = {key: known[key] for key in OPTIONS if key in {*known} - subject.lacks}
    if options.get("n_groups") == "auto":
        options["n_groups"] = 2
    if options:
        yield f"{name}(…)", Entry(optional, options, takes)
    for method, has_target in methods(fitted(name, data.as_array)):
        if method in subject.lacks:
            continue

        def ask(X, base=data.as_array, method=method, **given):
            return getattr(fitted(name, base), method)(X, *given.values())

        given = {"X": data.X} | (targets if has_target else {})
        reads = {"gaps", "any type"} if has_no_groups(subject, method) else set()
        yield f"{name}.{method}", Entry(ask, given, takes | reads, fits=False)


def has_no_groups(subject, method):
    """Whether these are the members of no group, whatever the table holds."""
    rule = getattr(subject.estimator, "threshold", subject.estimator)
    return method == "members" and getattr(type(rule), method, None) is ThresholdRule.members


def plain(call, takes=frozenset({"one column"}), **given):
    """A function: its arguments by name, each of a kind."""
    return Entry(
        call,
        {name: value for name, (_, value) in given.items()},
        frozenset(takes),
        kind_of={name: kind for name, (kind, _) in given.items()},
    )

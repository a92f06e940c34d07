"""Every public entry point with clean arguments: what can be asked, and what it takes."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import hostile_data as data
import numpy as np
from hostile_data import ALPHA, Positive
from hostile_laws import LAWS_OF_FIT, LAWS_OF_METHODS, row_law, unit_law
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression

import plcp
from plcp import regressors as indices
from plcp.partitions.torch import TorchPartition, TorchQuantile, mlp
from plcp.thresholds import ThresholdRule

# what tables may hold, for those who read none of it, or all columns of any type
ANY_TABLE = {"gaps", "gaps in text", "text", "mixed", "mixed types", "any type", "one huge"}
ANY_TABLE |= {"all huge", "mixed types of pandas", "unseen text"}
TABLE = ANY_TABLE - {"any type"}
TREES = TABLE - {"mixed types of pandas"}  # that are handed to scikit-learn's encoder
LABELS = ANY_TABLE - {"gaps in text", "any type"} | {"labels"}
PLAIN = {"object columns", "any unit", "double precision", "denormals"}
NUMBERS = {"denormal scores", "far scores"}
HUGE = {"one huge", "all huge"}  # columns whose order alone matters
OPTIONS = ("alpha", "n_groups", "cv", "random_state")


@dataclass(frozen=True)
class Entry:
    """A call, its clean arguments by kind, and what of the bad it takes."""

    call: Callable[..., Any]
    given: dict[str, Any]
    takes: frozenset[str]
    fits: bool = True
    kind_of: dict[str, str] = field(default_factory=dict)
    laws: tuple[Callable[..., Any], ...] = ()


@dataclass(frozen=True)
class Subject:
    """An estimator, the kind of its target, and what its tables may hold."""

    estimator: Any
    takes: set[str] = field(default_factory=set)
    target: str = "scores"
    answer: str = "predict"
    lacks: set[str] = field(default_factory=set)  # methods and options that are others' own
    also: set[str] = field(default_factory=lambda: PLAIN | {"one column"} | NUMBERS)
    to_fit: set[str] = field(default_factory=set)  # what is taken then alone
    to_ask: set[str] = field(default_factory=set)


LINE = plcp.OrderedPartition(plcp.LinearQuantile(), 2)
CROSSED = indices.CrossFitted(plcp.LinearQuantile(), cv=2, n_repeats=1)
CROSSED_LINE = plcp.OrderedPartition(CROSSED, 2)
SOFT = plcp.SoftmaxPartition(2, n_starts=1, max_rounds=2)
LOGISTIC = plcp.ClassifierPartition(LogisticRegression(), 2, n_rounds=1, cv=2)
DUMMY = FrozenEstimator(DummyRegressor(strategy="constant", constant=0.0).fit(data.X, data.Y))
CLASSIFIER = LogisticRegression()

SKIPPED = {
    "learned_quantile": "for the rows of fit alone, which were checked there",
    "tune": "gives another estimator, which is checked when it is fitted",
}
ONE = {"one row"}  # a rule of one group; what makes two groups, folds or halves needs more
KERNELS = NUMBERS | PLAIN - {"denormals"} | {"one column"}
# what is drawn by the content of a row is drawn otherwise in other units
DRAWN = KERNELS - {"any unit", "double precision"}
SINGLE = NUMBERS | PLAIN - {"double precision"} | {"one column"}  # trees of scikit-learn
PENALISED = SINGLE - {"any unit"}  # coefficients, in the unit of their columns
NEAR = {"one huge"}  # what is far from all others is near nobody

SUBJECTS = {
    "SplitConformal": Subject(plcp.SplitConformal(), ANY_TABLE | ONE),
    "Mondrian": Subject(plcp.Mondrian(Positive()), ANY_TABLE | ONE),
    "Mondrian, column": Subject(plcp.Mondrian(2), LABELS | ONE, also=PLAIN | NUMBERS),
    "BatchGCP": Subject(plcp.BatchGCP(Positive()), ANY_TABLE),
    "BatchMVP": Subject(plcp.BatchMVP(Positive()), ANY_TABLE),
    "ConditionalCalibration": Subject(
        plcp.ConditionalCalibration(groups=Positive()),
        ANY_TABLE,
        also=PLAIN | {"one column", "denormal scores"},
        to_ask=NUMBERS,
    ),
    "PLCP": Subject(plcp.PLCP(), TABLE),
    "PLCP, line": Subject(plcp.PLCP(CROSSED_LINE, 2, cv=2)),
    "PLCP, line, split": Subject(plcp.PLCP(LINE, 2, calibration="split")),
    "PLCP, line, joint": Subject(plcp.PLCP(LINE, 2, calibration="joint")),
    "PLCP, softmax": Subject(plcp.PLCP(SOFT, 2, assignment="mean", cv=2)),
    "PLCP, classifier": Subject(plcp.PLCP(LOGISTIC, 2, cv=2), HUGE, also=PENALISED),
    "PLCP, tree": Subject(
        plcp.PLCP(plcp.TreePartition(2, min_samples_leaf=5), 2), TREES, also=SINGLE
    ),
    "Rectified": Subject(plcp.Rectified(), TABLE),
    "Rectified, line": Subject(plcp.Rectified(CROSSED)),
    "RLCP": Subject(
        plcp.RLCP(), ONE | NEAR | {"as fitted"}, also=DRAWN, to_ask={"all huge", "denormals"}
    ),
    "LocalCP": Subject(plcp.LocalCP(), ONE | NEAR, also=KERNELS, to_ask={"all huge", "denormals"}),
    "PosteriorConformal": Subject(
        plcp.PosteriorConformal(SOFT), {"as fitted"}, also=DRAWN | {"denormals"}
    ),
    "OrderedPartition": Subject(LINE),
    "OrderedPartition, default": Subject(plcp.OrderedPartition(n_groups=2), TABLE),
    "SoftmaxPartition": Subject(SOFT),
    "ClassifierPartition": Subject(LOGISTIC, HUGE, also=PENALISED),
    "TreePartition": Subject(plcp.TreePartition(2, min_samples_leaf=5), TABLE, also=SINGLE),
    "LinearQuantile": Subject(plcp.LinearQuantile(), ONE),
    "StackedQuantile": Subject(indices.StackedQuantile(), TABLE | ONE),
    "ScaledQuantile": Subject(indices.ScaledQuantile(), HUGE | {"gaps"}),
    "SparseScale": Subject(indices.SparseScale(), {"gaps"}),
    "CrossFitted": Subject(indices.CrossFitted(plcp.LinearQuantile(), n_repeats=1), {"folds"}),
    "ColorfulQuantile": Subject(indices.ColorfulQuantile(plcp.LinearQuantile())),
    "ConformalRegressor": Subject(
        plcp.ConformalRegressor(DUMMY, threshold=plcp.PLCP(CROSSED_LINE, 2, cv=2)),
        target="y",
        answer="predict_set",
        lacks={"predict"},  # which is its model's, see hostile_services
    ),
    "ConformalRegressor, trained": Subject(
        plcp.ConformalRegressor(LinearRegression(), threshold=plcp.SplitConformal()),
        {"folds"},
        "y",
        "predict_set",
        lacks={"groups"},
        to_fit={"one huge"},
    ),
    "ConformalClassifier": Subject(
        plcp.ConformalClassifier(CLASSIFIER, threshold=plcp.SplitConformal()),
        HUGE | {"folds"},
        "labels",
        "predict_set",
        lacks={"groups"},
        also=PENALISED,
    ),
    "Groups": Subject(plcp.Groups(Positive()), ANY_TABLE, "", "transform"),
    "Groups, column": Subject(plcp.Groups(2), LABELS | ONE, "", "transform", also=PLAIN | NUMBERS),
    "GroupProbabilities": Subject(plcp.GroupProbabilities(), set(), "groups", "transform"),
    "QuantilePair": Subject(
        plcp.QuantilePair(plcp.LinearQuantile(0.1), plcp.LinearQuantile(0.9)), ONE, "y"
    ),
    "MeanScalePair": Subject(
        plcp.MeanScalePair(LinearRegression(), plcp.LinearQuantile(0.5)),
        {"folds"},
        "y",
        lacks={"cv"},
    ),
    "TorchPartition": Subject(
        TorchPartition(mlp(2), 2, epochs=1),
        also={"one column", "denormals", "any unit"},
        to_ask=NEAR,
    ),
    "TorchQuantile": Subject(
        TorchQuantile(mlp(2), epochs=1),
        ONE,
        also={"one column", "denormals", "any unit"},
        to_ask=NEAR,
    ),
}
TARGETS = {"scores": data.SCORES, "y": data.Y, "labels": data.LABELS, "groups": data.GROUPS}


def made(name, **options):
    """Return a copy at our alpha, with a seed."""
    estimator = clone(SUBJECTS[name].estimator)
    known = estimator.get_params(deep=True)
    wanted = {"alpha": ALPHA, "random_state": 0} | options
    return estimator.set_params(**{key: value for key, value in wanted.items() if key in known})


def target_of(name, unit=1.0):
    """Return the targets of an estimator by kind: none, or one array."""
    kind = SUBJECTS[name].target
    return {kind: times(TARGETS[kind], unit)} if kind else {}


@cache
def fitted(name, base, unit=1.0):
    """Return an estimator fitted to clean rows in some dress; nobody changes it afterwards."""
    return made(name).fit(base(data.X), *target_of(name, unit).values())


def methods(estimator):
    """Return every public method of new rows."""
    found = inspect.getmembers(estimator, inspect.ismethod)
    for name, method in found:
        asked = [*inspect.signature(method).parameters]
        ours = inspect.getmodule(method).__name__.startswith("plcp")  # R² is scikit-learn's own
        if ours and asked[:1] == ["X"] and not name.startswith(("_", "fit", *SKIPPED)):
            yield name, asked[1:2] == ["y"]


def of_estimator(name, subject):
    targets = target_of(name)
    takes = frozenset(subject.takes | subject.also)
    laws = (unit_law,) if subject.target else ()
    by_hand = LAWS_OF_FIT.get(name, ())

    def fit(X, base=None, unit=1.0, **given):
        model = made(name).fit(X, *(times(value, unit) for value in given.values()))
        return getattr(model, subject.answer)(X)

    def weighted(weights, unit=1.0, rows=slice(None)):
        targets = [target[rows] for target in target_of(name, unit).values()]
        model = made(name).fit(data.X[rows], *targets, sample_weight=weights)
        return getattr(model, subject.answer)(data.X)

    def optional(unit=1.0, **options):
        model = made(name, **options).fit(data.X, *target_of(name, unit).values())
        return getattr(model, subject.answer)(data.X)

    fits = frozenset(takes | subject.to_fit)
    yield f"{name}.fit", Entry(fit, {"X": data.X, **targets}, fits, laws=(*laws, *by_hand))
    if "sample_weight" in inspect.signature(subject.estimator.fit).parameters:
        given = {"weights": data.WEIGHTS}
        yield f"{name}.fit, weights", Entry(weighted, given, fits, laws=(*laws, *by_hand))
    known = made(name).get_params(deep=False)
    options = {key: known[key] for key in OPTIONS if key in {*known} - subject.lacks}
    if options.get("n_groups") == "auto":
        options["n_groups"] = 2
    if options:
        yield f"{name}(…)", Entry(optional, options, takes, laws=(*laws, *by_hand))
    for method, has_target in methods(fitted(name, data.as_array)):
        if method in subject.lacks:
            continue

        def ask(X, base=data.as_array, unit=1.0, method=method, **given):
            model = fitted(name, base, unit)
            return getattr(model, method)(X, *(times(value, unit) for value in given.values()))

        given = {"X": data.X} | (targets if has_target else {})
        reads = {"gaps", "any type", *HUGE} if has_no_groups(subject, method) else set()
        if method in PASSED_ON and name.startswith("Conformal"):
            reads |= {"sparse", *HUGE}
        asks = (*laws, *LAWS_OF_METHODS.get(method, (row_law,)))
        if method == subject.answer == "transform":
            asks += by_hand
        yield (
            f"{name}.{method}",
            Entry(ask, given, takes | reads | subject.to_ask, fits=False, laws=asks),
        )


def times(values, unit):
    """Numbers in another unit; labels by other names."""
    if unit == 1:
        return values
    array = np.asarray(values)
    return np.char.add("the ", array) if array.dtype.kind == "U" else array.astype(float) * unit


PASSED_ON = ("predict", "predict_proba")  # by wrappers, to the model, whose affair rows are


def has_no_groups(subject, method):
    """Whether these are the members of no group, whatever the table holds."""
    rule = getattr(subject.estimator, "threshold", subject.estimator)
    return method == "members" and getattr(type(rule), "_members", None) is ThresholdRule._members


def plain(call, takes=frozenset({"one column"}), laws=(), **given):
    """A function: its arguments by name, each of a kind."""
    return Entry(
        call,
        {name: value for name, (_, value) in given.items()},
        frozenset(takes),
        kind_of={name: kind for name, (kind, _) in given.items()},
        laws=tuple(laws),
    )

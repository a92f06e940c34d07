"""Every public entry point × bad values: refused in words, or answered as the clean equal."""

import atexit
import importlib
import inspect
import json
import pkgutil
import re
import shutil
import tempfile
import traceback
import warnings
from collections.abc import Callable
from dataclasses import is_dataclass
from enum import Enum
from fnmatch import fnmatch
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
import pytest
import sklearn
from matplotlib.figure import Figure
from onnxruntime import InferenceSession
from scipy.stats import expon
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import bad_values as data
import dask
import plcp
from bad_values import VALUES
from estimators import CASES
from plcp import dask as on_dask, datasets, metrics, plotting, scores, theory
from plcp.evaluation import audit, learn_failures
from plcp.exceptions import ProgramError
from plcp.explain import explain_groups
from plcp.interop import as_feature_map, bins
from plcp.monitoring import Monitor
from plcp.onnx import NotExportableError, export
from plcp.partitions.torch import TorchPartition, TorchQuantile, mlp

REFUSALS = (ValueError, TypeError, NotFittedError, ProgramError, NotExportableError, OSError)
# where a refusal may be written: our package, and scikit-learn's validation of input
WRITTEN_IN = (str(Path(plcp.__file__).parent), str(Path(sklearn.__file__).parent / "utils"))


class Entry(NamedTuple):
    """A call, its arguments by name as (kind, clean value), and bad values that it answers."""

    call: Callable[..., Any]
    arguments: dict[str, tuple[str, Any]]
    takes: dict[str, str]  # by argument: names of values, between commas


def entry(call, takes=None, **arguments):
    return Entry(call, arguments, takes or {})


# Estimators: fit, weights, options and every method of new rows.
ORDERED = "nan, 1e308"  # trees, and functions of one column, need neither scale nor complete rows
BY_COLUMN = "nan, 1e308, three dimensions"
TARGETS = {"scores": data.SCORES, "y": data.Y, "classes": data.LABELS, "groups": data.GROUPS}
ESTIMATORS = {  # by their names in CASES: the kind of y, and the rows that are answered
    "split": ("scores", "one row to fit, " + BY_COLUMN),
    "mondrian": ("scores", "one row to fit, " + ORDERED),
    "batch gcp": ("scores", BY_COLUMN),
    "batch mvp": ("scores", BY_COLUMN),
    "conditional, drawn": ("scores", "one row to fit, " + BY_COLUMN),
    "plcp": ("scores", "one row to fit, " + ORDERED),
    "plcp, split": ("scores", "one row to fit, " + ORDERED),
    "plcp, joint": ("scores", ""),
    "plcp, softmax": ("scores", ""),
    "plcp, tree": ("scores", ORDERED),
    "rectified": ("scores", ORDERED),
    "local": ("scores", "one row to fit, 1e308"),
    "rlcp": ("scores", "one row to fit, 1e308"),
    "posterior": ("scores", ""),
    "ordered": ("scores", ORDERED),
    "softmax": ("scores", ""),
    "classifier": ("scores", ORDERED),
    "tree": ("scores", ORDERED),
    "network": ("scores", "three dimensions"),
    "mixed": ("scores", "one row to fit, " + ORDERED),
    "scaled": ("scores", ORDERED),
    "sparse": ("scores", "nan"),
    "line": ("scores", "one row to fit"),
    "cross-fitted trees": ("scores", ORDERED),
    "colorful": ("scores", ""),
    "network quantile": ("scores", "one row to fit, three dimensions"),
    "groups": ("", BY_COLUMN),
    "group probabilities": ("groups", ""),
    "band": ("y", "one row to fit"),
    "mean and scale": ("y", "1e308, sparse"),
    "intervals": ("y", "1e308"),
    "labels": ("classes", "1e308"),
}
# without BatchNorm, which needs two rows
PLAIN = {
    "network": TorchPartition(mlp(2), 2, epochs=1),
    "network quantile": TorchQuantile(mlp(2), epochs=1),
}
ALSO = {  # methods of what has no groups, or whose groups are trees, and methods of the model
    **dict.fromkeys(("local.members", "rlcp.members", "posterior.members"), ORDERED),
    **dict.fromkeys(("intervals.groups", "intervals.members"), ORDERED),
    **dict.fromkeys(("labels.groups", "labels.members"), ORDERED),
    **dict.fromkeys(("network.predict", "network.predict_proba"), "1e308"),
    **dict.fromkeys(("network.predict_quantile", "network quantile.predict"), "1e308"),
    **dict.fromkeys(("intervals.predict", "labels.predict", "labels.predict_proba"), "sparse"),
}
NOT_OF_ROWS = ("learned_quantile", "tune")  # of the rows of fit, and of another estimator
OPTIONS = ("alpha", "n_groups", "cv", "random_state")


def made(name, **options):
    estimator = clone(PLAIN.get(name, CASES[name].estimator))
    known = estimator.get_params(deep=False)
    wanted = {"alpha": data.ALPHA, "random_state": 0} | options
    if "threshold" in known:  # the two must be the same
        estimator.set_params(threshold__alpha=wanted["alpha"])
    return estimator.set_params(**{key: value for key, value in wanted.items() if key in known})


def answer(model, X):
    """What a fitted estimator says of rows."""
    ask = ("predict_set", "predict_proba", "predict", "transform")
    return getattr(model, next(method for method in ask if hasattr(model, method)))(X)


@cache
def fitted(name, base=np.asarray):
    target = ESTIMATORS[name][0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few rows: a partition may collapse
        return made(name).fit(base(data.X), *([TARGETS[target]] if target else []))


def methods_of_rows(model):
    """Public methods of ours whose first argument is X, and whether they take y."""
    for name, method in inspect.getmembers(model, inspect.ismethod):
        parameters = [*inspect.signature(method).parameters]
        ours = inspect.getmodule(method).__name__.startswith("plcp")
        if ours and parameters[:1] == ["X"] and not name.startswith(("_", "fit", *NOT_OF_ROWS)):
            yield name, parameters[1:2] == ["y"]


def targets(name):
    kind = ESTIMATORS[name][0]
    return {"y": (kind, TARGETS[kind])} if kind else {}


def of_estimator(name):
    takes, y = {"X": ESTIMATORS[name][1]}, targets(name)
    clean = [value for _, value in y.values()]

    def fit(X, **y):
        return answer(made(name).fit(X, *y.values()), X)

    def weighted(sample_weight):
        return answer(made(name).fit(data.X, *clean, sample_weight=sample_weight), data.X)

    def optional(**options):
        return answer(made(name, **options).fit(data.X, *clean), data.X)

    yield f"{name}.fit", entry(fit, takes, X=("X", data.X), **y)
    if "sample_weight" in inspect.signature(CASES[name].estimator.fit).parameters:
        yield f"{name}.fit, weights", entry(weighted, sample_weight=("weights", data.WEIGHTS))
    known = made(name).get_params(deep=False)
    options = {key: (key, known[key]) for key in OPTIONS if type(known.get(key)) in (int, float)}
    if "threshold" in known:  # a conformal estimator without folds is another: tests/test_teachers
        options.pop("cv", None)
    if options:
        # to a pair, as to scikit-learn, None is the number of folds by default
        takes_none = {"cv": "None"} if name == "mean and scale" else {}
        yield f"{name}(…)", entry(optional, takes_none, **options)
    for method, has_y in methods_of_rows(made(name)):

        def call(X, base=np.asarray, method=method, **y):
            return getattr(fitted(name, base), method)(X, *y.values())

        more = f"{takes['X']}, {ALSO.get(f'{name}.{method}', '')}"
        takes_none = {"y": "None"} if method == "members" else {}  # by default
        own = entry(call, {"X": more, **takes_none}, X=("X", data.X), **(y if has_y else {}))
        yield f"{name}.{method}", own


# Functions, scores and sets.
RESPONSE, SCORES = ("numbers", data.Y), ("numbers", data.SCORES)
COVERED, SIZE = ("covered", data.COVERED), ("sizes", data.SCORES)
GROUPS, COUNTS = ("groups", data.GROUPS), ("counts", data.WEIGHTS)
ALPHA, ROWS = ("alpha", data.ALPHA), ("X", data.X)
BAND, PROBABILITY = ("columns", data.BAND), ("columns", data.PROBABILITY)
THRESHOLDS, SEED = ("thresholds", data.SCORES), ("random_state", 0)
LINE = plcp.LinearQuantile(max_iter=200)
READ_BY_TREE = {"X": "nan, text, sparse"}  # the tree's own affair
NO_LABEL = "None at a row, nan at a row"  # rows without a group are in none
NO_ROWS = {"prediction": "empty", "y": "empty", "threshold": "empty, a number"}
TREE = DecisionTreeClassifier(max_depth=2, random_state=0)
OF_SCORES = [
    (scores.AbsoluteResidual(), ("numbers", data.X[:, 0]), RESPONSE),
    (scores.SignedResidual("upper"), ("numbers", data.X[:, 0]), RESPONSE),
    (scores.QuantileResidual(), BAND, RESPONSE),
    (scores.NormalizedResidual(), ("columns", np.abs(data.BAND) + 1), RESPONSE),
    (scores.LabelProbability(), PROBABILITY, ("codes", data.CODES)),
    (scores.CumulativeProbability(), PROBABILITY, ("codes", data.CODES)),
]
FUNCTIONS = {
    "Intervals": entry(
        plcp.Intervals,
        {"lower": "empty", "upper": "empty"},
        lower=("ends", data.Y),
        upper=("ends", data.Y + 1),
    ),
    "Intervals.contains": entry(
        plcp.Intervals(data.Y - 1, data.Y + 1).contains, y=("thresholds", data.Y)
    ),
    "LabelSets": entry(plcp.LabelSets, mask=("masks", data.PROBABILITY > 0.25)),
    "LabelSets.contains": entry(
        plcp.LabelSets(data.PROBABILITY > 0.25, ["f", "m"]).contains,
        y=("known labels", data.LABELS),
    ),
    "coverage": entry(metrics.coverage, covered=COVERED, sample_weight=COUNTS),
    "mean_size": entry(metrics.mean_size, {"size": "inf"}, size=SIZE, sample_weight=COUNTS),
    "coverage_by_group": entry(
        metrics.coverage_by_group,
        {"size": "inf", "groups": NO_LABEL},
        covered=COVERED,
        size=SIZE,
        groups=GROUPS,
        alpha=ALPHA,
    ),
    "coverage_gap": entry(
        metrics.coverage_gap, {"groups": NO_LABEL}, covered=COVERED, groups=GROUPS, alpha=ALPHA
    ),
    "feature_stratified_coverage": entry(
        metrics.feature_stratified_coverage, {"groups": NO_LABEL}, covered=COVERED, groups=GROUPS
    ),
    "size_stratified_coverage": entry(
        metrics.size_stratified_coverage, {"size": "inf"}, covered=COVERED, size=SIZE
    ),
    "hsic": entry(metrics.hsic, covered=COVERED, size=SIZE),
    "size_correlation": entry(metrics.size_correlation, covered=COVERED, size=SIZE),
    "interval_score": entry(metrics.interval_score, intervals=BAND, y=RESPONSE, alpha=ALPHA),
    "msce": entry(metrics.msce, conditional_coverage=("shares", data.COVERED * 0.5), alpha=ALPHA),
    "pinball_excess_bound": entry(
        partial(metrics.pinball_excess_bound, lipschitz=1.0),
        scores=SCORES,
        thresholds=SCORES,
        best_thresholds=SCORES,
        alpha=ALPHA,
    ),
    "msce_of_law": entry(
        partial(metrics.msce_of_law, law=expon()),
        {"thresholds": "shorter"},
        thresholds=THRESHOLDS,
        alpha=ALPHA,
    ),
    "ert": entry(
        partial(metrics.ert, classifier=TREE), READ_BY_TREE, X=ROWS, covered=COVERED, alpha=ALPHA
    ),
    "estimated_msce": entry(
        partial(metrics.estimated_msce, classifier=TREE),
        READ_BY_TREE,
        X=ROWS,
        covered=COVERED,
        alpha=ALPHA,
    ),
    "worst_slab": entry(
        partial(metrics.worst_slab, n_directions=5), {"X": "text"}, X=ROWS, covered=COVERED
    ),
    "quantile_bins": entry(metrics.quantile_bins, values=THRESHOLDS, sample_weight=COUNTS),
    "cut_bins": entry(
        lambda values: metrics.cut_bins(values, [1.0, 2.0]),
        {"values": "shorter"},
        values=THRESHOLDS,
    ),
    "column_groups": entry(lambda X: metrics.column_groups(X, 2), {"X": ORDERED}, X=ROWS),
    "quantile_variance": entry(
        partial(theory.quantile_variance, regressor=LINE, cv=2, random_state=0),
        X=("few rows", data.X),
        scores=SCORES,
        alpha=ALPHA,
    ),
    "lipschitz_constant": entry(
        partial(theory.lipschitz_constant, regressor=LINE, cv=2, n_bins=2, random_state=0),
        X=("few rows", data.X),
        scores=SCORES,
        alpha=ALPHA,
    ),
    "compare_methods": entry(
        lambda X, **given: (
            plcp.compare_methods(X, methods="split", cv=2, **given).methods["split"].covered
        ),
        {"X": "nan, 1e308", "prediction": "two columns"},
        X=ROWS,
        y=RESPONSE,
        prediction=("numbers", data.X[:, 0]),
        alpha=ALPHA,
        confidence=("share", 0.95),
        calibration_size=("share", 0.3),
        random_state=("seed", 0),
        max_rows=("rows", 60),
    ),
    "certify": entry(lambda X, y: plcp.certify(rule(), X, y).groups, X=ROWS, y=SCORES),
    "explain_groups": entry(lambda X: explain_groups(rule(), X, random_state=0), X=ROWS),
    "learn_failures": entry(
        lambda covered: learn_failures(data.pandas(data.X), covered).codes, covered=COVERED
    ),
    "make_toy": entry(datasets.make_toy, n=("rows", 5), random_state=SEED),
    "make_nonlinear": entry(datasets.make_nonlinear, n=("rows", 5), random_state=SEED),
    "make_synthetic": entry(
        datasets.make_synthetic,
        n=("rows", 5),
        random_state=SEED,
        coef_state=SEED,
        variance=("positive", 0.1),
        noise=("noise", "variance"),
    ),
}
for score, prediction, response in OF_SCORES:
    FUNCTIONS[type(score).__name__] = entry(score, NO_ROWS, prediction=prediction, y=response)
    one_each = ", two columns" * (score.task == "classification")  # thresholds of two classes
    FUNCTIONS[f"{type(score).__name__}.invert"] = entry(
        score.invert,
        {**NO_ROWS, "threshold": NO_ROWS["threshold"] + one_each},
        prediction=prediction,
        threshold=THRESHOLDS,
    )


# What serves a fitted rule: monitors, adapters, graphs, files, tables, pictures.
def rule():
    return fitted("plcp, joint")


def seen(monitor):
    """Rows, misses and evidence of all groups."""
    return json.loads(monitor.to_json())["groups"]


def served(model):
    session = InferenceSession(export(model).SerializeToString())
    return session.run(["threshold"], {"X": data.X})[0]


FOLDER = Path(tempfile.mkdtemp(prefix="plcp-tests-"))
atexit.register(shutil.rmtree, FOLDER)
plcp.save(rule(), FOLDER / "here.plcp")


def saved(model, path):
    plcp.save(model, path)
    return plcp.load(path).predict(data.X)


def axes():
    return Figure().subplots()


TABLE = data.pandas(data.X).assign(y=data.Y, low=data.X[:, 0] - 1, high=data.X[:, 0] + 1)
AUDITED = {"target": "y", "lower": "low", "upper": "high"}
FEW_ROWS, RULE = ("few rows", data.X), ("rules", rule())
HISTORY = [{"objective": 0.3, "held_out": 0.4}, {"objective": 0.2, "held_out": 0.35}]
TRIED = [{"n_groups": n, "held_out": loss} for n, loss in ((1, 0.3), (2, 0.25), (4, 0.26))]
BY_GROUP = {"covered": COVERED, "groups": GROUPS, "alpha": ALPHA}
SERVICES = {
    "Monitor": entry(
        lambda rule, rate: seen(Monitor(rule, rate).update(data.X, data.SCORES)),
        rule=RULE,
        rate=("share", 0.05),
    ),
    "Monitor.update": entry(
        lambda X, y: seen(rule().monitor().update(X, y)),
        {"X": "empty", "y": "empty"},
        X=ROWS,
        y=SCORES,
    ),
    "Monitor.update, at": entry(
        lambda at: seen(rule().monitor().update(data.X, data.SCORES, at=at)),
        at=("times", "2026-05-01"),
    ),
    "Monitor.from_json": entry(
        lambda state: seen(Monitor.from_json(rule(), state)),
        state=("state", rule().monitor().update(data.X, data.SCORES).to_json()),
    ),
    "bins": entry(lambda rule, X: bins(rule)(X), rule=RULE, X=ROWS),
    "as_feature_map": entry(lambda rule, X: as_feature_map(rule)(X), rule=RULE, X=ROWS),
    "export": entry(served, model=("exported", rule())),
    "save": entry(
        saved,
        model=("saved", rule()),
        path=("path to write", str(FOLDER / "model.plcp")),
    ),
    "load": entry(
        lambda path, trusted: plcp.load(path, trusted=trusted).predict(data.X),
        path=("path to read", str(FOLDER / "here.plcp")),
        trusted=("trusted", []),
    ),
    "audit": entry(
        lambda table, by, **options: audit(table, **AUDITED, by=by, **options).to_dict()["overall"],
        table=("table", TABLE),
        by=("by", "c"),
        alpha=ALPHA,
        confidence=("share", 0.95),
        seed=("seed", 0),
    ),
    "CoverageDisplay": entry(
        lambda **given: plotting.CoverageDisplay.from_predictions(**given, ax=axes()),
        {"groups": NO_LABEL},
        **BY_GROUP,
    ),
    "SizeDisplay": entry(
        lambda **given: plotting.SizeDisplay.from_predictions(**given, ax=axes()),
        {"groups": NO_LABEL, "size": "inf"},
        **BY_GROUP,
        size=SIZE,
    ),
    "ComparisonDisplay": entry(
        lambda covered, **given: plotting.ComparisonDisplay.from_predictions(
            {"one": covered, "two": data.COVERED}, **given, ax=axes()
        ),
        {"groups": NO_LABEL},
        **BY_GROUP,
    ),
    "ThresholdDisplay": entry(
        lambda **given: plotting.ThresholdDisplay.from_predictions(**given, ax=axes()),
        {"X": "nan, inf, 1e308, text"},  # it is drawn along the first column
        X=FEW_ROWS,
        thresholds=THRESHOLDS,
        features=("feature", 0),
    ),
    "HistoryDisplay": entry(
        lambda history: plotting.HistoryDisplay.from_predictions(history, ax=axes()),
        history=("history", HISTORY),
    ),
    "SelectionDisplay": entry(
        lambda history: plotting.SelectionDisplay.from_predictions(history, ax=axes()),
        history=("tried", TRIED),
    ),
    **{
        f"{display.__name__}.from_estimator": entry(
            lambda rule, X, scores, display=display, more=more: display.from_estimator(
                rule, X, scores, ax=axes(), **more
            ),
            rule=RULE,
            X=FEW_ROWS,
            scores=SCORES,
        )
        for display, more in (
            (plotting.CoverageDisplay, {}),
            (plotting.SizeDisplay, {}),
            (plotting.ComparisonDisplay, {"before": rule()}),
        )
    },
}

# Collections of Dask, in two parts.
DUMMY = FrozenEstimator(DummyRegressor(strategy="constant", constant=0.0).fit(data.X, data.Y))
SPLIT = on_dask.DaskSplitConformal(data.ALPHA)
ON_DASK = {
    "DaskSplitConformal": (SPLIT, "dask numbers"),
    "DaskMondrian": (on_dask.DaskMondrian(2, data.ALPHA), "dask numbers"),
    "DaskPLCP": (
        on_dask.DaskPLCP(
            plcp.OrderedPartition(plcp.LinearQuantile()), 2, data.ALPHA, calibration="split"
        ),
        "dask numbers",
    ),
    "DaskConformalRegressor": (
        on_dask.DaskConformalRegressor(DUMMY, threshold=SPLIT),
        "dask responses",
    ),
    "DaskConformalClassifier": (
        on_dask.DaskConformalClassifier(
            FrozenEstimator(LogisticRegression().fit(data.X, data.LABELS)), threshold=SPLIT
        ),
        "classes",
    ),
}
TARGETS |= {"dask numbers": data.SCORES, "dask responses": data.Y}


def spread(values):
    if values is None or np.ndim(values) == 0 or not isinstance(values, np.ndarray):
        return values
    return da.from_array(values, chunks=(-(-data.N // 2), *values.shape[1:]))


def of_dask(name):
    estimator, kind = ON_DASK[name]

    def fit(X, y):
        with dask.config.set(scheduler="synchronous"):
            return computed(clone(estimator).fit(spread(X), spread(y)), spread(data.X))

    def computed(model, X):
        ask = getattr(model, "predict_set", getattr(model, "predict_interval", model.predict))
        found = ask(X)
        return np.asarray(found.compute()) if hasattr(found, "compute") else found.to_numpy()

    takes = {"DaskPLCP": "", "DaskConformalClassifier": "1e308"}
    return entry(fit, {"X": takes.get(name, ORDERED)}, X=FEW_ROWS, y=(kind, TARGETS[kind]))


ENTRIES = {name: each for case in ESTIMATORS for name, each in of_estimator(case)}
ENTRIES |= FUNCTIONS | SERVICES | {f"{name}.fit": of_dask(name) for name in ON_DASK}


# The table.
def arrays(answer):
    """Return the numbers that an answer is made of."""
    if hasattr(answer, "to_numpy"):
        answer = answer.to_numpy()
    if isinstance(answer, dict):
        answer = list(answer.values())
    if is_dataclass(answer) or hasattr(answer, "_fields") or hasattr(answer, "ax_"):
        answer = list(vars(answer).values()) if hasattr(answer, "__dict__") else [*answer]
    if isinstance(answer, list | tuple):
        return [array for part in answer for array in arrays(part)]
    array = np.asarray(answer)
    return [array] if array.dtype.kind in "biuf" else []


def outcome(name, argument, value):
    """What is wrong with a cell of the table; None if nothing is."""
    called, bad = ENTRIES[name], VALUES[ENTRIES[name].arguments[argument][0]][value]
    given = {key: clean for key, (_, clean) in called.arguments.items()}
    if bad.rows is not None:
        given = {k: v[: bad.rows] if isinstance(v, np.ndarray) else v for k, v in given.items()}
    base = {} if bad.base is data.identity else {"base": bad.base}
    given[argument] = bad.make(bad.base(called.arguments[argument][1]))
    is_taken = not bad.words or value in called.takes.get(argument, "").split(", ")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            found = called.call(**given, **base)
        except Exception as error:
            return fault_of_refusal(error, bad.words) if bad.words else f"refused: {error!r}"
        if not is_taken:
            return "not refused"
        if bad.words:
            return "NaN" if has_nan(found) else None
        return None if equal(found, clean_answer(name, argument, bad.like)) else "another answer"


def has_nan(answer):
    """Whether a row has no answer; a record of metrics may hold an undefined standard error."""
    of_rows = isinstance(answer, np.ndarray) or hasattr(answer, "to_numpy")
    return of_rows and any(np.isnan(array).any() for array in arrays(answer))


def fault_of_refusal(error, words):
    place = traceback.extract_tb(error.__traceback__)[-1]
    if not isinstance(error, REFUSALS):
        return f"no refusal: {error!r}"
    if not place.filename.startswith(WRITTEN_IN) and "_mt19937" not in place.filename:
        return f"raised in {place.filename}:{place.lineno}: {error!r}"
    return None if re.search(words, str(error)) else f"not in words {words!r}: {error!r}"


@cache
def clean_answer(name, argument, like):
    called = ENTRIES[name]
    given = {key: clean for key, (_, clean) in called.arguments.items()}
    given[argument] = like(given[argument])
    return called.call(**given)


def equal(found, right):
    """Whether two answers agree, up to the order of sums: in half of the digits of a float32."""
    if isinstance(right, dict) and not right:
        return found == {}  # the members of no group
    if isinstance(right, np.ndarray) and right.dtype.kind == "U":
        return np.array_equal(found, right)
    found, right = arrays(found), arrays(right)
    return len(found) == len(right) > 0 and all(map(close, found, right))


def close(found, right):
    if found.dtype.kind != "f" or found.shape != right.shape:
        return np.array_equal(found, right)
    half = np.sqrt(np.finfo(np.float32).eps)
    return np.allclose(found, right, rtol=half, atol=half, equal_nan=True)


def values_of(name, argument):
    """Names of the bad values that mean something for an argument."""
    kind = ENTRIES[name].arguments[argument][0]
    asks = "new" if "." in name and not name.endswith(".fit") else "fit"
    if kind == "X" and name.split(".")[0] not in ESTIMATORS:
        asks = ""  # a function has no rows to fit
    return [value for value, bad in VALUES[kind].items() if bad.when in ("", asks)]


@pytest.mark.parametrize("name", ENTRIES)
def test_bad_values_are_refused_or_answered_as_the_clean_equal(name):
    faults = {
        f"{argument}: {value}": fault
        for argument in ENTRIES[name].arguments
        for value in values_of(name, argument)
        if (fault := outcome(name, argument, value)) is not None
    }
    assert faults == {}


# Public names whose arguments are no rows, each with the tests that try bad values.
ELSEWHERE = {
    "comparison": "MethodsDisplay compare_table",
    "datasets": "fetch_* load_* *_files read_idx CellImages",
    "quantiles": "conformal_* group_conformal_quantiles least_points pac_rank pinball_loss "
    "smoothed_quantiles weighted_quantiles",
    "spark": "*_udf",
    "tables": "Applier calibrate calibrate_file choose_roles codes_as_text describe_features "
    "examine load_manifest load_model save_model serve summarise_model to_frame",
    "evaluation": "choice_of choose_features model_groups parse_by summarise",
    "explain": "RuleTree partition_importance",
    "metrics": "compare improvement",
    "groups": "KernelShifts",
    "partitions": "embed mlp one_conv small_cnn to_device",
    "test_several_alphas": "NestedSets",
    "theory": "best_m calibrated_coverage fallback_coverage finite_coverage finite_excess "
    "finite_msce learning_error log_covering_network log_covering_ordered log_covering_softmax "
    "log_growth_ordered msce_bound population_coverage population_excess population_msce "
    "quantisation_bits sharp_best_m sharp_finite_excess sharp_finite_msce sharp_learning_error "
    "sharp_population_excess sharp_population_msce sharp_quantisation_bits",
    "storage": "data_digest",
    "thresholds": "ThresholdRule",
}
# internal, or commands of their own
NOT_PUBLIC = {"cli", "experiments", "out_of_core"}


def public_names():
    """Classes and functions of every public module that take arguments."""
    for found in pkgutil.iter_modules(plcp.__path__):
        if found.name.startswith("_") or found.name in NOT_PUBLIC:
            continue
        module = importlib.import_module(f"plcp.{found.name}")
        for name in getattr(module, "__all__", ()):
            if callable(value := getattr(module, name)) and not is_result(value):
                yield name
    yield from (name for name in plcp.partitions.torch.__all__)
    yield from (name for name in plcp.__all__ if not is_result(getattr(plcp, name)))


def is_result(value):
    """Whether this is a module, an exception, an abstract base, or a record that we return."""
    if not inspect.isclass(value):
        return not callable(value)
    kinds = (Exception, tuple, Enum)
    return issubclass(value, kinds) or inspect.isabstract(value) or is_dataclass(value)


def test_every_public_name_is_tried():
    tried = {name.split(".")[0] for name in ENTRIES}
    tried |= {type(made(name)).__name__ for name in ESTIMATORS}
    patterns = [pattern for names in ELSEWHERE.values() for pattern in names.split()]
    public = set(public_names())
    missing = {n for n in public - tried if not any(fnmatch(n, p) for p in patterns)}
    assert missing == set()
    stale = {p for p in patterns if not any(fnmatch(name, p) for name in public)}
    assert stale == set()

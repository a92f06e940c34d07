"""Every method on the user's own rows: folds, runs out of fold, and measures of the same rows."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier
from sklearn.utils.multiclass import type_of_target

from plcp._folds import Fold, copy_ids, given_folds, shuffled_folds, split_rows
from plcp._options import (
    check_alpha,
    check_count,
    check_same_rows,
    check_share,
    shown,
)
from plcp._parallel import counted
from plcp._rows import count, frame_package, is_frame, take, to_plain_array
from plcp._validation import (
    check_at_hand,
    check_labels,
    check_lengths,
    check_response,
    check_rows,
    model_errors,
    reorder_columns,
)
from plcp.comparison.measures import BLOCKS, conditional_errors, worst_group
from plcp.comparison.methods import Data, Fit, Part, Ran, fit_of, run
from plcp.comparison.result import ComparedMethod, MethodComparison
from plcp.comparison.roster import REGRESSION, ROSTER, check_names, reason_to_leave_out
from plcp.conformal import SCORE_OF_PAIR, is_frozen, warn_if_trained
from plcp.evaluation import By, choose_features
from plcp.evaluation.columns import as_pandas
from plcp.evaluation.groups import group_by
from plcp.metrics import coverage, mean_size
from plcp.metrics.ert import blocks_after_others
from plcp.metrics.groups import Grouping, as_grouping, column_groups
from plcp.metrics.measure import Measure, check_numbers, mean_measure
from plcp.quantiles import FloatArray, IntArray
from plcp.regressors.base import seeded
from plcp.scores import AbsoluteResidual, LabelProbability, QuantileResidual, Score
from plcp.thresholds import Guarantee, ThresholdRule
from plcp.thresholds.guarantees import KINDS

SECONDS = "The interval holds the mean time of a fold, fit and prediction, on a machine as busy."


def compare_methods(
    X: Any,
    y: ArrayLike,
    model: Any = None,
    methods: str | Iterable[str] | Mapping[str, Any] = "all",
    *,
    prediction: ArrayLike | None = None,
    probabilities: Any = None,
    groups: Any = None,
    alpha: float = 0.1,
    cv: Any = 5,
    calibration_size: float = 0.3,
    confidence: float = 0.95,
    max_rows: int = 10_000,
    random_state: int = 0,
    verbose: bool = False,
) -> MethodComparison:
    """Compare conformal methods on your own rows, and recommend one.

    Rows are divided into folds. In each fold the model is trained on one part of the other rows
    and calibrated on the rest, by every method; the sets of the fold's own rows are measured. All
    methods get the same rows and the same predictions of one model, so that differences are
    paired. Measured are

    - conditional error: how far coverage given x is from 1 - alpha, at least, as boosted trees
      predict it from x (`plcp.metrics.ert` in L1, the same blocks of rows for each method);
    - the coverage of the worst group, of those given or else of fifths of columns of numbers and
      of categories; other rows choose it;
    - the mean size of the sets, and the time of a fold, without the model that all share.

    The recommendation begins with the methods that may have the smallest conditional error: with
    the given confidence the best is among them, whichever it is. Of these it takes those without
    infinite sets, if there are any, then those that cover their worst group best, then the
    strongest kind of guarantee, then the smallest sets to within 5 %, then a guarantee in groups,
    then the simplest (``cost`` in `plcp.comparison.ROSTER`). Errors, groups and sizes decide only
    beyond chance, until several methods of one cost are left and the smallest estimates decide;
    ``reason`` says which steps did. Times are measured and never decide.

    Parameters
    ----------
    X : array or DataFrame of shape (n, d)
    y : array-like of shape (n,)
        Numbers, or labels for a classifier.
    model : estimator, optional
        A regressor, `plcp.QuantilePair`, `plcp.MeanScalePair` or a classifier, which each fold
        trains. In ``FrozenEstimator`` it is taken as trained, on other rows than these, and all
        rows outside a fold calibrate.
    methods : "all", list of names, or mapping
        Names are those of `plcp.comparison.ROSTER`. The values of a mapping are names, threshold
        rules, which are fitted around the model, or estimators with ``predict_set`` or
        ``predict_interval``, which are fitted to all rows outside the fold. Rules and conformal
        estimators of plcp take ``alpha`` from here. MAPIE and crepes take part where they are
        installed.
    prediction : array-like of shape (n,) or (n, 2), optional
        Predictions made before, in place of a model: numbers, or a lower and an upper quantile.
    probabilities : array or DataFrame of shape (n, k), optional
        Probabilities made before; column names are the labels, or else the sorted labels of y.
    groups : column, callable, list or dict of them, or Grouping, optional
        Groups that you care about, as in `plcp.Groups`, or of `plcp.metrics.quantile_bins` and the
        like. Methods that need groups take part if they are given.
    alpha : float, default=0.1
        Miscoverage rate.
    cv : int, splitter of scikit-learn or list of pairs, default=5
        Folds. Copies of a row share a fold.
    calibration_size : float, default=0.3
        Share of the rows outside a fold that calibrate, where the others train the model.
    confidence : float, default=0.95
        Probability with which each interval holds, and the set of methods that may be best.
    max_rows : int, default=10_000
        Of more rows a random sample is compared, and a note says so.
    random_state : int, default=0
        Seed of all that is drawn, also by models whose own ``random_state`` is None.
    verbose : bool, default=False
        Show a progress bar (needs the extra ``progress``).

    Returns
    -------
    MethodComparison
        It prints as a table and a recommendation; ``recommended``, ``reason``, ``to_pandas()``,
        ``differences(metric, reference)`` and ``plot()``.

    Notes
    -----
    A method that raises is left out, and the reason is in ``left_out``.

    Intervals are those of the test error of cross-validation: they hold the mean, over the folds,
    of what the sets of each fold do on new rows (Bayle et al. 2020), for methods that a single row
    changes little. They do not hold what other training and calibration rows would give, since
    folds share such rows. In simulations of 600 and of 2,000 rows nominal 95 % intervals of
    differences held in 93 to 97 % of samples for conditional error, and in 95 to 98 % for the worst
    group, between rules that learn as between methods that are much alike.

    References
    ----------
    Bayle, Bayle, Janson, Mackey (2020). Cross-validation confidence intervals for test error.
    NeurIPS.
    Hsu (1984). Constrained simultaneous confidence intervals for multiple comparisons with the
    best. Annals of Statistics.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from plcp import compare_methods
    >>> from plcp.datasets import make_toy
    >>> task = make_toy(600, random_state=0)
    >>> found = compare_methods(task.X, task.y, LinearRegression(), ["split", "rectified"], cv=2)
    >>> found.recommended in found.best
    True
    >>> sorted(found.methods)
    ['rectified', 'split']
    """
    check_same_rows(X, y=y, prediction=prediction, probabilities=probabilities)
    check_at_hand(X=X)
    X = to_plain_array(X)
    check_rows(X)
    check_lengths(X, y)
    alpha, confidence = check_alpha(alpha), check_share("confidence", confidence)
    check_share("calibration_size", calibration_size, ": the share of rows to calibrate on")
    check_count("max_rows", max_rows, least=1)
    seed = check_count("random_state", random_state, least=0)
    values = _read(X, y, model, prediction, probabilities, seed)
    data = Data(*values, alpha, calibration_size, seed)
    names, members = _groups(data.X, groups)
    rows, notes = np.arange(len(data.y)), []
    if len(rows) > max_rows:
        rows = np.sort(np.random.default_rng(seed).permutation(len(rows))[:max_rows])
        notes.append(
            f"These are {len(rows):,} of {len(data.y):,} rows, drawn at random: max_rows is the "
            "number compared."
        )
        data, members = _some(data, rows), members[rows]
    if groups is not None:
        data.members = members
    wanted, left_out = _wanted(methods, data)
    ids = copy_ids(data.X, data.y)
    folds = given_folds(cv, data.X, data.y)
    folds = shuffled_folds(ids, cv, seed) if folds is None else folds
    steps, total = _run_all(data, folds, ids, wanted), len(folds) * len(wanted)
    runs: dict[str, list[Ran]] = defaultdict(list)
    for name, ran in counted(steps, total, verbose, "methods, fold by fold"):
        if isinstance(ran, Ran):
            runs[name].append(ran)
        else:
            left_out.setdefault(name, ran)
    runs = {name: runs[name] for name in wanted if name not in left_out}
    if not runs:
        raise ValueError(
            "no method could be measured: "
            + "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        )
    covered = {name: _of_rows(own, "covered", len(rows)).astype(bool) for name, own in runs.items()}
    errors = conditional_errors(data.X, covered, alpha, ids=ids, confidence=confidence, seed=seed)
    blocks = [*blocks_after_others(ids, BLOCKS, seed)]
    found = {}
    for name, own in runs.items():
        worst = worst_group(covered[name], names, members, blocks, confidence)
        how = _how_to_make(wanted[name][0], data)
        found[name] = _compared(name, how, own, covered[name], errors[name], worst, confidence)
        if texts := [text for ran in own for text in ran.warned]:
            times = f"{len(texts)} time{'s' * (len(texts) > 1)}"
            notes.append(f"{name} warned {times}; first: {texts[0]}")
    return MethodComparison(
        methods=found,
        left_out=left_out,
        alpha=alpha,
        confidence=confidence,
        task=data.task,
        rows=rows,
        folds=len(folds),
        groups=tuple(names),
        notes=tuple(notes),
    )


Values = tuple[Any, NDArray[Any], Any, FloatArray | None, NDArray[Any] | None, Score]


def _read(
    X: Any, y: ArrayLike, model: Any, prediction: Any, probabilities: Any, seed: int
) -> Values:
    """Check the rows; return X, y, a model or else predictions, the classes and the score."""
    ways = {"model": model, "prediction": prediction, "probabilities": probabilities}
    chosen = [way for way, value in ways.items() if value is not None]
    if len(chosen) != 1:
        raise ValueError(
            f"got {' and '.join(chosen) or 'None for each'}: give one of model, prediction and "
            "probabilities"
        )
    X = _table(X)
    if prediction is not None:
        y = check_response(y)
        values = _check_prediction(prediction, len(y))
        score: Score = AbsoluteResidual() if values.ndim == 1 else QuantileResidual()
        return X, y, None, values, None, score
    if probabilities is not None:
        labels = check_labels(y)
        return X, labels, None, *_check_probabilities(probabilities, labels), LabelProbability()
    if isinstance(model, type) or not hasattr(model, "predict"):
        raise TypeError(
            f"model must be a regressor or a classifier, got {shown(model)}: give an instance such "
            "as Ridge()"
        )
    classes = None
    if is_classifier(model):
        y = check_labels(y)
        if type_of_target(y) == "continuous":
            raise ValueError(f"{model} predicts labels, but y holds numbers: give a regressor")
        if not hasattr(model, "predict_proba"):
            raise ValueError(f"{model} has no predict_proba: wrap it in CalibratedClassifierCV")
        classes, score = np.unique(y), LabelProbability()
    else:
        y, own = check_response(y), getattr(model, "estimator", model)  # of a frozen one
        score = SCORE_OF_PAIR.get(type(own), AbsoluteResidual)()
    if not is_frozen(model):
        warn_if_trained(model)
        return X, y, seeded(model, np.random.RandomState(seed)), None, classes, score
    if classes is not None:
        classes = np.union1d(classes, model.classes_)
    values = _predict(model, reorder_columns(model, X), score, classes)
    return X, y, None, values, classes, score


def _table(X: Any) -> Any:
    """Return X as a frame or an array of two dimensions."""
    if issparse(X):
        raise ValueError("X is sparse, which not every method reads: give X.toarray()")
    try:
        X = X if is_frame(X) else np.asarray(X)
    except ValueError as error:
        raise ValueError("X must be a table, with rows of one length") from error
    if len(np.shape(X)) != 2:
        raise ValueError(f"X must be a table with rows and columns, got shape {np.shape(X)}")
    return X


def _check_prediction(prediction: Any, n: int) -> FloatArray:
    """Return a number for each row, or two quantiles."""
    values = np.asarray(to_plain_array(prediction))
    if values.ndim != 2:
        return check_numbers("prediction", values, n, source="one number per row")
    if values.shape != (n, 2):
        raise ValueError(
            f"prediction must have shape ({n},), or ({n}, 2) for two quantiles, got "
            f"{values.shape}: pass model.predict(X)"
        )
    return np.column_stack([check_numbers("prediction", one) for one in values.T])


def _check_probabilities(given: Any, labels: NDArray[Any]) -> tuple[FloatArray, NDArray[Any]]:
    """Return probabilities and their classes, which are sorted."""
    values = np.asarray(given, dtype=float)
    classes = np.asarray(given.columns) if is_frame(given) else np.unique(labels)
    if values.shape != (len(labels), len(classes)):
        raise ValueError(
            f"probabilities must have shape ({len(labels)}, {len(classes)}), one column for "
            f"each of the labels {classes.tolist()}, got {values.shape}"
        )
    if len(unknown := np.setdiff1d(labels, classes)):
        raise ValueError(
            f"y holds {unknown.tolist()}, which have no column of probabilities: drop those rows"
        )
    order = np.argsort(classes)
    return values[:, order], classes[order]


def _predict(model: Any, X: Any, score: Score, classes: NDArray[Any] | None) -> FloatArray:
    """Predictions that the score reads; a class that the model did not meet has probability 0."""
    with model_errors(model, X):
        known = np.asarray(score.predictions(model, X), dtype=float)
    if classes is None:
        return known
    full = np.zeros((len(known), len(classes)))
    full[:, np.searchsorted(classes, model.classes_)] = known
    return full


def _some(data: Data, rows: IntArray) -> Data:
    predictions = None if data.predictions is None else data.predictions[rows]
    return replace(data, X=take(data.X, rows), y=data.y[rows], predictions=predictions)


def _groups(X: Any, groups: Any) -> tuple[list[str], NDArray[np.bool_]]:
    """Names of the groups among which the worst is sought, and whether each row is in each."""
    if groups is not None:
        own = groups if isinstance(groups, Grouping) else column_groups(X, groups)
        own = as_grouping(own, count(X))
        matrix = np.zeros((own.n_rows, len(own)), dtype=bool)
        matrix[np.arange(own.n_rows) if own.rows is None else own.rows, own.codes] = True
        return [str(name) for name in own.names], matrix
    pandas = frame_package("pandas")
    frame = as_pandas(X) if is_frame(X) else pandas.DataFrame(X).add_prefix("x")
    masks = masks_by(frame, [By(name) for name in choose_features(frame, None, [])[0].columns])
    return [*masks], np.array([*masks.values()], dtype=bool).reshape(len(masks), len(frame)).T


def masks_by(frame: Any, columns: Iterable[By]) -> dict[str, NDArray[np.bool_]]:
    """Groups by each of some columns: which rows are in each.

    Examples
    --------
    >>> import pandas as pd
    >>> masks_by(pd.DataFrame({"sex": ["f", "m", "f"]}), [By("sex")])
    {'sex is f': array([ True, False,  True]), 'sex is m': array([False,  True, False])}
    """
    masks: dict[str, NDArray[np.bool_]] = {}
    for by in columns:
        found = group_by(frame, by)
        masks |= {one.name: found.codes == i for i, one in enumerate(found.groups)}
    return masks


Wanted = dict[str, tuple[Any, Fit]]  # each method as it was given, and how it is fitted


def _wanted(methods: Any, data: Data) -> tuple[Wanted, dict[str, str]]:
    """Methods that take part, and the reasons of those that cannot."""
    if isinstance(methods, Mapping):
        named = {str(name): method for name, method in methods.items()}
        if not named:
            raise ValueError('methods is an empty mapping: give {"mine": PLCP()}, or "all"')
        if texts := [method for method in named.values() if isinstance(method, str)]:
            check_names(texts)
    elif isinstance(methods, str) and methods == "all":
        named = {name: name for name, entry in ROSTER.items() if data.task in entry.tasks}
    elif isinstance(methods, Iterable):
        chosen = check_names([methods] if isinstance(methods, str) else methods)
        named = {name: name for name in chosen}
    else:
        raise ValueError(
            f'methods must be "all", names or a mapping, got {shown(methods)}: give '
            '["split", "plcp"], for example'
        )
    there = {
        "groups": data.members is not None,
        "model": data.model is not None,
        "points": isinstance(data.score, AbsoluteResidual | LabelProbability),
    }
    available = [what for what, is_there in there.items() if is_there]
    wanted = {name: (method, fit_of(name, method)) for name, method in named.items()}
    left_out = {
        name: reason
        for name, method in named.items()
        if isinstance(method, str)
        and (reason := reason_to_leave_out(ROSTER[method], data.task, available))
    }
    return {name: own for name, own in wanted.items() if name not in left_out}, left_out


def _run_all(
    data: Data, folds: Sequence[Fold], ids: IntArray, wanted: Wanted
) -> Iterator[tuple[str, Ran | str]]:
    """Yield each method on each fold: what it did, or why it failed, then and ever after."""
    failed: dict[str, str] = {}
    for fold in folds:
        part = _part(data, fold, ids)
        for name, (_, fit) in wanted.items():
            ran: Ran | None = None
            if name not in failed:
                try:
                    ran = run(fit, part)
                except Exception as error:  # whatever it raises, the others go on
                    failed[name] = _why(error)
            yield name, failed[name] if ran is None else ran


def _part(data: Data, fold: Fold, ids: IntArray) -> Part:
    """Divide the rows of a fold, and predict by a model that is trained once."""
    rest, test = fold
    if data.model is None:
        values: Any = data.predictions
        train: IntArray = np.empty(0, dtype=np.intp)
        calibration, predictions = rest, [values[rest], values[test]]
    else:
        own = np.unique(ids[rest], return_inverse=True)[1]
        learn, hold = split_rows(own, data.calibration_size, np.random.RandomState(data.seed))
        train, calibration = rest[np.sort(learn)], rest[np.sort(hold)]
        model, X = clone(data.model), take(data.X, train)
        with model_errors(model, X):
            model.fit(X, data.y[train])
        predictions = [
            _predict(model, take(data.X, rows), data.score, data.classes)
            for rows in (calibration, test)
        ]
    part = Part(
        **vars(data),
        train=train,
        calibration=calibration,
        test=test,
        calibration_prediction=predictions[0],
        test_prediction=predictions[1],
    )
    with suppress(ValueError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _ = part.numbers  # before the clock starts; methods that need them raise again
    return part


def _why(error: Exception) -> str:
    """Say why a method was left out."""
    if isinstance(error, ImportError):
        package = (error.name or "a package").partition(".")[0]
        return f"{package} is not installed: pip install {package}"
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, ValueError) else f"{type(error).__name__}: {text}"


def _of_rows(runs: Iterable[Ran], what: str, n: int) -> FloatArray:
    """Return what a method did on each row, from all folds."""
    values = np.zeros(n)
    for ran in runs:
        values[ran.rows] = getattr(ran, what)
    return values


def _how_to_make(method: Any, data: Data) -> dict[str, str]:
    """Return how a method is made, a rule around the model, and its class of cost."""
    kind = "Regressor" if data.task == REGRESSION else "Classifier"
    if isinstance(method, str):
        cost, text = ROSTER[method].cost, ROSTER[method].how.replace("Regressor", kind)
        is_rule = ROSTER[method].package == "plcp" and not text.startswith("Conformal")
    else:
        cost, text = "", " ".join(repr(method).split())
        is_rule = isinstance(method, ThresholdRule)
    if is_rule:
        is_default = isinstance(data.score, AbsoluteResidual | LabelProbability)
        score = "" if is_default else f"{data.score}, "
        text = f"Conformal{kind}(FrozenEstimator(model), {score}threshold={text})"
    return {"how": text, "cost": cost}


def _compared(
    name: str,
    how: dict[str, str],
    runs: list[Ran],
    covered: NDArray[np.bool_],
    error: Measure,
    worst: Measure | None,
    confidence: float,
) -> ComparedMethod:
    """Measure what a method did on all rows."""
    sizes = _of_rows(runs, "size", len(covered))
    seconds = np.array([[ran.fit_seconds, ran.predict_seconds] for ran in runs])
    options: Any = {"meaning": SECONDS, "confidence": confidence, "limits": (0.0, np.inf)}
    return ComparedMethod(
        name=name,
        **how,
        conditional_error=error,
        worst_group=worst,
        coverage=coverage(covered, confidence=confidence),
        size=mean_size(sizes, confidence=confidence),
        seconds=mean_measure("seconds per fold", seconds.sum(axis=1), **options),
        fit_seconds=float(seconds[:, 0].mean()),
        predict_seconds=float(seconds[:, 1].mean()),
        guarantee=_weakest([ran.guarantee for ran in runs]),
        covered=covered,
        sizes=sizes,
    )


def _weakest(guarantees: list[Guarantee | None]) -> Guarantee | None:
    """Return the weakest of the guarantees of all folds."""
    known = [one for one in guarantees if one is not None]
    if len(known) < len(guarantees):
        return None
    return max(known, key=lambda one: (KINDS.index(one.kind), one.scope == "marginal"))

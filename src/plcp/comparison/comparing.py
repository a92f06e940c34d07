"""Every method on the user's own rows: folds, runs out of fold, and measures of the same rows."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
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
from plcp._rows import count, is_frame, take, to_plain_array
from plcp._validation import (
    check_at_hand,
    check_labels,
    check_lengths,
    check_response,
    check_rows,
    model_errors,
    reorder_columns,
)
from plcp.comparison.measures import (
    BLOCKS,
    conditional_errors,
    mean_of_seconds,
    mean_of_sizes,
    worst_group,
)
from plcp.comparison.methods import Fit, Part, Ran, fit_of, run
from plcp.comparison.result import ComparedMethod, MethodComparison
from plcp.comparison.roster import (
    CLASSIFICATION,
    REGRESSION,
    ROSTER,
    check_names,
    reason_to_leave_out,
)
from plcp.conformal import is_frozen, warn_if_trained
from plcp.evaluation import By, choose_features
from plcp.evaluation.columns import as_pandas
from plcp.evaluation.groups import group_by
from plcp.metrics import coverage
from plcp.metrics.ert import blocks_after_others
from plcp.metrics.groups import Grouping, as_grouping, column_groups
from plcp.metrics.measure import check_numbers
from plcp.quantiles import FloatArray, IntArray
from plcp.thresholds.guarantees import KINDS, Guarantee


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
    the given confidence the best is among them, whichever it is. Of these it takes those that
    cover their worst group best, then the strongest kind of guarantee, then the smallest sets to
    within 5 %, then a guarantee in groups, then the fastest. Errors, groups and sizes decide only
    beyond chance; ``reason`` says which step did.

    Parameters
    ----------
    X : array or DataFrame of shape (n, d)
    y : array-like of shape (n,)
        Numbers, or labels for a classifier.
    model : estimator, optional
        A regressor or classifier, which each fold trains. In ``FrozenEstimator`` it is taken as
        trained, on other rows than these, and all rows outside a fold calibrate.
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
        Seed of all that is drawn.
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
    >>> task = make_toy(2000, random_state=0)
    >>> found = compare_methods(task.X, task.y, LinearRegression(), ["split", "rectified", "cqr"])
    >>> found.recommended in found.best
    True
    >>> sorted(found.methods)
    ['cqr', 'rectified', 'split']
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
    data = _read(X, y, model, prediction, probabilities)
    grouping, given = _groups(data.X, groups)
    rows, notes = np.arange(len(data.y)), []
    if len(rows) > max_rows:
        rows = np.sort(np.random.default_rng(seed).permutation(len(rows))[:max_rows])
        notes.append(
            f"These are {len(rows):,} of {len(data.y):,} rows, drawn at random: max_rows is the "
            "number compared."
        )
        data, grouping = data.take(rows), _some(grouping, rows)
    wanted, left_out = _wanted(methods, data, given)
    ids = copy_ids(data.X, data.y)
    folds = given_folds(cv, data.X, data.y)
    folds = shuffled_folds(ids, cv, seed) if folds is None else folds
    members = _matrix(grouping) if given else None
    outcomes, total = _Outcomes(len(data.y)), len(folds) * len(wanted)
    steps = iter(counted(range(total), total, verbose, "methods, fold by fold"))
    for fold in folds:
        part = _part(data, fold, ids, members, alpha, calibration_size, seed)
        for name, fit in wanted.items():
            next(steps)
            if name not in left_out and (reason := outcomes.run(name, fit, part)):
                left_out[name] = reason
    next(steps, None)
    wanted = {name: fit for name, fit in wanted.items() if name not in left_out}
    if not wanted:
        raise ValueError(
            "no method could be measured: "
            + "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        )
    found = outcomes.measure([*wanted], data, ids, grouping, methods, alpha, confidence, seed)
    return MethodComparison(
        methods=found,
        left_out=left_out,
        alpha=alpha,
        confidence=confidence,
        task=data.task,
        rows=rows,
        folds=len(folds),
        groups=tuple(str(name) for name in grouping.names),
        notes=(*notes, *outcomes.notes(wanted)),
    )


@dataclass(frozen=True, eq=False)
class _Data:
    """Rows, labels, and a model or predictions made before."""

    X: Any
    y: NDArray[Any]
    model: Any
    predictions: FloatArray | None
    classes: NDArray[Any] | None

    @property
    def task(self) -> str:
        return REGRESSION if self.classes is None else CLASSIFICATION

    def take(self, rows: IntArray) -> _Data:
        """Return some of the rows."""
        predictions = None if self.predictions is None else self.predictions[rows]
        return _Data(take(self.X, rows), self.y[rows], self.model, predictions, self.classes)


def _read(X: Any, y: ArrayLike, model: Any, prediction: Any, probabilities: Any) -> _Data:
    """Check y and what predicts it: a model to train, a frozen one, or predictions."""
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
        values = np.asarray(to_plain_array(prediction))
        if values.ndim != 2:
            values = check_numbers("prediction", values, len(y), source="one number per row")
        elif values.shape == (len(y), 2):
            values = np.column_stack([check_numbers("prediction", one) for one in values.T])
        else:
            raise ValueError(
                f"prediction must have shape ({len(y)},), or ({len(y)}, 2) for two quantiles, got "
                f"{values.shape}: pass model.predict(X)"
            )
        return _Data(X, y, None, values, None)
    if probabilities is not None:
        labels = check_labels(y)
        values = np.asarray(probabilities, dtype=float)
        names = np.asarray(probabilities.columns) if is_frame(probabilities) else np.unique(labels)
        if values.shape != (len(labels), len(names)):
            raise ValueError(
                f"probabilities must have shape ({len(labels)}, {len(names)}), one column for "
                f"each of the labels {names.tolist()}, got {values.shape}"
            )
        return _classes(X, labels, None, values, names)
    if isinstance(model, type) or not hasattr(model, "predict"):
        raise TypeError(
            f"model must be a regressor or a classifier, got {shown(model)}: give an instance such "
            "as Ridge()"
        )
    if not is_classifier(model):
        return _predicted(_Data(X, check_response(y), model, None, None))
    labels = check_labels(y)
    if type_of_target(labels) == "continuous":
        raise ValueError(f"{model} predicts labels, but y holds numbers: give a regressor")
    if not hasattr(model, "predict_proba"):
        raise ValueError(f"{model} has no predict_proba: wrap it in CalibratedClassifierCV")
    return _predicted(_classes(X, labels, model, None, np.unique(labels)))


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


def _classes(X: Any, y: Any, model: Any, values: Any, names: NDArray[Any]) -> _Data:
    """Return data with the classes in sorted order, and the columns of predictions likewise."""
    order = np.argsort(names)
    unknown = np.setdiff1d(y, names)
    if len(unknown):
        raise ValueError(
            f"y holds {unknown.tolist()}, which have no column of probabilities: drop those rows"
        )
    return _Data(X, y, model, None if values is None else values[:, order], names[order])


def _predicted(data: _Data) -> _Data:
    """Replace a frozen model by its predictions."""
    if not is_frozen(data.model):
        warn_if_trained(data.model)
        return data
    classes = data.classes
    if classes is not None:
        classes = np.union1d(classes, data.model.classes_)
    X = reorder_columns(data.model, data.X)
    return _Data(data.X, data.y, None, _predict(data.model, X, classes), classes)


def _predict(model: Any, X: Any, classes: NDArray[Any] | None) -> FloatArray:
    """Predictions of a fitted model; a class that it did not meet has probability 0."""
    with model_errors(model, X):
        if classes is None:
            return np.asarray(model.predict(X), dtype=float)
        known = np.asarray(model.predict_proba(X), dtype=float)
    full = np.zeros((len(known), len(classes)))
    full[:, np.searchsorted(classes, model.classes_)] = known
    return full


def _part(
    data: _Data,
    fold: Fold,
    ids: IntArray,
    members: NDArray[np.bool_] | None,
    alpha: float,
    calibration_size: float,
    seed: int,
) -> Part:
    """Divide the rows of a fold, and predict by a model that is trained once."""
    rest, test = fold
    train: IntArray = np.empty(0, dtype=np.intp)
    calibration = rest
    if data.model is None:
        values: Any = data.predictions
        predictions = values[calibration], values[test]
    else:
        own = np.unique(ids[rest], return_inverse=True)[1]
        learn, hold = split_rows(own, calibration_size, np.random.RandomState(seed))
        train, calibration = rest[np.sort(learn)], rest[np.sort(hold)]
        model, X = clone(data.model), take(data.X, train)
        if "random_state" in model.get_params() and model.random_state is None:
            model.set_params(random_state=seed)
        with model_errors(model, X):
            model.fit(X, data.y[train])
        first, second = (
            _predict(model, take(data.X, rows), data.classes) for rows in (calibration, test)
        )
        predictions = first, second
    part = Part(
        data.X, data.y, train, calibration, test, *predictions, data.model, data.classes,
        members, alpha, calibration_size, seed,
    )  # fmt: skip
    with suppress(ValueError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _ = part.numbers  # before the clock starts; methods that need them raise again
    return part


def _wanted(methods: Any, data: _Data, has_groups: bool) -> tuple[dict[str, Fit], dict[str, str]]:
    """How each method is fitted, and the reasons of those that cannot take part."""
    if isinstance(methods, Mapping):
        named = {str(name): method for name, method in methods.items()}
        if not named:
            raise ValueError('methods is an empty mapping: give {"mine": PLCP()}, or "all"')
        if texts := [method for method in named.values() if isinstance(method, str)]:
            check_names(texts)
    elif isinstance(methods, str):
        chosen = [*ROSTER] if methods == "all" else check_names([methods])
        named = {name: name for name in chosen}
    elif isinstance(methods, Iterable):
        named = {name: name for name in check_names(methods)}
    else:
        raise ValueError(
            f'methods must be "all", names or a mapping, got {shown(methods)}: give '
            '["split", "plcp"], for example'
        )
    points = data.classes is not None or data.predictions is None or data.predictions.ndim == 1
    available = {
        *(["groups"] if has_groups else []),
        *(["model"] if data.model is not None else []),
        *(["points"] if points else []),
    }
    wanted, left_out = {}, {}
    for name, method in named.items():
        fit, reason = fit_of(name, method), None
        if isinstance(method, str):
            if methods == "all" and data.task not in ROSTER[method].tasks:
                continue
            reason = reason_to_leave_out(ROSTER[method], data.task, available)
        if reason is None:
            wanted[name] = fit
        else:
            left_out[name] = reason
    return wanted, left_out


def _why(error: Exception) -> str:
    """Say why a method was left out."""
    if isinstance(error, ImportError):
        package = (error.name or "a package").partition(".")[0]
        return f"{package} is not installed: pip install {package}"
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, ValueError) else f"{type(error).__name__}: {text}"


def _groups(X: Any, groups: Any) -> tuple[Grouping, bool]:
    """Groups among which the worst is sought, and whether they were given."""
    if isinstance(groups, Grouping):
        return as_grouping(groups, count(X)), True
    if groups is not None:
        return column_groups(X, groups), True
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "compare_methods needs pandas for its groups: pip install 'plcp[frames]'"
        ) from error
    if is_frame(X):
        frame = as_pandas(X)
    else:
        frame = pandas.DataFrame(X, columns=[f"x{i}" for i in range(np.shape(X)[1])])
    masks: dict[str, Any] = {}
    for name in choose_features(frame, None, [])[0].columns:
        found = group_by(frame, By(name))
        masks |= {one.name: found.codes == i for i, one in enumerate(found.groups)}
    if not masks:
        return Grouping(np.array([]), np.empty(0, dtype=np.intp), None, len(frame)), False
    return as_grouping(masks, len(frame)), False


def _matrix(groups: Grouping) -> NDArray[np.bool_]:
    """Whether each row is in each group."""
    matrix = np.zeros((groups.n_rows, len(groups)), dtype=bool)
    matrix[np.arange(groups.n_rows) if groups.rows is None else groups.rows, groups.codes] = True
    return matrix


def _some(groups: Grouping, rows: IntArray) -> Grouping:
    """Groups of some of the rows."""
    names = [str(name) for name in groups.names]
    return as_grouping(dict(zip(names, _matrix(groups)[rows].T, strict=True)), len(rows))


def _how(method: Any) -> str:
    """Return how a method is made."""
    return ROSTER[method].how if isinstance(method, str) else " ".join(repr(method).split())


def _weakest(guarantees: list[Guarantee | None]) -> Guarantee | None:
    """Return the weakest of the guarantees of all folds."""
    if any(one is None for one in guarantees):
        return None
    known = [one for one in guarantees if one is not None]
    return max(known, key=lambda one: (KINDS.index(one.kind), one.scope == "marginal"))


class _Outcomes:
    """What each method did on each row, fold by fold, and what it warned of."""

    def __init__(self, n: int) -> None:
        self.covered: dict[str, NDArray[np.bool_]] = defaultdict(lambda: np.zeros(n, dtype=bool))
        self.size: dict[str, FloatArray] = defaultdict(lambda: np.zeros(n))
        self.runs: dict[str, list[Ran]] = defaultdict(list)
        self.warned: dict[str, list[str]] = defaultdict(list)

    def run(self, name: str, fit: Fit, part: Part) -> str | None:
        """Run a method on a fold and keep what it did; return why it failed, if it did."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                ran = run(fit, part)
            except Exception as error:  # whatever it raises, the others go on
                return _why(error)
        self.covered[name][part.test], self.size[name][part.test] = ran.covered, ran.size
        self.runs[name].append(ran)
        self.warned[name] += [" ".join(str(one.message).split()) for one in caught]
        return None

    def notes(self, names: Iterable[str]) -> list[str]:
        """Return one note for each method that warned: how often, and of what at first."""
        return [
            f"{name} warned {len(texts)} time{'s' * (len(texts) > 1)}; first: {texts[0]}"
            for name in names
            if (texts := self.warned[name])
        ]

    def measure(
        self,
        names: list[str],
        data: _Data,
        ids: IntArray,
        grouping: Grouping,
        given: Any,
        alpha: float,
        confidence: float,
        seed: int,
    ) -> dict[str, ComparedMethod]:
        """Measure every method on the same rows."""
        covered = {name: self.covered[name] for name in names}
        errors = conditional_errors(
            data.X, covered, alpha, ids=ids, confidence=confidence, seed=seed
        )
        blocks = list(blocks_after_others(ids, BLOCKS, seed))
        found = {}
        for name in names:
            hits, runs = covered[name], self.runs[name]
            worst = worst_group(hits, grouping, blocks, confidence)
            seconds = np.array([[ran.fit_seconds, ran.predict_seconds] for ran in runs])
            found[name] = ComparedMethod(
                name=name,
                how=_how(given[name] if isinstance(given, Mapping) else name),
                conditional_error=errors[name],
                worst_group=worst,
                group="" if worst is None else str(worst.table["group"][-1]),
                coverage=coverage(hits, confidence=confidence),
                size=mean_of_sizes(self.size[name], confidence),
                seconds=mean_of_seconds(seconds.sum(axis=1), confidence),
                fit_seconds=float(seconds[:, 0].mean()),
                predict_seconds=float(seconds[:, 1].mean()),
                guarantee=_weakest([ran.guarantee for ran in runs]),
                covered=hits,
                sizes=self.size[name],
            )
        return found

"""Cross-fitting: fold models, their out-of-fold predictions, and their mean for new rows."""

import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from hashlib import blake2b
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

from plcp._folds import Fold, copy_ids, given_folds, shuffled_folds
from plcp._options import check_count
from plcp._parallel import in_threads, jobs_for, threads_for
from plcp._rows import Hashes, batches, hash_content, take
from plcp._validation import relative_weights, takes_images, takes_nan
from plcp.quantiles import FloatArray, IntArray
from plcp.regressors._fast_trees import (
    AnyBooster,
    Booster,
    LightBooster,
    TreeTables,
    tree_tables,
)
from plcp.regressors.base import ScoreRegressor, fit_weighted, seeded
from plcp.regressors.boosted import ScaledQuantile
from plcp.regressors.encoding import CategoryMeans, without_rare
from plcp.regressors.linear import LinearQuantile
from plcp.regressors.sparse import SparseScale

ROWS_PER_THREAD = 16_384  # with fewer, threads wait for the interpreter
ROWS_FOR_LIGHTGBM = 10_000  # whose trees take a second to be read: longer than it needs for these


@dataclass(frozen=True)
class Parts:
    """A model taken apart: it predicts the product of its boosters' predictions, times a unit."""

    boosters: Sequence[AnyBooster]
    unit: float = 1.0

    def combine(self, *predictions: FloatArray) -> FloatArray:
        """Return the model's prediction, given those of its boosters."""
        return reduce(np.multiply, predictions, np.asarray(self.unit))


class AveragedBoosters:
    """Mean of several models made of boosters, the same to the last bit as their own mean.

    Tables of all trees are made when rows are first predicted.
    """

    def __init__(self, models: Sequence[Parts]) -> None:
        self.models = models
        self.boosters = [booster for model in models for booster in model.boosters]

    @classmethod
    def of(cls, models: Sequence[Any]) -> Self | None:
        """Take fitted models apart; None where it cannot be done."""
        apart = [taken_apart(model) for model in models]
        known = [parts for parts in apart if parts is not None]
        return cls(known) if len(known) == len(apart) else None

    @cached_property
    def tables(self) -> TreeTables | None:
        """Tables of all trees; None where there can be none, or they would be too large."""
        return tree_tables(self.boosters)

    def predict(self, X: NDArray[Any]) -> FloatArray | None:
        """Mean of the models, in as many threads as scikit-learn takes; None without tables."""
        return self._in_blocks(X, lambda block: mean_of_models(self._each(block)))

    def predict_each(self, X: NDArray[Any]) -> FloatArray | None:
        """Prediction of each model, one row of them each; None without tables."""
        return self._in_blocks(X, self._each)

    def _in_blocks(
        self, X: NDArray[Any], predict: Callable[[NDArray[Any]], FloatArray]
    ) -> FloatArray | None:
        light = any(isinstance(booster, LightBooster) for booster in self.boosters)
        if light and len(X) < ROWS_FOR_LIGHTGBM and "tables" not in vars(self):
            return None
        if self.tables is None:
            return None
        blocks = [X[rows] for rows in batches(len(X), ROWS_PER_THREAD)]
        n_threads = min(len(blocks), _openmp_effective_n_threads())
        if n_threads == 1:
            return np.concatenate([*map(predict, blocks)], axis=-1)
        with ThreadPoolExecutor(n_threads) as threads:
            return np.concatenate([*threads.map(predict, blocks)], axis=-1)

    def _each(self, X: NDArray[Any]) -> FloatArray:
        assert self.tables is not None
        predictions = iter(self.tables.predict(X))
        return np.array(
            [model.combine(*(next(predictions) for _ in model.boosters)) for model in self.models]
        )


def mean_of_models(predictions: Iterable[FloatArray]) -> FloatArray:
    """Mean of one prediction per model, added up in their order."""
    each = [*predictions]
    return np.asarray(reduce(np.add, each) / len(each))


def taken_apart(model: Any) -> Parts | None:
    """Boosters of a fitted model, if it is made of nothing else."""
    if isinstance(model, Pipeline):
        # a booster that was fitted without rare categories takes them for missing by itself
        first, last = model[0], model[-1]
        if len(model) != 2 or not isinstance(first, FunctionTransformer):
            return None
        parts = taken_apart(last)
        if first.func is not without_rare or parts is None:
            return None
        columns = np.flatnonzero(first.kw_args["columns"]).tolist()
        known = all(booster.holds_codes(i) for booster in parts.boosters for i in columns)
        return parts if known else None
    lightgbm = sys.modules.get("lightgbm")  # imported already if the model is one of its own
    if lightgbm is not None and type(model) is lightgbm.LGBMRegressor:
        return Parts([LightBooster(model)])
    if type(model) is HistGradientBoostingRegressor:
        return Parts([Booster(model)])
    if type(model) is ScaledQuantile:
        return Parts([Booster(model.scale_), Booster(model.shape_)], model.unit_)
    if type(model) is CategoryMeans and (parts := taken_apart(model.regressor_)) is not None:
        given = [replace(b, means=model.means_) for b in parts.boosters if isinstance(b, Booster)]
        return replace(parts, boosters=given) if len(given) == len(parts.boosters) else None
    return None


COLUMNS = ("n_features_in_", "feature_names_in_", "_column_texts")  # what checked rows leave
ROWS_TO_FIT = 60_000
REPEATS = (2, 5)
ROUNDING = 1e-9  # predictions that differ by less, relative to their size, are equal
_SHARED: ContextVar["SharedFits | None"] = ContextVar("shared", default=None)
_PREDICTED: ContextVar["Predicted | None"] = ContextVar("predicted", default=None)


class SharedFits:
    """Fold models by what they learned from, and their predictions by the content of the rows."""

    def __init__(self) -> None:
        self.models: dict[bytes, Any] = {}
        self.predictions: dict[tuple[int, bytes], tuple[Any, FloatArray]] = {}

    def predict(self, model: Any, X: Any, rows: Hashes) -> FloatArray:
        """Prediction of rows with these hashes, made once for each model."""
        key = id(model), blake2b(rows.tobytes()).digest()
        if key not in self.predictions:  # with the model, whose id no other one then has
            self.predictions[key] = model, _predict_with(model, X)
        return self.predictions[key][1]


@contextmanager
def sharing_fits() -> Iterator[None]:
    """Fit and predict once what several cross-fits within would learn from, and of, the same rows.

    A model is known by its parameters and by the content of its rows, so results are those of
    fitting it again. In a rotation the model without blocks j and k predicts block k for the rule
    that j calibrates, out of fold, and again for the rule that k calibrates.
    """
    token = _SHARED.set(SharedFits())
    try:
        yield
    finally:
        _SHARED.reset(token)


class Predicted(NamedTuple):
    """Rows, and what models predict of them, by the id of each."""

    rows: NDArray[Any]
    by_model: dict[int, FloatArray]


class SharedModels:
    """Fold models that several regressors average: each predicts new rows once for all of them.

    Parameters
    ----------
    regressors : sequence of fitted regressors
        ``CrossFitted``, or with such ``members_``; what others average is predicted as ever.
    """

    def __init__(self, regressors: Sequence[Any]) -> None:
        members = [one for each in regressors for one in getattr(each, "members_", [each])]
        averages = [one for one in members if isinstance(one, CrossFitted) and one._tables]
        distinct = {id(model): model for one in averages for model in one.models_}
        self.__setstate__([*distinct.values()])

    def __getstate__(self) -> list[Any]:
        """Return what is kept on disk: tables are made again."""
        return self.models

    def __setstate__(self, models: list[Any]) -> None:
        self.models, self.boosters = models, AveragedBoosters.of(models)

    @contextmanager
    def predicted(self, X: Any) -> Iterator[None]:
        """Predict these rows once: regressors within look predictions up."""
        each = None
        if isinstance(X, np.ndarray) and self.boosters is not None and self.models:
            each = self.boosters.predict_each(X)
        known = None
        if each is not None:
            known = Predicted(X, dict(zip(map(id, self.models), each, strict=True)))
        token = _PREDICTED.set(known)
        try:
            yield
        finally:
            _PREDICTED.reset(token)


class CrossFitted(ScoreRegressor):
    """The average of a regressor's fold models, with its out-of-fold values on the fitted rows.

    Row j's out-of-fold value comes from models fitted without it, so thresholds based on it are
    valid. New rows are served by the average of all fold models, which is less noisy than the
    one model behind an out-of-fold value and would over-cover; repeating the folds evens that out.

    Parameters
    ----------
    regressor : regressor
        Refitted on each fold's complement.
    cv : int, splitter of scikit-learn or iterable of (learn, hold) rows, default=3
        Number of folds drawn at random, where copies of a row share a fold; or the folds.
    n_repeats : int or "auto", default="auto"
        Times the rows are shuffled and divided, where ``cv`` is a number; "auto": 60,000 / n,
        between two and five.
    n_jobs : int or None
        Folds fitted at once, in threads. None: one, or as many as cores are free where the table
        is large.
    verbose : bool, default=False
        Show a progress bar (needs the extra ``progress``).
    random_state : int, RandomState or None
        Seed of the folds.

    Attributes
    ----------
    out_of_fold_ : ndarray of shape (n,)
        Mean over repeats of each row's value by the model that did not see it.
    history_ : list of dict
        Iterations of each fold model, of those with a ``history_``.
    models_ : list
        The fold models; linear ones are averaged into one (``SparseScale``: their variances).

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.regressors import CrossFitted, LinearQuantile
    >>> X = np.arange(20.0)[:, None]
    >>> regressor = CrossFitted(LinearQuantile(quantile=0.5), n_repeats=1, random_state=0)
    >>> regressor.fit(X, 3 * X[:, 0]).predict([[5.0]]).round(6)
    array([15.])
    """

    _of_rows = ("out_of_fold_",)  # what files leave out

    def __init__(
        self,
        regressor: Any,
        *,
        cv: Any = 3,
        n_repeats: int | str = "auto",
        n_jobs: int | None = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.regressor = regressor
        self.cv = cv
        self.n_repeats = n_repeats
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _fit(self, X: Any, scores: FloatArray, weights: FloatArray | None) -> Self:
        """Fit one model for each fold and repeat, with weights of one on average."""
        rng = check_random_state(self.random_state)
        folds = make_folds(X, scores, self.cv, self.n_repeats, rng)
        return self.fit_folds(X, scores, relative_weights(weights), folds, rng)

    def fit_folds(
        self,
        X: Any,
        scores: FloatArray,
        weights: FloatArray | None,
        folds: list[Fold],
        rng: np.random.RandomState,
    ) -> Self:
        """Fit one model for each of the folds to rows that have been checked."""
        regressor = seeded(self.regressor, rng)
        if isinstance(regressor, ScoreRegressor):
            X = regressor._checked(X, reset=True)
        if hasattr(regressor, "tune"):  # what can be chosen once is not chosen again in each fold
            with threads_for(X, regressor):
                regressor = with_columns_of(regressor, regressor.tune(X, scores, weights))
        shared, rows = _SHARED.get(), row_hashes(X)
        keys = fit_keys(regressor, rows, scores, weights, folds)
        known = [shared.models.get(key) if shared else None for key in keys]
        predicts = [
            _predict_with
            if shared is None or rows is None
            else partial(shared.predict, rows=rows[hold])
            for _, hold in folds
        ]
        jobs = [
            partial(_fit_fold, regressor, X, scores, weights, *of_fold)
            for of_fold in zip(folds, known, predicts, strict=True)
        ]
        n_jobs = jobs_for(X, regressor, self.n_jobs)
        fitted = in_threads(jobs, n_jobs, self.verbose, type(regressor).__name__)
        if shared is not None:
            found = zip(keys, fitted, strict=True)
            shared.models.update({key: model for key, (model, _) in found if key})
        positive = bool(get_tags(regressor).target_tags.positive_only)
        self.out_of_fold_ = mean_out_of_fold(
            [hold for _, hold in folds],
            [own for _, own in fitted],
            len(scores),
            is_scale=positive or isinstance(regressor, SparseScale),
        )
        models = [model for model, _ in fitted]
        self.history_ = histories(models)
        self.models_ = average_linear(models)
        self._tables = AveragedBoosters.of(self.models_)  # now: predict changes nothing
        return self

    def _predict(self, X: Any) -> FloatArray:
        """Mean of the fold models."""
        known = _PREDICTED.get()
        if known is not None and known.rows is X and id(self.models_[0]) in known.by_model:
            return mean_of_models(known.by_model[id(model)] for model in self.models_)
        shared = _SHARED.get() if len(self.models_) > 1 else None
        if shared is None and isinstance(X, np.ndarray) and self._tables is not None:
            mean = self._tables.predict(X)
            if mean is not None:
                return mean
        first = self.models_[0]
        X = first._checked(X, reset=False) if isinstance(first, ScoreRegressor) else X
        rows = None if shared is None else row_hashes(X)
        with threads_for(X, first):
            if shared is None or rows is None:
                return mean_of_models(_predict_with(model, X) for model in self.models_)
            return mean_of_models(shared.predict(model, X, rows) for model in self.models_)

    def forget_rows(self) -> None:
        """Drop what is known of the fitted rows, which new rows do not need."""
        for name in self._of_rows:
            delattr(self, name)

    @cached_property
    def _tables(self) -> AveragedBoosters | None:
        """All trees of the fold models, if they are made of trees."""
        return AveragedBoosters.of(self.models_)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is kept on disk: tables are made again."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_tables"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "models_" in state:
            self._tables = AveragedBoosters.of(self.models_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = takes_nan(self.regressor)
        tags.input_tags.three_d_array = takes_images(self.regressor)
        tags.regressor_tags.poor_score = True
        return tags


def with_columns_of(checked: Any, model: Any) -> Any:
    """Return the model, once it knows the columns of rows that another one has checked."""
    for name in COLUMNS:
        if hasattr(checked, name):
            setattr(model, name, getattr(checked, name))
    return model


def histories(models: list[Any]) -> list[dict[str, Any]]:
    """What each iteration of each model reached, for models with a ``history_``."""
    return [
        {"model": number, **step}
        for number, model in enumerate(models)
        for step in getattr(model, "history_", [])
    ]


def repeats(n_repeats: int | str, n: int) -> int:
    """Number of repeats: fewer for more rows, where averaging gains little and costs more."""
    if n_repeats == "auto":
        return int(np.clip(round(ROWS_TO_FIT / n), *REPEATS))
    return check_count("n_repeats", n_repeats, 1)


def make_folds(
    X: Any, scores: FloatArray, cv: Any, n_repeats: int | str, rng: np.random.RandomState
) -> list[Fold]:
    """Learn and hold rows of every fold of every repeat, or of the folds given."""
    n = len(scores)
    if n < 2:
        raise ValueError(f"n_samples={n}: one row makes no folds, give at least two")
    folds = given_folds(cv, X, scores)
    if folds is not None:
        return folds
    ids = copy_ids(X, scores)
    seeds = [rng.randint(np.iinfo(np.int32).max) for _ in range(repeats(n_repeats, n))]
    return [fold for seed in seeds for fold in shuffled_folds(ids, cv, seed)]


def row_hashes(X: Any) -> Hashes | None:
    """Return what rows are known by; None where nothing is shared, or they cannot be read."""
    if _SHARED.get() is None or not isinstance(X, np.ndarray):
        return None
    try:
        return hash_content(X)
    except (AttributeError, TypeError):
        return None


def fit_keys(
    regressor: Any,
    rows: Hashes | None,
    scores: FloatArray,
    weights: FloatArray | None,
    folds: list[Fold],
) -> list[bytes]:
    """Return what the model of each fold is known by; nothing where fits are not shared."""
    unknown = [b""] * len(folds)
    if rows is None:
        return unknown
    try:
        given = pickle.dumps(regressor)
    except (pickle.PicklingError, AttributeError, TypeError):  # a part that has no content to read
        return unknown
    columns = [rows, scores] if weights is None else [rows, scores, weights]
    content = np.column_stack([column.view(np.uint64) for column in columns])
    return [blake2b(given + content[learn].tobytes()).digest() for learn, _ in folds]


def _fit_fold(
    regressor: Any,
    X: Any,
    scores: FloatArray,
    weights: FloatArray | None,
    fold: Fold,
    model: Any,
    predict: Callable[[Any, Any], FloatArray],
) -> tuple[Any, FloatArray]:
    """Fit the model of a fold, unless it is known, and predict the rows that it has not seen."""
    learn, hold = fold
    own = None if weights is None else weights[learn]
    with threads_for(X, regressor):
        if model is None:
            model = clone(regressor)
            if isinstance(model, ScoreRegressor):
                with_columns_of(regressor, model)._fit(take(X, learn), scores[learn], own)
            else:
                fit_weighted(model, take(X, learn), scores[learn], own)
        return model, predict(model, take(X, hold))


def _predict_with(model: Any, X: Any) -> FloatArray:
    """Prediction of rows that have been checked."""
    checked = isinstance(model, ScoreRegressor)
    return np.asarray(model._predict(X) if checked else model.predict(X))


def mean_out_of_fold(
    held: Sequence[IntArray],
    values: Sequence[FloatArray],
    n: int,
    *,
    is_scale: bool,
) -> FloatArray:
    """Mean of each row's predictions by models that did not see it, all on one level.

    A model that predicts less than others was trained without some of the largest scores, which
    its own fold holds. Left in, its level would tell folds apart: groups of like predictions would
    be folds, while new rows, served by the mean of all models, belong to none. So the level of
    each model (a factor of a scale) is taken out, by least squares on rows and models. Rows that
    are all held out once do not compare models, unless these are constants.

    Parameters
    ----------
    held, values : sequences of arrays
        Rows that each model has not seen, and its predictions there.
    n : int
        Number of rows.
    is_scale : bool
        Whether predictions are scales.

    Examples
    --------
    >>> held = [np.array([0, 1]), np.array([2, 3]), np.array([0, 2]), np.array([1, 3])]
    >>> constants = [np.full(2, value) for value in (1.0, 3.0, 1.5, 2.5)]
    >>> mean_out_of_fold(held, constants, 4, is_scale=False)
    array([2., 2., 2., 2.])
    """
    rows, owner = np.concatenate(held), np.repeat(np.arange(len(held)), [*map(len, held)])
    flat = np.concatenate(values)
    if len(flat) == n and any(np.ptp(own) > 0 for own in values):
        return flat[np.argsort(rows)]  # each row has one model: what differs may be the rows
    if is_scale:
        levels = model_levels(rows, owner, np.log(np.maximum(flat, np.finfo(float).tiny)), n)
        flat = flat / np.exp(levels)[owner]
    else:
        flat = flat - model_levels(rows, owner, flat, n)[owner]
    mean = np.bincount(rows, flat, n) / np.bincount(rows, minlength=n)
    is_constant = np.ptp(mean) <= ROUNDING * np.abs(mean).max()
    return np.full(n, mean.mean()) if is_constant else mean


def model_levels(rows: IntArray, owner: IntArray, values: FloatArray, n: int) -> FloatArray:
    """Effect b_k of each model in values = a_row + b_model, by least squares, of mean zero.

    Where each row is held out once, rows have no effects.
    """
    times, n_models = np.bincount(rows, minlength=n), owner.max() + 1
    repeated = times.max() > 1
    centre = (np.bincount(rows, values, n) / times)[rows] if repeated else values.mean()
    target = np.bincount(owner, values - centre, n_models)
    matrix = np.diag(np.bincount(owner, minlength=n_models).astype(float))
    if repeated:
        seen_by = csr_array((np.ones(len(rows)), (rows, owner)), shape=(n, n_models))
        matrix -= (seen_by.T @ (seen_by / times[:, None])).toarray()
    levels = np.linalg.lstsq(matrix, target, rcond=None)[0]
    return np.asarray(levels - levels.mean())


def average_linear(models: list[Any]) -> list[Any]:
    """One model in place of several of one linear kind, whose lines can be averaged for good."""
    kinds = {type(model) for model in models}
    plain = kinds == {SparseScale} and all(model.columns_.all_numeric for model in models)
    return [models[0].mean_with(models[1:])] if plain or kinds == {LinearQuantile} else models

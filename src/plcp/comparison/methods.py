"""How each method is fitted to one fold and predicts sets for its test rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

from plcp._options import shown
from plcp._rows import is_frame, take
from plcp.comparison.roster import CLASSIFICATION, REGRESSION
from plcp.conformal import Conformal, ConformalClassifier, ConformalRegressor
from plcp.models import QuantilePair
from plcp.partitions import SoftmaxPartition, TreePartition
from plcp.quantiles import FloatArray, IntArray
from plcp.regressors.base import seeded
from plcp.regressors.encoding import TableEncoder
from plcp.scores import CumulativeProbability, QuantileResidual, Score
from plcp.sets import Intervals, LabelSets
from plcp.thresholds import (
    PLCP,
    RLCP,
    BatchGCP,
    BatchMVP,
    ConditionalCalibration,
    Guarantee,
    LocalCP,
    Mondrian,
    PosteriorConformal,
    Rectified,
    SplitConformal,
    ThresholdRule,
)
from plcp.thresholds.guarantees import EXCHANGEABLE

MOST_CATEGORIES = 10  # of a column, that become columns of numbers
GROUPS_OF_PAPER = 10
CREPES_BINS = 5


class KnownPredictions(BaseEstimator):
    """A frozen model whose predictions were made before: all methods share those of one model."""

    is_fitted = True  # by which MAPIE knows
    values: FloatArray

    def fit(self, X: Any, y: Any) -> KnownPredictions:
        """Learn nothing."""
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predictions at hand, which are those of X."""
        return self.values

    def __sklearn_is_fitted__(self) -> bool:
        return True


class KnownNumbers(RegressorMixin, KnownPredictions):
    """Predictions that are numbers, or two quantiles."""


class KnownProbabilities(ClassifierMixin, KnownPredictions):
    """Predictions that are probabilities, one column for each of the classes."""

    classes_: NDArray[Any]

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities at hand, which are those of X."""
        return self.values

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable labels."""
        return np.asarray(self.classes_[np.argmax(self.values, axis=1)])


@dataclass(eq=False)
class Data:
    """Rows and labels, a model to train or predictions made before, and options of all folds."""

    X: Any
    y: NDArray[Any]
    model: Any
    predictions: FloatArray | None
    classes: NDArray[Any] | None
    score: Score  # of the predictions
    alpha: float
    calibration_size: float
    seed: int
    members: NDArray[np.bool_] | None = None  # of the groups given

    @property
    def task(self) -> str:
        """What is predicted."""
        return REGRESSION if self.classes is None else CLASSIFICATION


@dataclass(eq=False, kw_only=True)
class Part(Data):
    """One fold: rows that train, calibrate and test, and the predictions of the shared model."""

    train: IntArray  # none, where the model was trained before
    calibration: IntArray
    test: IntArray
    calibration_prediction: FloatArray
    test_prediction: FloatArray

    @cached_property
    def known(self) -> Any:
        """Model that gives the predictions of the rows at hand."""
        known: Any = KnownNumbers()
        if self.classes is not None:
            known = KnownProbabilities()
            known.classes_ = self.classes
        return known

    @cached_property
    def numbers(self) -> FloatArray:
        """All rows as numbers without gaps, by those that train the model, if any do."""
        return table_of_numbers(self.X, self.train if len(self.train) else self.calibration)

    @property
    def rest(self) -> IntArray:
        """All rows but those of the test."""
        return np.sort(np.concatenate([self.train, self.calibration]))

    def rows(self, which: IntArray) -> Any:
        """Return rows of X."""
        return take(self.X, which)

    def at_hand(self, which: IntArray, numbers: bool = False) -> Any:
        """Return rows of X that calibrate or test, and have `known` predict for these."""
        self.which = which
        of_test = which is self.test
        self.known.values = self.test_prediction if of_test else self.calibration_prediction
        return self.numbers[which] if numbers else self.rows(which)


def table_of_numbers(X: Any, learn: IntArray) -> FloatArray:
    """Return standardised numbers, gaps filled by the mean, and the most frequent categories.

    Examples
    --------
    >>> table_of_numbers(np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]]), np.arange(2))
    array([[-1.],
           [ 1.],
           [ 0.]])
    """
    encoder = TableEncoder().fit(take(X, learn))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of categories that only test rows have
        values = np.asarray(encoder.transform(X), dtype=float)
    columns = []
    for column, is_category in zip(values.T, encoder.categorical_, strict=True):
        if is_category:
            codes, counts = np.unique(column[learn], return_counts=True)
            often = codes[np.argsort(-counts, kind="stable")][1:MOST_CATEGORIES]
            columns += [(column == code).astype(float) for code in often[~np.isnan(often)]]
            continue
        known = column[learn][~np.isnan(column[learn])]
        spread = known.std() if len(known) else 0.0
        if spread > 0:
            columns.append(np.nan_to_num((column - known.mean()) / spread))
    if not columns:
        raise ValueError("no column differs between rows: there are no numbers to learn from")
    return np.column_stack(columns)


Sets = Any  # with contains(y) and size
Predict = Callable[[], tuple[Sets, Guarantee | None]]
Fit = Callable[[Part], Predict]
MakeRule = Callable[[Part], ThresholdRule]


class Ran(NamedTuple):
    """What a method did on the test rows of one fold."""

    rows: IntArray
    covered: NDArray[np.bool_]
    size: FloatArray
    guarantee: Guarantee | None
    fit_seconds: float
    predict_seconds: float
    warned: list[str]


def run(fit: Fit, part: Part) -> Ran:
    """Fit a method and predict the test rows, by the clock."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = perf_counter()
        predict = fit(part)
        fitted = perf_counter()
        sets, guarantee = predict()
        end = perf_counter()
    y = part.y[part.test]
    covered, size = np.asarray(sets.contains(y)), np.asarray(sets.size, dtype=float)
    if covered.shape != y.shape or size.shape != y.shape or np.isnan(size).any():
        raise ValueError(f"sets must hold one set of known size for each of {len(y)} test rows")
    warned = [" ".join(str(one.message).split()) for one in caught]
    return Ran(part.test, covered, size, guarantee, fitted - start, end - fitted, warned)


def fit_rule(make: MakeRule, part: Part, *, numbers: bool = False, **options: Any) -> Predict:
    """Fit a rule to the calibration rows around the shared model."""
    kind = ConformalRegressor if part.classes is None else ConformalClassifier
    options = {"conformity": part.score, "random_state": part.seed, **options}
    model = kind(FrozenEstimator(part.known), threshold=make(part), **options)
    model.fit(part.at_hand(part.calibration, numbers), part.y[part.calibration])
    return lambda: (model.predict_set(part.at_hand(part.test, numbers)), model.guarantee_)


def cell_numbers(members: NDArray[np.bool_]) -> IntArray:
    """Return the number of each row's combination of groups.

    Examples
    --------
    >>> cell_numbers(np.array([[True, False], [True, True], [True, False]]))
    array([0, 1, 0])
    """
    return np.unique(members, axis=0, return_inverse=True)[1].reshape(-1)


def fit_taught(part: Part) -> Predict:
    """Fit PLCP around a model of its own: rows that train the model teach the rule."""
    kind = ConformalRegressor if part.classes is None else ConformalClassifier
    model = kind(
        clone(part.model),
        part.score,
        alpha=part.alpha,
        calibration_size=part.calibration_size,
        random_state=part.seed,
    )
    return fit_estimator(model, part)


def fit_estimator(estimator: Any, part: Part) -> Predict:
    """Fit an estimator of the user to the rows that train and calibrate, by itself."""
    model = seeded(estimator, np.random.RandomState(part.seed))
    model.fit(part.rows(part.rest), part.y[part.rest])
    X_test = part.rows(part.test)

    def predict() -> tuple[Sets, Guarantee | None]:
        guarantee = getattr(model, "guarantee_", None)
        if hasattr(model, "predict_set"):
            return model.predict_set(X_test), guarantee
        return _intervals(model.predict_interval(X_test)), guarantee

    return predict


def _intervals(ends: Any) -> Intervals:
    return Intervals(*np.asarray(ends, dtype=float).T)


def fit_cqr(make: MakeRule, part: Part) -> Predict:
    """Fit two boosted quantile models to the training rows, and a rule to their scores."""
    X, y = part.rows(part.train), part.y[part.train]

    def model_at(quantile: float) -> Any:
        trees = HistGradientBoostingRegressor(
            loss="quantile", quantile=quantile, random_state=part.seed
        )
        model = make_pipeline(TableEncoder(), trees) if is_frame(X) else trees
        return FrozenEstimator(model.fit(X, y))

    pair = QuantilePair(model_at(part.alpha / 2), model_at(1 - part.alpha / 2))
    model = ConformalRegressor(pair, QuantileResidual(), make(part), random_state=part.seed)
    model.fit(part.rows(part.calibration), part.y[part.calibration])
    return lambda: (model.predict_set(part.rows(part.test)), model.guarantee_)


def exact(part: Part, scope: str = "marginal", n_groups: int | None = None) -> Guarantee:
    """Return what holds of a method of another library."""
    return Guarantee(
        "exact", scope, part.alpha, len(part.calibration), (EXCHANGEABLE,), n_groups=n_groups
    )


def fit_mapie_split(part: Part, conformity_score: str | None = None) -> Predict:
    """Fit split conformal prediction of MAPIE, which reads no row but its prediction."""
    from mapie.classification import SplitConformalClassifier
    from mapie.regression import SplitConformalRegressor

    kind = SplitConformalRegressor if part.classes is None else SplitConformalClassifier
    given = {} if conformity_score is None else {"conformity_score": conformity_score}
    seed = {} if part.classes is None else {"random_state": part.seed}
    model = kind(part.known, confidence_level=1 - part.alpha, prefit=True, **given, **seed)

    def places(rows: IntArray) -> FloatArray:
        part.at_hand(rows)
        return rows[:, None].astype(float)

    model.conformalize(places(part.calibration), part.y[part.calibration])
    return lambda: (_of_mapie(model, part, places(part.test)), exact(part))


def fit_mapie_conditional(part: Part) -> Predict:
    """Fit conditional calibration of MAPIE, linear in the columns."""
    from mapie.conditional_conformal_prediction import ConditionalSplitConformalRegressor

    def with_constant(X: FloatArray) -> FloatArray:
        return np.column_stack([np.ones(len(X)), X])

    model = ConditionalSplitConformalRegressor(
        with_constant, part.known, 1 - part.alpha, seed=part.seed
    )
    model.conformalize(part.at_hand(part.calibration, True), part.y[part.calibration])
    return lambda: (_of_mapie(model, part, part.at_hand(part.test, True)), exact(part))


def fit_mapie_cross(part: Part) -> Predict:
    """Fit CV+ of MAPIE to the rows that train and calibrate."""
    from mapie.regression import CrossConformalRegressor

    model = CrossConformalRegressor(
        clone(part.model), confidence_level=1 - part.alpha, random_state=part.seed
    )
    model.fit_conformalize(part.rows(part.rest), part.y[part.rest])
    note = f"P(covered) >= {1 - 2 * part.alpha:g} is proved."
    promise = Guarantee(
        "approximate", "marginal", part.alpha, len(part.rest), (EXCHANGEABLE,), note=note
    )
    return lambda: (_of_mapie(model, part, part.rows(part.test)), promise)


def _of_mapie(model: Any, part: Part, X_test: Any) -> Sets:
    if part.classes is not None:
        mask = np.asarray(model.predict_set(X_test)[1])[:, :, 0]
        return LabelSets(mask.astype(bool), part.classes)
    ends = np.asarray(model.predict_interval(X_test, allow_infinite_bounds=True)[1])
    return _intervals(ends[:, :, 0])


def fit_crepes_split(part: Part) -> Predict:
    """Fit split conformal prediction of crepes, which reads predictions and outcomes."""
    import crepes

    if part.classes is None:
        return _fit_crepes(part, exact(part))
    model, codes = crepes.ConformalClassifier(), np.searchsorted(part.classes, part.y)
    own = part.calibration_prediction[np.arange(len(part.calibration)), codes[part.calibration]]
    model.fit(1 - own, seed=part.seed)

    def predict() -> tuple[Sets, Guarantee]:
        distances, classes = 1 - part.test_prediction, part.classes
        mask = model.predict_set(distances, confidence=1 - part.alpha, smoothing=False)
        return LabelSets(np.asarray(mask, dtype=bool), classes), exact(part)

    return predict


def fit_crepes_normalized(part: Part) -> Predict:
    """Divide residuals by a difficulty: the spread of the outcomes of near training rows."""
    return _fit_crepes(part, exact(part), sigmas=_difficulty(part).apply)


def fit_crepes_mondrian(part: Part) -> Predict:
    """Cut the difficulty into bins by training rows, each with a threshold of its own."""
    from crepes.extras import MondrianCategorizer

    bins = MondrianCategorizer()
    bins.fit(part.numbers[part.train], de=_difficulty(part), no_bins=CREPES_BINS)
    return _fit_crepes(part, exact(part, "learned groups", CREPES_BINS), bins=bins.apply)


def _difficulty(part: Part) -> Any:
    from crepes.extras import DifficultyEstimator

    estimator = DifficultyEstimator()
    return estimator.fit(part.numbers[part.train], y=part.y[part.train], scaler=True)


def _fit_crepes(part: Part, promise: Guarantee, **of_rows: Callable[[FloatArray], Any]) -> Predict:
    """Fit to residuals, and to what is read of rows: difficulties or bins."""
    import crepes

    def read(rows: IntArray) -> dict[str, Any]:
        return {name: apply(part.numbers[rows]) for name, apply in of_rows.items()}

    model, sure = crepes.ConformalRegressor(), 1 - part.alpha
    residuals = part.y[part.calibration] - part.calibration_prediction
    model.fit(residuals, **read(part.calibration))
    return lambda: (
        _intervals(model.predict_int(part.test_prediction, confidence=sure, **read(part.test))),
        promise,
    )


def _plain(kind: Any) -> MakeRule:
    return lambda part: kind(alpha=part.alpha)


def _seeded(kind: Any, **options: Any) -> MakeRule:
    return lambda part: kind(alpha=part.alpha, random_state=part.seed, **options)


def _grouped(kind: Any, *, cells: bool = False) -> MakeRule:
    """Return how to make a rule that is given the groups of each row, or their combination."""

    def make(part: Part) -> ThresholdRule:
        members: Any = part.members
        given = cell_numbers(members) if cells else members
        return kind(groups=lambda X: given[part.which], alpha=part.alpha)

    return make


def _paper(part: Part) -> ThresholdRule:
    options = {"n_groups": GROUPS_OF_PAPER, "calibration": "joint", "assignment": "sample"}
    return _seeded(PLCP, partition=SoftmaxPartition(random_state=part.seed), **options)(part)


def _aps(part: Part) -> Predict:
    return fit_rule(SPLIT, part, conformity=CumulativeProbability(random_state=part.seed))


SPLIT, PLAIN_PLCP = _plain(SplitConformal), _seeded(PLCP)
TREE = _seeded(PLCP, partition=TreePartition(), calibration="split")
FITS: dict[str, Fit] = {
    "split": partial(fit_rule, SPLIT),
    "mondrian": partial(fit_rule, _grouped(Mondrian, cells=True)),
    "batch-gcp": partial(fit_rule, _grouped(BatchGCP)),
    "batch-mvp": partial(fit_rule, _grouped(BatchMVP)),
    "conditional-groups": partial(fit_rule, _grouped(ConditionalCalibration)),
    "conditional": partial(fit_rule, _plain(ConditionalCalibration), numbers=True),
    "rectified": partial(fit_rule, _seeded(Rectified)),
    "local": partial(fit_rule, _seeded(LocalCP), numbers=True),
    "rlcp": partial(fit_rule, _seeded(RLCP), numbers=True),
    "posterior": partial(fit_rule, _seeded(PosteriorConformal), numbers=True),
    "tree": partial(fit_rule, TREE, numbers=True),
    "plcp": partial(fit_rule, PLAIN_PLCP),
    "plcp-held-out": partial(fit_rule, _seeded(PLCP, calibration="held-out")),
    "plcp-split": partial(fit_rule, _seeded(PLCP, calibration="split")),
    "plcp-cross": partial(fit_rule, _seeded(PLCP, calibration="cross")),
    "plcp-paper": partial(fit_rule, _paper, numbers=True),
    "plcp-taught": fit_taught,
    "cqr": partial(fit_cqr, SPLIT),
    "plcp-on-cqr": partial(fit_cqr, PLAIN_PLCP),
    "aps": _aps,
    "split-by-label": partial(fit_rule, SPLIT, label_conditional=True),
    "mapie-split": fit_mapie_split,
    "mapie-conditional": fit_mapie_conditional,
    "mapie-cross": fit_mapie_cross,
    "mapie-aps": partial(fit_mapie_split, conformity_score="aps"),
    "crepes-split": fit_crepes_split,
    "crepes-normalized": fit_crepes_normalized,
    "crepes-mondrian": fit_crepes_mondrian,
}


def fit_of(name: str, method: Any) -> Fit:
    """Return how a method of the user is fitted: a name, a rule, or an estimator of sets."""
    if isinstance(method, str):
        return FITS[method]
    if isinstance(method, ThresholdRule):
        return lambda part: fit_rule(lambda _: clone(method).set_params(alpha=part.alpha), part)
    if isinstance(method, Conformal):
        return lambda part: fit_estimator(_at(method, part.alpha), part)
    if hasattr(method, "fit") and any(
        hasattr(method, how) for how in ("predict_set", "predict_interval")
    ):
        return partial(fit_estimator, method)
    raise ValueError(
        f"method {name!r} must be a name, a threshold rule or an estimator with predict_set or "
        f"predict_interval, got {shown(method)}: give SplitConformal(), for example"
    )


def _at(model: Conformal, alpha: float) -> Any:
    """Return a conformal estimator at the alpha of the comparison."""
    own = clone(model).set_params(alpha=alpha)
    if own.threshold is not None:
        own.set_params(threshold=clone(own.threshold).set_params(alpha=alpha))
    return own

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
from plcp.comparison.roster import CLASSIFICATION
from plcp.conformal import Conformal, ConformalClassifier, ConformalRegressor
from plcp.models import QuantilePair
from plcp.partitions import SoftmaxPartition, TreePartition
from plcp.quantiles import FloatArray, IntArray
from plcp.regressors.encoding import TableEncoder
from plcp.scores import (
    AbsoluteResidual,
    CumulativeProbability,
    LabelProbability,
    QuantileResidual,
    Score,
)
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

    def __init__(self, values: FloatArray | None = None) -> None:
        self.values = values

    def fit(self, X: Any, y: Any) -> KnownPredictions:
        """Learn nothing."""
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predictions at hand, which are those of X."""
        return np.asarray(self.values)

    def __sklearn_is_fitted__(self) -> bool:
        return True


class KnownNumbers(RegressorMixin, KnownPredictions):
    """Predictions that are numbers, or two quantiles."""


class KnownProbabilities(ClassifierMixin, KnownPredictions):
    """Predictions that are probabilities, one column for each of the classes."""

    classes_: NDArray[Any]

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities at hand, which are those of X."""
        return np.asarray(self.values)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable labels."""
        return np.asarray(self.classes_[np.argmax(self.predict_proba(X), axis=1)])


@dataclass(frozen=True, eq=False)
class Part:
    """One fold: rows that train, calibrate and test, and the predictions of the shared model."""

    X: Any
    y: NDArray[Any]
    train: IntArray  # none, where the model was trained before
    calibration: IntArray
    test: IntArray
    calibration_prediction: FloatArray
    test_prediction: FloatArray
    model: Any  # to be trained, or None
    classes: NDArray[Any] | None
    members: NDArray[np.bool_] | None  # of the groups given, for all rows
    alpha: float
    calibration_size: float
    seed: int

    @property
    def task(self) -> str:
        """What is predicted."""
        return "regression" if self.classes is None else CLASSIFICATION

    @cached_property
    def score(self) -> Score:
        """Score of the predictions."""
        if self.classes is not None:
            return LabelProbability()
        return AbsoluteResidual() if self.test_prediction.ndim == 1 else QuantileResidual()

    @cached_property
    def known(self) -> Any:
        """Model that gives the predictions of the rows at hand."""
        if self.classes is None:
            return KnownNumbers()
        known = KnownProbabilities()
        known.classes_ = self.classes
        return known

    def rows(self, which: IntArray) -> Any:
        """Return rows of X."""
        return take(self.X, which)

    @cached_property
    def numbers(self) -> FloatArray:
        """All rows as numbers without gaps, by those that train the model, if any do."""
        return table_of_numbers(self.X, self.train if len(self.train) else self.calibration)

    def conformal(self, rule: ThresholdRule, **options: Any) -> Any:
        """Return the rule around the shared model."""
        kind = ConformalRegressor if self.classes is None else ConformalClassifier
        options = {"conformity": self.score, "random_state": self.seed, **options}
        return kind(FrozenEstimator(self.known), threshold=rule, **options)


def table_of_numbers(X: Any, learn: IntArray) -> FloatArray:
    """Return standardised numbers, gaps filled by the mean, and the most frequent categories.

    Examples
    --------
    >>> table_of_numbers(np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]]), np.arange(2))
    array([[-1.],
           [ 1.],
           [ 0.]])
    """
    if is_frame(X):
        encoder = TableEncoder().fit(take(X, learn))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of categories that only test rows have
            values, categorical = encoder.transform(X), encoder.categorical_
    else:
        values = np.asarray(X, dtype=float)
        categorical = np.zeros(values.shape[1], dtype=bool)
    columns = []
    for column, is_category in zip(values.T, categorical, strict=True):
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


class Ran(NamedTuple):
    """What a method did on the test rows of one fold."""

    covered: NDArray[np.bool_]
    size: FloatArray
    guarantee: Guarantee | None
    fit_seconds: float
    predict_seconds: float


def run(fit: Fit, part: Part) -> Ran:
    """Fit a method and predict the test rows, by the clock."""
    start = perf_counter()
    predict = fit(part)
    fitted = perf_counter()
    sets, guarantee = predict()
    end = perf_counter()
    y = part.y[part.test]
    covered, size = np.asarray(sets.contains(y)), np.asarray(sets.size, dtype=float)
    if covered.shape != y.shape or size.shape != y.shape or np.isnan(size).any():
        raise ValueError(f"sets must hold one set of known size for each of {len(y)} test rows")
    return Ran(covered, size, guarantee, fitted - start, end - fitted)


def fit_rule(make: Callable[[Part], ThresholdRule], part: Part, *, numbers: bool = False,
             **options: Any) -> Predict:  # fmt: skip
    """Fit a rule to the calibration rows around the shared model."""
    model = part.conformal(make(part), **options)
    if numbers:
        X_cal, X_test = part.numbers[part.calibration], part.numbers[part.test]
    else:
        X_cal, X_test = part.rows(part.calibration), part.rows(part.test)
    part.known.values = part.calibration_prediction
    model.fit(X_cal, part.y[part.calibration])

    def predict() -> tuple[Sets, Guarantee]:
        part.known.values = part.test_prediction
        return model.predict_set(X_test), model.guarantee_

    return predict


def fit_to_groups(make: Callable[[Part], ThresholdRule], part: Part, *, cells: bool = False) -> Any:
    """Fit a rule that is given the groups of each row."""
    members: Any = part.members
    given = cell_numbers(members) if cells else members
    score: Any = part.score
    rule: Any = make(part)
    codes = part.y if part.classes is None else np.searchsorted(part.classes, part.y)
    score.fit(part.calibration_prediction, codes[part.calibration])
    scores = score(part.calibration_prediction, codes[part.calibration])
    rule.fit(part.numbers[part.calibration], scores, groups=given[part.calibration])

    def predict() -> tuple[Sets, Guarantee]:
        thresholds = rule.predict(part.numbers[part.test], groups=given[part.test])
        sets = score.invert(part.test_prediction, thresholds)
        if part.classes is not None:
            sets = LabelSets(sets.mask, part.classes)
        return sets, rule.guarantee_

    return predict


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
        alpha=part.alpha,
        calibration_size=part.calibration_size,
        random_state=part.seed,
    )
    return fit_estimator(model, part)


def fit_estimator(estimator: Any, part: Part) -> Predict:
    """Fit an estimator of the user to the rows that train and calibrate, by itself."""
    rest = np.sort(np.concatenate([part.train, part.calibration]))
    model = clone(estimator).fit(part.rows(rest), part.y[rest])
    X_test = part.rows(part.test)

    def predict() -> tuple[Sets, Guarantee | None]:
        guarantee = getattr(model, "guarantee_", None)
        if hasattr(model, "predict_set"):
            return model.predict_set(X_test), guarantee
        ends = np.asarray(model.predict_interval(X_test))
        return Intervals(ends[:, 0], ends[:, 1]), guarantee

    return predict


def fit_cqr(make: Callable[[Part], ThresholdRule], part: Part) -> Predict:
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
    X_test = part.rows(part.test)
    return lambda: (model.predict_set(X_test), model.guarantee_)


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
    part.known.values = part.calibration_prediction
    model.conformalize(_places(part.calibration), part.y[part.calibration])
    return partial(_of_mapie, model, part, _places(part.test))


def fit_mapie_conditional(part: Part) -> Predict:
    """Fit conditional calibration of MAPIE, linear in the columns."""
    from mapie.conditional_conformal_prediction import ConditionalSplitConformalRegressor

    model = ConditionalSplitConformalRegressor(
        _with_constant, part.known, 1 - part.alpha, seed=part.seed
    )
    part.known.values = part.calibration_prediction
    model.conformalize(part.numbers[part.calibration], part.y[part.calibration])
    return partial(_of_mapie, model, part, part.numbers[part.test])


def fit_mapie_cross(part: Part) -> Predict:
    """Fit CV+ of MAPIE to the rows that train and calibrate."""
    from mapie.regression import CrossConformalRegressor

    rest = np.sort(np.concatenate([part.train, part.calibration]))
    model = CrossConformalRegressor(
        clone(part.model), confidence_level=1 - part.alpha, random_state=part.seed
    )
    model.fit_conformalize(part.rows(rest), part.y[rest])
    promise = Guarantee(
        "approximate",
        "marginal",
        part.alpha,
        len(rest),
        (EXCHANGEABLE,),
        note=f"P(covered) >= {1 - 2 * part.alpha:g} is proved.",
    )
    return partial(_of_mapie, model, part, part.rows(part.test), promise)


def _of_mapie(
    model: Any, part: Part, X_test: Any, promise: Guarantee | None = None
) -> tuple[Sets, Guarantee]:
    part.known.values = part.test_prediction
    promise = exact(part) if promise is None else promise
    if part.classes is not None:
        mask = np.asarray(model.predict_set(X_test)[1])[:, :, 0]
        return LabelSets(mask.astype(bool), part.classes), promise
    options = {"allow_infinite_bounds": True}
    ends = np.asarray(model.predict_interval(X_test, **options)[1])[:, :, 0]
    return Intervals(ends[:, 0], ends[:, 1]), promise


def _with_constant(X: FloatArray) -> FloatArray:
    return np.column_stack([np.ones(len(X)), X])


def _places(rows: IntArray) -> FloatArray:
    """Stand-in for rows that are not read."""
    return rows[:, None].astype(float)


def fit_crepes_split(part: Part) -> Predict:
    """Fit split conformal prediction of crepes, which reads predictions and outcomes."""
    import crepes

    if part.classes is None:
        return _fit_crepes(part, {}, {}, exact(part))
    model, places = crepes.ConformalClassifier(), np.searchsorted(part.classes, part.y)
    of_own = part.calibration_prediction[np.arange(len(part.calibration)), places[part.calibration]]
    model.fit(1 - of_own, seed=part.seed)

    def predict() -> tuple[Sets, Guarantee]:
        mask = model.predict_set(
            1 - part.test_prediction, confidence=1 - part.alpha, smoothing=False
        )
        return LabelSets(np.asarray(mask, dtype=bool), part.classes), exact(part)

    return predict


def fit_crepes_normalized(part: Part) -> Predict:
    """Divide residuals by a difficulty: the spread of the outcomes of near training rows."""
    difficulty = _difficulty(part)
    sigmas = [difficulty.apply(part.numbers[rows]) for rows in (part.calibration, part.test)]
    return _fit_crepes(part, {"sigmas": sigmas[0]}, {"sigmas": sigmas[1]}, exact(part))


def fit_crepes_mondrian(part: Part) -> Predict:
    """Cut the difficulty into bins by training rows, each with a threshold of its own."""
    from crepes.extras import MondrianCategorizer

    bins = MondrianCategorizer()
    bins.fit(part.numbers[part.train], de=_difficulty(part), no_bins=CREPES_BINS)
    numbers = [bins.apply(part.numbers[rows]) for rows in (part.calibration, part.test)]
    promise = exact(part, "learned groups", CREPES_BINS)
    return _fit_crepes(part, {"bins": numbers[0]}, {"bins": numbers[1]}, promise)


def _difficulty(part: Part) -> Any:
    from crepes.extras import DifficultyEstimator

    estimator = DifficultyEstimator()
    return estimator.fit(part.numbers[part.train], y=part.y[part.train], scaler=True)


def _fit_crepes(part: Part, fitted: Any, tested: Any, promise: Guarantee) -> Predict:
    import crepes

    model = crepes.ConformalRegressor()
    model.fit(part.y[part.calibration] - part.calibration_prediction, **fitted)

    def predict() -> tuple[Sets, Guarantee]:
        ends = model.predict_int(part.test_prediction, confidence=1 - part.alpha, **tested)
        return Intervals(ends[:, 0], ends[:, 1]), promise

    return predict


def _plcp(**options: Any) -> Callable[[Part], ThresholdRule]:
    return lambda part: PLCP(alpha=part.alpha, random_state=part.seed, **options)


def _seeded(kind: Any) -> Callable[[Part], ThresholdRule]:
    return lambda part: kind(alpha=part.alpha, random_state=part.seed)


def _plain(kind: Any) -> Callable[[Part], ThresholdRule]:
    return lambda part: kind(alpha=part.alpha)


def _paper(part: Part) -> ThresholdRule:
    partition = SoftmaxPartition(random_state=part.seed)
    make = _plcp(n_groups=GROUPS_OF_PAPER, calibration="joint", assignment="sample")
    return make(part).set_params(partition=partition)


SPLIT = _plain(SplitConformal)
FITS: dict[str, Fit] = {
    "split": partial(fit_rule, SPLIT),
    "mondrian": partial(fit_to_groups, _plain(Mondrian), cells=True),
    "batch-gcp": partial(fit_to_groups, _plain(BatchGCP)),
    "batch-mvp": partial(fit_to_groups, _plain(BatchMVP)),
    "conditional-groups": partial(fit_to_groups, _plain(ConditionalCalibration)),
    "conditional": partial(fit_rule, _plain(ConditionalCalibration), numbers=True),
    "rectified": partial(fit_rule, _seeded(Rectified)),
    "local": partial(fit_rule, _seeded(LocalCP), numbers=True),
    "rlcp": partial(fit_rule, _seeded(RLCP), numbers=True),
    "posterior": partial(fit_rule, _seeded(PosteriorConformal), numbers=True),
    "tree": partial(fit_rule, _plcp(partition=TreePartition(), calibration="split"), numbers=True),
    "plcp": partial(fit_rule, _plcp()),
    "plcp-held-out": partial(fit_rule, _plcp(calibration="held-out")),
    "plcp-split": partial(fit_rule, _plcp(calibration="split")),
    "plcp-cross": partial(fit_rule, _plcp(calibration="cross")),
    "plcp-paper": partial(fit_rule, _paper, numbers=True),
    "plcp-taught": fit_taught,
    "cqr": partial(fit_cqr, SPLIT),
    "plcp-on-cqr": partial(fit_cqr, _plcp()),
    "aps": lambda part: fit_rule(
        SPLIT, part, conformity=CumulativeProbability(random_state=part.seed)
    ),
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

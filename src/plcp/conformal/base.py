"""What both tasks share: fit a model, score the other rows, learn thresholds, invert."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils import (
    _safe_indexing,
    check_random_state,
    indexable,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from plcp.conformal.guarantees import set_guarantee
from plcp.conformal.levels import levels_of, model_at
from plcp.conformal.nested import NestedSets
from plcp.conformal.parts import check_parts, tags_of
from plcp.conformal.tails import tails_of
from plcp.conformal.watching import WatchableModel
from plcp.estimator import Estimator
from plcp.indices.levels import seeded
from plcp.models import MeanScalePair, QuantilePair
from plcp.quantiles import FloatArray, IntArray
from plcp.rows import is_frame, is_module, plain, take
from plcp.scores import Score
from plcp.thresholds import PLCP, ThresholdRule
from plcp.thresholds.levels import check_levels, guarantee_at_levels, is_several
from plcp.thresholds.members import Members
from plcp.thresholds.several import has_levels
from plcp.validation import (
    asking,
    check_at_hand,
    check_lengths,
    check_rows,
    check_weights,
    in_order,
)

Features = Callable[[Any], Any] | list[Any] | str | int | None


class Examined(NamedTuple):
    """Sets of labelled rows, and scores beside thresholds, one column a tail.

    Several levels lie along a third axis of the thresholds.
    """

    sets: Any
    scores: FloatArray
    thresholds: FloatArray


class Conformal(WatchableModel, MetaEstimatorMixin, Estimator, ABC):
    """What both tasks share: fit a model, score held-out rows, learn thresholds."""

    _task: ClassVar[str]

    def __init__(
        self,
        estimator: Any,
        conformity: Score | None = None,
        threshold: ThresholdRule | None = None,
        *,
        features: Features = None,
        calibration_size: float = 0.3,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.conformity = conformity
        self.threshold = threshold
        self.features = features
        self.calibration_size = calibration_size
        self.random_state = random_state

    def _fit(self, X: Any, y: NDArray[Any], sample_weight: ArrayLike | None) -> None:
        """Fit the model on one part (none, if frozen) and calibrate on the rest."""
        check_at_hand(X=X, sample_weight=sample_weight)
        check_rows(X)
        check_lengths(X, y)
        X, y, sample_weight = indexable(plain(X), y, check_weights(sample_weight, X))
        model, score, rule, rng = self._parts()
        self.estimator_ = model
        if is_frozen(model):
            X = in_order(model, X)
            if not isinstance(model, FrozenEstimator):
                model.fit(X, y)  # teaches nothing: it only puts frozen members in place
        else:
            learn, hold = self._divide(y, rng)
            with asking(model, X):
                model.fit(take(X, learn), y[learn])
            X, y = take(X, hold), y[hold]
            if sample_weight is not None:
                sample_weight = take(sample_weight, hold)
        self._calibrate(score, rule, X, y, sample_weight)
        for name in ("n_features_in_", "feature_names_in_"):
            knows = next((w for w in (self.estimator_, witness(self)) if hasattr(w, name)), None)
            if knows is not None:
                setattr(self, name, getattr(knows, name))

    def _parts(self) -> tuple[Any, Score, ThresholdRule, np.random.RandomState]:
        """Model, score and rule, checked against each other, copied and seeded."""
        score = self._default_score() if self.conformity is None else self.conformity
        rule = PLCP() if self.threshold is None else self.threshold
        check_parts(self.estimator, score, rule, self._task)
        rng = check_random_state(self.random_state)
        if self.random_state is None:
            return clone(self.estimator), clone(score), clone(rule), rng
        return seeded(self.estimator, rng), seeded(score, rng), seeded(rule, rng), rng

    def _divide(self, y: NDArray[Any], rng: np.random.RandomState) -> tuple[IntArray, IntArray]:
        """Rows to fit the model on, and rows to calibrate on."""
        size = self.calibration_size
        if not isinstance(size, Real) or not 0 < size < 1:
            raise ValueError(
                f"calibration_size must lie in (0, 1), the share of rows to calibrate on, "
                f"got {size!r}"
            )
        if len(y) == 1:
            raise ValueError(
                "n_samples=1: one row cannot both train and calibrate; give more, or a model in "
                "FrozenEstimator"
            )
        stratify = isinstance(self, ClassifierMixin) and _can_stratify(y, size)
        learn, hold = train_test_split(
            np.arange(len(y)), test_size=size, random_state=rng, stratify=y if stratify else None
        )
        return learn, hold

    def _calibrate(
        self,
        score: Score,
        rule: ThresholdRule,
        X: Any,
        y: NDArray[Any],
        weights: ArrayLike | None,
    ) -> None:
        """Score the rows and fit one rule a tail, each at its share of alpha."""
        with asking(self.estimator_, X):
            prediction = score.ask(self.estimator_, X)
        codes = self._encode(y)
        self.conformity_ = score.fit(prediction, codes)
        columns = self._scores(prediction, codes)
        rows = self._select(X)
        given = () if weights is None else (weights,)
        tails = tails_of(rule, columns.shape[1])
        fitted = [
            tail.fit(rows, column, *given) for tail, column in zip(tails, columns.T, strict=True)
        ]
        self._take_over(fitted, rule.alpha)

    def _scores(self, prediction: Any, codes: NDArray[Any]) -> FloatArray:
        """Scores of rows, one column a tail."""
        return self.conformity_(prediction, codes).reshape(len(codes), -1)

    def _take_over(self, tails: list[ThresholdRule], alpha: Any) -> None:
        """Be fitted, with one fitted rule a tail."""
        self.thresholds_ = tails
        if not is_several(alpha):
            self.guarantee_ = self._guarantee(tails, alpha)
            return
        self._levels = check_levels(alpha)
        each = zip(self._levels, zip(*(tail.rules_ for tail in tails), strict=True), strict=True)
        sentences = [self._guarantee(rules, level) for level, rules in each]
        self.guarantee_ = guarantee_at_levels(self._levels, sentences)

    def _guarantee(self, tails: Iterable[ThresholdRule], alpha: float) -> str:
        sentences = [tail.guarantee_ for tail in tails]
        return set_guarantee(sentences, alpha, self.conformity_.learned)

    def at(self, alpha: float) -> Self:
        """Return this model at one of the levels it was fitted at, without fitting anew.

        For whatever looks at one set a row: displays, certificates, explanations. Thresholds are
        the level's own, which those of a larger alpha do not raise.
        """
        check_is_fitted(self)
        return cast(Self, model_at(self, alpha))

    def examine(self, X: Any, y: ArrayLike) -> Examined:
        """Sets of labelled rows, beside the scores and thresholds that made them."""
        check_is_fitted(self)
        codes = self._encode(self._labels(y))
        prediction, thresholds = self._answers(X)
        sets = self._sets(prediction, thresholds)
        return Examined(sets, self._scores(prediction, codes), thresholds)

    def _scored(self, X: Any, y: ArrayLike) -> tuple[FloatArray, Any]:
        X, codes = self._rows(X), self._encode(self._labels(y))
        return self._scores(self._ask(X), codes), self._select(X)

    def members(self, X: Any) -> Members:
        """Rows of each group that the rule of each tail learned or was given, by name."""
        rows = self._select(self._rows(X))
        tails = [tail.members(rows) for tail in self.thresholds_]
        if len(tails) == 1:
            return tails[0]
        named = ((i, name) for i, tail in enumerate(tails, start=1) for name in tail)
        return {f"tail {i}, {name}": tails[i - 1][name] for i, name in named}

    def _answers(self, X: Any) -> tuple[Any, FloatArray]:
        """Prediction of the model, and thresholds of the rules, one column a tail.

        Several levels lie along a third axis.
        """
        X = self._rows(X)
        prediction, rows = self._ask(X), self._select(X)
        return prediction, np.stack([tail.predict(rows) for tail in self.thresholds_], axis=1)

    def _ask(self, X: Any) -> Any:
        """Prediction of the model, as the score reads it."""
        with asking(self.estimator_, X):
            return self.conformity_.ask(self.estimator_, X)

    def _rows(self, X: Any) -> Any:
        """New rows, with the columns in the order of fit."""
        check_is_fitted(self)
        check_at_hand(X=X)
        check_rows(X)
        X = in_order(self, plain(X))
        if self.features is None and is_frame(X):  # before the model, which may not name columns
            validate_data(self.thresholds_[0], X, reset=False, skip_check_array=True)
        return X

    def _sets(self, prediction: Any, thresholds: FloatArray) -> Any:
        """Prediction set of each row; at several levels one each."""
        if thresholds.ndim == 2:
            return self._invert(prediction, thresholds)
        each = np.moveaxis(thresholds, -1, 0)
        return NestedSets(self._levels, [self._invert(prediction, column) for column in each])

    def _invert(self, prediction: Any, thresholds: FloatArray) -> Any:
        """Prediction set of each row, at one level."""
        one = thresholds.shape[1] == 1
        return self.conformity_.invert(prediction, thresholds[:, 0] if one else thresholds)

    def _select(self, X: Any) -> Any:
        return selected(self.features, X)

    def groups(self, X: Any) -> IntArray:
        """Learned group of each row, for a rule that learns groups."""
        check_is_fitted(self)
        if len(self.thresholds_) > 1:
            raise ValueError(
                "each tail has groups of its own: ask thresholds_[0] or thresholds_[1]"
            )
        rule = self.thresholds_[0]
        if not isinstance(rule, PLCP):
            raise ValueError(
                f"{type(rule).__name__} learns no groups; those given to a rule by the user are "
                "in thresholds_[0].groups_"
            )
        return rule.groups(self._select(self._rows(X)))

    @staticmethod
    @abstractmethod
    def _labels(y: ArrayLike) -> NDArray[Any]:
        """Labels of rows, checked."""

    @abstractmethod
    def _default_score(self) -> Score:
        """Score used where none is given."""

    def _encode(self, y: NDArray[Any]) -> NDArray[Any]:
        return y

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_model = tags_of(self.estimator)
        tags.input_tags.allow_nan = of_model is not None and of_model.input_tags.allow_nan
        return tags


def selected(features: Features, X: Any) -> Any:
    """Return what the threshold rule sees of X: some columns, or what a function makes of it."""
    if features is None:
        return X
    if is_module(features):
        from plcp.partitions.torch import embed

        return embed(cast(Any, features), X)
    if callable(features):
        return features(X)
    columns = [features] if isinstance(features, str | int) else list(features)
    if is_frame(X):
        names = list(X.columns)
        missing = [name for name in columns if isinstance(name, str) and name not in names]
        if missing:
            raise ValueError(f"features names {missing}, but X has only {names}")
    return _safe_indexing(X, columns, axis=1)


def witness(model: Conformal) -> Any:
    """Whoever has ``feature_names_in_`` and ``n_features_in_`` of the rows that calibrated.

    The model within may have been trained on arrays without names, or know nothing of them.
    """
    return model.thresholds_[0] if model.features is None else model


def check_one_level(estimator: Any) -> None:
    """Refuse a rule or model fitted at several levels, where one set a row is looked at."""
    rule = estimator.thresholds_[0] if isinstance(estimator, Conformal) else estimator
    if has_levels(rule):
        levels = check_levels(rule.alpha) if rule is estimator else levels_of(estimator)
        raise ValueError(
            f"this {type(estimator).__name__} has {len(levels)} levels, alpha = {levels}, and only "
            f"one can be looked at here: give it at one of them, as its at({levels[0]:g}) does"
        )


def is_frozen(estimator: Any) -> bool:
    """Whether fitting would teach nothing: frozen itself, or a pair of frozen models.

    Other estimators around a frozen one, such as ``CalibratedClassifierCV``, still learn.
    """
    if isinstance(estimator, QuantilePair):
        return is_frozen(estimator.lower) and is_frozen(estimator.upper)
    if isinstance(estimator, MeanScalePair):
        return is_frozen(estimator.mean) and is_frozen(estimator.scale)
    return isinstance(estimator, FrozenEstimator)


def _can_stratify(y: NDArray[Any], calibration_size: float) -> bool:
    """Whether each class can stand on both sides of the split."""
    counts = np.unique(y, return_counts=True)[1]
    held = math.ceil(calibration_size * len(y))
    return bool(counts.min() >= 2 and len(counts) <= min(held, len(y) - held))

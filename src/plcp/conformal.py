"""Model + score + threshold rule → prediction sets."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import wraps
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, check_random_state, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from plcp._base import Estimator, from_one_fit
from plcp._folds import Fold, row_sets, rows_of, split_rows
from plcp._options import check_alpha, check_option, check_same_rows
from plcp._rows import is_frame, is_module, plain, row_labels, take
from plcp._validation import (
    asking,
    check_at_hand,
    check_classes,
    check_labels,
    check_lengths,
    check_response,
    check_rows,
    check_weights,
    drop_weightless,
    in_order,
    remember_columns,
)
from plcp.models import MeanScalePair, QuantilePair
from plcp.monitoring import Monitor
from plcp.monitoring.monitor import Sighting, Watch
from plcp.quantiles import FloatArray, IntArray
from plcp.regressors.base import seeded, training_params, training_routes
from plcp.scores import AbsoluteResidual, LabelProbability, Score
from plcp.sets import LabelSets, NestedSets
from plcp.thresholds import PLCP, Mondrian, ThresholdRule
from plcp.thresholds.base import (
    Alpha,
    Members,
    check_alphas,
    check_listed,
    guarantee_of_alphas,
    has_alphas,
    is_several,
)
from plcp.thresholds.guarantees import EXACT

__all__ = [
    "ConformalClassifier",
    "ConformalRegressor",
]


def tails_of(rule: Any, n: int) -> list[Any]:
    """Return one rule, not fitted, for each of n tails, each at its share of alpha.

    Examples
    --------
    >>> from plcp import SplitConformal
    >>> tails_of(SplitConformal(alpha=0.2), 2)
    [SplitConformal(), SplitConformal()]
    """
    share = {} if n == 1 else {"alpha": _divided(rule.alpha, n)}
    return [clone(rule).set_params(**share) for _ in range(n)]


def _divided(alpha: Any, n: int) -> Any:
    """Share of alpha of each of n tails, from which a tail cannot see that alpha is too large."""
    shares = [check_alpha(level) / n for level in (alpha if is_several(alpha) else [alpha])]
    return shares if is_several(alpha) else shares[0]


EVERY_OUTCOME = "Every set holds every outcome"


def set_guarantee(tails: Sequence[str], alpha: float, learned: str | None) -> str:
    """Sentence about the sets at level 1 - alpha, from the sentences of one rule a tail.

    A set misses where any of its tails does, so the union bound adds their rates. Their groups
    differ, so only the average over all inputs adds up.

    Examples
    --------
    >>> set_guarantee(["P(covered) >= 0.9, in finite samples."], 0.1, None)
    'P(covered) >= 0.9, in finite samples.'
    """
    sentence = tails[0] if len(set(tails)) == 1 and _speaks_for_all(tails) else _union(tails, alpha)
    if learned is None:
        return sentence
    return (
        f"{sentence} Approximate all the same: the score fitted its {learned} on these very rows; "
        f"fit it elsewhere and pass the number to be exact."
    )


def _speaks_for_all(tails: Sequence[str]) -> bool:
    return len(tails) == 1 or tails[0].startswith(EVERY_OUTCOME)


def _union(tails: Sequence[str], alpha: float) -> str:
    k, target, each = len(tails), f"{1 - alpha:g}", f"{1 - alpha / len(tails):g}"
    where = (
        "Each tail has thresholds and groups of its own: thresholds_[i].guarantee_ says what holds "
        "there."
    )
    if all(EXACT in tail or tail.startswith(EVERY_OUTCOME) for tail in tails):
        return (
            f"P(covered) >= {target} on average over all inputs, {EXACT}, if calibration and test "
            f"points are exchangeable: the union bound over {k} tails, each valid at {each}. "
            f"{where}"
        )
    return (
        f"No finite-sample guarantee: by the union bound the set covers {target} as far as each of "
        f"its {k} tails covers {each}, which is not exact. {where}"
    )


DEFAULT_ALPHA = 0.1  # of conformal estimators and of every rule
RULES = "PLCP() (learned groups), SplitConformal() (one threshold) or Mondrian('column') (cells)"

Init = TypeVar("Init", bound=Callable[..., None])


class _Task(NamedTuple):
    """What a task is called, and what it asks of a model."""

    conformal: str
    kind: str
    method: str | None
    scores: str


TASKS = {
    "regression": _Task(
        "ConformalRegressor", "regressor", None, "AbsoluteResidual or another residual"
    ),
    "classification": _Task(
        "ConformalClassifier",
        "classifier",
        "predict_proba",
        "LabelProbability or CumulativeProbability",
    ),
}


def names_alpha(init: Init) -> Init:
    """Make a constructor that is given ``confidence_level`` answer with the name of the level."""

    @wraps(init)
    def checked(self: Any, *given: Any, **named: Any) -> None:
        if "confidence_level" in named:
            raise TypeError(
                f"{type(self).__name__} takes no confidence_level: give the rate of misses, "
                "alpha = 1 - confidence_level, as in alpha=0.1 for sets that cover 90 %"
            )
        init(self, *given, **named)

    return cast(Init, checked)


def rule_at(rule: Any, alpha: Any) -> Any:
    """Return the rule at the level of its conformal estimator, unless it states its own.

    A level other than the default is stated; two different ones contradict each other.

    Examples
    --------
    >>> from plcp import SplitConformal
    >>> rule_at(SplitConformal(), 0.2), rule_at(SplitConformal(alpha=0.3), 0.1)
    (SplitConformal(alpha=0.2), SplitConformal(alpha=0.3))
    """
    check_alphas(alpha)
    if np.array_equal(alpha, DEFAULT_ALPHA) or np.array_equal(alpha, rule.alpha):
        return rule
    if not np.array_equal(rule.alpha, DEFAULT_ALPHA):
        raise ValueError(
            f"alpha is {alpha} for the sets, but {rule.alpha} in threshold={rule}: give one of "
            "the two, or the same"
        )
    return clone(rule).set_params(alpha=alpha)


def check_parts(estimator: Any, score: Score, rule: ThresholdRule, task: str) -> None:
    """Refuse a model, score or rule that cannot serve the task, before anything is fitted."""
    check_alphas(rule.alpha)
    check_rule(rule, Mondrian)
    check_model(estimator, score, task)


def check_is_rule(rule: Any) -> None:
    """Refuse what is no threshold rule, and name some."""
    if isinstance(rule, ThresholdRule):
        return
    if isinstance(rule, Score):
        remedy = "a score is passed as conformity="
    elif isinstance(rule, type) and issubclass(rule, ThresholdRule):
        remedy = f"give an instance, threshold={rule.__name__}()"
    else:
        remedy = (
            f"a rule finds the thresholds from scores, as {RULES} do; the rate of misses is "
            "passed as alpha="
        )
    raise TypeError(f"threshold must be a ThresholdRule, got {rule!r}: {remedy}")


def check_rule(rule: Any, mondrian: type[Any]) -> None:
    """Refuse a rule that no conformal estimator can fit."""
    if isinstance(rule, mondrian) and rule.groups is None:
        kind = type(rule).__name__
        raise ValueError(
            f"{kind}(groups=None) takes labels by hand, which a conformal estimator cannot pass "
            f"on: name a column of X or give a function of X, as in {kind}(groups=...)"
        )


def check_model(estimator: Any, score: Score, task: str) -> None:
    """Refuse a model or a score that cannot serve the task."""
    if not isinstance(score, Score):
        remedy = (
            "a rule is passed as threshold="
            if isinstance(score, ThresholdRule)
            else f"use {TASKS[task].scores}; the rate of misses is passed as alpha="
        )
        raise TypeError(f"conformity must be a Score, got {score!r}: {remedy}")
    if isinstance(estimator, tuple | list):
        raise TypeError(
            "estimator must be one model, got several: pass QuantilePair(lower, upper) or "
            "MeanScalePair(mean, scale)"
        )
    if score.task is None:
        return  # a score of the user's own knows what to ask of which model
    wants, other = TASKS[task], TASKS["classification" if task == "regression" else "regression"]
    if score.task != task:
        raise TypeError(
            f"{score} is a score for {score.task}, but {wants.conformal} needs one for {task}: "
            f"use {wants.scores}, or {other.conformal}"
        )
    serves = wants.method is not None and hasattr(estimator, wants.method)
    if _kind(estimator) == other.kind and not serves:
        raise TypeError(
            f"{wants.conformal} needs a {wants.kind}, got the {other.kind} {estimator}: "
            f"use {other.conformal}"
        )


def _kind(estimator: Any) -> str | None:
    """Classifier or regressor; None for a model that does not say."""
    tags = tags_of(estimator)
    return None if tags is None else tags.estimator_type


def tags_of(estimator: Any) -> Any:
    """What a model says of itself, in the way of scikit-learn; None if it does not."""
    try:
        return get_tags(estimator)
    except (AttributeError, TypeError):
        return None


def levels_of(model: Any) -> list[float]:
    """Return the levels that a conformal estimator was fitted at: the sums of its tails' shares."""
    shares = zip(*(check_alphas(tail.alpha) for tail in model.thresholds_), strict=True)
    return [sum(of_tails) for of_tails in shares]


def model_at(model: Any, alpha: float) -> Any:
    """Return a fitted conformal estimator at one of its levels, with each tail at its share."""
    place = check_listed(levels_of(model), alpha)
    if not has_alphas(model.thresholds_[0]):
        return model
    one = copy(model)
    one.alpha = alpha
    if model.threshold is not None:
        one.threshold = clone(model.threshold).set_params(alpha=alpha)
    one._take_over([tail.rules_[place] for tail in model.thresholds_], alpha)
    return one


class WatchableModel(ABC):
    """A conformal estimator that can be watched once it is fitted."""

    conformity_: Any
    thresholds_: list[Any]

    def monitor(self, rate: float = 0.05) -> Monitor:
        """Return a monitor of coverage in each group, for rows whose labels are known later.

        Tails are watched one by one, each at its share of alpha, and so are several levels, before
        any threshold is raised to that of a larger alpha.

        Parameters
        ----------
        rate : float, default=0.05
            Probability of any false alarm, ever, for all groups together.
        """
        check_is_fitted(self)
        return Monitor(self, rate)

    @from_one_fit
    def _watched(self) -> list[Watch]:
        """Return what a monitor watches: each tail and level."""
        score = self.conformity_
        exact = score.learned is None and not score.draws
        one = len(self.thresholds_) == 1
        return [
            watch._replace(
                title=watch.title if one else f"tail {i}, {watch.title}",
                exact=watch.exact and exact,
            )
            for i, tail in enumerate(self.thresholds_, start=1)
            for watch in tail._watched()
        ]

    @from_one_fit
    def _sight(self, X: Any, y: ArrayLike, rule_groups: ArrayLike | None = None) -> list[Sighting]:
        """Return which rows with labels ``y`` were missed, and the rows of each group."""
        if rule_groups is not None:
            raise ValueError(
                "rule_groups are for bare threshold rules: the rule of this "
                f"{type(self).__name__} finds groups in X"
            )
        scores, rows = self._scored(X, y)
        tails = zip(self.thresholds_, scores.T, strict=True)
        return [sighting for tail, column in tails for sighting in tail._sight(rows, column)]

    @abstractmethod
    def _scored(self, X: Any, y: ArrayLike) -> tuple[FloatArray, Any]:
        """Return scores, one column a tail, and what the rule sees of the rows."""


Features = Callable[[Any], Any] | list[Any] | str | int | None


class Examined(NamedTuple):
    """Sets of labelled rows, and scores beside thresholds, one column a tail.

    Several levels lie along a third axis of the thresholds.
    """

    sets: Any
    scores: FloatArray
    thresholds: FloatArray


class Answers(NamedTuple):
    """Score of new rows, prediction of the model, and thresholds, one column a tail.

    Several levels lie along a third axis of the thresholds.
    """

    score: Score
    prediction: Any
    thresholds: FloatArray


class Conformal(WatchableModel, MetaEstimatorMixin, Estimator, ABC):
    """What both tasks share: fit a model, score held-out rows, learn thresholds."""

    _task: ClassVar[str]

    @names_alpha
    def __init__(
        self,
        estimator: Any,
        conformity: Score | None = None,
        threshold: ThresholdRule | None = None,
        *,
        alpha: Alpha = DEFAULT_ALPHA,
        features: Features = None,
        calibration_size: float = 0.3,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.conformity = conformity
        self.threshold = threshold
        self.alpha = alpha
        self.features = features
        self.calibration_size = calibration_size
        self.random_state = random_state

    def _fit(self, X: Any, y: NDArray[Any], sample_weight: ArrayLike | None) -> None:
        """Fit the model on one part (none, if frozen) and calibrate on the rest."""
        check_at_hand(X=X, sample_weight=sample_weight)
        X = plain(X)
        check_rows(X)
        check_lengths(X, y)
        X, y, weights = indexable(X, y, check_weights(sample_weight, X))
        X, y, weights = drop_weightless(X, y, weights)
        model, score, rule, rng = self._parts()
        self.estimator_ = model
        if is_frozen(model):
            X = in_order(model, X)
            if not isinstance(model, FrozenEstimator):
                model.fit(X, y)  # teaches nothing: it only puts frozen members in place
        else:
            learn, hold = self._divide(X, y, rng)
            taught = None if weights is None else weights[learn]
            params = training_params(self, {"estimator": model}, taught)["estimator"]
            with asking(model, X):
                model.fit(take(X, learn), y[learn], **params)
            X, y = take(X, hold), y[hold]
            weights = None if weights is None else weights[hold]
        self._calibrate(score, rule, X, y, weights)
        remember_columns(self, X)
        for name in ("n_features_in_", "feature_names_in_"):
            knows = next((w for w in (self.estimator_, witness(self)) if hasattr(w, name)), None)
            if knows is not None:
                setattr(self, name, getattr(knows, name))

    def _parts(self) -> tuple[Any, Score, ThresholdRule, np.random.RandomState]:
        """Model, score and rule, checked against each other, copied and seeded."""
        score = self._default_score() if self.conformity is None else self.conformity
        rule = PLCP() if self.threshold is None else self.threshold
        check_is_rule(rule)
        rule = rule_at(rule, self.alpha)
        check_parts(self.estimator, score, rule, self._task)
        rng = check_random_state(self.random_state)
        if self.random_state is None:
            return clone(self.estimator), clone(score), clone(rule), rng
        return seeded(self.estimator, rng), seeded(score, rng), seeded(rule, rng), rng

    def _divide(
        self, X: Any, y: NDArray[Any], rng: np.random.RandomState
    ) -> tuple[IntArray, IntArray]:
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
        sets = row_sets(X, y)
        if isinstance(self, ClassifierMixin):
            return _split_classes(sets, y, size, rng)
        return split_rows(sets, size, rng)

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
            prediction = score.predictions(self.estimator_, X)
        codes = self._encode(y)
        weighted = weights is not None and has_fit_parameter(score, "sample_weight")
        self.conformity_ = score.fit(prediction, codes, *([weights] if weighted else []))
        columns = self._scores(prediction, codes)
        rows = self._select(X)
        given = () if weights is None else (weights,)
        tails = tails_of(rule, columns.shape[1])
        fitted = [
            tail.fit(rows, column, *given) for tail, column in zip(tails, columns.T, strict=True)
        ]
        self._take_over(fitted, rule.alpha)

    def _scores(self, prediction: Any, codes: NDArray[Any]) -> FloatArray:
        """Scores of calibration rows, one column a tail."""
        return one_column_each(self.conformity_(prediction, codes))

    def _take_over(self, tails: list[ThresholdRule], alpha: Any) -> None:
        """Be fitted, with one fitted rule a tail."""
        self.thresholds_ = tails
        if not is_several(alpha):
            self.guarantee_ = self._guarantee(tails, alpha)
            return
        self._levels = check_alphas(alpha)
        each = zip(self._levels, zip(*(tail.rules_ for tail in tails), strict=True), strict=True)
        sentences = [self._guarantee(rules, level) for level, rules in each]
        self.guarantee_ = guarantee_of_alphas(self._levels, sentences)

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
        check_same_rows(X, y=y)
        codes = self._encode(self._labels(y))
        answers = self._answers(X)
        scores = one_column_each(answers.score(answers.prediction, codes))
        return Examined(self._sets(answers), scores, answers.thresholds)

    def _scored(self, X: Any, y: ArrayLike) -> tuple[FloatArray, Any]:
        check_same_rows(X, y=y)
        X, codes = self._rows(X), self._encode(self._labels(y))
        score = self.conformity_.on_rows(X)
        return one_column_each(score(self._ask(X), codes)), self._select(X)

    def members(self, X: Any) -> Members:
        """Rows of each group that the rule of each tail learned or was given, by name."""
        rows = self._select(self._rows(X))
        tails = [tail.members(rows) for tail in self.thresholds_]
        if len(tails) == 1:
            return tails[0]
        named = ((i, name) for i, tail in enumerate(tails, start=1) for name in tail)
        return {f"tail {i}, {name}": tails[i - 1][name] for i, name in named}

    def _answers(self, X: Any) -> Answers:
        """Answer of the model and of the rules to new rows."""
        X = self._rows(X)
        prediction, rows = self._ask(X), self._select(X)
        thresholds = np.stack([tail.predict(rows) for tail in self.thresholds_], axis=1)
        return Answers(self.conformity_.on_rows(X), prediction, thresholds)

    def _ask(self, X: Any) -> Any:
        """Prediction of the model, as the score reads it."""
        with asking(self.estimator_, X):
            return self.conformity_.predictions(self.estimator_, X)

    def _rows(self, X: Any) -> Any:
        """New rows, with the columns in the order of fit."""
        check_is_fitted(self)
        check_at_hand(X=X)
        X = plain(X)
        check_rows(X)
        X = in_order(self, X)
        if self.features is None and is_frame(X):  # before the model, which may not name columns
            validate_data(self.thresholds_[0], X, reset=False, skip_check_array=True)
        return X

    def _sets(self, answers: Answers) -> Any:
        """Prediction set of each row; at several levels one each."""
        if answers.thresholds.ndim == 2:
            return self._invert(answers)
        each = np.moveaxis(answers.thresholds, -1, 0)
        sets = [self._invert(answers._replace(thresholds=column)) for column in each]
        return NestedSets(self._levels, sets)

    def _sets_of(self, X: Any) -> Any:
        """Prediction set of each row, with the index of X where it has one."""
        X = plain(X)
        sets, index = self._sets(self._answers(X)), row_labels(X)
        return sets if index is None else sets.with_index(index)

    def _invert(self, answers: Answers) -> Any:
        """Prediction set of each row, at one level."""
        score, prediction, thresholds = answers
        one = thresholds.shape[1] == 1
        return score.invert(prediction, thresholds[:, 0] if one else thresholds)

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

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata is routed: weights calibrate, and go to a model that wants them."""
        return training_routes(self, {"estimator": self.estimator}).add_self_request(self)

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


def one_column_each(scores: FloatArray) -> FloatArray:
    """Scores with one column a tail, be it a single one."""
    return scores.reshape(len(scores), -1)


def witness(model: Conformal) -> Any:
    """Whoever has ``feature_names_in_`` and ``n_features_in_`` of the rows that calibrated.

    The model within may have been trained on arrays without names, or know nothing of them.
    """
    return model.thresholds_[0] if model.features is None else model


def check_one_level(estimator: Any) -> None:
    """Refuse a rule or model fitted at several levels, where one set a row is looked at."""
    rule = estimator.thresholds_[0] if isinstance(estimator, Conformal) else estimator
    if has_alphas(rule):
        levels = check_alphas(rule.alpha) if rule is estimator else levels_of(estimator)
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


def _split_classes(
    sets: IntArray, y: NDArray[Any], size: float, rng: np.random.RandomState
) -> Fold:
    """Rows of two parts, with the same share of each class, and some of each class in the first."""
    places, codes = rng.permutation(sets.max() + 1)[sets], np.unique(y, return_inverse=True)[1]
    held: list[IntArray] = []
    beyond = 0.0  # what one class holds out too few, the next makes up for
    for code in range(codes.max() + 1):
        own = np.unique(places[codes == code])
        wanted = size * len(own) + beyond
        held.append(own[: min(max(0, round(wanted)), len(own) - 1)])
        beyond = wanted - len(held[-1])
    hold = rows_of(np.concatenate(held), places)
    return np.setdiff1d(np.arange(len(y)), hold), hold


CONTAINERS = ("default", "pandas", "polars")


class ConformalRegressor(RegressorMixin, Conformal):
    """Prediction intervals around any regressor, valid for each kind of input.

    ``score`` is R² of the point prediction, as of any regressor: it says nothing of the intervals.
    Tune the rule where it is fitted, on scores: ``GridSearchCV(PLCP(), ...).fit(X, scores)`` goes
    by its pinball loss.

    A ``Pipeline`` goes inside, ``ConformalRegressor(make_pipeline(StandardScaler(), Ridge()))``:
    the rule sees X as it is given. Where it is to see what the steps make of X, it comes last: with
    ``pipe = make_pipeline(PCA(9), ConformalRegressor(Ridge()))`` the sets of new rows are
    ``pipe[-1].predict_set(pipe[:-1].transform(X))``, as a pipeline itself has ``predict`` alone.

    Parameters
    ----------
    estimator : regressor
        The model. Wrapped in ``FrozenEstimator`` it is taken as trained, and all rows given to
        ``fit`` calibrate; otherwise ``fit`` splits them, trains and calibrates. A ``QuantilePair``
        or ``MeanScalePair`` of frozen models counts as frozen.
    conformity : Score or None, default=None
        The score; None: ``AbsoluteResidual()``.
    threshold : ThresholdRule or None, default=None
        The rule that turns scores into thresholds; None: ``PLCP()``. A score with two tails gets
        one rule each, at alpha / 2.
    alpha : float or list of float, default=0.1
        Miscoverage rate of the sets, or several, given to the rule unless it states its own: an
        ``alpha`` of the rule other than 0.1 holds where this one is 0.1, and must equal it where
        it is not.
    features : column, list of columns, callable or None, default=None
        What the rule sees of X: some columns (names or positions), or a function of X such as an
        embedding. None: all of it.
    calibration_size : float, default=0.3
        Share of rows to calibrate on, for a model that is not frozen. Which ones depends on what
        stands in them and on the seed, not on their order, and equal rows stay together.
    random_state : int, RandomState or None
        Seed of that split, and of whatever ``random_state`` in the model, the score and the rule
        is None. None: they are left as they are.

    Attributes
    ----------
    estimator_, conformity_ : the fitted model and score
    thresholds_ : list of fitted rules, one a tail
    guarantee_ : str
        What holds, and when.

    Examples
    --------
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.linear_model import LinearRegression
    >>> from plcp.datasets import make_toy
    >>> train, cal, test = (make_toy(2000, random_state=seed) for seed in range(3))
    >>> fitted = LinearRegression().fit(train.X, train.y)
    >>> model = ConformalRegressor(FrozenEstimator(fitted)).fit(cal.X, cal.y)
    >>> model.predict_set(test.X).contains(test.y).shape
    (2000,)
    """

    _task = "regression"

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train (unless frozen) and calibrate.

        ``sample_weight`` counts rows, in training and in calibration: weight 2 stands for two rows,
        weight 0 for none. A model that takes no weights is trained without, with a warning. Where
        scikit-learn's metadata routing is on, the model is given weights if it requests them.
        """
        check_same_rows(X, y=y, sample_weight=sample_weight)
        self._fit(X, self._labels(y), sample_weight)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Point predictions of the model."""
        prediction = self._ask(self._rows(X))
        return self.conformity_.point(prediction)

    def predict_set(self, X: Any) -> Any:
        """``Intervals``, a set that can be asked: ``contains``, ``size``, ``clip``.

        At several levels ``NestedSets``, a mapping of each alpha to its intervals. Rows of a pandas
        frame keep its index in ``to_pandas``; those of arrays and polars keep their order alone.
        """
        return self._sets_of(X)

    def predict_interval(self, X: Any) -> Any:
        """Lower and upper ends, shape (n, 2); a data frame if ``set_output`` says so.

        At several levels the shape is (n, 2, levels), and columns end in their level.
        """
        intervals = self.predict_set(X)
        container = self._container()
        if container == "pandas":
            return intervals.to_pandas()
        return intervals.to_polars() if container == "polars" else intervals.to_numpy()

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose the container of ``predict_interval``: "default", "pandas" or "polars"."""
        if transform is not None:
            check_option("transform", transform, CONTAINERS)
            self._sklearn_output_config = {"transform": transform}  # the name that clone keeps
        return self

    def _container(self) -> str:
        chosen = getattr(self, "_sklearn_output_config", {}).get("transform")
        return str(chosen or get_config()["transform_output"])

    @staticmethod
    def _labels(y: ArrayLike) -> NDArray[Any]:
        return check_response(y)

    def _default_score(self) -> Score:
        return AbsoluteResidual()


class ConformalClassifier(ClassifierMixin, Conformal):
    """Prediction sets of labels from any classifier, valid for each kind of input.

    ``predict_set(X).to_pandas()`` and ``.to_polars()`` give the sets as a table, one boolean column
    a class, the first with the index of X. Pipelines are used as in ``ConformalRegressor``.

    Parameters
    ----------
    estimator : classifier
        The model, with ``predict_proba``; frozen or not, as in ``ConformalRegressor``.
    conformity : Score or None, default=None
        The score; None: ``LabelProbability()``.
    threshold, alpha, features, calibration_size, random_state :
        As in ``ConformalRegressor``; the split keeps the shares of the classes, and trains on each
        of them.

    Attributes
    ----------
    classes_ : ndarray
        Labels the model knows.
    estimator_, conformity_, thresholds_, guarantee_ :
        As in ``ConformalRegressor``.

    Notes
    -----
    With an accurate classifier and few calibration rows the default rule covers slightly more than
    1 - alpha, and its sets are larger than Split's by a few per cent: see the notes of ``PLCP``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from plcp import SplitConformal
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ConformalClassifier(
    ...     LogisticRegression(max_iter=1000), threshold=SplitConformal(), random_state=0
    ... )
    >>> model.fit(X, y).predict_set(X[:1]).to_lists()
    [[0]]
    """

    _task = "classification"

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train (unless frozen) and calibrate.

        ``sample_weight`` counts rows, in training and in calibration: weight 2 stands for two rows,
        weight 0 for none. A model that takes no weights is trained without, with a warning. Where
        scikit-learn's metadata routing is on, the model is given weights if it requests them.
        """
        check_same_rows(X, y=y, sample_weight=sample_weight)
        labels = self._labels(y)
        check_classes(labels)
        self._fit(X, labels, sample_weight)
        return self

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels the model knows."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.classes_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Likeliest label of each row."""
        X = self._rows(X)
        with asking(self.estimator_, X):
            return self.estimator_.predict(X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the model, as they are."""
        X = self._rows(X)
        with asking(self.estimator_, X):
            return self.estimator_.predict_proba(X)

    def predict_set(self, X: Any) -> Any:
        """``LabelSets`` that can be asked: ``contains``, ``size``, ``to_lists``.

        At several levels ``NestedSets``, a mapping of each alpha to its sets.
        """
        return self._sets_of(X)

    def _invert(self, answers: Answers) -> LabelSets:
        return super()._invert(answers).with_classes(self.classes_)

    @staticmethod
    def _labels(y: ArrayLike) -> NDArray[Any]:
        return check_labels(y)

    def _default_score(self) -> Score:
        return LabelProbability()

    def _encode(self, y: NDArray[Any]) -> NDArray[Any]:
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(
                f"labels {unknown.tolist()} are not among the classes {self.classes_.tolist()} the "
                "model was trained on: drop those rows, merge rare classes, or retrain the model"
            )
        order = np.argsort(self.classes_)  # a model of one's own may list them in any order
        return order[np.searchsorted(self.classes_, y, sorter=order)]

"""Conformal estimators: a model, a score and a threshold rule make prediction sets."""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial, wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state, indexable
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from plcp._base import Estimator
from plcp._compatibility import (
    SCORE_OF_PAIR as SCORE_OF_PAIR,  # which comparisons read
    check_is_rule,
    check_model,
    check_rule,
    check_takes_clusters,
    rule_at,
    rules_of_tails,
    tags_of,
)
from plcp._features import Features, is_table, select_features, with_prediction
from plcp._files import nearest
from plcp._folds import (
    Fold,
    check_splitter_groups,
    copy_ids,
    folds_of_classes,
    given_folds,
    is_number_of_folds,
    is_splitter,
    share_of_copies,
    shuffled_folds,
    split_rows,
)
from plcp._options import (
    caller_stacklevel,
    check_count,
    check_instance,
    check_option,
    check_same_rows,
    check_share,
    is_whole,
    shortened,
    shown,
)
from plcp._parallel import in_threads
from plcp._rows import is_frame, row_labels, take, to_plain_array
from plcp._validation import (
    check_at_hand,
    check_classes,
    check_labels,
    check_lengths,
    check_response,
    check_rows,
    check_weights,
    drop_weightless,
    model_errors,
    remember_columns,
    reorder_columns,
    with_columns_of_fit,
)
from plcp.exceptions import InfiniteThresholdWarning
from plcp.groups.clusters import check_enough, check_whole, cluster_numbers
from plcp.groups.groups import label_text
from plcp.models import MeanScalePair, QuantilePair
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
    fit_rule,
    fitted_at_several,
    lists_alphas,
    result_of_each,
)
from plcp.thresholds.guarantees import Guarantee, Guarantees, despite_copies, set_guarantee
from plcp.thresholds.labels import LabelConditional

if TYPE_CHECKING:
    from plcp.monitoring import Monitor

__all__ = [
    "ConformalClassifier",
    "ConformalRegressor",
]

CONTAINERS = ("default", "pandas", "polars")
UNKNOWN = -1  # code of a label that the rows which trained the model lack
MOST_PROBABILITIES = 3  # of a classifier, that rules read


class Examined(NamedTuple):
    """Sets of labelled rows, with scores and thresholds, one column per tail.

    With several alphas, thresholds have a third axis for them.
    """

    sets: Any
    scores: FloatArray
    thresholds: FloatArray


class _Inputs(NamedTuple):
    """What sets of new rows are made of: thresholds have one column per tail, or per label."""

    score: Score
    prediction: Any
    thresholds: FloatArray


class _Rows(NamedTuple):
    """Labelled rows, with weights, if any, and the cluster of each, if rows belong together."""

    X: Any
    y: NDArray[Any]
    weights: FloatArray | None
    clusters: IntArray | None

    def take(self, rows: IntArray) -> "_Rows":
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        clusters = None if self.clusters is None else self.clusters[rows]
        return _Rows(take(self.X, rows), self.y[rows], weights, clusters)

    def ids(self) -> IntArray:
        """Return an id for each row, of its cluster or its copies, which no division separates."""
        if self.clusters is None:
            return copy_ids(self.X, self.y)
        return np.unique(self.clusters, return_inverse=True)[1]


class _Teachers(NamedTuple):
    """Features, scores (one column per tail), weights and clusters of rows that teach the rules."""

    X: Any
    scores: FloatArray
    weights: FloatArray | None
    clusters: IntArray | None

    def of_tails(self) -> list[dict[str, Any]]:
        """Return what the rule of each tail is given."""
        return [
            {"teachers": (self.X, column, self.weights, self.clusters)} for column in self.scores.T
        ]


OTHER_NAMES = {"score": "conformity", "rule": "threshold", "model": "estimator"}


def suggests_parameters(init: Any) -> Any:
    """Make a constructor name the parameter that was probably meant by an unknown one."""
    known = [*signature(init).parameters][1:]

    @wraps(init)
    def checked(self: Any, *args: Any, **options: Any) -> None:
        unknown = next((name for name in options if name not in known), None)
        if unknown is None:
            init(self, *args, **options)
            return
        close = OTHER_NAMES.get(unknown) or nearest(unknown, known)
        remedy = f"did you mean {close}?" if close else f"choose from {', '.join(known)}"
        if unknown == "confidence_level":
            remedy = "give alpha = 1 - confidence_level, as in alpha=0.1 for sets that cover 90 %"
        raise TypeError(f"{type(self).__name__} has no parameter {unknown}: {remedy}")

    return checked


class Conformal(MetaEstimatorMixin, Estimator, ABC):
    """Base of both tasks: fit a model, score held-out rows, fit one threshold rule per tail."""

    _task: ClassVar[str]
    _share_of_copies: float = 0.0  # among rows that were divided into training and calibration
    _reads_prediction: bool = False  # whether the rule was given it beside the columns of X

    @suggests_parameters
    def __init__(
        self,
        estimator: Any,
        conformity: Score | None = None,
        threshold: ThresholdRule | None = None,
        *,
        alpha: Alpha | None = None,
        features: Features = None,
        calibration_size: float = 0.3,
        cv: Any = 5,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.estimator = estimator
        self.conformity = conformity
        self.threshold = threshold
        self.alpha = alpha
        self.features = features
        self.calibration_size = calibration_size
        self.cv = cv
        self.random_state = random_state
        self.verbose = verbose

    def _fit(
        self, X: Any, y: NDArray[Any], sample_weight: ArrayLike | None, groups: ArrayLike | None
    ) -> None:
        """Fit the model on one part of the rows (none, if frozen) and calibrate on the rest."""
        check_at_hand(X=X, sample_weight=sample_weight)
        X = to_plain_array(X)
        check_rows(X)
        check_lengths(X, y)
        X, y, weights = indexable(X, y, check_weights(sample_weight, X))
        X, y, weights = drop_weightless(X, y, weights)
        clusters = cluster_numbers(groups, X, sample_weight)
        model, score, rule, rng = self._parts()
        if clusters is not None:
            check_takes_clusters(rule)
        self.estimator_, self._share_of_copies, teachers = model, 0.0, None
        self._reads_prediction = self._gives_prediction(rule, X)
        selected = None  # features of the calibration rows, if they need no prediction
        if is_frozen(model):
            rows = _Rows(reorder_columns(model, X), y, weights, clusters)
            if not isinstance(model, FrozenEstimator):
                model.fit(rows.X, y)  # trains nothing: a pair of frozen models sets its attributes
        else:
            warn_if_trained(self.estimator)
            rows = _Rows(X, y, weights, clusters)
            ids = rows.ids()
            self._share_of_copies = 0.0 if clusters is not None else share_of_copies(ids)
            train, hold = self._split(ids, y, rng)
            training, rows = rows.take(train), rows.take(hold)
            is_taught = self._is_taught(rule) and len(train) > 1
            if is_taught:
                check_splitter_groups(self.cv, clusters)
                if clusters is not None and is_number_of_folds(self.cv):
                    check_enough(training.ids().max() + 1, self.cv)
            if not self._reads_prediction:  # before training: features= may be a mistake
                selected = self._select(rows.X)
            params = self._training_params(model, training)
            labels = training.y if isinstance(self, ClassifierMixin) else None
            with model_errors(model, training.X, labels):
                model.fit(training.X, training.y, **params)
            if is_taught:
                teachers = self._teachers(score, training, rng)
        self._calibrate(score, rule, rows, teachers, selected)
        remember_columns(self, rows.X)
        if self._reads_prediction:  # the rule has columns that X has not
            validate_data(self, rows.X, skip_check_array=True)
        for name in ("n_features_in_", "feature_names_in_"):
            for part in (columns_source(self), self.estimator_):
                if hasattr(part, name):
                    setattr(self, name, getattr(part, name))

    def _parts(self) -> tuple[Any, Score, ThresholdRule, np.random.RandomState]:
        """Return model, score and rule, checked against each other, copied and seeded."""
        score = self._default_score() if self.conformity is None else self.conformity
        rule = PLCP() if self.threshold is None else self.threshold
        check_is_rule(rule)
        rule = rule_at(rule, self.alpha, given=self.threshold is not None)
        check_rule(rule, Mondrian)
        check_model(self.estimator, score, self._task)
        check_share(
            "calibration_size", self.calibration_size, ": the share of rows to calibrate on"
        )
        check_instance("cv", self.cv)
        if is_whole(self.cv):
            check_count("cv", self.cv, 2)
        elif self.cv is not None and not is_splitter(self.cv):
            raise ValueError(
                f"cv must be a whole number of folds, a splitter such as KFold(5) or None, got "
                f"{shown(self.cv)}: fit draws the rows that train the model"
            )
        rng = check_random_state(self.random_state)
        if self.random_state is None:
            return clone(self.estimator), clone(score), clone(rule), rng
        return seeded(self.estimator, rng), seeded(score, rng), seeded(rule, rng), rng

    def _training_params(self, model: Any, rows: _Rows) -> dict[str, Any]:
        """Return what the model is given with the rows it is trained on."""
        found = training_params(self, {"estimator": model}, rows.weights, rows.clusters)
        return found["estimator"]

    def _split(
        self, ids: IntArray, y: NDArray[Any], rng: np.random.RandomState
    ) -> tuple[IntArray, IntArray]:
        """Return the rows to fit the model on, and the rows to calibrate on."""
        if len(y) == 1:
            raise ValueError(
                "n_samples=1: one row cannot both train and calibrate; give more, or a model in "
                "FrozenEstimator"
            )
        n = int(ids.max()) + 1 if ids.max() > 0 else len(ids)
        if math.ceil(self.calibration_size * n) >= n:
            raise ValueError(
                f"calibration_size={self.calibration_size} leaves none of {n} rows, copies and "
                "groups counted once, to train the model: give a smaller share, such as 0.3"
            )
        return split_rows(ids, self.calibration_size, rng)

    def _gives_prediction(self, rule: ThresholdRule, X: Any) -> bool:
        """Whether the rule reads the model's prediction as more columns of a table."""
        return self.features is None and rule._reads_prediction and is_table(X)

    def _is_taught(self, rule: ThresholdRule) -> bool:
        """Whether rows that trained the model teach the rule."""
        return self.cv is not None and rule._takes_teachers

    def _teachers(self, score: Score, rows: _Rows, rng: np.random.RandomState) -> _Teachers | None:
        """Score the rows that trained the model by models that did not see them, if any can be."""
        folds = given_folds(self.cv, rows.X, rows.y, groups=rows.clusters)
        if folds is None:
            folds = self._folds(rows.ids(), rows.y, rng)
        check_whole(rows.clusters, folds)
        if not folds:  # each class has a single row
            return None
        jobs = [partial(self._out_of_fold, score, rows, fold) for fold in folds]
        label = f"{type(self.estimator).__name__} out of fold"
        predictions = in_threads(jobs, None, self.verbose, label)
        held = rows.take(np.concatenate([hold for _, hold in folds]))
        prediction, codes = np.concatenate(predictions), self._encode(held.y)
        own = clone(score)
        if "random_state" in own.get_params(deep=False):  # not the draws of calibration rows
            own.set_params(random_state=rng.randint(np.iinfo(np.int32).max))
        own.fit(prediction, codes)
        scores = _one_column_per_tail(own(prediction, codes))
        return _Teachers(self._select(held.X, prediction), scores, held.weights, held.clusters)

    def _folds(self, ids: IntArray, y: NDArray[Any], rng: np.random.RandomState) -> list[Fold]:
        return shuffled_folds(ids, self.cv, rng)

    def _out_of_fold(self, score: Score, rows: _Rows, fold: Fold) -> NDArray[Any]:
        """What the score reads of a model that was trained without the held rows, for these."""
        learn, hold = fold
        model, learning = clone(self.estimator_), rows.take(learn)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the model itself has warned
            params = self._training_params(model, learning)
        try:
            model.fit(learning.X, learning.y, **params)
            return self._read(score, model, take(rows.X, hold))
        except ValueError as error:
            raise ValueError(
                f"cv={self.cv} trains the model on {len(learn)} rows, too, which failed: {error}; "
                "give cv=None for a rule that learns from calibration rows alone"
            ) from error

    def _read(self, score: Score, model: Any, X: Any) -> NDArray[Any]:
        return np.asarray(score.predictions(model, X))

    def _calibrate(
        self,
        score: Score,
        rule: ThresholdRule,
        rows: _Rows,
        teachers: _Teachers | None,
        selected: Any = None,
    ) -> None:
        """Score the rows and fit one rule per tail, each at its share of alpha.

        ``selected``: what the rules read of the rows, if it is known.
        """
        with model_errors(self.estimator_, rows.X):
            prediction = score.predictions(self.estimator_, rows.X)
        codes, weights = self._calibration_codes(rows.y), rows.weights
        columns = self._fit_score(score, prediction, codes, weights)
        features = self._select(rows.X, prediction) if selected is None else selected
        given = self._given_to_rule(rule, codes)
        rules = rules_of_tails(rule, columns.shape[1])
        taught = [{}] * len(rules) if teachers is None else teachers.of_tails()
        fitted = [
            fit_rule(tail, features, column, weights, rows.clusters, **given, **options)
            for tail, column, options in zip(rules, columns.T, taught, strict=True)
        ]
        if self._reads_prediction:
            n_columns = self._prediction_columns(prediction).shape[1]
            for one in fitted:
                one._draw_without(n_columns)
        self._count_unknown(fitted, features, rows.y, codes, rule.alpha)
        self._set_rules(fitted, rule.alpha)

    def _fit_score(
        self, score: Score, prediction: Any, codes: NDArray[Any], weights: FloatArray | None
    ) -> FloatArray:
        """Fit the score, and return the scores of calibration rows, one column per tail."""
        weighted = weights is not None and has_fit_parameter(score, "sample_weight")
        self.conformity_ = score.fit(prediction, codes, *([weights] if weighted else []))
        return self._scores(prediction, codes)

    def _scores(self, prediction: Any, codes: NDArray[Any]) -> FloatArray:
        """Return the scores of calibration rows, one column per tail."""
        scores = _one_column_per_tail(self.conformity_(prediction, codes))
        found, n_tails = scores.shape[1], self.conformity_.n_tails
        if found != n_tails:
            raise ValueError(
                f"{self.conformity_} gives {found} scores per row, but its n_tails is {n_tails}: "
                f"define the property n_tails as {found}"
            )
        return scores

    def _set_rules(self, rules: list[ThresholdRule], alpha: Any) -> None:
        """Store one fitted rule per tail, and the guarantee of the sets."""
        self.tail_rules_ = rules
        self.guarantee_: Guarantee | Guarantees
        if not lists_alphas(alpha):
            self.guarantee_ = self._guarantee(rules, alpha)
            return
        self._alphas = check_alphas(alpha)
        each = zip(self._alphas, zip(*(rule.rules_ for rule in rules), strict=True), strict=True)
        self.guarantee_ = Guarantees(tuple(self._guarantee(tails, one) for one, tails in each))

    def _guarantee(self, rules: Iterable[ThresholdRule], alpha: float) -> Guarantee:
        promises = [rule.guarantee_ for rule in rules]
        promise = set_guarantee(promises, alpha, self.conformity_.learned)
        return despite_copies(promise, self._share_of_copies)

    def at(self, alpha: float) -> Self:
        """Return this model at one of the alphas it was fitted at, without another fit.

        For displays, certificates and explanations, which need one set per row. Thresholds are
        those of this alpha alone, not raised to those of a larger alpha.
        """
        check_is_fitted(self)
        place = check_listed(alphas_of(self), alpha)
        if not fitted_at_several(self.tail_rules_[0]):
            return self
        one, alpha = copy(self), alphas_of(self)[place]
        one.alpha = alpha
        if self.threshold is not None:
            one.threshold = clone(self.threshold).set_params(alpha=alpha)
        one._set_rules([rule.rules_[place] for rule in self.tail_rules_], alpha)
        return one

    def examine(self, X: Any, y: ArrayLike) -> Examined:
        """Return the sets of labelled rows, with the scores and thresholds that made them."""
        check_is_fitted(self)
        check_same_rows(X, y=y)
        codes = self._encode(self._check_labels(y))
        inputs = self._inputs(X)
        scores = _one_column_per_tail(inputs.score(inputs.prediction, codes))
        return Examined(self._sets(inputs), scores, inputs.thresholds)

    def members(self, X: Any, y: ArrayLike | None = None) -> Members:
        """Return the rows of each group that a rule learned or was given, by name.

        Groups given the label need the labels ``y`` of the rows.
        """
        check_same_rows(X, y=y)
        X = self._check_rows(X)
        codes = None if y is None else self._encode(self._check_labels(y))
        if codes is not None:
            check_lengths(X, codes)
        rows = self._select(X)
        self._check_one_result("members")
        tails = [
            rule.members(rows, **self._given_to_rule(rule, codes)) for rule in self.tail_rules_
        ]
        if len(tails) == 1:
            return tails[0]
        return {
            f"tail {i}, {name}": members
            for i, tail in enumerate(tails, start=1)
            for name, members in tail.items()
        }

    def groups(self, X: Any) -> IntArray:
        """Return the learned group of each row, for a rule that learns groups."""
        check_is_fitted(self)
        if len(self.tail_rules_) > 1:
            raise ValueError(
                "each tail has groups of its own: use tail_rules_[0].groups or "
                "tail_rules_[1].groups"
            )
        rule = self.tail_rules_[0]
        if isinstance(rule, LabelConditional):
            raise ValueError(
                "each label has groups of its own: use tail_rules_[0].label_rules_[i].groups, in "
                "the order of classes_"
            )
        if not isinstance(rule, PLCP):
            raise ValueError(
                f"{type(rule).__name__} learns no groups; those given to a rule by the user are "
                "in tail_rules_[0].groups_"
            )
        self._check_one_result("groups")
        return rule.groups(self._select(self._check_rows(X)))

    def _check_one_result(self, method: str) -> None:
        """Refuse a method of rules whose results differ from alpha to alpha."""
        for rule in self.tail_rules_:
            if fitted_at_several(rule) and not rule._shares_groups():
                raise result_of_each(self, alphas_of(self), method)

    def monitor(self, rate: float = 0.05) -> "Monitor":
        """Return a monitor of coverage in each group, for rows whose labels are known later.

        Each tail is monitored at its share of alpha. Of several alphas each is monitored by its own
        thresholds, before these are raised to those of a larger alpha.

        Parameters
        ----------
        rate : float, default=0.05
            Probability of any false alarm, ever, for all groups together.
        """
        from plcp.monitoring import Monitor

        return Monitor(self, rate)

    def _scored(self, X: Any, y: ArrayLike) -> tuple[FloatArray, Any, NDArray[Any]]:
        """Return scores of labelled rows, one column per tail, features of the rule, and codes."""
        check_same_rows(X, y=y)
        X, codes = self._check_rows(X), self._encode(self._check_labels(y))
        prediction = self._predictions(X)
        scores = _one_column_per_tail(self.conformity_.on_rows(X)(prediction, codes))
        return scores, self._select(X, prediction), codes

    def _inputs(self, X: Any) -> _Inputs:
        """Return what the sets of new rows are made of."""
        X = self._check_rows(X)
        prediction = self._predictions(X)
        thresholds = self._thresholds(self._select(X, prediction))
        return _Inputs(self.conformity_.on_rows(X), prediction, thresholds)

    def _thresholds(self, rows: Any) -> FloatArray:
        return np.stack([rule.predict(rows) for rule in self.tail_rules_], axis=1)

    @staticmethod
    def _given_to_rule(rule: Any, codes: NDArray[Any] | None) -> dict[str, Any]:
        """Return what a rule is given of the labels: nothing, unless it has one rule for each."""
        return {"groups": codes} if isinstance(rule, LabelConditional) else {}

    def _sets(self, inputs: _Inputs) -> Any:
        """Return the set of each row, or one for each alpha."""
        if inputs.thresholds.ndim == 2:
            return self._invert(inputs)
        each = np.moveaxis(inputs.thresholds, -1, 0)
        sets = [self._invert(inputs._replace(thresholds=column)) for column in each]
        return NestedSets(self._alphas, sets)

    def _predict_set(self, X: Any) -> Any:
        """Return the set of each row, with the index of X where it has one."""
        X = to_plain_array(X)
        sets, index = self._sets(self._inputs(X)), row_labels(X)
        return sets if index is None else sets.with_index(index)

    def _invert(self, inputs: _Inputs) -> Any:
        """Return the set of each row, at one alpha."""
        score, prediction, thresholds = inputs
        one = thresholds.shape[1] == 1
        return score.invert(prediction, thresholds[:, 0] if one else thresholds)

    def _predictions(self, X: Any) -> Any:
        """Return the predictions of the model that the score reads."""
        with model_errors(self.estimator_, X):
            return self.conformity_.predictions(self.estimator_, X)

    def _check_rows(self, X: Any) -> Any:
        """Return new rows, with the columns in the order of fit."""
        check_is_fitted(self)
        check_at_hand(X=X)
        X = to_plain_array(X)
        check_rows(X)
        X = with_columns_of_fit(self, X)
        if self.features is None and is_frame(X):  # before the model, which may not name columns
            validate_data(columns_source(self), X, reset=False, skip_check_array=True)
        return X

    def _select(self, X: Any, prediction: Any = None) -> Any:
        """Return what the rules read: features of X, and the prediction if they are given it."""
        if not self._reads_prediction:
            return select_features(self.features, X)
        prediction = self._predictions(X) if prediction is None else prediction
        return with_prediction(X, self._prediction_columns(prediction))

    @staticmethod
    def _prediction_columns(prediction: Any) -> FloatArray:
        """Return what rules read of predictions, one column or more."""
        columns = np.asarray(prediction, dtype=float)
        return columns.reshape(len(columns), -1)

    @staticmethod
    @abstractmethod
    def _check_labels(y: ArrayLike) -> NDArray[Any]:
        """Return the labels of rows, checked."""

    @abstractmethod
    def _default_score(self) -> Score:
        """Return the score used where none is given."""

    def _encode(self, y: NDArray[Any]) -> NDArray[Any]:
        return y

    def _calibration_codes(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return the labels of calibration rows as the score reads them."""
        return self._encode(y)

    def _count_unknown(
        self,
        rules: list[ThresholdRule],
        features: Any,
        y: NDArray[Any],
        codes: NDArray[Any],
        alpha: Any,
    ) -> None:
        """Warn of calibration rows whose label no set can hold: in regression there are none."""

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata is routed: to calibration, and to a model that requests it."""
        return training_routes(self, {"estimator": self.estimator}).add_self_request(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_model = tags_of(self.estimator)
        tags.input_tags.allow_nan = of_model is not None and of_model.input_tags.allow_nan
        return tags


class ConformalRegressor(RegressorMixin, Conformal):
    """Prediction intervals around any regressor, valid for each kind of input.

    ``score`` is R² of the point prediction, as of any regressor: it does not judge the intervals.
    Tune the rule on scores: ``GridSearchCV(PLCP(), ...).fit(X, scores)`` compares pinball losses.

    A ``Pipeline`` goes inside, ``ConformalRegressor(make_pipeline(StandardScaler(), Ridge()))``:
    the rule reads X as given. For a rule that reads transformed rows the conformal estimator comes
    last: with ``pipe = make_pipeline(PCA(9), ConformalRegressor(Ridge()))`` the sets of new rows
    are ``pipe[-1].predict_set(pipe[:-1].transform(X))``, since a pipeline has only ``predict``.

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
        one rule each, at alpha / 2; they share a ``confidence``, too.
    alpha : float, list of float or None, default=None
        Miscoverage rate of the sets, or several; None: that of ``threshold``, 0.1 unless it has
        another. It takes the place of the default of a ``threshold`` that is given; one with
        another alpha of its own is an error.
    features : column, list of columns, callable or None, default=None
        What the rule reads of X: some columns (names or positions), or a function of X such as an
        embedding. None: all of it, and where X is a table the default regressor of ``PLCP`` also
        reads the model's prediction, as the last column. Name all columns for a rule without it.
    calibration_size : float, default=0.3
        Share of rows to calibrate on, for a model that is not frozen. They are drawn by
        ``random_state``, and equal rows stay together.
    cv : int, splitter of scikit-learn or None, default=5
        For a model that is not frozen, and a rule that learns (``PLCP``, not calibrated by "cross"
        or "joint"): folds of the training rows. The model is fitted once more for each, and the
        scores of the rows it has not seen teach the rule, so that all calibration rows calibrate:
        exact in each learned group, but for ``calibration="held-out"``. Two folds are cheapest.
        None: the rule learns from the calibration rows.
    random_state : int, RandomState or None
        Seed of that split, of the folds, and of each ``random_state`` of the model, the score and
        the rule that is None. None: these are left as they are.
    verbose : bool, default=False
        Show a progress bar of the folds (needs the extra ``progress``).

    Attributes
    ----------
    estimator_, conformity_ : the fitted model and score
    tail_rules_ : list of fitted rules, one per tail
    guarantee_ : Guarantee
        What holds, and when.

    Examples
    --------
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.linear_model import LinearRegression
    >>> from plcp import ConformalRegressor
    >>> from plcp.datasets import make_toy
    >>> train, cal, test = (make_toy(2000, random_state=seed) for seed in range(3))
    >>> fitted = LinearRegression().fit(train.X, train.y)
    >>> model = ConformalRegressor(FrozenEstimator(fitted)).fit(cal.X, cal.y)
    >>> model.predict_set(test.X).contains(test.y).shape
    (2000,)
    """

    _task = "regression"

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train (unless frozen) and calibrate.

        ``sample_weight`` counts rows, in training and in calibration: weight 2 stands for two rows,
        weight 0 for none. A model that takes no weights is trained without, with a warning. Where
        scikit-learn's metadata routing is on, the model is given weights if it requests them.

        ``groups`` tells which rows belong together, such as the patient of each: no division parts
        them, each group counts as one, and coverage holds for a row drawn at random from a new
        group; not for a chosen one, such as the first visit of a patient. A search over parameters
        is given them for its own folds, another model if it requests them. Rules:
        ``PLCP``, ``SplitConformal``, ``Mondrian`` and ``Rectified``.
        """
        check_same_rows(X, y=y, sample_weight=sample_weight)
        self._fit(X, self._check_labels(y), sample_weight, groups)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the point predictions of the model."""
        prediction = self._predictions(self._check_rows(X))
        return self.conformity_.point(prediction)

    def predict_set(self, X: Any) -> Any:
        """Return ``Intervals``, which have ``contains``, ``size`` and ``clip``.

        At several alphas ``NestedSets``, a mapping of each alpha to its intervals. Rows of a pandas
        frame keep its index in ``to_pandas``; those of arrays and polars keep only their order.
        """
        return self._predict_set(X)

    def predict_interval(self, X: Any) -> Any:
        """Return lower and upper ends, shape (n, 2), or a data frame: see ``set_output``.

        At several alphas the shape is (n, 2, number of alphas), and column names end in alpha.
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
    def _check_labels(y: ArrayLike) -> NDArray[Any]:
        return check_response(y)

    def _default_score(self) -> Score:
        return AbsoluteResidual()


class ConformalClassifier(ClassifierMixin, Conformal):
    """Prediction sets of labels from any classifier, valid for each kind of input.

    ``predict_set(X).to_pandas()`` and ``.to_polars()`` give the sets as a table, one boolean column
    per class, the first with the index of X. Pipelines are used as in ``ConformalRegressor``.

    Parameters
    ----------
    estimator : classifier
        The model, with ``predict_proba``; frozen or not, as in ``ConformalRegressor``.
    conformity : Score or None, default=None
        The score; None: ``LabelProbability()``.
    threshold, alpha, features, calibration_size, cv, random_state, verbose :
        As in ``ConformalRegressor``, where the prediction is the three largest probabilities, in
        falling order (not with ``label_conditional``, whose rules read X alone).
    label_conditional : bool, default=False
        Whether coverage holds given each label, not only on average over all: no class is then
        given up for the sake of others. A copy of the rule is fitted to the calibration rows of
        each class c, and the sets are {c : S(x, c) <= q_c(x)}, exact for each class with
        ``SplitConformal()`` (one conformal quantile per class), whatever the shares of the classes
        among new rows. Sets are larger. A class with too few calibration rows is in every set; you
        get a warning.

    Attributes
    ----------
    classes_ : ndarray
        Labels the model was trained on.
    estimator_, conformity_, tail_rules_, guarantee_ :
        As in ``ConformalRegressor``. With ``label_conditional``, ``tail_rules_[0].label_rules_``
        are the rules of the classes.

    Notes
    -----
    Rows to calibrate on are drawn at random, whatever their labels: only then are they exchangeable
    with a new row. Where a label is rare all its rows may be drawn, and the model knows nothing of
    it. No set can hold such a label, so the calibration rows that have it count as misses, as a new
    row does, and sets of the other labels are larger; you get a warning. P(label in set) >= 1 -
    alpha is exact with the unknown labels counted as misses, unless so many are unknown that even
    sets of every label of the model fall short of 1 - alpha: then ``guarantee_.kind`` is "none".
    With ``label_conditional`` the promise is given each label that the model knows.

    With an accurate classifier and few calibration rows ``PLCP(calibration="cross")`` covers
    slightly more than 1 - alpha, and its sets are larger than Split's by a few per cent: see the
    notes of ``PLCP``.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from plcp import ConformalClassifier, SplitConformal
    >>> X, y = load_wine(return_X_y=True)
    >>> model = ConformalClassifier(
    ...     make_pipeline(StandardScaler(), LogisticRegression()),
    ...     threshold=SplitConformal(),
    ...     random_state=0,
    ... )
    >>> model.fit(X, y).predict_set(X[:1]).to_lists()
    [[0]]

    At least 90 % of each kind of wine:

    >>> each = model.set_params(label_conditional=True).fit(X, y)
    >>> each.guarantee_.scope, each.guarantee_.kind
    ('labels', 'exact')
    """

    _task = "classification"
    _too_many_unknown: Sequence[float] = ()  # alphas of sets that hold every label of the model

    @suggests_parameters
    def __init__(
        self,
        estimator: Any,
        conformity: Score | None = None,
        threshold: ThresholdRule | None = None,
        *,
        alpha: Alpha | None = None,
        features: Features = None,
        calibration_size: float = 0.3,
        label_conditional: bool = False,
        cv: Any = 5,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            estimator,
            conformity,
            threshold,
            alpha=alpha,
            features=features,
            calibration_size=calibration_size,
            cv=cv,
            random_state=random_state,
            verbose=verbose,
        )
        self.label_conditional = label_conditional

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train (unless frozen) and calibrate.

        ``sample_weight`` counts rows, in training and in calibration: weight 2 stands for two rows,
        weight 0 for none. A model that takes no weights is trained without, with a warning. Where
        scikit-learn's metadata routing is on, the model is given weights if it requests them.

        ``groups`` tells which rows belong together, as in ``ConformalRegressor``.
        """
        check_same_rows(X, y=y, sample_weight=sample_weight)
        labels = self._check_labels(y)
        check_classes(labels)
        self._fit(X, labels, sample_weight, groups)
        return self

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels the model was trained on."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.classes_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest label of each row."""
        X = self._check_rows(X)
        with model_errors(self.estimator_, X):
            return self.estimator_.predict(X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the model, unchanged."""
        X = self._check_rows(X)
        with model_errors(self.estimator_, X):
            return self.estimator_.predict_proba(X)

    def predict_set(self, X: Any) -> Any:
        """Return ``LabelSets``, which have ``contains``, ``size`` and ``to_lists``.

        At several alphas ``NestedSets``, a mapping of each alpha to its sets.
        """
        return self._predict_set(X)

    def examine(self, X: Any, y: ArrayLike) -> Examined:
        """Return the sets of labelled rows, with the scores and thresholds of their own labels."""
        found = super().examine(X, y)
        if not self._is_label_conditional():
            return found
        codes = self._encode(self._check_labels(y))
        return found._replace(thresholds=found.thresholds[np.arange(len(codes)), codes][:, None])

    def _parts(self) -> tuple[Any, Score, ThresholdRule, np.random.RandomState]:
        """Return model, score and rule, checked against each other, copied and seeded."""
        if not isinstance(self.label_conditional, bool | np.bool_):
            raise ValueError(
                f"label_conditional must be True or False, got {self.label_conditional!r}"
            )
        parts = super()._parts()
        if self.label_conditional and parts[1].n_tails > 1:
            raise ValueError(
                f"label_conditional needs a score with one threshold per label, and {parts[1]} has "
                f"{parts[1].n_tails} tails: choose another score"
            )
        return parts

    def _calibrate(
        self,
        score: Score,
        rule: ThresholdRule,
        rows: _Rows,
        teachers: _Teachers | None,
        selected: Any = None,
    ) -> None:
        if self.label_conditional:
            rule = LabelConditional(rule, [label_text(label) for label in self.classes_])
            known = np.isin(rows.y, self.classes_)
            if known.any() and not known.all() and not is_frozen(self.estimator_):
                # what holds given a label that the model knows needs no other labels
                self._warn_of_unknown(rows.y, known, "there is no promise given such a label")
                rows = rows.take(np.flatnonzero(known))
                selected = None if selected is None else take(selected, np.flatnonzero(known))
        super()._calibrate(score, rule, rows, teachers, selected)

    def _calibration_codes(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return the codes of labels, -1 for one that the rows which trained the model lack."""
        known = np.isin(y, self.classes_)
        if known.all() or is_frozen(self.estimator_):  # labels a frozen model lacks are a mistake
            return self._encode(y)
        if not known.any():
            raise ValueError(
                "no calibration row has a label that the model was trained on, "
                f"{shortened(self.classes_.tolist())}: merge labels, or give more rows of each"
            )
        codes = np.full(len(y), UNKNOWN)
        codes[known] = self._encode(y[known])
        return codes

    def _fit_score(
        self, score: Score, prediction: Any, codes: NDArray[Any], weights: FloatArray | None
    ) -> FloatArray:
        """Fit the score, and return the scores of calibration rows, one column per tail.

        A label that the model does not know has a score above all others, in calibration and in a
        new row, for which it is a miss. All scores are then one function of a row given the rows
        that trained, so calibration rows and a new row stay exchangeable.
        """
        known = np.flatnonzero(codes != UNKNOWN)
        if len(known) == len(codes):
            return super()._fit_score(score, prediction, codes, weights)
        own = None if weights is None else weights[known]
        scores = super()._fit_score(score, prediction[known], codes[known], own)
        columns = np.full((len(codes), scores.shape[1]), score.of_unknown_label)
        columns[known] = scores
        return columns

    def _count_unknown(
        self,
        rules: list[ThresholdRule],
        features: Any,
        y: NDArray[Any],
        codes: NDArray[Any],
        alpha: Any,
    ) -> None:
        """Warn of calibration rows whose label no training row has: no set can hold it.

        A rule that counts such a row as covered has too few rows of known labels: its promise is
        kept only by sets that hold all known labels, which miss the others.
        """
        self._too_many_unknown = []
        rows = np.flatnonzero(codes == UNKNOWN)
        if not len(rows):
            return
        alphas, own = check_alphas(alpha), take(features, rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # calibration has warned
            thresholds = [rule.predict(own).reshape(len(rows), -1) for rule in rules]
        lowest = np.min(thresholds, axis=0)  # of all tails
        reached = (lowest >= self.conformity_.of_unknown_label).any(axis=0)
        self._too_many_unknown = np.array(alphas)[reached].tolist()
        if not self._too_many_unknown:
            self._warn_of_unknown(y, codes != UNKNOWN, "such rows count as misses")
            return
        rates = ", ".join(f"{each:g}" for each in self._too_many_unknown)
        effect = f"too many misses for alpha = {rates}, so that sets hold every other label"
        self._warn_of_unknown(y, codes != UNKNOWN, effect, InfiniteThresholdWarning)

    @staticmethod
    def _warn_of_unknown(
        y: NDArray[Any],
        known: NDArray[np.bool_],
        effect: str,
        category: type[Warning] = UserWarning,
    ) -> None:
        labels, n = np.unique(y[~known]).tolist(), np.count_nonzero(~known)
        have = "row has" if n == 1 else "rows have"
        warnings.warn(
            f"{n} of {len(y)} calibration {have} a label that no training row has, "
            f"{shortened(labels)}, and no set can hold it: {effect}; merge rare labels, or give "
            "more rows of them",
            category,
            stacklevel=caller_stacklevel(),
        )

    def _guarantee(self, rules: Iterable[ThresholdRule], alpha: float) -> Guarantee:
        promise = super()._guarantee(rules, alpha)
        if alpha not in self._too_many_unknown:
            return promise
        note = (
            "Too many calibration rows have a label that no training row has: sets hold every "
            f"other label, and may still cover less than {1 - alpha:g}."
        )
        return replace(promise, kind="none", assumptions=(), confidence=None, note=note)

    def _gives_prediction(self, rule: ThresholdRule, X: Any) -> bool:
        return super()._gives_prediction(rule, X) and not self.label_conditional

    @staticmethod
    def _prediction_columns(prediction: Any) -> FloatArray:
        """Return the largest probabilities of each row, in falling order: how sure the model is."""
        columns = Conformal._prediction_columns(prediction)
        most = max(1, min(MOST_PROBABILITIES, columns.shape[1] - 1))
        return -np.sort(-columns, axis=1)[:, :most]

    def _is_taught(self, rule: ThresholdRule) -> bool:
        # the rule of a label learns from calibration rows of that label
        return super()._is_taught(rule) and not self.label_conditional

    def _is_label_conditional(self) -> bool:
        """Whether it was, when it was fitted."""
        return isinstance(self.tail_rules_[0], LabelConditional)

    def _thresholds(self, rows: Any) -> FloatArray:
        if self._is_label_conditional():
            return self.tail_rules_[0].predict_each(rows)
        return super()._thresholds(rows)

    def _invert(self, inputs: _Inputs) -> LabelSets:
        return super()._invert(inputs).with_classes(self.classes_)

    def _folds(self, ids: IntArray, y: NDArray[Any], rng: np.random.RandomState) -> list[Fold]:
        return folds_of_classes(ids, y, self.cv, rng)

    def _read(self, score: Score, model: Any, X: Any) -> NDArray[Any]:
        prediction, known = super()._read(score, model, X), model.classes_
        if prediction.shape != (len(prediction), len(known)) or len(known) == len(self.classes_):
            return prediction
        full = np.zeros((len(prediction), len(self.classes_)))
        full[:, self._encode(known)] = prediction  # a class that the model did not meet has 0
        return full

    @staticmethod
    def _check_labels(y: ArrayLike) -> NDArray[Any]:
        return check_labels(y)

    def _default_score(self) -> Score:
        return LabelProbability()

    def _encode(self, y: NDArray[Any]) -> NDArray[Any]:
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(
                f"labels {shortened(unknown.tolist())} are not among the classes "
                f"{shortened(self.classes_.tolist())} the model was trained on: count those rows "
                "as misses, which no set covers; to calibrate, merge rare classes or retrain it"
            )
        order = np.argsort(self.classes_)  # a model may list them in any order
        return order[np.searchsorted(self.classes_, y, sorter=order)]


def alphas_of(model: Conformal) -> list[float]:
    """Return the alphas a conformal estimator was fitted at: the sums of its tails' shares."""
    shares = zip(*(check_alphas(rule.alpha) for rule in model.tail_rules_), strict=True)
    return [sum(of_tails) for of_tails in shares]


def columns_source(model: Conformal) -> Any:
    """Return the fitted part with ``feature_names_in_`` and ``n_features_in_`` of X.

    The model itself may have been trained on arrays without names.
    """
    own = model.features is not None or model._reads_prediction
    return model if own else model.tail_rules_[0]


def is_frozen(estimator: Any) -> bool:
    """Whether fitting would train nothing: frozen itself, or a pair of frozen models.

    Other estimators around a frozen one, such as ``CalibratedClassifierCV``, are still trained.
    """
    return all(isinstance(model, FrozenEstimator) for model in _models_in(estimator))


def _models_in(estimator: Any) -> list[Any]:
    """Return the models of a pair, or the model itself."""
    is_pair = isinstance(estimator, QuantilePair | MeanScalePair)
    return [*estimator._given().values()] if is_pair else [estimator]


def warn_if_trained(estimator: Any) -> None:
    """Warn if a model was trained before it was given, since only a copy of it will be trained."""
    for model in _models_in(estimator):
        if _is_trained(model) and not _is_trained(clone(model)):  # a frozen one stays trained
            warnings.warn(
                f"this {type(model).__name__} is trained already, but a copy of it will be trained "
                "again on a part of the rows: pass FrozenEstimator(model) to keep it and calibrate "
                "on all rows, or clone(model) to train it here",
                stacklevel=caller_stacklevel(),
            )
            return


def _is_trained(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except (NotFittedError, AttributeError, TypeError):  # some models have no tags
        return False
    return True


def check_one_alpha(estimator: Any) -> None:
    """Raise for a rule or model fitted at several alphas, where one set per row is needed."""
    rule = estimator.tail_rules_[0] if isinstance(estimator, Conformal) else estimator
    if fitted_at_several(rule):
        alphas = check_alphas(rule.alpha) if rule is estimator else alphas_of(estimator)
        raise ValueError(
            f"this {type(estimator).__name__} was fitted at {len(alphas)} alphas, {alphas}, and "
            f"only one is allowed here: choose one, as by .at({alphas[0]:g})"
        )


def _one_column_per_tail(scores: FloatArray) -> FloatArray:
    return scores.reshape(len(scores), -1)

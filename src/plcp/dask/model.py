"""What conformal estimators on Dask share: rows are scored where they lie, a rule learns of all."""

from abc import abstractmethod
from copy import copy
from typing import Any, ClassVar, Self

from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from plcp.conformal.base import Conformal, Features, check_one_level, is_frozen, witness
from plcp.conformal.parts import check_rule
from plcp.conformal.tails import tails_of
from plcp.dask.blockwise import blockwise
from plcp.dask.collections import check_columns, is_lazy, pairs_of
from plcp.dask.connected import Connected, client_of
from plcp.dask.mondrian import DaskMondrian
from plcp.dask.plcp import DaskPLCP
from plcp.dask.scoring import check_score, kept_scores, rows_for_rule, scores_of
from plcp.scores import Score
from plcp.validation import check_alpha


class DaskConformal(Connected):
    """What both tasks share: score rows where they lie, let a rule on Dask learn thresholds."""

    _shared: ClassVar[tuple[str, ...]] = ("client", "estimator")  # a clone would have to be trained
    _ordinary: ClassVar[type[Conformal]]

    def __init__(
        self,
        estimator: Any,
        conformity: Score | None = None,
        threshold: Any = None,
        *,
        features: Features = None,
        client: Any = None,
    ) -> None:
        self.estimator = estimator
        self.conformity = conformity
        self.threshold = threshold
        self.features = features
        self.client = client

    def fit(self, X: Any, y: Any) -> Self:
        """Calibrate on all rows of ``X`` and labels ``y``, collections of Dask cut alike."""
        rule, client = self._rule(), client_of(self)
        model = self._unfitted()
        check_columns(self, X, reset=True)
        if is_lazy(X):
            pairs = pairs_of(X, y, client)
            columns, rows = kept_scores(pairs, model, X), rows_for_rule(pairs, self.features, X)
        else:
            columns, rows = list(scores_of(X, y, model).T), model._select(X)
        tails = [tail.set_params(client=client) for tail in tails_of(rule, len(columns))]
        fitted = [tail.fit(rows, column) for tail, column in zip(tails, columns, strict=True)]
        model._take_over([tail.to_local() for tail in fitted], rule.alpha)
        model.threshold = clone(model.thresholds_[0]).set_params(alpha=rule.alpha)
        return self._serve(model)

    @classmethod
    def from_local(cls, model: Conformal, client: Any = None) -> Self:
        """Return a fitted ordinary estimator as one that answers rows on Dask."""
        kind = cls._ordinary
        if not isinstance(model, kind):
            raise TypeError(f"model must be a fitted {kind.__name__}, got {model!r}")
        check_is_fitted(model)
        check_one_level(model)
        check_score(model.conformity_, to_fit=False)
        made = cls(model.estimator_, model.conformity, features=model.features, client=client)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(witness(model), name):
                setattr(made, name, getattr(witness(model), name))
        return made._serve(model)

    def to_local(self) -> Any:
        """Return the ordinary estimator, fitted: without Dask, for rows in memory."""
        check_is_fitted(self, "model_")
        return copy(self.model_)

    def predict(self, X: Any) -> Any:
        """Predictions of the model, one a row, computed when they are asked for."""
        return self._answer(_predictions, X, name="prediction", dtype=self._label_type())

    def _rule(self) -> Any:
        """Rule on Dask, checked."""
        rule = DaskPLCP() if self.threshold is None else self.threshold
        if not hasattr(rule, "to_local"):
            raise TypeError(
                f"threshold must be a rule of plcp.dask, got {rule!r}: use DaskPLCP, "
                "DaskSplitConformal or DaskMondrian"
            )
        check_alpha(rule.alpha)
        check_rule(rule, DaskMondrian)
        return rule

    def _unfitted(self) -> Conformal:
        """Ordinary estimator with model and score in place, ready to score rows."""
        given = self.estimator if is_frozen(self.estimator) else FrozenEstimator(self.estimator)
        ordinary = self._ordinary(given, self.conformity, features=self.features)
        model, score, _, _ = ordinary._parts()
        check_score(score, to_fit=True)
        if not isinstance(model, FrozenEstimator):
            model.fit(None, None)  # teaches nothing: it only puts frozen members in place
        ordinary.estimator_ = model
        ordinary.conformity_ = score.fit([], [])
        return ordinary

    def _serve(self, model: Conformal) -> Self:
        self.model_ = model
        for name in ("estimator_", "conformity_", "thresholds_", "guarantee_"):
            setattr(self, name, getattr(model, name))
        return self

    def _answer(self, function: Any, X: Any, **form: Any) -> Any:
        check_is_fitted(self, "model_")
        check_columns(self, X, reset=False)
        return blockwise(function, X, self.model_, **form)

    @abstractmethod
    def _label_type(self) -> Any:
        """Type of the labels."""


def _predictions(X: Any, model: Any) -> Any:
    return model.predict(X)

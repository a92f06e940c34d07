"""Conformal regressors and classifiers on Dask: scores of a trained model, sets by a rule."""

from copy import copy
from functools import partial
from math import nan
from operator import getitem
from typing import Any, ClassVar, Self

import numpy as np
from dask.array import Array
from dask.base import is_dask_collection
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from plcp._compatibility import check_rule, rule_at, rules_of_tails
from plcp._features import Features, select_features
from plcp._options import check_rate
from plcp._rows import count, is_frame
from plcp._validation import check_classes
from plcp.conformal import (
    Conformal,
    ConformalClassifier,
    ConformalRegressor,
    alphas_of,
    check_one_alpha,
    columns_source,
    is_frozen,
)
from plcp.dask.cluster import Connected, DaskBlocks, call_of, client_of, layer
from plcp.dask.collections import blockwise, check_columns, meta_of, pairs_of
from plcp.dask.plcp import DaskPLCP
from plcp.dask.rules import DaskMondrian
from plcp.out_of_core.passes import Block
from plcp.scores import Score


def kept_scores(pairs: DaskBlocks, model: Conformal, X: Any) -> list[Array]:
    """Scores of labelled rows, one array per tail, in the parts of X and kept on the workers."""
    kept = pairs.keep(_scored, model)
    lengths = X.chunks[0] if isinstance(X, Array) else (nan,) * len(kept.blocks)
    columns = []
    for tail in range(model.conformity_.n_tails):
        parts = layer("scores", [(getitem, [block, tail]) for block in kept.blocks])
        columns.append(Array(parts[0].dask, parts[0].key[0], chunks=(lengths,), dtype=float))
    return columns


def _scored(X: Any, y: Any, model: Conformal) -> Block:
    """Scores of labelled rows, one array per tail."""
    if count(X) == 0:
        return (np.empty(0),) * model.conformity_.n_tails
    labels = model._check_labels(y)
    if isinstance(model, ConformalClassifier):
        check_classes(labels)
    return tuple(model._scores(model._predictions(X), model._encode(labels)).T)


def rows_for_rule(pairs: DaskBlocks, features: Features, X: Any) -> Any:
    """The features of X that the rule uses, as a Dask collection."""
    if features is None:
        return X
    like = select_features(features, _first_row(pairs) if callable(features) else meta_of(X))
    if is_frame(like):
        call = call_of(select_features, (features,), pure=True)
        return X.map_partitions(_of_part, call, like[:0], meta=like[:0])
    select, columns = partial(select_features, features), range(like.shape[1])
    made = blockwise(select, X, dtype=like.dtype, columns=columns)
    return made if isinstance(made, Array) else made.to_dask_array()


def _of_part(X: Any, call: Any, empty: Any) -> Any:
    function, args = call
    return function(*args, X) if count(X) else empty


def _first_row(pairs: DaskBlocks) -> Any:
    """The first row, which shows the type of what ``features`` returns."""
    for block in pairs.blocks:
        (row,) = DaskBlocks([block], pairs.client).each(_head)
        if count(row):
            return row
    raise ValueError("the calibration set is empty: 0 sample(s), at least 1 is needed")


def _head(X: Any, y: Any) -> Any:
    return X[:1]


class DaskConformal(Connected):
    """What both tasks share: rows are scored in place, and a rule on Dask gives thresholds."""

    _shared: ClassVar[tuple[str, ...]] = ("client", "estimator")  # a clone would not be trained
    _ordinary: ClassVar[type[Conformal]]

    def __init__(
        self,
        estimator: Any,
        conformity: Score | None = None,
        threshold: Any = None,
        *,
        alpha: float | None = None,
        features: Features = None,
        client: Any = None,
    ) -> None:
        self.estimator = estimator
        self.conformity = conformity
        self.threshold = threshold
        self.alpha = alpha
        self.features = features
        self.client = client

    def fit(self, X: Any, y: Any) -> Self:
        """Calibrate on all rows of ``X`` and labels ``y``, Dask collections with the same parts."""
        rule, client = self._rule(), client_of(self)
        model = self._unfitted()
        check_columns(self, X, reset=True)
        if is_dask_collection(X):
            pairs = pairs_of(X, y, client)
            columns, rows = kept_scores(pairs, model, X), rows_for_rule(pairs, self.features, X)
        else:
            columns, rows = list(_scored(X, y, model)), model._select(X)
        tails = [tail.set_params(client=client) for tail in rules_of_tails(rule, len(columns))]
        fitted = [tail.fit(rows, column) for tail, column in zip(tails, columns, strict=True)]
        model._set_rules([tail.to_local() for tail in fitted], rule.alpha)
        model.alpha = rule.alpha
        model.threshold = clone(model.tail_rules_[0]).set_params(alpha=rule.alpha)
        return self._store(model)

    @classmethod
    def from_local(cls, model: Conformal, client: Any = None) -> Self:
        """Return a fitted ordinary estimator as one that predicts Dask collections."""
        kind = cls._ordinary
        if not isinstance(model, kind):
            raise TypeError(f"model must be a fitted {kind.__name__}, got {model!r}")
        check_is_fitted(model)
        check_one_alpha(model)
        [alpha] = alphas_of(model)
        made = cls(
            model.estimator_,
            model.conformity,
            alpha=alpha,
            features=model.features,
            client=client,
        )
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(columns_source(model), name):
                setattr(made, name, getattr(columns_source(model), name))
        return made._store(model)

    def to_local(self) -> Any:
        """Return the ordinary estimator, fitted: without Dask, for rows in memory."""
        check_is_fitted(self, "model_")
        return copy(self.model_)

    def predict(self, X: Any) -> Any:
        """Predictions of the model, one per row; lazy."""
        model, dtype = self._fitted_to(X), self._label_type()
        return blockwise(model.predict, X, name="prediction", dtype=dtype)

    def _rule(self) -> Any:
        """Return the rule on Dask, validated."""
        rule = DaskPLCP() if self.threshold is None else self.threshold
        if not hasattr(rule, "to_local"):
            raise TypeError(
                f"threshold must be a rule of plcp.dask, got {rule!r}: use DaskPLCP, "
                "DaskSplitConformal or DaskMondrian; the miscoverage rate is passed as alpha="
            )
        rule = rule_at(rule, self.alpha, given=self.threshold is not None)
        check_rate(rule.alpha)
        check_rule(rule, DaskMondrian)
        return rule

    def _unfitted(self) -> Conformal:
        """Return the ordinary estimator with its model and score, which can score rows."""
        given = self.estimator if is_frozen(self.estimator) else FrozenEstimator(self.estimator)
        ordinary = self._ordinary(given, self.conformity, features=self.features)
        model, score, _, _ = ordinary._parts()
        if score.learned is not None:
            raise ValueError(
                f"{score} would learn its {score.learned} from all rows at once: fit the score on "
                "some rows in memory, and give the number it finds instead"
            )
        if score.draws:
            raise ValueError(
                f"{score} would draw again in every block: use own_mass='none', or 'full'"
            )
        if not isinstance(model, FrozenEstimator):
            model.fit(None, None)  # only stores its frozen members
        ordinary.estimator_ = model
        ordinary.conformity_ = score.fit([], [])
        return ordinary

    def _store(self, model: Conformal) -> Self:
        self.model_ = model
        for name in ("estimator_", "conformity_", "tail_rules_", "guarantee_"):
            setattr(self, name, getattr(model, name))
        return self

    def _fitted_to(self, X: Any) -> Any:
        """Return the fitted ordinary estimator, for rows with the columns of calibration."""
        check_is_fitted(self, "model_")
        check_columns(self, X, reset=False)
        return self.model_

    def _label_type(self) -> Any:
        return float


class DaskConformalRegressor(DaskConformal):
    """Prediction intervals around a trained regressor, calibrated on rows of a cluster.

    Rows are scored block by block, in place. If the prediction of a row depends on the other rows
    of its block, as that of linear models does in the last bits, so do the scores.

    Parameters
    ----------
    estimator : regressor
        The model, trained already, within ``FrozenEstimator`` or not; any object with ``predict``.
    conformity : Score or None, default=None
        The score; None: ``AbsoluteResidual()``.
    threshold : rule of plcp.dask or None, default=None
        The rule that turns scores into thresholds; None: ``DaskPLCP()``. A score with two tails
        gets one rule each, at alpha / 2.
    alpha : float or None, default=None
        Miscoverage rate of the sets; None: that of ``threshold``, 0.1 unless it has another.
    features : column, list of columns, callable or None, default=None
        Features of X that the rule uses; a function is given one block at a time. None: all.
    client : distributed.Client or None, default=None
        The client that computes; None: the current client, or Dask's own threads without any.

    Attributes
    ----------
    estimator_, conformity_, tail_rules_, guarantee_ :
        As in ``ConformalRegressor``; the rules are ordinary ones.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.linear_model import LinearRegression
    >>> from plcp.dask import DaskConformalRegressor, DaskSplitConformal
    >>> from plcp.datasets import make_toy
    >>> train, cal = (make_toy(2000, random_state=seed) for seed in range(2))
    >>> fitted = LinearRegression().fit(train.X, train.y)
    >>> X, y = (da.from_array(values, chunks=500) for values in (cal.X, cal.y))
    >>> model = DaskConformalRegressor(fitted, threshold=DaskSplitConformal()).fit(X, y)
    >>> model.predict_interval(X)
    dask.array<rows, shape=(2000, 2), dtype=float64, chunksize=(500, 2), chunktype=numpy.ndarray>
    """

    _ordinary = ConformalRegressor

    def predict_interval(self, X: Any) -> Any:
        """Lower and upper ends, shape (n, 2); lazy.

        A frame with columns ``lower`` and ``upper`` for a Dask frame.
        """
        return blockwise(_sets, X, self._fitted_to(X), columns=["lower", "upper"])


class DaskConformalClassifier(DaskConformal):
    """Prediction sets of labels from a trained classifier, calibrated on rows of a cluster.

    Parameters
    ----------
    estimator : classifier
        The model, trained already, with ``predict_proba`` and ``classes_``.
    conformity : Score or None, default=None
        The score; None: ``LabelProbability()``.
    threshold, alpha, features, client :
        As in ``DaskConformalRegressor``.

    Attributes
    ----------
    classes_ : ndarray
        Labels of the model.
    estimator_, conformity_, tail_rules_, guarantee_ :
        As in ``ConformalClassifier``; the rules are ordinary ones.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from plcp.dask import DaskConformalClassifier, DaskSplitConformal
    >>> X, y = load_iris(return_X_y=True)
    >>> fitted = LogisticRegression(max_iter=1000).fit(X[::2], y[::2])
    >>> rows, labels = da.from_array(X[1::2], chunks=(25, 4)), da.from_array(y[1::2], chunks=25)
    >>> model = DaskConformalClassifier(fitted, threshold=DaskSplitConformal()).fit(rows, labels)
    >>> model.predict_set(rows[:1]).compute()
    array([[ True, False, False]])
    """

    _ordinary = ConformalClassifier

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels of the model."""
        check_is_fitted(self, "model_")
        return np.asarray(self.model_.estimator_.classes_)

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the model, one column per class; lazy."""
        return blockwise(self._fitted_to(X).predict_proba, X, columns=self._names())

    def predict_set(self, X: Any) -> Any:
        """Whether each set holds each class, shape (n, k); lazy.

        A frame with a column per class for a Dask frame.
        """
        return blockwise(_sets, X, self._fitted_to(X), columns=self._names(), dtype=bool)

    def _names(self) -> list[str]:
        return [str(label) for label in self.classes_.tolist()]

    def _label_type(self) -> Any:
        return self.classes_.dtype


def _sets(X: Any, model: Any) -> Any:
    return model.predict_set(X).to_numpy()

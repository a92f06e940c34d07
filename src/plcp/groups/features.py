"""Classes of covariate shifts: the columns whose span a threshold is calibrated against."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from plcp._base import Estimator
from plcp._options import check_same_rows
from plcp._rows import count, is_frame, to_plain_array
from plcp._validation import (
    check_features,
    check_labels,
    check_lengths,
    check_table,
    feature_errors,
    takes_nan,
)
from plcp.kernels import numbers
from plcp.quantile_programs.vertex import span_of
from plcp.quantiles import FloatArray


class GroupProbabilities(TransformerMixin, Estimator):
    """Estimated probabilities of groups that are not known for new rows, as a class of shifts.

    A group may be known for past rows only (the batch of an experiment, the hospital of a
    patient). Learn to predict groups from X on some rows, then require that coverage holds under
    every reweighting by the probabilities learned, on others: coverage then holds in each group as
    far as they separate the groups. This is the recipe for RxRx1 of Gibbs et al. (2025).

    Parameters
    ----------
    classifier : classifier or None, default=None
        Any with ``predict_proba``. None: l2-penalised multinomial regression of standardised X.

    Attributes
    ----------
    classifier_ : the fitted classifier

    References
    ----------
    Gibbs, Cherian, Candès (2025). Conformal prediction with conditional guarantees. JRSS B.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.frozen import FrozenEstimator
    >>> from plcp import ConditionalCalibration, GroupProbabilities
    >>> rng = np.random.default_rng(0)
    >>> batch = rng.integers(3, size=2000)
    >>> X = rng.normal(size=(2000, 2)) + 2 * np.eye(3)[batch, :2]
    >>> scores = rng.exponential(1.0 + batch)
    >>> shifts = GroupProbabilities().fit(X[:1000], batch[:1000])
    >>> rule = ConditionalCalibration(FrozenEstimator(shifts)).fit(X[1000:], scores[1000:])
    >>> rule.predict([[2.0, 0.0], [0.0, 0.0]]).round()  # a typical row of batch 0, and of batch 2
    array([3., 7.])
    """

    def __init__(self, classifier: Any = None) -> None:
        self.classifier = classifier

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn to predict the groups ``y`` from ``X``."""
        check_same_rows(X, y=y)
        X, labels = self._check(X, reset=True), check_labels(y)
        check_lengths(X, labels)
        if len(np.unique(labels)) < 2:
            raise ValueError(
                f"y holds one class, {labels.tolist()[0]!r}: give rows of two groups at least"
            )
        template = self.classifier
        if template is None:
            template = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        with feature_errors(X):
            self.classifier_ = clone(template).fit(X, labels)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the probability of each group, shape (n, number of groups)."""
        check_is_fitted(self)
        X = self._check(X, reset=False)
        with feature_errors(X):
            return np.asarray(to_plain_array(self.classifier_.predict_proba(X)))

    def _check(self, X: Any, *, reset: bool) -> Any:
        if self.classifier is None:
            return check_table(self, X, reset=reset)
        return check_features(self, X, reset=reset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.classifier is not None and takes_nan(self.classifier)
        return tags


def feature_columns(X: Any, features: Any) -> FloatArray:
    """Columns that a feature map, a function or a fitted transformer, gives for each row of X."""
    if not hasattr(features, "transform") and not callable(features):
        raise ValueError(
            f"features must be a function of X or a fitted transformer, got {features!r}: for "
            "some of the columns, give lambda X: X[[...]]"
        )
    try:
        values = features.transform(X) if hasattr(features, "transform") else features(X)
    except NotFittedError as error:
        raise ValueError(
            "features must be a fitted transformer, and was never fitted or lost its fit in a "
            "copy: fit it on other rows, such as the training set, and pass "
            "FrozenEstimator(features), which stays fitted"
        ) from error
    if issparse(values):
        values = values.toarray()
    columns = numbers(values) if is_frame(values) else np.asarray(values, dtype=float)
    columns = columns[:, None] if columns.ndim == 1 else columns
    if columns.ndim != 2 or len(columns) != count(X):
        raise ValueError(
            f"features must give a row of numbers for each of the {count(X)} rows of X, got "
            f"shape {np.shape(values)}"
        )
    wrong = np.argwhere(~np.isfinite(columns))
    if len(wrong):
        row, column = wrong[0]
        raise ValueError(
            f"features must give finite numbers, got {columns[row, column]} at row {row}, column "
            f"{column}: fix the feature map, or put an imputer before it"
        )
    return columns


def check_rank(columns: FloatArray) -> None:
    """Refuse a feature map some of whose columns follow from others."""
    span = span_of(columns)
    if len(span.dropped):
        n, p = columns.shape
        raise ValueError(
            f"features has {p} columns of rank {len(span.kept)} on {n} rows: columns "
            f"{span.dropped.tolist()} follow from those before them; leave them out (for "
            "categories: OneHotEncoder(drop='first')), or calibrate on rows that separate them"
        )

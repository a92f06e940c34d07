"""A sparse linear scale, learned from moments of the data alone."""

import warnings
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lasso_path

from plcp._folds import copy_ids, given_folds
from plcp._validation import check_table, drop_weightless, relative_weights
from plcp.quantiles import FloatArray, IntArray
from plcp.regressors.base import ScoreRegressor, line

BLOCK = 4096
N_PENALTIES = 30
SMALLEST_PENALTY = 1e-3  # of the one at which every coefficient is zero
MAX_LEVELS = 20
LEAST_TRUSTED = 0.1  # variances below this share of the mean all weigh the same
LEAST_VARIANCE = 0.01


class SparseScale(ScoreRegressor):
    """g(x) = (b + w·x)^½: the root of a sparse linear variance.

    The lasso of s² on standardised columns, fitted twice: the second time each row counts with the
    inverse square of its fitted variance, since the spread of s² grows with it. A linear variance
    is what additive noise has. The lasso needs X only through its second moments, summed in blocks
    of rows: no standardised copy, and cross-validating the penalty costs next to nothing. Missing
    values are replaced by the column's mean, categories by one indicator for each of their twenty
    most frequent levels. A scale is positive: of scores that are all zero it is one number.

    Parameters
    ----------
    penalties : pair of floats or None, default=None
        Penalty of each of the two fits, relative to the one at which every coefficient vanishes.
        None: those of least squared error over ``cv`` folds.
    cv : int, splitter of scikit-learn or iterable of (learn, hold) rows, default=5
        Folds for the choice of the penalties, each row in one of them.
    categorical_features : array of bool or None
        Which columns hold codes of categories.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.datasets import make_synthetic
    >>> from plcp.regressors import SparseScale
    >>> task = make_synthetic(5000, random_state=0)
    >>> regressor = SparseScale().fit(task.X, task.scores)
    >>> bool(np.corrcoef(regressor.predict(task.X), task.sigma)[0, 1] > 0.98)
    True
    """

    def __init__(
        self,
        penalties: tuple[float, float] | None = None,
        *,
        cv: Any = 5,
        categorical_features: Any = None,
    ) -> None:
        self.penalties = penalties
        self.cv = cv
        self.categorical_features = categorical_features

    def _checked(self, X: Any, *, reset: bool) -> FloatArray:
        return check_table(self, X, reset=reset, allow_nan=True)

    def _fit(self, X: FloatArray, scores: FloatArray, weights: FloatArray | None) -> Self:
        """Fit the variance of the scores, then again with the weights it implies."""
        folds = self._given_folds(X, scores, weights)
        X, scores, weights = drop_weightless(X, scores, weights)
        weights = relative_weights(weights)
        if len(scores) < 2:
            raise ValueError("n_samples=1: one row has no spread, give at least two")
        given = np.ones(len(scores)) if weights is None else weights
        self.columns_ = _Columns.learn(X, self.categorical_features, given)
        unit = float(np.average(np.abs(scores), weights=given)) or 1.0  # no square may overflow
        squares = (scores / unit) ** 2
        typical = float(np.average(squares, weights=given)) or 1.0
        folds = self._own_folds(X, scores) if folds is None else folds
        first = self._fit_lasso(X, squares, given, folds, stage=0)
        trust = np.maximum(self._line(X) / typical, LEAST_TRUSTED) ** -2.0
        second = self._fit_lasso(X, squares, given * trust, folds, stage=1)
        self.unit_, self.least_ = unit, LEAST_VARIANCE * typical
        self.penalties_ = (first, second)
        return self

    def tune(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Return a clone whose penalties are chosen on these rows, for folds that share them."""
        fitted = clone(self).fit(X, y, sample_weight)
        return clone(self).set_params(penalties=fitted.penalties_)

    def _predict(self, X: FloatArray) -> FloatArray:
        """Scale of the score at each row; at least a tenth of its root mean square."""
        return self.unit_ * np.sqrt(np.maximum(self._line(X), self.least_))

    def mean_with(self, others: list[Self]) -> Self:
        """Return a model whose variance is the mean of this one's and the others'."""
        mean, models = copy(self), [self, *others]
        mean.unit_ = max(model.unit_ for model in models)
        shares = [(model.unit_ / mean.unit_) ** 2 for model in models]
        for name in ("coef_", "intercept_", "least_"):
            values = [share * getattr(m, name) for share, m in zip(shares, models, strict=True)]
            setattr(mean, name, np.mean(values, axis=0))
        means = np.mean([model.columns_.means for model in models], axis=0)
        mean.columns_ = self.columns_._replace(means=means)
        return mean

    def _line(self, X: FloatArray) -> FloatArray:
        """Linear variance b + w·x, in units of ``unit_`` squared."""
        if self.columns_.all_numeric and np.isfinite(X.sum()):
            return line(X, self.coef_) + self.intercept_
        rows = [self.columns_.expand(X[b : b + BLOCK]) for b in range(0, len(X), BLOCK)]
        return np.concatenate([line(block, self.coef_) for block in rows]) + self.intercept_

    def _given_folds(
        self, X: FloatArray, scores: FloatArray, weights: FloatArray | None
    ) -> IntArray | None:
        """Fold of each row that weighs something, by the user's splitter; None without one."""
        given = given_folds(self.cv, X, scores)
        if given is None:
            return None
        folds = np.empty(len(X), dtype=np.intp)
        for number, (_, hold) in enumerate(given):
            folds[hold] = number
        if sum(len(hold) for _, hold in given) > len(X):
            raise ValueError("cv holds out a row more than once: give folds such as KFold(5) has")
        return folds if weights is None else folds[weights > 0]

    def _own_folds(self, X: FloatArray, scores: FloatArray) -> IntArray:
        """Fold of each row, the same one of its copies; they choose the penalties alone."""
        if self.penalties is not None:
            return np.zeros(len(X), dtype=np.intp)
        return copy_ids(X, scores) % max(2, min(self.cv, len(X)))

    def _fit_lasso(
        self,
        X: FloatArray,
        squares: FloatArray,
        weights: FloatArray,
        folds: IntArray,
        stage: int,
    ) -> float:
        """Set the line to the lasso of these weighted rows; the relative penalty used."""
        parts = self._moments(X, squares, weights, folds)
        penalty = best_penalty(parts) if self.penalties is None else self.penalties[stage]
        intercept, self.coef_ = lasso_from_moments(parts.sum(axis=0), np.array([penalty]))[0]
        self.intercept_ = intercept - self.coef_ @ self.columns_.center
        return float(penalty)

    def _moments(
        self, X: FloatArray, target: FloatArray, weights: FloatArray, folds: IntArray
    ) -> FloatArray:
        """Second moments of (1, columns, target), one matrix per fold.

        They are taken about the means: no cancellation where a mean dwarfs its column's spread.
        """
        n_folds = folds.max() + 1
        center = self.columns_.center
        parts = np.zeros((n_folds, len(center) + 2, len(center) + 2))
        for start in range(0, len(X), BLOCK):
            rows = slice(start, start + BLOCK)
            block = np.empty((len(X[rows]), len(center) + 2))
            block[:, 0], block[:, -1] = 1.0, target[rows]
            np.subtract(self.columns_.expand(X[rows]), center, out=block[:, 1:-1])
            block *= np.sqrt(weights[rows])[:, None]
            for fold in range(n_folds):
                own = block if n_folds == 1 else block[folds[rows] == fold]
                parts[fold] += own.T @ own
        return parts

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.regressor_tags.poor_score = True
        return tags


def best_penalty(parts: FloatArray) -> float:
    """Relative penalty of least squared error on the folds left out, from their moments."""
    path = np.geomspace(1.0, SMALLEST_PENALTY, N_PENALTIES)
    total, errors = parts.sum(axis=0), np.zeros(len(path))
    for part in parts:
        fits = lasso_from_moments(total - part, path)
        rows = np.array([[intercept, *coef, -1.0] for intercept, coef in fits])
        errors += np.einsum("ij,jk,ik->i", rows, part, rows)
    return float(path[np.argmin(errors)])


class _Columns(NamedTuple):
    """How raw columns become numbers without gaps."""

    means: FloatArray
    numeric: IntArray
    levels: list[tuple[int, FloatArray]]

    @classmethod
    def learn(cls, X: FloatArray, categorical: Any, weights: FloatArray) -> "_Columns":
        mask = np.zeros(X.shape[1], dtype=bool) if categorical is None else np.asarray(categorical)
        numeric = np.flatnonzero(~mask)
        means = np.array([_mean(X[:, i], weights) for i in numeric])
        levels = [(int(i), _frequent(X[:, i], weights)) for i in np.flatnonzero(mask)]
        return cls(means, numeric, levels)

    @property
    def center(self) -> FloatArray:
        """A typical expanded row: means of the numbers, no flag set."""
        return np.concatenate([self.means, np.zeros(sum(len(values) for _, values in self.levels))])

    @property
    def all_numeric(self) -> bool:
        return not self.levels

    def expand(self, X: FloatArray) -> FloatArray:
        numbers = X if self.all_numeric else X[:, self.numeric]
        filled = np.where(np.isnan(numbers), self.means, numbers)
        flags = [X[:, [i]] == values for i, values in self.levels]
        return np.hstack([filled, *flags]) if flags else filled


def _mean(column: FloatArray, weights: FloatArray) -> float:
    """Weighted mean of the values that are there; zero if none is."""
    there = np.isfinite(column)
    return float(np.average(column[there], weights=weights[there])) if there.any() else 0.0


def _frequent(codes: FloatArray, weights: FloatArray) -> FloatArray:
    """Categories of the largest weight."""
    there = np.isfinite(codes)
    values, places = np.unique(codes[there], return_inverse=True)
    masses = np.bincount(places.ravel(), weights[there], len(values))
    return values[np.argsort(-masses, kind="stable")[:MAX_LEVELS]]


def lasso_from_moments(
    moments: FloatArray, relative_penalties: FloatArray
) -> list[tuple[float, FloatArray]]:
    """Intercept and coefficients of the lasso for each penalty, from the moments alone.

    With the covariance of the standardised columns C = V Λ Vᵀ, the d rows Λ^½ Vᵀ have the same
    Gram matrix as the n rows of data, so coordinate descent on them gives the same lasso.
    """
    n, sums = moments[0, 0], moments[0, 1:]
    covariance = moments[1:, 1:] / n - np.outer(sums, sums) / n**2
    variances = np.diag(covariance)[:-1]
    spread = np.sqrt(np.where(variances > 1e-12 * np.abs(variances).max(), variances, np.inf))
    C = covariance[:-1, :-1] / np.outer(spread, spread)
    target = covariance[:-1, -1] / spread
    largest = np.abs(target).max(initial=0.0)
    if largest == 0:
        return [(sums[-1] / n, np.zeros(len(target)))] * len(relative_penalties)
    eigenvalues, V = np.linalg.eigh(C)
    keep = eigenvalues > 1e-9 * eigenvalues[-1]
    roots = np.sqrt(eigenvalues[keep] * keep.sum())
    rows = roots[:, None] * V[:, keep].T
    values = (V[:, keep].T @ target) * keep.sum() / roots
    penalties = relative_penalties * largest
    with warnings.catch_warnings():
        # Collinear columns converge slowly; held-out rows judge the fit as it is.
        warnings.simplefilter("ignore", ConvergenceWarning)
        _, path, _ = lasso_path(rows, values, alphas=penalties, tol=1e-3, max_iter=1_000)
    coefs = (path / spread[:, None]).T
    return [((sums[-1] - coef @ sums[:-1]) / n, coef) for coef in coefs]

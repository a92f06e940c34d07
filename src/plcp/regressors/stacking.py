"""The default regressor: boosted, linear and constant ones, mixed by their out-of-fold loss."""

from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import check_random_state

from plcp._folds import given_folds
from plcp._validation import effective_rows, relative_weights
from plcp.quantiles import FloatArray, pinball_loss, weighted_quantiles
from plcp.regressors.base import ScoreRegressor, at_quantile
from plcp.regressors.boosted import ScaledQuantile
from plcp.regressors.crossfit import CrossFitted, make_folds
from plcp.regressors.encoding import MAX_CATEGORIES, CategoryMeans, TableEncoder, without_rare
from plcp.regressors.sparse import SparseScale

STEPS = 10
LEAST_GAIN = 0.5  # of a mixture, in standard errors
LEAST_WEIGHT = 0.05
FLOOR = 1e-6  # of the mean score: the least a regressor of nonnegative scores may be
ROUNDING = 1e-9
MANY = 20  # categories: beyond, trees that sort them at every split begin to learn noise
LEAST_ROWS = 100  # below this the constant alone is left


class StackedQuantile(ScoreRegressor):
    """g(x) = Σ_k w_k c_k g_k(x) + w_0 q: several regressors and a constant, mixed.

    Each member is cross-fitted and put on the scale of the scores by a factor c_k (a shift, for
    signed scores), so that its share of scores below is right; the weights are those of least
    out-of-fold pinball loss, averaged over near ties. So the class of functions is chosen by the
    data: trees where the noise bends, a sparse line where it does not, the constant q (Split)
    where there is nothing to learn or too little to learn it from.

    Parameters
    ----------
    quantile : float or None, default=None
        Quantile to estimate. None: 0.5 alone, 1 - alpha inside a partition.
    members : list of regressors or None, default=None
        None: for nonnegative scores ``ScaledQuantile`` and ``SparseScale``, for signed ones
        ``HistGradientBoostingRegressor(loss="quantile")``, for fewer than 100 rows none. Data
        frames are encoded for these: strings and categories as codes, missing values kept. Where
        a column has more than twenty categories, more trees are mixed in, which know each by its
        mean score (``CategoryMeans``).
    cv, n_repeats, n_jobs, verbose, random_state :
        As in ``CrossFitted``.

    Attributes
    ----------
    weights_ : ndarray of shape (n_members + 1,)
        Weight of each member, the constant last.
    out_of_fold_ : ndarray of shape (n,)
        Prediction of each fitted row by models fitted without it; only what all rows share
        (penalties, factors, weights) was chosen with it.
    history_ : list of dict
        Out-of-fold loss and weight of each member.

    Examples
    --------
    >>> from plcp.datasets import make_toy
    >>> from plcp.regressors import StackedQuantile
    >>> task = make_toy(1000, random_state=0)
    >>> regressor = StackedQuantile(quantile=0.9, random_state=0).fit(task.X, task.scores)
    >>> left, right = regressor.predict([[-0.5], [0.5]])
    >>> bool(left < right)
    True
    """

    _of_rows = ("out_of_fold_",)  # what files leave out

    def __init__(
        self,
        quantile: float | None = None,
        *,
        members: list[Any] | None = None,
        cv: Any = 3,
        n_repeats: int | str = "auto",
        n_jobs: int | None = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.quantile = quantile
        self.members = members
        self.cv = cv
        self.n_repeats = n_repeats
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _fit(self, X: Any, scores: FloatArray, weights: FloatArray | None) -> Self:
        """Cross-fit the members, then choose shifts and weights."""
        level = 0.5 if self.quantile is None else self.quantile
        if self.members is None:
            self.encoder_ = TableEncoder(keep_rare=True).fit(X)
        Z, weights = self._encode(X), relative_weights(weights)
        # A score that rounding has put below zero does not make the others signed.
        self.is_scale_ = bool(scores.min() >= -ROUNDING * np.abs(scores).mean())
        target = np.maximum(scores, 0.0) if self.is_scale_ else scores
        given = given_folds(self.cv, X, scores)  # of few rows, too, which need none
        rng = check_random_state(self.random_state)
        templates = self._templates(scores, weights)
        # the same folds for all members
        cv = self.cv if given is None else given
        folds = make_folds(X, scores, cv, self.n_repeats, rng) if templates else []
        self.members_ = [
            self._cross_fitted(at_quantile(member, level), Z).fit_folds(
                Z, target, weights, folds, rng
            )
            for member in templates
        ]
        self.floor_ = FLOOR * float(scores.mean()) if self.is_scale_ else -np.inf
        raw = [np.maximum(member.out_of_fold_, self.floor_) for member in self.members_]
        self.adjustments_ = [self._adjustment(values, scores, weights, level) for values in raw]
        self.constant_ = quantile_at(scores, weights, level)
        values = [self._adjust(v, c) for v, c in zip(raw, self.adjustments_, strict=True)]
        values.append(np.full(len(scores), self.constant_))
        self.weights_ = mixing_weights(values, scores, weights, level)
        self.out_of_fold_ = mix(values, self.weights_)
        names = [type(member.regressor).__name__ for member in self.members_]
        losses = [np.average(pinball_loss(v, scores, 1 - level), weights=weights) for v in values]
        self.history_ = [
            {"member": name, "out_of_fold": float(loss), "weight": float(weight)}
            for name, loss, weight in zip([*names, "constant"], losses, self.weights_, strict=True)
        ]
        return self

    def _predict(self, X: Any) -> FloatArray:
        """Mixed prediction of each row; members without weight are left out."""
        Z = self._encode(X)
        mixed = np.full(Z.shape[0], self.weights_[-1] * self.constant_)
        parts = zip(self.weights_[:-1], self.members_, self.adjustments_, strict=True)
        for weight, member, adjustment in parts:
            if weight > 0:
                values = np.maximum(member._predict(Z), self.floor_)
                mixed += weight * self._adjust(values, adjustment)
        return mixed

    def forget_rows(self) -> None:
        """Drop what is known of the fitted rows, which new rows do not need."""
        for name in self._of_rows:
            delattr(self, name)
        for member in self.members_:
            member.forget_rows()

    def _encode(self, X: Any) -> Any:
        """Numbers for the default members; X as it is for members of the user's own."""
        return X if self.members is not None else self.encoder_.transform(X)

    def _cross_fitted(self, member: Any, Z: Any) -> CrossFitted:
        names = ("cv", "n_repeats", "n_jobs", "verbose")
        cross_fitted = CrossFitted(member, **{name: getattr(self, name) for name in names})
        cross_fitted._checked(Z, reset=True)
        return cross_fitted

    def _adjustment(
        self, values: FloatArray, scores: FloatArray, weights: FloatArray | None, level: float
    ) -> float:
        """Factor, or shift of signed scores, that puts the right share of scores below."""
        positive = np.maximum(values, np.finfo(float).tiny)
        return quantile_at(scores / positive if self.is_scale_ else scores - values, weights, level)

    def _adjust(self, values: FloatArray, adjustment: float) -> FloatArray:
        return values * adjustment if self.is_scale_ else values + adjustment

    def _templates(self, scores: FloatArray, weights: FloatArray | None) -> list[Any]:
        if self.members is not None:
            return self.members
        if effective_rows(len(scores), weights) < LEAST_ROWS or scores.min() == scores.max():
            return []
        mask, sizes = self.encoder_.categorical_, self.encoder_.n_categories_
        trees, many = self._trees(mask), sizes > MANY
        if (sizes > MAX_CATEGORIES).any():
            as_missing = FunctionTransformer(without_rare, kw_args={"columns": mask})
            trees = make_pipeline(as_missing, trees)
        members = [trees]
        if many.any():
            members.append(CategoryMeans(self._trees(mask & ~many), many))
        return [*members, SparseScale(categorical_features=mask)] if self.is_scale_ else members

    def _trees(self, categorical: NDArray[np.bool_]) -> Any:
        if self.is_scale_:
            return ScaledQuantile(categorical_features=categorical)
        return HistGradientBoostingRegressor(
            loss="quantile",
            learning_rate=0.15,
            max_leaf_nodes=16,
            min_samples_leaf=50,
            max_iter=300,
            early_stopping=True,
            categorical_features=categorical,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.members is None
        tags.regressor_tags.poor_score = True
        return tags


def quantile_at(values: FloatArray, weights: FloatArray | None, level: float) -> float:
    """Quantile, interpolated at rank level · (n + 1) where nothing is weighted."""
    if weights is None:
        return float(np.quantile(values, level, method="weibull"))
    return float(weighted_quantiles(values, weights[:, None], level)[0])


def mix(values: list[FloatArray], weights: FloatArray) -> FloatArray:
    """Weighted sum of several regressors."""
    total = np.zeros(len(values[0]))
    for weight, column in zip(weights, values, strict=True):
        if weight > 0:
            total += weight * column
    return total


def compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Return all ways to write ``total`` as an ordered sum of ``parts`` whole numbers.

    Examples
    --------
    >>> list(compositions(2, 2))
    [(0, 2), (1, 1), (2, 0)]
    """
    for bars in combinations(range(total + parts - 1), parts - 1):
        ends = (-1, *bars, total + parts - 1)
        yield tuple(b - a - 1 for a, b in pairwise(ends))


def mixing_weights(
    values: list[FloatArray], scores: FloatArray, weights: FloatArray | None, level: float
) -> FloatArray:
    """Weights on the simplex, in tenths, averaged with exp(-n · relative loss) as their own.

    The loss is the pinball loss of the mixture, once shifted, relative to the constant's. With
    many rows this is the best mixture; with few, near ties are averaged and not decided. A mixture
    whose gain on the constant is below half of its standard error leaves all weight to the
    constant: a whole one would cost 3 % of the MSCE where 300 rows have something to learn from.
    """
    candidates = np.array(list(compositions(STEPS, len(values)))) / STEPS

    def row_losses(candidate: FloatArray) -> FloatArray:
        mixed = mix(values, candidate)
        mixed += quantile_at(scores - mixed, weights, level)
        return pinball_loss(mixed, scores, 1 - level)

    losses = np.array([np.average(row_losses(c), weights=weights) for c in candidates])
    constant = candidates[candidates[:, -1] == 1][0]
    alone = losses[candidates[:, -1] == 1][0] or 1.0
    mass = np.exp(-effective_rows(len(scores), weights) * (losses - losses.min()) / alone)
    averaged = mass @ candidates / mass.sum()
    averaged[averaged < LEAST_WEIGHT] = 0.0  # a member that hardly counts is not worth its time
    averaged /= averaged.sum()
    gain, error = mean_and_error((row_losses(constant) - row_losses(averaged)) / alone, weights)
    return averaged if gain > LEAST_GAIN * error else constant


def mean_and_error(terms: FloatArray, weights: FloatArray | None) -> tuple[float, float]:
    """Weighted mean of independent terms, and its standard error."""
    shares = np.full(len(terms), 1 / len(terms)) if weights is None else weights / weights.sum()
    mean = float(shares @ terms)
    return mean, float(np.sqrt((shares * (terms - mean)) @ (shares * (terms - mean))))

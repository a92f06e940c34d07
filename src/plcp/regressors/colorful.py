"""Quantile regression weighted by the density there, as conditional coverage weighs an error."""

from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils import check_random_state

from plcp._folds import given_folds
from plcp._options import check_share, is_real
from plcp._validation import drop_weightless, relative_weights, takes_images, takes_nan
from plcp.quantiles import FloatArray
from plcp.regressors.base import ScoreRegressor, fit_weighted, seeded
from plcp.regressors.crossfit import CrossFitted
from plcp.regressors.encoding import TableEncoder

MAX_BINS = 64  # scikit-learn finds the bins of weighted rows one by one, slower than all the trees
LEAST_ROWS = 3  # two to learn from in every fold
MOST = 5.0  # times the typical density: what a row may weigh before all are divided by their mean


class ColorfulQuantile(ScoreRegressor):
    """A regressor whose pinball loss counts each row with the density of its score at the quantile.

    A threshold that is off by e misses the coverage at x by about f(q|x) e, but the pinball loss
    sees only f(q|x) e² / 2 of it: weighted by f(q|x) it is half the squared coverage error. The
    density comes from two more quantile regressions, at levels below and above τ, out of fold:

        w(x) ∝ f(q|x) ≈ (high - low) / (q_high(x) - q_low(x)).

    ``Rectified(ColorfulQuantile(delta=0.02), adjustment="difference")`` is Colorful Pinball
    Conformal Prediction (CPCP), except that the authors take a network for the regressor, and the
    density from rows set apart in place of folds. By default the levels lie far apart: in a
    location-scale family any two give the same weights, and a wide gap is less noisy than the
    slope of a narrow one.

    Parameters
    ----------
    regressor : regressor or None, default=None
        Quantile regressor with a ``quantile`` parameter (set from here, in a pipeline too) and
        ``sample_weight``. None: a small ``HistGradientBoostingRegressor``, for data frames with
        strings, categories and gaps too.
    quantile : float or None, default=None
        Quantile τ. None: 0.5 alone, 1 - alpha inside a partition or rule.
    delta : float or None, default=None
        Distance of the two levels from τ, at most half-way to 0 and to 1. None: just that far.
    mixing : float, default=0.5
        Share of the density in a row's weight, the rest being one: w = 1 - mixing + mixing · w.
    cv : int, splitter of scikit-learn or iterable of (learn, hold) rows, default=3
        Folds, so that no row is weighed by models fitted to it.
    random_state : int, RandomState or None
        Seed of the folds, and of what the regressor draws.

    Attributes
    ----------
    regressor_ : regressor
        The fitted regressor.
    density_weights_ : ndarray
        Weight of each row that counts, with mean one: no density above five times the median counts
        in full.

    References
    ----------
    Chen, Li (2025). Colorful pinball: density-weighted quantile regression for conditional
    guarantee of conformal prediction. arXiv:2512.24139.

    Examples
    --------
    >>> from plcp.datasets import make_toy
    >>> from plcp.regressors import ColorfulQuantile
    >>> task = make_toy(2000, random_state=0)
    >>> regressor = ColorfulQuantile(quantile=0.9, random_state=0).fit(task.X, task.scores)
    >>> left, right = regressor.predict([[-0.5], [0.5]])
    >>> bool(left < right)
    True
    """

    _of_rows = ("density_weights_",)  # what files leave out
    encoder_: TableEncoder | None
    regressor_: Any

    def __init__(
        self,
        regressor: Any = None,
        quantile: float | None = None,
        *,
        delta: float | None = None,
        mixing: float = 0.5,
        cv: Any = 3,
        random_state: Any = None,
    ) -> None:
        self.regressor = regressor
        self.quantile = quantile
        self.delta = delta
        self.mixing = mixing
        self.cv = cv
        self.random_state = random_state

    def _fit(self, X: Any, scores: FloatArray, weights: FloatArray | None) -> Self:
        """Estimate the density of the scores at their quantile, then fit with it."""
        level = check_share("quantile", 0.5 if self.quantile is None else self.quantile)
        if not is_real(self.mixing) or not 0 <= float(self.mixing) <= 1:
            raise ValueError(f"mixing must lie in [0, 1], got {self.mixing!r}")
        folds = given_folds(self.cv, X, scores, weights)  # of the rows that weigh something
        cv = self.cv if folds is None else folds
        X, scores, given = drop_weightless(X, scores, weights)
        weights = relative_weights(given)
        if len(scores) < LEAST_ROWS:
            raise ValueError(
                f"n_samples={len(scores)}: give {LEAST_ROWS}, as folds that show a density need"
            )
        rng = check_random_state(self.random_state)
        self.encoder_ = TableEncoder().fit(X) if self.regressor is None else None
        X = self._encode(X)
        regressor = seeded(self._template(), rng)
        seed = rng.randint(np.iinfo(np.int32).max)  # the same folds for both levels
        low, high = (
            CrossFitted(at(regressor, side), cv=cv, n_repeats=1, random_state=seed)
            .fit(X, scores, weights)
            .out_of_fold_
            for side in neighbours(level, self.delta)
        )
        density = density_weights(high - low, weights)
        self.density_weights_ = 1 - self.mixing + self.mixing * density
        shares = 1.0 if weights is None else weights
        self.regressor_ = fit_weighted(
            at(regressor, level), X, scores, shares * self.density_weights_
        )
        return self

    def _predict(self, X: Any) -> FloatArray:
        return np.asarray(self.regressor_.predict(self._encode(X)), dtype=float)

    def _encode(self, X: Any) -> Any:
        """Numbers for the default regressor; X as it is for one of the user's own."""
        return X if self.encoder_ is None else self.encoder_.transform(X)

    def _template(self) -> Any:
        if self.encoder_ is None:
            return self.regressor
        return HistGradientBoostingRegressor(
            loss="quantile",
            learning_rate=0.15,
            max_leaf_nodes=8,
            min_samples_leaf=50,
            max_iter=300,
            early_stopping=True,
            max_bins=MAX_BINS,
            categorical_features=self.encoder_.categorical_,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.regressor is None or takes_nan(self.regressor)
        tags.input_tags.three_d_array = self.regressor is not None and takes_images(self.regressor)
        tags.regressor_tags.poor_score = True
        return tags


def neighbours(level: float, delta: float | None) -> tuple[float, float]:
    """Levels below and above, ``delta`` away or half-way to 0 and to 1.

    Examples
    --------
    >>> neighbours(0.8, None), neighbours(0.8, 0.25)
    ((0.4, 0.9), (0.55, 0.9))
    """
    low, high = level / 2, (1 + level) / 2
    if delta is None:
        return low, high
    check_share("delta", delta)
    return max(level - delta, low), min(level + delta, high)


def at(regressor: Any, quantile: float) -> Any:
    """Clone of a regressor whose every ``quantile`` parameter, at any depth, is ``quantile``.

    Examples
    --------
    >>> from plcp.regressors import LinearQuantile
    >>> at(LinearQuantile(quantile=0.5), 0.9).quantile
    0.9
    """
    names = [
        name
        for name in regressor.get_params(deep=True)
        if name == "quantile" or name.endswith("__quantile")
    ]
    if not names:
        raise ValueError(
            f"the regressor must have a parameter quantile, got {type(regressor).__name__}: use "
            'LinearQuantile() or HistGradientBoostingRegressor(loss="quantile")'
        )
    return clone(regressor).set_params(**dict.fromkeys(names, quantile))


def density_weights(gaps: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Weights in proportion to one over the gap between two quantiles, with mean one.

    Gaps below a fifth of the median, those of crossing quantiles included, count as that.

    Examples
    --------
    >>> density_weights(np.array([1.0, 2.0, 4.0]), None)
    array([1.71428571, 0.85714286, 0.42857143])
    """
    typical = float(np.median(gaps[gaps > 0])) if (gaps > 0).any() else 1.0
    density = typical / np.maximum(gaps, typical / MOST)
    return np.asarray(density / np.average(density, weights=weights))

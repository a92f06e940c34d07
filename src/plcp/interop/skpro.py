"""Conformal intervals and quantiles as a probabilistic regressor of skpro (needs ``skpro``)."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.utils import check_random_state

try:
    import pandas as pd
    from skpro.regression.base import BaseProbaRegressor
    from skpro.utils.sklearn import prep_skl_df
except ImportError as error:
    raise ImportError("plcp.interop.skpro needs skpro: pip install 'plcp[skpro]'") from error

from plcp._compatibility import check_is_rule
from plcp._options import check_share
from plcp.conformal import ConformalRegressor
from plcp.quantiles import FloatArray
from plcp.scores import Score, SignedResidual
from plcp.thresholds import PLCP, SplitConformal, ThresholdRule

__all__ = ["SkproConformal"]

DIGITS = 12  # 1 - 0.9 is 0.09999999999999998
LARGEST = float(np.nextafter(1.0, 0.0))  # alpha of the smallest interval, around the median


class _Recalibrated(ConformalRegressor):
    """A conformal regressor that can be calibrated at another alpha without training again."""

    def _calibrate(self, *calibration: Any) -> None:
        self._calibration = calibration
        super()._calibrate(*calibration)

    def _calibrated_at(self, alpha: float) -> Self:
        score, rule, *rows = self._calibration
        other = copy(self)
        other.alpha = alpha
        other._calibrate(clone(score), clone(rule).set_params(alpha=alpha), *rows)
        return other

    def _bounds(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper ends; where they cross, both move outwards to the middle.

        An interval that is empty has no ends, so each is found with the other one open.
        """
        if len(self.tail_rules_) == 1:
            sets, point = self.predict_set(X), self.predict(X)  # a point holds the empty set
            ends = np.where(sets.is_empty, point, [sets.lower, sets.upper])
            return ends[0], ends[1]
        inputs = self._inputs(X)
        below, above = inputs.thresholds.T
        free = np.full(len(below), np.inf)
        lower, upper = (
            self._invert(inputs._replace(thresholds=np.column_stack(thresholds))).to_numpy()[:, end]
            for end, thresholds in enumerate([(below, free), (free, above)])
        )
        cross = lower > upper
        lower[cross] = upper[cross] = (lower[cross] + upper[cross]) / 2
        return lower, upper


class SkproConformal(BaseProbaRegressor):
    """A conformal regressor as a probabilistic regressor of skpro.

    ``fit`` trains the model on a part of the rows and calibrates on the others, at each
    ``coverage``. Other coverages and quantiles are calibrated for the call that requests them, on
    the same rows and without training the model again; list those you need often.

    Intervals have the guarantee of the rule, each at its coverage. Those of one call are nested:
    where rules calibrated apart would cross, the wider interval is made wider still, which keeps
    its guarantee.

    Quantiles are bounds on one side, with the guarantee of the rule, and need a score with two
    tails. At p above one half the quantile is the upper end of the interval of coverage 2p - 1,
    whose tail is calibrated at 1 - p: a new y is at most this bound with probability p at least.
    Below one half it is the lower end of the interval of coverage 1 - 2p, and y is below it with
    probability p at most. So ends of an interval are quantiles, as skpro defines them, and two
    quantiles enclose at least what they should. The median is the middle of the smallest interval,
    and is not guaranteed. With few calibration rows outer quantiles are infinite. A score with one
    tail, such as ``AbsoluteResidual``, gives shorter intervals where errors are symmetric, but
    nothing is known of each end, and quantiles are refused.

    ``predict`` is the prediction of the model. ``predict_var`` and ``predict_proba`` are skpro's
    defaults, a normal law as wide as the interval of coverage 0.5, without any guarantee.

    Parameters
    ----------
    estimator : regressor
        The model. Wrapped in ``FrozenEstimator`` it is taken as trained, and all rows calibrate.
    conformity : Score or None, default=None
        The score; None: ``SignedResidual()``, which has two tails.
    threshold : ThresholdRule or None, default=None
        The rule that turns scores into thresholds; None: ``PLCP()``. Its alpha is not read.
    coverage : float or sequence of float, default=(0.5, 0.9)
        Coverages that ``fit`` calibrates.
    features : column, list of columns, callable or None, default=None
        What the rule reads of X, as in `plcp.ConformalRegressor`.
    calibration_size : float, default=0.3
        Share of rows to calibrate on, for a model that is not frozen.
    cv : int, splitter of scikit-learn or None, default=5
        Folds of the training rows that teach the rule, as in `plcp.ConformalRegressor`.
    random_state : int, RandomState or None, default=None
        Seed of the division, of the folds, and of each ``random_state`` of the model, the score and
        the rule that is None. None: drawn by each fit.

    Attributes
    ----------
    models_ : dict of float to ConformalRegressor
        For each ``coverage`` a conformal regressor, with its ``guarantee_``. All share one trained
        model.

    References
    ----------
    Linusson, Johansson, Löfström (2014). Signed-error conformal regression. PAKDD.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from plcp import SplitConformal
    >>> from plcp.datasets import make_toy
    >>> from plcp.interop.skpro import SkproConformal
    >>> rows, new = make_toy(2000, random_state=0), make_toy(3, random_state=1)
    >>> model = SkproConformal(LinearRegression(), threshold=SplitConformal(), random_state=0)
    >>> _ = model.fit(rows.X, rows.y)
    >>> intervals = model.predict_interval(new.X, coverage=[0.5, 0.9])
    >>> quantiles = model.predict_quantiles(new.X, alpha=[0.05, 0.25, 0.75, 0.95])
    >>> quantiles.shape
    (3, 4)
    >>> sorted(quantiles.iloc[0]) == sorted(intervals.iloc[0])
    True
    """

    _tags: ClassVar[dict[str, Any]] = {
        "authors": "plcp developers",
        "maintainers": "plcp developers",
        "capability:multioutput": False,
        "capability:missing": True,
        "X_inner_mtype": "pd_DataFrame_Table",
        "y_inner_mtype": "pd_DataFrame_Table",
    }

    def __init__(
        self,
        estimator: Any,
        conformity: Score | None = None,
        threshold: ThresholdRule | None = None,
        *,
        coverage: float | Iterable[float] = (0.5, 0.9),
        features: Any = None,
        calibration_size: float = 0.3,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.conformity = conformity
        self.threshold = threshold
        self.coverage = coverage
        self.features = features
        self.calibration_size = calibration_size
        self.cv = cv
        self.random_state = random_state
        super().__init__()

    def _fit(self, X: pd.DataFrame, y: pd.DataFrame, C: Any = None) -> Self:
        if y.shape[1] != 1:
            raise ValueError(
                f"y must have one column, got {y.shape[1]}: fit one SkproConformal for each"
            )
        first, *others = self._coverages()
        alpha = _alpha_of(first)
        rule = PLCP() if self.threshold is None else self.threshold
        check_is_rule(rule)
        seed = self.random_state
        if not isinstance(seed, Integral):  # a number: what is calibrated later is seeded alike
            seed = check_random_state(seed).randint(np.iinfo(np.int32).max)
        model = _Recalibrated(
            self.estimator,
            SignedResidual() if self.conformity is None else self.conformity,
            clone(rule).set_params(alpha=alpha),
            alpha=alpha,
            features=self.features,
            calibration_size=self.calibration_size,
            cv=self.cv,
            random_state=seed,
        )
        with _any_alpha():
            self.models_ = {first: model.fit(prep_skl_df(X, copy_df=True), y.iloc[:, 0].to_numpy())}
            for coverage in others:
                self.models_[coverage] = model._calibrated_at(_alpha_of(coverage))
        return self

    def _coverages(self) -> list[float]:
        """Return the coverages to calibrate in fit."""
        values = self.coverage if isinstance(self.coverage, Iterable) else [self.coverage]
        coverages = sorted({round(check_share("coverage", value), DIGITS) for value in values})
        if not coverages:
            raise ValueError("coverage is empty: name one at least, as in coverage=0.9")
        return coverages

    def _predict(self, X: pd.DataFrame) -> pd.DataFrame:
        predicted = next(iter(self.models_.values())).predict(prep_skl_df(X, copy_df=True))
        columns = self._get_columns(method="predict")
        return pd.DataFrame(np.asarray(predicted, dtype=float), index=X.index, columns=columns)

    def _predict_interval(self, X: pd.DataFrame, coverage: list[float]) -> pd.DataFrame:
        ends = self._ends(X, coverage)
        columns = self._get_columns(method="predict_interval", coverage=coverage)
        return _table([end for one in ends for end in one.T], X, columns)

    def _predict_quantiles(self, X: pd.DataFrame, alpha: list[float]) -> pd.DataFrame:
        conformity = next(iter(self.models_.values())).conformity_
        if conformity.n_tails != 2:
            raise ValueError(
                f"quantiles need a score with two tails, got {conformity}: give "
                "conformity=SignedResidual() or QuantileResidual(symmetric=False), or request "
                "intervals"
            )
        ends = self._ends(X, [abs(1 - 2 * p) for p in alpha])
        chosen = [_quantile(one, p) for one, p in zip(ends, alpha, strict=True)]
        return _table(chosen, X, self._get_columns(method="predict_quantiles", alpha=alpha))

    def _ends(self, X: pd.DataFrame, coverages: list[float]) -> list[FloatArray]:
        """Return lower and upper ends at each coverage, nested."""
        rows, keys = (
            prep_skl_df(X, copy_df=True),
            [round(coverage, DIGITS) for coverage in coverages],
        )
        ends: dict[float, FloatArray] = {}
        lower, upper = np.full(len(rows), np.inf), np.full(len(rows), -np.inf)
        for key in sorted({*keys}):
            own_lower, own_upper = self._model_at(key)._bounds(rows)
            lower, upper = np.minimum(lower, own_lower), np.maximum(upper, own_upper)
            ends[key] = np.column_stack([lower, upper])
        return [ends[key] for key in keys]

    def _model_at(self, coverage: float) -> _Recalibrated:
        """Return a model of fit, or one calibrated now, which a prediction may not keep."""
        if coverage in self.models_:
            return self.models_[coverage]
        with _any_alpha():
            return next(iter(self.models_.values()))._calibrated_at(_alpha_of(coverage))

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Return parameters for the checks of skpro, two sets of them."""
        return [
            {"estimator": LinearRegression(), "threshold": SplitConformal(), "random_state": 0},
            {
                "estimator": LinearRegression(),
                "conformity": SignedResidual(),
                "coverage": 0.8,
                "calibration_size": 0.5,
                "cv": 2,
                "random_state": 0,
            },
        ]


def _alpha_of(coverage: float) -> float:
    return min(round(1 - coverage, DIGITS), LARGEST)


@contextmanager
def _any_alpha() -> Iterator[None]:
    """Silence the warning that alpha may be meant as a coverage: here a coverage was given."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "alpha = .* is the rate of misses", UserWarning)
        yield


def _quantile(ends: FloatArray, p: float) -> FloatArray:
    if p == 0.5:
        return np.asarray(ends.mean(axis=1))
    return ends[:, 0] if p < 0.5 else ends[:, 1]


def _table(columns: list[FloatArray], X: pd.DataFrame, names: Any) -> pd.DataFrame:
    return pd.DataFrame(np.column_stack(columns), index=X.index, columns=names)

"""What regressors of the score share: the quantile and seed they are given, units, weights."""

import warnings
from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import RegressorMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from plcp._base import Estimator
from plcp._options import caller_stacklevel, check_same_rows
from plcp._parallel import threads_for
from plcp._validation import check_features, check_lengths, check_scores, check_weights
from plcp.quantiles import FloatArray, IntArray, weighted_quantiles


class ScoreRegressor(RegressorMixin, Estimator):
    """A regressor of the score, whose ``fit`` and ``predict`` check rows once.

    Estimators that fit many models to the same checked rows call ``_fit`` and ``_predict``.
    """

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to the scores ``y``.

        Only shares of ``sample_weight`` count: equal weights are as good as none. A weight of zero
        means that the row is absent.
        """
        check_same_rows(X, y=y, sample_weight=sample_weight)
        X, scores = self._checked(X, reset=True), check_scores(y)
        check_lengths(X, scores)
        return self._fit(X, scores, check_weights(sample_weight, X))

    def predict(self, X: Any) -> FloatArray:
        """Return the estimated quantile, or scale, of the score at each row."""
        check_is_fitted(self)
        return self._predict(self._checked(X, reset=False))

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """Features that can be fitted, their names and number recorded, or predicted."""
        return check_features(self, X, reset=reset)

    def _fit(self, X: Any, scores: FloatArray, weights: FloatArray | None) -> Self:
        raise NotImplementedError

    def _predict(self, X: Any) -> FloatArray:
        raise NotImplementedError


def predict_checked(regressor: Any, X: Any) -> Any:
    """Predictions of a fitted regressor, of rows that the caller has checked."""
    if isinstance(regressor, ScoreRegressor):
        return regressor._predict(regressor._checked(X, reset=False))
    return regressor.predict(X)


def at_quantile(regressor: Any, quantile: float) -> Any:
    """Clone of a regressor with every ``quantile`` parameter left at None set to ``quantile``.

    Reaches into pipelines. A regressor with a quantile of its own, or with none, keeps it: the
    groups are cut and calibrated whatever the regressor estimates.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> at_quantile(HistGradientBoostingRegressor(loss="quantile"), 0.9).quantile
    0.9
    """
    return _with_open_parameters(regressor, "quantile", lambda: quantile)


def seeded(estimator: Any, rng: np.random.RandomState) -> Any:
    """Clone of an estimator with every ``random_state`` left at None drawn from ``rng``."""
    return _with_open_parameters(
        estimator, "random_state", lambda: rng.randint(np.iinfo(np.int32).max)
    )


def one_seed(random_state: Any) -> int:
    """Return a seed that several can share; one that is a number already stays the same."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _with_open_parameters(estimator: Any, name: str, value: Callable[[], Any]) -> Any:
    """Clone with the parameters called ``name``, at any depth, that are None given a value."""
    estimator = clone(estimator)
    for key, given in sorted(estimator.get_params(deep=True).items()):
        if given is None and (key == name or key.endswith(f"__{name}")):
            estimator.set_params(**{key: value()})
    return estimator


MOST_DOUBLINGS = 900  # from the unit to the largest score, which must stay finite in it


def unit_of(scores: FloatArray, weights: FloatArray | None = None) -> float:
    """Power of two just above the middle one of the sizes that are not zero; one if all are.

    Sums of squares and Newton steps overflow or vanish at the ends of floating point. In this unit
    they do not, and scores times a power of two give what is learned times that power, to the bit.

    Examples
    --------
    >>> unit_of(np.array([0.0, -3.0, 7e99])), unit_of(np.zeros(2))
    (4.0, 1.0)
    """
    some = scores != 0
    sizes = np.abs(scores[some])
    if len(sizes) == 0:
        return 1.0
    shares = np.ones(len(sizes)) if weights is None else weights[some]
    middle, largest = weighted_quantiles(sizes, shares[:, None], 0.5)[0], sizes.max()
    exponents = np.frexp([middle, largest])[1]
    return float(np.ldexp(1.0, max(exponents[0], exponents[1] - MOST_DOUBLINGS)))


ENTRIES = 2**18  # of X at a time: they stay in the cache
FEWEST = 1024  # rows at a time: with fewer, calls cost more than sums


def line(X: NDArray[Any], coef: NDArray[Any]) -> NDArray[np.float64]:
    """Return ``X @ coef`` in double precision, summed column after column.

    A matrix product sums the rows at the end of a block in another order than those in its middle;
    this sum is the same to the last bit wherever a row stands, and however X lies in memory.

    Examples
    --------
    >>> line(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
    array([21., 43.])
    """
    total = np.zeros(len(X))
    step = max(FEWEST, ENTRIES // max(1, X.shape[1]))
    for start in range(0, len(X), step):
        block, part = X[start : start + step], total[start : start + step]
        for column, weight in zip(block.T, coef, strict=True):
            part += np.multiply(column, weight, dtype=float)
    return total


MOST_VALUES = 255  # as many bins as scikit-learn's boosting has for a column


def coarse(X: Any) -> Any:
    """Each number of a wide column as the nearest of 255 of its values: its quantiles.

    Of columns with more values scikit-learn takes 254 weighted percentiles, and sorts the column
    for each of them: most of the time of a fit. Of these it takes the middles between values, which
    are the very bounds between numbers that are brought together here: a tree that was fitted on
    coarse rows parts the rows themselves as it parted these.

    Data frames stay as they are.

    Examples
    --------
    >>> len(np.unique(coarse(np.arange(1000.0)[:, None])))
    255
    """
    if not isinstance(X, np.ndarray) or X.ndim != 2 or not np.issubdtype(X.dtype, np.floating):
        return X
    return np.column_stack([_coarse_column(column) for column in X.T])


def _coarse_column(column: NDArray[Any]) -> NDArray[Any]:
    present = column[np.isfinite(column)]
    if len(np.unique(present)) <= MOST_VALUES:
        return column
    shares = np.linspace(0, 1, MOST_VALUES)
    values = np.unique(np.quantile(present, shares, method="inverted_cdf"))
    bounds = (values[:-1] + values[1:]) / 2
    nearest = values[np.searchsorted(bounds, column)]  # a number on a bound goes to the left
    return np.where(np.isnan(column), column, nearest)


ENSEMBLES = (StackingClassifier, StackingRegressor, VotingClassifier, VotingRegressor)


def fit_weighted(
    estimator: Any, X: Any, y: FloatArray | IntArray, weights: FloatArray | None
) -> Any:
    """Fit, with weights if there are any and the estimator can take them."""
    params = {} if weights is None else weight_params(estimator, weights)
    if params is None:
        raise ValueError(
            f"{type(estimator).__name__} does not accept sample_weight, which is needed here: "
            "choose an estimator whose fit takes weights, or give none"
        )
    with threads_for(X, estimator):
        if weights is not None and isinstance(estimator, HistGradientBoostingRegressor):
            X = coarse(X)
        return estimator.fit(X, y, **params)


def weight_params(estimator: Any, weights: FloatArray) -> dict[str, FloatArray] | None:
    """Return what to give to ``fit`` so that weights are used; None if the estimator has no way.

    Where scikit-learn's metadata routing is on, pipelines and other routers take
    ``sample_weight`` itself, and hand it to those within that request it.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> weight_params(make_pipeline(StandardScaler(), Ridge()), 2.0)
    {'ridge__sample_weight': 2.0}
    >>> weight_params(make_pipeline(StandardScaler(), KNeighborsRegressor()), 2.0) is None
    True
    """
    plain = {"sample_weight": weights}
    if isinstance(estimator, FrozenEstimator):
        return {}  # it is not trained
    if has_fit_parameter(estimator, "sample_weight"):
        return plain
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        params = weight_params(last, weights)
        if params is None or is_routing():
            return None if params is None else plain
        return {f"{name}__{key}": value for key, value in params.items()}
    if isinstance(estimator, GridSearchCV | RandomizedSearchCV):
        return weight_params(estimator.estimator, weights)
    if isinstance(estimator, TransformedTargetRegressor):
        inner = LinearRegression() if estimator.regressor is None else estimator.regressor
        return weight_params(inner, weights)
    if isinstance(estimator, ENSEMBLES):
        members = [member for _, member in estimator.estimators if member != "drop"]
        return plain if all(has_fit_parameter(m, "sample_weight") for m in members) else None
    return None


def training_params(
    owner: Any,
    members: dict[str, Any],
    weights: FloatArray | None,
    groups: IntArray | None = None,
) -> dict[str, dict[str, Any]]:
    """Return what to give to ``fit`` of each member of a meta-estimator, by the member's name.

    Members are routed to as they request, where metadata routing is on; otherwise those that can
    take weights get them, and a search that divides rows gets their groups. One that cannot take
    weights is trained without, and a warning says so.
    """
    both = {"sample_weight": weights, "groups": groups}
    metadata = {name: values for name, values in both.items() if values is not None}
    routed = process_routing(owner, "fit", **metadata) if metadata and is_routing() else None
    if weights is None and routed is None:
        own = {} if groups is None else {"groups": groups}
        return {
            name: own if isinstance(member, GridSearchCV | RandomizedSearchCV) else {}
            for name, member in members.items()
        }
    given = {}
    for name, member in members.items():
        params = {} if weights is None else weight_params(member, weights)
        if params is None:
            warnings.warn(
                f"{type(member).__name__} takes no sample_weight, so it is trained as if all rows "
                "weighed the same: choose a model whose fit takes weights, or wrap a trained one "
                "in FrozenEstimator",
                stacklevel=caller_stacklevel(),
            )
        given[name] = (params or {}) if routed is None else routed[name]["fit"]
    return given


def training_routes(owner: Any, members: dict[str, Any]) -> MetadataRouter:
    """Return the router by which ``fit`` of a meta-estimator hands metadata to its members."""
    fits = MethodMapping().add(caller="fit", callee="fit")
    return MetadataRouter(owner=owner).add(method_mapping=fits, **members)


def is_routing() -> bool:
    """Whether scikit-learn's metadata routing is on."""
    return bool(get_config()["enable_metadata_routing"])

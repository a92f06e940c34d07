"""Weights of rows reach an estimator that can take them."""

from typing import Any

from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from plcp.indices.coarse import coarse
from plcp.quantiles import FloatArray, IntArray


def fit_weighted(
    estimator: Any, X: Any, y: FloatArray | IntArray, weights: FloatArray | None
) -> Any:
    """Fit, with weights if there are any and the estimator can take them."""
    if weights is None:
        return estimator.fit(X, y)
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        if has_fit_parameter(last, "sample_weight"):
            return estimator.fit(X, y, **{f"{name}__sample_weight": weights})
    if not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"{type(estimator).__name__} does not accept sample_weight, which is needed here: "
            "choose an estimator whose fit takes weights, or give none"
        )
    boosted = isinstance(estimator, HistGradientBoostingRegressor)
    return estimator.fit(coarse(X) if boosted else X, y, sample_weight=weights)

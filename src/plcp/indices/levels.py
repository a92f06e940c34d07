"""How an index learns which quantile is wanted, and which seed to use."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone


def at_level(index: Any, quantile: float) -> Any:
    """Clone of an index with every ``quantile`` parameter left at None set to ``quantile``.

    Reaches into pipelines. An index with a level of its own, or with none, keeps to it: the
    groups are cut and calibrated whatever the index estimates.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> at_level(HistGradientBoostingRegressor(loss="quantile"), 0.9).quantile
    0.9
    """
    return _with_open_parameters(index, "quantile", lambda: quantile)


def seeded(estimator: Any, rng: np.random.RandomState) -> Any:
    """Clone of an estimator with every ``random_state`` left at None drawn from ``rng``."""
    return _with_open_parameters(
        estimator, "random_state", lambda: rng.randint(np.iinfo(np.int32).max)
    )


def _with_open_parameters(estimator: Any, name: str, value: Callable[[], Any]) -> Any:
    """Clone with the parameters called ``name``, at any depth, that are None given a value."""
    estimator = clone(estimator)
    for key, given in sorted(estimator.get_params(deep=True).items()):
        if given is None and (key == name or key.endswith(f"__{name}")):
            estimator.set_params(**{key: value()})
    return estimator

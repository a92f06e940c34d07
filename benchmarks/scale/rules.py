"""The rules that are measured at scale, and rivals made to answer the same question."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.dummy import DummyRegressor

from plcp import PLCP, LinearQuantile, OrderedPartition, SplitConformal

ALPHA = 0.1
BINS = 20  # groups of the Mondrian rival: as many as ours has at most


class Rule(NamedTuple):
    """A rule by name: what it is called in tables, and how it is made, on Dask and in memory.

    Where folds in memory are others, no threshold can be equal: those of the rule on Dask are then
    compared with what the same rule gives without a cluster.
    """

    title: str
    on_dask: Callable[[], Any]
    in_memory: Callable[[], Any]
    other_folds: bool = False

    @property
    def beside(self) -> str:
        """What thresholds on a cluster are compared with."""
        return "by the same rule without a cluster" if self.other_folds else "in memory"


def _default() -> Any:
    from plcp.dask import DaskPLCP

    return DaskPLCP()


def _linear() -> Any:
    from plcp.dask import DaskPLCP

    return DaskPLCP(OrderedPartition(LinearQuantile()))


def _lightgbm() -> Any:
    from lightgbm import DaskLGBMRegressor

    from plcp.dask import DaskPLCP

    return DaskPLCP(OrderedPartition(DaskLGBMRegressor(objective="quantile", verbosity=-1)))


def _split() -> Any:
    from plcp.dask import DaskSplitConformal

    return DaskSplitConformal()


def _lightgbm_in_memory() -> PLCP:
    from lightgbm import LGBMRegressor

    regressor = LGBMRegressor(objective="quantile", alpha=1 - ALPHA, verbosity=-1)
    return PLCP(OrderedPartition(regressor), calibration="cross", random_state=0)


RULES = {
    "default": Rule("PLCP, cross", _default, lambda: PLCP(calibration="cross", random_state=0)),
    "linear": Rule(
        "PLCP, linear regressor",
        _linear,
        lambda: PLCP(OrderedPartition(LinearQuantile()), calibration="cross", random_state=0),
        other_folds=True,
    ),
    "lightgbm": Rule("PLCP, LightGBM regressor", _lightgbm, _lightgbm_in_memory),
    "split": Rule("Split", _split, SplitConformal),
}


class Mapie:
    """Conditional calibration of MAPIE, linear in the features: a program for every new row."""

    title = "mapie, conditional"

    def fit(self, X: np.ndarray, scores: np.ndarray) -> "Mapie":
        from mapie.conditional_conformal_prediction import ConditionalSplitConformalRegressor

        self.rule = ConditionalSplitConformalRegressor(_with_constant, _zero(X), 1 - ALPHA)
        self.rule.conformalize(X, scores)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        _, intervals = self.rule.predict_interval(X)
        return intervals[:, 1, 0]


class Crepes:
    """Mondrian conformal regressor of crepes, grouped by difficulty: mean score of 25 neighbours.

    Half of the rows are the neighbours, the other half calibrate, as its authors have it.
    """

    title = "crepes, Mondrian by difficulty"

    def fit(self, X: np.ndarray, scores: np.ndarray) -> "Crepes":
        from crepes import WrapRegressor
        from crepes.extras import DifficultyEstimator, MondrianCategorizer

        half = len(scores) // 2
        difficulty = DifficultyEstimator().fit(X[:half], residuals=scores[:half])
        groups = MondrianCategorizer().fit(X[:half], de=difficulty, no_bins=BINS)
        self.rule = WrapRegressor(_zero(X))
        self.rule.calibrate(X[half:], scores[half:], mc=groups)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.rule.predict_int(X, confidence=1 - ALPHA)[:, 1]


RIVALS = {"mapie": Mapie, "crepes": Crepes}


def title(name: str) -> str:
    """What a rule or a rival is called in tables."""
    return RULES[name].title if name in RULES else RIVALS[name].title


def _zero(X: np.ndarray) -> DummyRegressor:
    """A perfect model of a mean that is zero."""
    return DummyRegressor(strategy="constant", constant=0.0).fit(X[:1], [0.0])


def _with_constant(X: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(X)), X])

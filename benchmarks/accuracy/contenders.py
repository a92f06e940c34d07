"""Every method of the library on one task, each given what its authors would give it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from plcp import (
    PLCP,
    RLCP,
    BatchGCP,
    BatchMVP,
    ConditionalCalibration,
    KernelShifts,
    LocalCP,
    PosteriorConformal,
    Rectified,
    SoftmaxPartition,
    SplitConformal,
    TreePartition,
)
from plcp.regressors import ColorfulQuantile

ALPHA = 0.1
BINARY = range(10)  # columns of the paper's task whose values are groups
BINS = 5  # groups a numeric column is cut into
LEAST = 200  # rows of a group that is given or judged
KERNEL_ROWS = 3000  # of conditional calibration in a kernel space, whose cost is cubic in them


@dataclass(frozen=True)
class Side:
    """Rows of one side of a task: as they are, and as numbers without gaps."""

    X: Any
    numbers: Any
    groups: Any


@dataclass(frozen=True)
class Split:
    """Calibration and test rows of a task."""

    X_cal: Any
    X_test: Any

    @cached_property
    def cal(self) -> Side:
        return Side(self.X_cal, self._numbers.transform(self.X_cal), self._groups(self.X_cal))

    @cached_property
    def test(self) -> Side:
        return Side(self.X_test, self._numbers.transform(self.X_test), self._groups(self.X_test))

    @cached_property
    def _numbers(self) -> Any:
        """Standardised numbers and frequent categories, gaps filled with the mean."""
        if not hasattr(self.X_cal, "columns"):
            return StandardScaler().fit(self.X_cal)
        categories = OneHotEncoder(
            min_frequency=LEAST, handle_unknown="infrequent_if_exist", sparse_output=False
        )
        return make_column_transformer(
            (
                make_pipeline(SimpleImputer(), StandardScaler()),
                make_column_selector(dtype_include="number"),
            ),
            (categories, make_column_selector(dtype_include="category")),
        ).fit(self.X_cal)

    @cached_property
    def _members(self) -> list[tuple[Any, Callable[[np.ndarray], np.ndarray]]]:
        """Columns, and tests of their values: is it in this fifth, is it this category."""
        names = getattr(self.X_cal, "columns", BINARY)
        tests = []
        for name in names:
            values = _column(self.X_cal, name)
            own = _fifths(values) if values.dtype.kind == "f" else _categories(values)
            tests += [(name, test) for test in own if test(values).sum() >= LEAST]
        return tests

    def _groups(self, X: Any) -> np.ndarray:
        return np.column_stack([test(_column(X, name)) for name, test in self._members])


def _column(X: Any, name: Any) -> np.ndarray:
    values = X[name] if hasattr(X, "columns") else X[:, name]
    return np.asarray(values.astype(float) if values.dtype.kind in "biuf" else values.astype(str))


def _categories(values: np.ndarray) -> list[Callable[[np.ndarray], np.ndarray]]:
    return [partial(np.equal, label) for label in np.unique(values)]


def _fifths(values: np.ndarray) -> list[Callable[[np.ndarray], np.ndarray]]:
    """Intervals of about a fifth of the rows each; two values of a binary column."""
    cuts = np.unique(np.nanquantile(values, np.linspace(0, 1, BINS + 1)[1:-1], method="lower"))
    edges = [-np.inf, *cuts[cuts < np.nanmax(values)], np.inf]
    return [partial(_within, *pair) for pair in pairwise(edges)]


def _within(low: float, high: float, values: np.ndarray) -> np.ndarray:
    return (values > low) & (values <= high)


def boosted(level: float, seed: int) -> HistGradientBoostingRegressor:
    return HistGradientBoostingRegressor(loss="quantile", quantile=level, random_state=seed)


def contenders(seed: int) -> dict[str, tuple[Any, str]]:
    """Rule of each method, and what it sees: X as it is, numbers, or groups by name."""
    published = SoftmaxPartition(random_state=seed)
    same: dict[str, Any] = {"alpha": ALPHA, "random_state": seed}
    return {
        "Split": (SplitConformal(ALPHA), "X"),
        "LocalCP": (LocalCP(**same), "numbers"),
        "RLCP": (RLCP(**same), "numbers"),
        "posterior": (PosteriorConformal(**same), "numbers"),
        "BatchGCP": (BatchGCP(alpha=ALPHA), "groups"),
        "BatchMVP": (BatchMVP(alpha=ALPHA), "groups"),
        "conditional, groups": (ConditionalCalibration(alpha=ALPHA, n_jobs=2), "groups"),
        "conditional, linear": (ConditionalCalibration(alpha=ALPHA, n_jobs=2), "numbers"),
        "conditional, kernel": (ConditionalCalibration(kernel=KernelShifts(), **same), "kernel"),
        "LOCART": (PLCP(TreePartition(), calibration="split", **same), "X"),
        "rectified": (Rectified(boosted(1 - ALPHA, seed), **same), "X"),
        "rectified, our regressor": (Rectified(**same), "X"),
        "CPCP": (Rectified(ColorfulQuantile(delta=0.02), adjustment="difference", **same), "X"),
        "CPCP, levels apart": (Rectified(ColorfulQuantile(), **same), "X"),
        "PLCP, as published": (
            PLCP(published, 25, calibration="joint", assignment="sample", **same),
            "numbers",
        ),
        "PLCP, split": (PLCP(calibration="split", **same), "X"),
        "PLCP, cross": (PLCP(calibration="cross", **same), "X"),
        "PLCP": (PLCP(**same), "X"),
    }


def fit(rule: Any, sees: str, side: Side, scores: np.ndarray, seed: int) -> Any:
    if sees == "groups":
        return rule.fit(side.numbers, scores, groups=side.groups)
    if sees == "kernel":
        n = len(scores)
        rows = np.random.default_rng(seed).permutation(n)[: min(n, KERNEL_ROWS)]
        return rule.fit(side.numbers[rows], scores[rows])
    return rule.fit(side.X if sees == "X" else side.numbers, scores)


def predict(rule: Any, sees: str, side: Side) -> np.ndarray:
    if sees == "groups":
        return rule.predict(side.numbers, groups=side.groups)
    return rule.predict(side.X if sees == "X" else side.numbers)

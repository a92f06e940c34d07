"""How far coverage is from its target, by group and by x, and whether it depends on set size."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict

Floats = NDArray[np.float64]
_MOST_SIZES = 5_000  # a kernel matrix of 200 MB


class GroupCoverage(NamedTuple):
    """Coverage and mean size of the sets in each group."""

    group: NDArray[Any]
    n: NDArray[np.intp]
    coverage: Floats
    size: Floats


def coverage_by_group(covered: ArrayLike, size: ArrayLike, groups: ArrayLike) -> GroupCoverage:
    """Share of covered rows and mean set size in each group of a disjoint grouping.

    Examples
    --------
    >>> table = coverage_by_group([True, False, True], [1.0, 3.0, 2.0], ["a", "a", "b"])
    >>> table.coverage.tolist(), table.size.tolist()
    ([0.5, 1.0], [2.0, 2.0])
    """
    labels, codes = np.unique(np.asarray(groups), return_inverse=True)
    n = np.bincount(codes)
    covered_n = np.bincount(codes, np.asarray(covered, dtype=float))
    total_size = np.bincount(codes, np.asarray(size, dtype=float))
    return GroupCoverage(labels, n, covered_n / n, total_size / n)


def msce(conditional_coverage: ArrayLike, alpha: float) -> float:
    """Mean squared conditional coverage error E[(P(covered | x) - (1 - alpha))²], equation (3).

    Needs the conditional coverage itself, which simulated data know and real data do not.

    Examples
    --------
    >>> round(msce([0.8, 1.0], alpha=0.1), 12)
    0.01
    """
    return float(np.mean((np.asarray(conditional_coverage, dtype=float) - (1 - alpha)) ** 2))


def ert(
    X: Any,
    covered: ArrayLike,
    alpha: float,
    classifier: Any = None,
    cv: int = 5,
    random_state: int | None = 0,
) -> float:
    """Excess risk of the target coverage, in L1: a lower bound on E|P(covered | x) - (1 - alpha)|.

    A classifier p(x) of the coverage indicator is cross-fitted; the estimate is
    mean[sign(p(x) - (1 - alpha)) · (covered - (1 - alpha))], which the best classifier maximises at
    the true mean absolute error. Zero, up to noise that can make it negative, where nothing can be
    predicted.

    References
    ----------
    Braun, Holzmüller, Jordan, Bach (2025). Conditional coverage diagnostics for conformal
    prediction.

    Examples
    --------
    >>> x = np.repeat([[0.0], [1.0]], 500, axis=0)
    >>> covered = (np.arange(1000) % 5 > 0) | (x[:, 0] == 1)  # 0.8 left, 1.0 right
    >>> round(ert(x, covered, alpha=0.1), 12)
    0.1
    """
    covered = np.asarray(covered, dtype=int)
    target = 1 - alpha
    rarer = min(covered.sum(), len(covered) - covered.sum())
    if rarer < 2:  # too few of one kind to learn from some and to test on others
        return float(abs(covered.mean() - target))
    if classifier is None:
        classifier = HistGradientBoostingClassifier(
            max_iter=100, max_leaf_nodes=15, learning_rate=0.05, random_state=random_state
        )
    folds = StratifiedKFold(min(cv, rarer), shuffle=True, random_state=random_state)
    p = cross_val_predict(clone(classifier), X, covered, cv=folds, method="predict_proba")[:, 1]
    return float(np.mean(np.sign(p - target) * (covered - target)))


def hsic(size: ArrayLike, covered: ArrayLike) -> float:
    """Hilbert-Schmidt independence criterion of set size and coverage: any kind of dependence.

    trace(K H L H) / (n - 1)², the biased estimator, without a square root: K and L are the n × n
    matrices of the kernel k(a, b) = exp(-(a - b)²) on sizes and on the coverage indicator, and
    H = I - 1/n. Computed exactly, from the counts of each distinct size.

    Where all x are covered alike, coverage depends on nothing, not on the size either; so a
    dependence shows that they are not, and its absence shows nothing. Independent pairs give
    O(1/n) rather than 0, and the kernel knows the units of size: compare on the same rows.

    References
    ----------
    Gretton, Bousquet, Smola, Schölkopf (2005). Measuring statistical dependence with
    Hilbert-Schmidt norms. ALT.
    Feldman, Bates, Romano (2021). Improving conditional coverage via orthogonal quantile
    regression. NeurIPS.

    Examples
    --------
    >>> round(hsic([1, 1, 2, 2], [True, True, False, False]), 4)
    0.1776
    >>> hsic([1, 1, 2, 2], [True, False, True, False])
    0.0
    """
    sizes, indicator = _check_sets(size, covered)
    distinct, codes = np.unique(sizes, return_inverse=True)
    if len(distinct) > _MOST_SIZES:
        raise ValueError(
            f"exact computation needs few distinct sizes, at most {_MOST_SIZES}, got "
            f"{len(distinct)}: round them first, the lengths of intervals to some hundred bins"
        )
    n, hits = len(sizes), np.bincount(codes[indicator], minlength=len(distinct))
    # n² times joint minus product frequency, in whole numbers: independence is 0 without rounding
    excess = (n * hits - np.bincount(codes) * hits.sum()).astype(float)
    # the excess sums to 0, so k - 1 serves as well as k, and keeps its digits where sizes are close
    kernel = np.expm1(-((distinct[:, None] - distinct) ** 2))
    return float(-2 * np.expm1(-1) * (excess @ kernel @ excess) / (n * (n - 1)) ** 2)


def size_correlation(size: ArrayLike, covered: ArrayLike) -> float:
    """Pearson correlation of set size and coverage indicator.

    Negative where large sets cover less often than small ones. Zero, up to noise of 1/√n, where all
    x are covered alike, and perhaps elsewhere; `hsic` sees more than straight lines. Orthogonal
    quantile regression penalises the absolute value.

    References
    ----------
    Feldman, Bates, Romano (2021). Improving conditional coverage via orthogonal quantile
    regression. NeurIPS.

    Examples
    --------
    >>> round(size_correlation([1, 1, 2, 3], [True, True, True, False]), 4)
    -0.8704
    """
    sizes, indicator = _check_sets(size, covered)
    for name, values in (("size", sizes), ("covered", indicator)):
        if (values == values[0]).all():
            raise ValueError(
                f"{name} is {values[0]} in all {len(values)} rows: dependence on a constant is not "
                "defined, so report coverage and size alone"
            )
    return float(np.corrcoef(sizes, indicator)[0, 1])


def _check_sets(size: ArrayLike, covered: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    """Return finite sizes and a boolean indicator of two rows at least."""
    sizes, indicator = np.asarray(size, dtype=float), np.asarray(covered)
    if sizes.ndim != 1 or sizes.shape != indicator.shape or len(sizes) < 2:
        raise ValueError(
            "size and covered must both have shape (n,), n at least 2, "
            f"got {sizes.shape} and {indicator.shape}: pass sets.size and sets.contains(y)"
        )
    if not np.isfinite(sizes).all():
        row = int(np.argmin(np.isfinite(sizes)))
        raise ValueError(
            f"size must be finite, got {sizes[row]} at row {row}: drop such rows, or clip the sets"
        )
    # isin would take the string "1" for the number 1
    bad = ~np.isin(indicator, (0, 1)) | (indicator.dtype.kind not in "biuf")
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"covered must be True or False, got {indicator[row]!s} at row {row}: "
            "pass sets.contains(y)"
        )
    return sizes, indicator.astype(bool)

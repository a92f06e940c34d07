"""Whether coverage depends on the size of the set."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
_MOST_SIZES = 5_000  # a kernel matrix of 200 MB


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

"""Coverage and size in each group, with bounds for each and for all of them together."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plcp.metrics.binomial import holm, shortfall_p_values
from plcp.metrics.group_counts import GroupCounts, count_groups, coverage_columns
from plcp.metrics.measure import Table
from plcp.metrics.outcomes import check_size
from plcp.quantiles import FloatArray, IntArray
from plcp.validation import check_alpha, check_share

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class GroupCoverage:
    """Coverage and size of the sets in each group, one entry a group in every array.

    A group without rows has n = 0, coverage and size NaN, and the bounds 0 and 1.

    Parameters
    ----------
    group : array of shape (k,)
        Name of each group.
    n, hits : array of int, shape (k,)
        Number of its rows, and of its covered rows.
    coverage : array of shape (k,)
        Share of its rows that are covered.
    low, high : array of shape (k,)
        Clopper and Pearson's bounds on its coverage: each pair holds with the confidence.
    low_all, high_all : array of shape (k,)
        The same after Bonferroni: all pairs hold at once with the confidence, overlap or not.
    size, size_error : array of shape (k,)
        Mean size, infinite where a set is, and its standard error, NaN where there is none.
    p_value, p_holm : array of shape (k,) or None
        Probability of so few covered rows or fewer if coverage were 1 - alpha; and corrected by
        Holm for the number of groups. None without alpha.
    confidence, alpha : float, float or None
        As they were given.
    """

    group: NDArray[Any]
    n: IntArray
    hits: IntArray
    coverage: FloatArray
    low: FloatArray
    high: FloatArray
    low_all: FloatArray
    high_all: FloatArray
    size: FloatArray
    size_error: FloatArray
    p_value: FloatArray | None = None
    p_holm: FloatArray | None = None
    confidence: float = 0.95
    alpha: float | None = None

    @property
    def failing(self) -> NDArray[Any]:
        """Names of the groups whose coverage is below 1 - alpha, beyond what chance explains.

        The chance to name any group wrongly is at most 1 - confidence.
        """
        if self.p_holm is None:
            raise ValueError("no alpha was given: pass alpha=0.1 or so to coverage_by_group")
        return self.group[self.p_holm <= 1 - self.confidence]

    def to_frame(self) -> pandas.DataFrame:
        """Return the columns as a pandas frame, one row a group."""
        import pandas

        return pandas.DataFrame(self._columns())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python values."""
        columns = {name: column.tolist() for name, column in self._columns().items()}
        return {**columns, "confidence": self.confidence, "alpha": self.alpha}

    def _columns(self) -> Table:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}

    def __str__(self) -> str:
        names = [str(name) for name in self.group]
        width = max(5, *map(len, names))
        tested = self.p_holm is not None
        level = f"{100 * self.confidence:g} % each"
        head = f"{'group':{width}s}{'n':>9s}{'coverage':>10s}{level:>18s}{'all at once':>18s}"
        lines = [head + f"{'size':>11s}" + ("  p (Holm)" if tested else "")]
        for i, name in enumerate(names):
            each = f"[{self.low[i]:.4f}, {self.high[i]:.4f}]"
            together = f"[{self.low_all[i]:.4f}, {self.high_all[i]:.4f}]"
            line = (
                f"{name:{width}s}{self.n[i]:9d}{self.coverage[i]:10.4f}{each:>18s}{together:>18s}"
            )
            p = f"{self.p_holm[i]:10.2g}" if self.p_holm is not None else ""
            lines.append(f"{line}{self.size[i]:11.4g}{p}")
        return "\n".join(lines)


def coverage_by_group(
    covered: ArrayLike,
    size: ArrayLike,
    groups: Any,
    *,
    alpha: float | None = None,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> GroupCoverage:
    """Coverage and mean size in each group, with exact bounds and, given alpha, exact tests.

    Bounds and tests are exact for independent rows that the sets were not made from, and for
    groups fixed before the labels of these rows were seen. They may overlap.

    Parameters
    ----------
    covered : array of bool, shape (n,)
        Whether each set holds its label: ``sets.contains(y)``.
    size : array of shape (n,)
        Size of each set: ``sets.size``.
    groups : labels, masks, mapping or Grouping
        Labels of shape (n,), such as a column, or a learned partition's ``rule.groups(X)``; a
        boolean matrix or frame of shape (n, k), one column a group; a mapping of names to masks of
        shape (n,); or what `column_groups`, `quantile_bins` and `cut_bins` give.
    alpha : float, optional
        Miscoverage rate to test against: who falls short of 1 - alpha?
    confidence : float, default=0.95
        Probability with which the bounds hold, at least.
    sample_weight : array of shape (n,), optional
        How many rows each row stands for.

    References
    ----------
    Clopper, Pearson (1934). The use of confidence or fiducial limits illustrated in the case of the
    binomial. Biometrika.
    Holm (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of
    Statistics.

    Examples
    --------
    >>> covered = [True] * 95 + [False] * 5 + [True] * 80 + [False] * 20
    >>> table = coverage_by_group(covered, [2.0] * 200, ["a"] * 100 + ["b"] * 100, alpha=0.1)
    >>> print(table)
    group        n  coverage         95 % each       all at once       size  p (Holm)
    a          100    0.9500  [0.8872, 0.9836]  [0.8772, 0.9863]          2      0.98
    b          100    0.8000  [0.7082, 0.8733]  [0.6948, 0.8819]          2     0.004
    >>> table.failing.tolist()
    ['b']
    """
    confidence = check_share("confidence", confidence)
    counted = count_groups(covered, groups, sample_weight)
    sizes = check_size(size, counted.groups.n_rows)
    tests = {} if alpha is None else _tests(counted, check_alpha(alpha))
    return GroupCoverage(
        **coverage_columns(counted, confidence),
        **_sizes(counted, sizes),
        **tests,
        confidence=confidence,
        alpha=alpha,
    )


def _sizes(counted: GroupCounts, size: FloatArray) -> Table:
    """Mean size of each group and its standard error."""
    groups, weights = counted.groups, counted.weights
    if weights is not None:
        size = np.where(weights > 0, size, 0)  # 0 · inf is not 0
    with np.errstate(invalid="ignore", divide="ignore"):  # empty groups, and inf - inf
        mean = groups.sums(size, weights) / counted.n
        variance = groups.square_sums(size, mean, weights) / (counted.n - 1)
        error = np.sqrt(variance / counted.n)
    return {"size": mean, "size_error": error}


def _tests(counted: GroupCounts, alpha: float) -> Table:
    """Exact p-value of each group; one without rows is no hypothesis, and costs others nothing."""
    p_value = shortfall_p_values(counted.hits, counted.n, 1 - alpha)
    p_holm = np.ones(len(p_value))
    p_holm[counted.present] = holm(p_value[counted.present])
    return {"p_value": p_value, "p_holm": p_holm}

"""Coverage by group: groups in every form, exact bounds and tests, gaps and worst strata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from plcp._formatting import text_table
from plcp._options import (
    check_alpha,
    check_count,
    check_same_rows,
    check_share,
    is_whole,
    shortened,
)
from plcp._rows import frame_package, is_frame, is_missing, to_plain_array
from plcp._verdict import verdict_of
from plcp.groups.groups import MAX_LABELS, Groups, check_indicators, check_sortable
from plcp.metrics.binomial import (
    clopper_pearson,
    holm,
    mean_deviation,
    mean_gap_bounds,
    shortfall_p_values,
)
from plcp.metrics.measure import (
    Measure,
    Table,
    check_counts,
    check_covered,
    check_numbers,
    check_size,
)
from plcp.quantiles import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas


BLOCK = 32_768
MISSING = "missing"  # name of the group of rows without a label


@dataclass(frozen=True, eq=False, repr=False)
class Grouping:
    """Groups of rows, as a list of memberships.

    Made by `column_groups`, `quantile_bins` and `cut_bins`, and from labels or masks by every
    metric that takes ``groups``.

    Parameters
    ----------
    names : array of shape (k,)
        Name of each group.
    codes : array of shape (memberships,)
        Position in ``names`` of the group of each membership.
    rows : array of shape (memberships,) or None
        Row of each membership, rising. None: every row is in one group, in the order of the rows.
    n_rows : int
        Number of rows, those in no group too.

    Examples
    --------
    >>> from plcp.metrics import column_groups
    >>> groups = column_groups([[0], [1], [0]], 0)
    >>> groups.names, groups.codes, groups.is_disjoint
    (array(['x0=0', 'x0=1'], dtype='<U4'), array([0, 1, 0]), True)
    """

    names: NDArray[Any]
    codes: IntArray
    rows: IntArray | None
    n_rows: int

    @property
    def is_disjoint(self) -> bool:
        """Whether no row is in two groups."""
        return self.rows is None or bool((np.diff(self.rows) > 0).all())

    def tally(
        self, covered: NDArray[np.bool_], weights: FloatArray | None
    ) -> tuple[IntArray, IntArray]:
        """Count the rows of each group, and those of them that are covered."""
        counts = np.zeros(2 * len(self))
        for codes, rows in self._blocks():
            halves = 2 * codes + covered[rows]
            own = None if weights is None else weights[rows]
            counts += np.bincount(halves, own, minlength=len(counts))
        misses, hits = counts.astype(np.intp).reshape(-1, 2).T
        return misses + hits, hits

    def sums(self, values: FloatArray, weights: FloatArray | None) -> FloatArray:
        """Sum of the values over each group."""
        total = np.zeros(len(self))
        for codes, rows in self._blocks():
            terms = values[rows] if weights is None else values[rows] * weights[rows]
            total += np.bincount(codes, terms, minlength=len(self))
        return total

    def square_sums(
        self, values: FloatArray, centres: FloatArray, weights: FloatArray | None
    ) -> FloatArray:
        """Sum over each group of the squared distance of the values from the group's centre."""
        total = np.zeros(len(self))
        for codes, rows in self._blocks():
            terms = centres[codes]
            terms -= values[rows]
            terms *= terms
            if weights is not None:
                terms *= weights[rows]
            total += np.bincount(codes, terms, minlength=len(self))
        return total

    def _blocks(self) -> Iterator[tuple[IntArray, slice | IntArray]]:
        """Memberships some thousand at a time: what is computed of them stays in the cache."""
        for start in range(0, len(self.codes), BLOCK):
            block = slice(start, start + BLOCK)
            yield self.codes[block], block if self.rows is None else self.rows[block]

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"Grouping({shortened(self.names.tolist())} of {self.n_rows} rows)"


def as_grouping(groups: Any, n: int) -> Grouping:
    """Groups of ``n`` rows from whatever form they are given in.

    Labels of shape (n,), of which missing ones are the last group; a boolean matrix or frame of
    shape (n, k), one column per group, which may overlap and leave rows out; a mapping of names to
    masks of shape (n,); or a `Grouping`.
    """
    if isinstance(groups, Grouping):
        if groups.n_rows != n:
            raise ValueError(
                f"groups are of {groups.n_rows} rows, but covered has {n}: group the same rows"
            )
        return groups
    if isinstance(groups, Mapping):
        if not groups:
            raise ValueError(
                "groups names no group, got {}: give a mask of shape (n,) for each name"
            )
        for name, mask in groups.items():
            if np.shape(mask) != (n,):
                raise ValueError(
                    f"the mask of group {name!r} must have shape ({n},), got {np.shape(mask)}: "
                    "give one boolean per row"
                )
        names = np.array([str(name) for name in groups])
        return _from_masks(names, np.column_stack([*groups.values()]), n)
    if is_frame(groups):
        return _from_masks(np.array([str(name) for name in groups.columns]), groups, n)
    if issparse(groups) or np.ndim(groups) == 2:
        return _from_masks(np.arange(np.shape(groups)[1]), groups, n)
    return _from_labels(np.asarray(to_plain_array(groups)), n)


def column_groups(X: Any, by: Any) -> Grouping:
    """Groups by columns of X: each value of each named column is one, so groups may overlap.

    Parameters
    ----------
    X : array or DataFrame of shape (n, d)
    by : column name or position, callable, list or dict of them
        As in `plcp.groups.Groups`.

    Examples
    --------
    >>> import pandas as pd
    >>> from plcp.metrics import column_groups
    >>> people = pd.DataFrame({"sex": ["f", "m", "f"], "age": [30, 70, 80]})
    >>> column_groups(people, {"sex": "sex", "old": lambda X: X["age"] > 65})
    Grouping(['sex=f', 'sex=m', 'old'] of 3 rows)
    """
    groups = Groups(by)
    matrix = groups.fit_transform(X)
    return _from_masks(np.array(groups.names_), matrix, len(matrix))


def _from_labels(labels: NDArray[Any], n: int) -> Grouping:
    if labels.shape != (n,):
        raise ValueError(
            f"groups must have shape ({n},) or ({n}, k), got {labels.shape}: give one label "
            "per row, or one boolean per row and group"
        )
    if labels.dtype.kind in "biu" and np.can_cast(labels.dtype, np.intp):
        least, most = int(labels.min()), int(labels.max())
        if most - least < n:  # counting is faster than sorting, and takes no more memory
            return _from_small_numbers(labels, least, most)
    missing = is_missing(labels)
    if missing.any():
        return _with_missing(labels, missing)
    check_sortable(labels)
    names, codes = np.unique(labels, return_inverse=True)
    if labels.dtype.kind == "f" and len(names) > MAX_LABELS:
        raise ValueError(
            f"groups holds {len(names)} different numbers, more than {MAX_LABELS} groups: cut them "
            "into bins by quantile_bins or cut_bins"
        )
    return Grouping(names, codes, None, n)


def _with_missing(labels: NDArray[Any], missing: NDArray[np.bool_]) -> Grouping:
    """Groups by label, the last of them of the rows without one."""
    codes = np.zeros(len(labels), dtype=np.intp)
    names: list[Any] = []
    if not missing.all():
        known = _from_labels(labels[~missing], int((~missing).sum()))
        names, codes[~missing] = known.names.tolist(), known.codes
    if MISSING not in names:
        names.append(MISSING)
    codes[missing] = names.index(MISSING)
    return Grouping(np.array(names, dtype=object), codes, None, len(labels))


def _from_small_numbers(labels: IntArray, least: int, most: int) -> Grouping:
    codes = labels.astype(np.intp, copy=False)
    codes = codes - least if least else codes
    names = np.arange(least, most + 1).astype(labels.dtype)
    there = np.zeros(len(names), dtype=bool)
    for start in range(0, len(codes), BLOCK):
        there[codes[start : start + BLOCK]] = True
        if there.all():  # the first rows often settle it
            break
    if not there.all():
        names, codes = names[there], (np.cumsum(there) - 1)[codes]
    return Grouping(names, codes, None, len(labels))


def _from_masks(names: NDArray[Any], masks: Any, n: int) -> Grouping:
    different, times = np.unique(names, return_counts=True)
    if (times > 1).any():
        raise ValueError(f"several groups are named {different[times > 1][0]}: rename them")
    rows, codes = np.nonzero(check_indicators(masks, n, "groups"))
    return Grouping(names, codes, rows, n)


def quantile_bins(
    values: ArrayLike, n_bins: int = 10, *, sample_weight: ArrayLike | None = None
) -> Grouping:
    """Bins of a number that hold about as many rows each.

    Equal values stay in one bin, so ties make bins uneven or fewer. Infinite values are allowed.
    Bins of a frame's column carry its name.

    Examples
    --------
    >>> from plcp.metrics import quantile_bins
    >>> quantile_bins([1, 2, 3, 4, 5, 6], 3).names.tolist()
    ['[1, 2]', '(2, 4]', '(4, 6]']
    >>> quantile_bins([0, 0, 0, 0, 5, 6], 3).names.tolist()
    ['[0, 0]', '(0, 6]']
    """
    n_bins = check_count("n_bins", n_bins, least=1)
    numbers = check_numbers("values", values, finite=False)
    counts = check_counts(sample_weight, len(numbers))
    least, *rest = count_quantiles(numbers, np.arange(n_bins + 1), n_bins, counts)
    edges = np.unique(rest)
    first, *others = _texts(np.array([least, *edges]))
    return _binned(values, numbers, edges[:-1], [f"[{first}, {others[0]}]"], others)


def cut_bins(values: ArrayLike, edges: ArrayLike) -> Grouping:
    """Bins of a number between given edges, each with its right edge; some may hold no row.

    Examples
    --------
    >>> from plcp.metrics import cut_bins
    >>> cut_bins([1, 1, 2, 7], [1, 3]).names.tolist()
    ['<= 1', '(1, 3]', '> 3']
    """
    cuts = np.asarray(edges, dtype=float)
    finite = cuts.ndim == 1 and len(cuts) > 0 and np.isfinite(cuts).all()
    if not finite or (np.diff(cuts) <= 0).any():
        raise ValueError(
            f"edges must be finite and rising, got {edges!r}: leave out the open ends, as in "
            "[1, 3, 10]"
        )
    texts = _texts(cuts)
    numbers = check_numbers("values", values, finite=False)
    return _binned(values, numbers, cuts, [f"<= {texts[0]}"], texts, [f"> {texts[-1]}"])


def count_quantiles(
    values: FloatArray, parts: IntArray, whole: int, counts: FloatArray | None
) -> FloatArray:
    """Smallest value that parts / whole of the rows do not exceed; the smallest of all for 0.

    Examples
    --------
    >>> count_quantiles(np.array([3.0, 1.0, 2.0, 4.0]), np.array([0, 1, 2]), 2, None)
    array([1., 2., 4.])
    """
    if counts is None:
        ordered, total = np.sort(values), len(values)
        ranks = -(-parts * total // whole)  # in whole numbers: 0.7 · 10 is above 7 in floats
        return ordered[np.maximum(ranks, 1) - 1]
    order = np.argsort(values)
    reached = np.cumsum(counts[order]).astype(np.int64)
    ranks = -(-parts * reached[-1] // whole)
    return values[order[np.searchsorted(reached, np.maximum(ranks, 1))]]


def _binned(
    values: ArrayLike,
    numbers: FloatArray,
    cuts: FloatArray,
    first: list[str],
    edges: list[str],
    last: Sequence[str] = (),
) -> Grouping:
    """Bins of numbers, named after their edges and after the column that the values are."""
    names = [*first, *(f"({low}, {high}]" for low, high in pairwise(edges)), *last]
    title = getattr(values, "name", None)
    if title:
        names = [f"{title} {name}" for name in names]
    codes = np.searchsorted(cuts, numbers, side="left")
    return Grouping(np.array(names), codes, None, len(numbers))


def _texts(edges: FloatArray) -> list[str]:
    """Edges with as few digits as distinguish them, from four on."""
    for digits in range(4, 18):
        texts = [f"{edge:.{digits}g}" for edge in edges]
        if len({*texts}) == len({*edges.tolist()}):
            break
    return texts


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """Rows and covered rows of each group, and how many rows each row stands for."""

    groups: Grouping
    n: IntArray
    hits: IntArray
    weights: FloatArray | None

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which groups hold a row."""
        return self.n > 0


def count_groups(covered: ArrayLike, groups: Any, sample_weight: ArrayLike | None) -> GroupCounts:
    """Check and count; at least one group must hold a row."""
    check_same_rows(covered, groups=groups, sample_weight=sample_weight)
    indicator = check_covered(covered)
    weights = check_counts(sample_weight, len(indicator))
    grouping = as_grouping(groups, len(indicator))
    n, hits = grouping.tally(indicator, weights)
    if not n.any():
        raise ValueError(
            f"no row is in any of the groups {grouping.names.tolist()}: "
            "give groups of the rows that covered is about"
        )
    return GroupCounts(grouping, n, hits, weights)


def coverage_columns(counted: GroupCounts, confidence: float) -> Table:
    """Coverage of each group with bounds for each, and for all at once by Bonferroni.

    Groups without rows have the bounds 0 and 1, which never err, so they are not counted.
    """
    n, hits = counted.n, counted.hits
    low, high = clopper_pearson(hits, n, confidence)
    together = 1 - (1 - confidence) / counted.present.sum()
    low_all, high_all = clopper_pearson(hits, n, together)
    share = np.full(len(n), np.nan)
    np.divide(hits, n, out=share, where=counted.present)
    return {
        "group": counted.groups.names,
        "n": n,
        "hits": hits,
        "coverage": share,
        "low": low,
        "high": high,
        "low_all": low_all,
        "high_all": high_all,
    }


@dataclass(frozen=True, eq=False)
class GroupCoverage:
    """Coverage and size of the sets in each group, one entry per group in every array.

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
        Mean size, infinite where a set is, and its standard error, NaN where there is none or no
        size was given.
    p_value, p_holm : array of shape (k,)
        Probability of so few covered rows or fewer if coverage were 1 - alpha; and corrected by
        Holm for the number of groups.
    confidence, alpha : float
        As they were given.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.metrics import coverage_by_group
    >>> covered = np.arange(400) % 10 > 0
    >>> covered[::4] = False  # misses more in the first of four groups
    >>> table = coverage_by_group(covered, np.arange(400) % 4)
    >>> table.group, table.hits
    (array([0, 1, 2, 3]), array([  0, 100,  80, 100]))
    >>> table.failing, table.verdict[0]
    (array([0, 2]), np.str_('below'))
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
    p_value: FloatArray
    p_holm: FloatArray
    confidence: float = 0.95
    alpha: float = 0.1

    @property
    def failing(self) -> NDArray[Any]:
        """Names of the groups whose coverage is below 1 - alpha, beyond what chance explains.

        The chance to name any group wrongly is at most 1 - confidence.
        """
        return self.group[self.p_holm <= 1 - self.confidence]

    @property
    def verdict(self) -> NDArray[Any]:
        """What the bounds of all at once say of 1 - alpha: the words of `plcp.metrics.Verdict`."""
        target = round(1 - self.alpha, 12)
        pairs = zip(self.low_all.tolist(), self.high_all.tolist(), strict=True)
        return np.array([str(verdict_of(low, high, target)) for low, high in pairs])

    def to_pandas(self) -> pandas.DataFrame:
        """Return the columns as a pandas frame, one row per group."""
        pandas = frame_package("pandas")

        return pandas.DataFrame(self._columns())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python values."""
        columns = {name: column.tolist() for name, column in self._columns().items()}
        return {**columns, "confidence": self.confidence, "alpha": self.alpha}

    def _columns(self) -> Table:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
        return {**arrays, "verdict": self.verdict}

    def __str__(self) -> str:
        bounds = "[{:.4f}, {:.4f}]".format
        columns = {
            "group": map(str, self.group),
            "n": map(str, self.n),
            "coverage": map("{:.4f}".format, self.coverage),
            f"{100 * self.confidence:g} % each": map(
                "[{:.4f}, {:.4f}]".format, self.low, self.high
            ),
            "all at once": map(bounds, self.low_all, self.high_all),
            "size": map("{:.4g}".format, self.size),
            "p (Holm)": map("{:.2g}".format, self.p_holm),
            "verdict": self.verdict,
        }
        if np.isnan(self.size).all():
            del columns["size"]
        return "\n".join(text_table([*columns], [*zip(*columns.values(), strict=True)]))


def coverage_by_group(
    covered: ArrayLike,
    groups: Any,
    size: ArrayLike | None = None,
    *,
    alpha: float = 0.1,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> GroupCoverage:
    """Coverage and mean size in each group, with exact bounds and exact tests.

    Bounds and tests are exact for independent rows that the sets were not made from, and for
    groups fixed before the labels of these rows were seen. They may overlap.

    Parameters
    ----------
    covered : array of bool, shape (n,)
        Whether each set holds its label: ``sets.contains(y)``.
    groups : labels, masks, mapping or Grouping
        Labels of shape (n,), such as a column, or a learned partition's ``rule.groups(X)``; a
        boolean matrix or frame of shape (n, k), one column per group; a mapping of names to masks
        of shape (n,); or what `column_groups`, `quantile_bins` and `cut_bins` give. Rows without a
        label (None, NaN) are the group "missing", the last.
    size : array of shape (n,), optional
        Size of each set: ``sets.size``. None: the table has no sizes, NaN in their place.
    alpha : float, default=0.1
        Miscoverage rate the sets were made for: tests find what is below 1 - alpha.
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
    >>> from plcp.metrics import coverage_by_group
    >>> covered = [True] * 95 + [False] * 5 + [True] * 80 + [False] * 20
    >>> table = coverage_by_group(covered, ["a"] * 100 + ["b"] * 100, [2.0] * 200, alpha=0.1)
    >>> print(table)
    group    n  coverage         95 % each       all at once  size  p (Holm)  verdict
    a      100    0.9500  [0.8872, 0.9836]  [0.8772, 0.9863]     2      0.98  on target
    b      100    0.8000  [0.7082, 0.8733]  [0.6948, 0.8819]     2     0.004  below
    >>> table.failing.tolist()
    ['b']
    """
    confidence = check_share("confidence", confidence)
    check_same_rows(covered, size=size)
    counted = count_groups(covered, groups, sample_weight)
    alpha = check_alpha(alpha)
    p_value = shortfall_p_values(counted.hits, counted.n, 1 - alpha)
    p_holm = np.ones(len(p_value))  # one without rows is no hypothesis: it costs others nothing
    p_holm[counted.present] = holm(p_value[counted.present])
    return GroupCoverage(
        **coverage_columns(counted, confidence),
        **_sizes(counted, size),
        p_value=p_value,
        p_holm=p_holm,
        confidence=confidence,
        alpha=alpha,
    )


def _sizes(counted: GroupCounts, given: ArrayLike | None) -> Table:
    """Mean size of each group and its standard error; NaN where sizes are not known."""
    groups, weights = counted.groups, counted.weights
    if given is None:
        return dict.fromkeys(("size", "size_error"), np.full(len(groups), np.nan))
    size = check_size(given, groups.n_rows)
    if weights is not None:
        size = np.where(weights > 0, size, 0)  # 0 · inf is not 0
    with np.errstate(invalid="ignore", divide="ignore"):  # empty groups, and inf - inf
        mean = groups.sums(size, weights) / counted.n
        variance = groups.square_sums(size, mean, weights) / (counted.n - 1)
        error = np.sqrt(variance / counted.n)
    return {"size": mean, "size_error": error}


def coverage_gap(
    covered: ArrayLike,
    groups: Any,
    alpha: float = 0.1,
    *,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> Measure:
    """Mean over groups of ``|coverage - (1 - alpha)|``, known as CovGap; each group counts alike.

    Noise only adds to a distance, so the estimate is too high on average; ``meaning`` states what
    coverage of exactly 1 - alpha in every group would show. The interval is exact: for disjoint
    groups by Fisher's combination (``plcp.metrics.binomial``), for overlapping ones, whose counts
    depend on each other, from bounds that hold for all at once, which are wider.

    Parameters
    ----------
    covered : array of bool, shape (n,)
        Whether each set holds its label: ``sets.contains(y)``.
    groups : labels, masks, mapping or Grouping
        As in `coverage_by_group`; the labels y themselves give the gap among classes. Groups
        without rows are left out.
    alpha : float, default=0.1
        Miscoverage rate the sets were made for.
    confidence : float, default=0.95
        Probability with which the interval holds the mean gap, at least.
    sample_weight : array of shape (n,), optional
        How many rows each row stands for.

    References
    ----------
    Ding, Angelopoulos, Bates, Jordan, Tibshirani (2023). Class-conditional conformal prediction
    with many classes. NeurIPS.

    Examples
    --------
    >>> from plcp.metrics import coverage_gap
    >>> covered = [True] * 95 + [False] * 5 + [True] * 80 + [False] * 20
    >>> measure = coverage_gap(covered, ["a"] * 100 + ["b"] * 100, alpha=0.1)
    >>> print(measure)
    coverage gap: 0.075, 95 % interval [0.01484, 0.1409]
    >>> print(measure.meaning.split(": ")[-1])
    coverage of 0.9 in every group would show 0.0237.
    """
    target, confidence = 1 - check_alpha(alpha), check_share("confidence", confidence)
    counted = count_groups(covered, groups, sample_weight)
    table = coverage_columns(counted, confidence)
    n, hits = counted.n[counted.present], counted.hits[counted.present]
    if counted.groups.is_disjoint:
        low, high = mean_gap_bounds(hits, n, target, confidence)
    else:
        lows, highs = (table[end][counted.present] for end in ("low_all", "high_all"))
        low = float(np.maximum(0.0, np.maximum(lows - target, target - highs)).mean())
        high = float(np.maximum(target - lows, highs - target).mean())
    chance = mean_deviation(n, target).mean()
    return Measure(
        "coverage gap",
        float(np.abs(hits / n - target).mean()),
        low,
        high,
        confidence,
        np.nan,
        exact=True,
        meaning="The interval holds the mean over groups of |P(covered | group) - "
        f"{target:g}|; the estimate is too high on average: coverage of {target:g} in every group "
        f"would show {chance:.3g}.",
        table=table,
    )


def feature_stratified_coverage(
    covered: ArrayLike,
    groups: Any,
    *,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> Measure:
    """Smallest coverage among the values of a feature: how the worst stratum fares.

    The smallest of noisy shares is too low on average, the more so the more strata there are and
    the fewer rows they hold; the interval is not misled by that, since its ends are the smallest
    of bounds that hold for all strata at once. A stratum of few rows may be as bad as it likes, and
    pulls the lower end down: join small ones. The interval is exact for strata fixed beforehand.
    Bins whose edges come from the same rows have no coverage of their own to speak of: read it as
    one for the smallest mean of P(covered | x) over the rows of a bin.

    Parameters
    ----------
    covered : array of bool, shape (n,)
        Whether each set holds its label: ``sets.contains(y)``.
    groups : labels, masks, mapping or Grouping
        As in `coverage_by_group`: of a column of labels each value is a stratum, and a column of
        numbers goes through `quantile_bins` or `cut_bins` first. Groups without rows are left out.
    confidence, sample_weight
        As in `coverage_by_group`.

    References
    ----------
    Angelopoulos, Bates (2023). Conformal prediction: a gentle introduction. Foundations and Trends
    in Machine Learning.

    Examples
    --------
    >>> from plcp.metrics import feature_stratified_coverage
    >>> covered = [True] * 95 + [False] * 5 + [True] * 80 + [False] * 20
    >>> print(feature_stratified_coverage(covered, ["a"] * 100 + ["b"] * 100))
    feature-stratified coverage: 0.8, 95 % interval [0.6948, 0.8819]
    """
    return _smallest("feature-stratified coverage", covered, groups, confidence, sample_weight)


def size_stratified_coverage(
    covered: ArrayLike,
    size: ArrayLike,
    *,
    bins: int | ArrayLike = 5,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> Measure:
    """Smallest coverage among bins of set size: sets of some size may cover too little.

    Bias and interval are those of `feature_stratified_coverage`. Infinite sizes are allowed.

    Parameters
    ----------
    covered : array of bool, shape (n,)
        Whether each set holds its label: ``sets.contains(y)``.
    size : array of shape (n,)
        Size of each set: ``sets.size``.
    bins : int or array of edges, default=5
        Number of bins of about as many rows each, or the inner edges, [1, 3, 10, 100] for
        example. To compare methods give edges, since their quantiles differ.
    confidence, sample_weight
        As in `coverage_by_group`.

    References
    ----------
    Angelopoulos, Bates, Malik, Jordan (2021). Uncertainty sets for image classifiers using
    conformal prediction. ICLR.

    Examples
    --------
    >>> from plcp.metrics import size_stratified_coverage
    >>> covered = [True] * 95 + [False] * 5 + [True] * 80 + [False] * 20
    >>> measure = size_stratified_coverage(covered, [1] * 100 + [2] * 100, bins=[1])
    >>> print(measure)
    size-stratified coverage: 0.8, 95 % interval [0.6948, 0.8819]
    >>> measure.table["group"].tolist()
    ['<= 1', '> 1']
    """
    sizes = check_size(size, len(check_covered(covered)))
    strata = (
        quantile_bins(sizes, bins, sample_weight=sample_weight)
        if isinstance(bins, int) or is_whole(bins)
        else cut_bins(sizes, bins)
    )
    return _smallest("size-stratified coverage", covered, strata, confidence, sample_weight)


def _smallest(
    name: str, covered: ArrayLike, groups: Any, confidence: float, sample_weight: ArrayLike | None
) -> Measure:
    """Smallest coverage among groups, between the smallest of the bounds for all at once."""
    confidence = check_share("confidence", confidence)
    counted = count_groups(covered, groups, sample_weight)
    table = coverage_columns(counted, confidence)
    estimate, low, high = (
        float(table[column][counted.present].min())
        for column in ("coverage", "low_all", "high_all")
    )
    return Measure(
        name,
        estimate,
        low,
        high,
        confidence,
        np.nan,
        exact=True,
        meaning="The interval holds the smallest P(covered | stratum); the estimate is too low on "
        "average, as the smallest of noisy shares.",
        table=table,
    )

"""Batch multivalid conformal prediction: patches until groups cover alike at every threshold."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plcp._options import check_count, check_rate, check_share, warn_if_small
from plcp._validation import effective_columns
from plcp.exceptions import ProgramError
from plcp.groups.groups import Source, fit_groups
from plcp.quantiles import FloatArray, IntArray
from plcp.thresholds.base import Alpha, GivenGroupsRule, Members, members_of_matrix
from plcp.thresholds.batch_gcp import with_all_rows
from plcp.thresholds.guarantees import ONE_LAW, Guarantee


class BatchMVP(GivenGroupsRule):
    r"""Thresholds that cover alike in every group and, within it, at every value they take.

    q starts as one quantile of all scores, rounded to a grid of levels. While for some group g

    .. math:: \sum_v P(g, q = v)\,\bigl(P(s \le v \mid g, q = v) - (1 - \alpha)\bigr)^2 > \text{tol}

    on the calibration points, the cell (g, v) of the largest term is patched: its points move to
    the level whose coverage among them is nearest 1 - alpha. New points go through the same
    patches. All rows together are a group, too.

    Parameters
    ----------
    groups : column name or position, callable, list or dict of them, or None
        The groups, as in ``Groups``: each value of each column named, or functions of X that give
        booleans. None: a boolean matrix is handed to ``fit`` and ``predict`` as ``groups``.
    alpha : float or list of float, default=0.1
        Miscoverage rate, or several: one column of thresholds each, and ``rules_``.
    n_levels : int, default=100
        Number of levels: quantiles of the calibration scores, evenly many scores apart. More of
        them come nearer 1 - alpha in the sample, with fewer points at each.
    tol : float, default=None
        Largest sum above at which patches end. None patches every cell whose coverage is more than
        two standard deviations from 1 - alpha and can come nearer.
    max_patches : int, default=1000
        Patches after which fitting fails.

    Attributes
    ----------
    levels_ : ndarray of shape (m,)
        The grid, rising.
    start_ : int
        Value of the grid that all rows start from.
    patches_ : ndarray of int, shape (number of patches, 3)
        Group (0 is all rows), old and new place in the grid.
    error_ : float
        Largest sum above that is left, over all groups.
    groups_ : list of str
        Names of the k groups.
    group_sizes_, group_coverage_ : ndarray of shape (k,)
        Number of calibration points of each group (or what they weigh), and the share of their
        scores at or below the threshold.
    guarantee_ : Guarantee
        What holds, and when.

    References
    ----------
    Jung, Noarov, Ramalingam, Roth (2023). Batch multivalid conformal prediction. ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp import BatchMVP
    >>> X = np.repeat([[0.0], [1.0]], 10, axis=0)
    >>> scores = np.r_[1:11, 21:31]
    >>> rule = BatchMVP(groups=0, tol=1e-6).fit(X, scores)
    >>> rule.predict([[0.0], [1.0]])
    array([ 9., 29.])
    """

    def __init__(
        self,
        groups: Source | list[Source] | dict[str, Source] | None = None,
        alpha: Alpha = 0.1,
        n_levels: int = 100,
        tol: float | None = None,
        max_patches: int = 1000,
    ) -> None:
        self.groups = groups
        self.alpha = alpha
        self.n_levels = n_levels
        self.tol = tol
        self.max_patches = max_patches

    def _check_options(self) -> None:
        check_count("n_levels", self.n_levels, 1)
        check_count("max_patches", self.max_patches, 0)
        if self.tol is not None:
            check_share("tol", self.tol)

    def _fit(
        self, X: Any, scores: FloatArray, weights: FloatArray | None, groups: Any = None
    ) -> None:
        alpha = check_rate(self.alpha)
        fitted = fit_groups(self.groups, X, scores, weights, groups)
        self._groups, members, scores, weights = fitted
        counts = np.ones(len(scores)) if weights is None else weights
        self.levels_ = grid(scores, counts, int(self.n_levels))
        ranks = np.searchsorted(self.levels_, scores)
        cells = Cells(with_all_rows(members), ranks, counts, len(self.levels_), 1 - alpha)
        self.start_ = cells.nearest(np.ones(len(scores), dtype=bool), 0)
        levels, self.patches_, errors = patched(cells, self.start_, self.tol, self.max_patches)
        self.error_ = float(errors.sum(axis=1).max())
        self.groups_ = self._groups.names_
        self.group_sizes_ = counts @ members
        self._group_rows = effective_columns(members, weights)
        self.group_coverage_ = (counts * (ranks <= levels)) @ members / self.group_sizes_
        rows = self.group_sizes_ if self._group_rows is None else self._group_rows
        warn_if_small(self.groups_, rows, alpha)
        self.guarantee_ = Guarantee(
            "approximate",
            "given groups",
            alpha,
            len(scores),
            (ONE_LAW,),
            n_groups=len(self.groups_),
            note="Groups may overlap; the same for all rows together, and at every value of the "
            "threshold. In the sample, the mean squared gap over thresholds, times the group's "
            f"share of all points, is at most {self.error_:.2g}; for new points it is larger by a "
            "term that falls with the number of calibration points, with high probability.",
        )

    def _predict(self, X: Any, groups: Any = None) -> FloatArray:
        members = with_all_rows(self._groups.transform(X, given=groups)) > 0
        levels = np.full(len(members), self.start_)
        for group, old, new in self.patches_:
            levels[members[:, group] & (levels == old)] = new
        return np.asarray(self.levels_[levels])

    def _members(self, X: Any, groups: Any = None) -> Members:
        return members_of_matrix(self.groups_, self._groups.transform(X, given=groups))


@dataclass(frozen=True)
class Cells:
    """Calibration points by group and level; ``ranks`` are the lowest levels that cover them."""

    members: FloatArray
    ranks: IntArray
    counts: FloatArray
    n_levels: int
    target: float

    def errors(self, inside: NDArray[np.bool_], level: int) -> FloatArray:
        """P(g, v)(coverage - target)² of each group among the points inside, all at one level."""
        counts = self.members[inside] * self.counts[inside, None]
        masses = counts.sum(axis=0)
        gaps = (self.ranks[inside] <= level) @ counts - self.target * masses
        return np.asarray(gaps**2 / np.where(masses > 0, masses, 1.0) / self.counts.sum())

    def nearest(self, inside: NDArray[np.bool_], level: int) -> int:
        """Level of the coverage nearest the target among points inside; the old one if as near."""
        masses = np.bincount(self.ranks[inside], self.counts[inside], minlength=self.n_levels)
        gaps = np.abs(np.cumsum(masses) - self.target * masses.sum())
        best = int(np.argmin(gaps))
        return best if gaps[best] < gaps[level] else level


def patched(
    cells: Cells, start: int, tol: float | None, max_patches: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Final levels of all points, the patches (group, old, new), and the errors of all cells."""
    levels = np.full(len(cells.ranks), start)
    errors = np.zeros((cells.members.shape[1], cells.n_levels))
    errors[:, start] = cells.errors(levels == start, start)
    patches: list[tuple[int, int, int]] = []
    while tol is None or errors.sum(axis=1).max() > tol:
        patch = _next_patch(cells, levels, errors, tol)
        if patch is None and tol is None:
            break
        reached = errors.sum(axis=1).max()
        if patch is None:
            raise ProgramError(
                f"no patch comes nearer after {len(patches)}: the multivalid error is "
                f"{reached:.3g}, above tol={tol:g}; raise tol or n_levels, or take tol=None"
            )
        if len(patches) == max_patches:
            raise ProgramError(
                f"max_patches={max_patches} patches were made, and the multivalid error is "
                f"{reached:.3g}: raise tol or max_patches, or take fewer levels"
            )
        group, old, new = patch
        levels[(levels == old) & (cells.members[:, group] > 0)] = new
        for level in (old, new):
            errors[:, level] = cells.errors(levels == level, level)
        patches.append(patch)
    return levels, np.array(patches, dtype=np.intp).reshape(-1, 3), errors


def _next_patch(
    cells: Cells, levels: IntArray, errors: FloatArray, tol: float | None
) -> tuple[int, int, int] | None:
    """Patch of the worst cell that can come nearer the target, if there is one."""
    noise = 4 * cells.target * (1 - cells.target) / cells.counts.sum()
    above = np.flatnonzero(errors.ravel() > (noise if tol is None else 0.0))
    for cell in above[np.argsort(-errors.ravel()[above], kind="stable")]:
        group, old = divmod(int(cell), cells.n_levels)
        new = cells.nearest((levels == old) & (cells.members[:, group] > 0), old)
        if new != old:
            return group, old, new
    return None


def grid(scores: FloatArray, counts: FloatArray, n_levels: int) -> FloatArray:
    """Quantiles of orders 1/m, 2/m, … 1, each once.

    Examples
    --------
    >>> grid(np.array([3.0, 1, 2, 8]), np.ones(4), n_levels=2)
    array([2., 8.])
    """
    order = np.argsort(scores)
    mass = np.cumsum(counts[order])
    orders = np.arange(1, n_levels + 1) / n_levels * mass[-1]
    # rounding must not push an order that is met exactly to the next score
    places = np.searchsorted(mass, orders * (1 - 4 * np.finfo(float).eps * len(mass)))
    return np.unique(scores[order[places]])

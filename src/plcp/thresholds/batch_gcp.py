"""Batch group-conditional conformal prediction: quantile regression on overlapping groups."""

from typing import Any

import numpy as np

from plcp._options import check_rate, warn_if_small, warn_infinite
from plcp._validation import effective_columns
from plcp.exceptions import ProgramError
from plcp.groups.groups import Source, fit_groups
from plcp.quantile_programs.vertex import fit_vertex, interpolated
from plcp.quantiles import FloatArray
from plcp.thresholds.base import Alpha, GivenGroupsRule, Members, members_of_matrix
from plcp.thresholds.guarantees import ONE_LAW, Guarantee

TIE = 1e-8  # below one row in a hundred million: decides between optima, and nothing else


class BatchGCP(GivenGroupsRule):
    r"""Thresholds that cover alike in each of several groups, which may overlap.

    .. math:: q(x) = b + \sum_g \lambda_g 1\{x \in g\}, \qquad
              (b, \lambda) \in \arg\min \sum_i \ell_\alpha(q(x_i), s_i)

    At the optimum, without ties, the share of calibration scores at or below q lies in
    [1 - alpha, 1 - alpha + d/n_g] in every group g, and overall, where n_g is its size and d the
    number of coefficients. Of several optima, the one of the smallest mean threshold is taken.

    Parameters
    ----------
    groups : column name or position, callable, list or dict of them, or None
        The groups, as in ``Groups``: each value of each column named, or functions of X that give
        booleans. None: a boolean matrix is handed to ``fit`` and ``predict`` as ``groups``.
    alpha : float or list of float, default=0.1
        Miscoverage rate, or several: one column of thresholds each, and ``rules_``.

    Attributes
    ----------
    groups_ : list of str
        Names of the k groups.
    intercept_, coef_ : float, ndarray of shape (k,)
        b and λ; zero for a group that follows from those before it.
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
    Equal coverage for both sexes and every race, though not for each combination:

    >>> import numpy as np
    >>> import pandas as pd
    >>> from plcp import BatchGCP
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"sex": rng.choice(["f", "m"], 1000),
    ...                        "race": rng.choice(["black", "other", "white"], 1000)})
    >>> scores = rng.exponential(1.0 + (people["sex"] == "f") + (people["race"] == "black"))
    >>> rule = BatchGCP(groups=["sex", "race"], alpha=0.1).fit(people, scores)
    >>> for name, covered in zip(rule.groups_, rule.group_coverage_):
    ...     print(f"{name:10}  {covered:.2f}")
    sex=f       0.90
    sex=m       0.90
    race=black  0.90
    race=other  0.90
    race=white  0.90
    """

    def __init__(
        self, groups: Source | list[Source] | dict[str, Source] | None = None, alpha: Alpha = 0.1
    ) -> None:
        self.groups = groups
        self.alpha = alpha

    def _fit(
        self, X: Any, scores: FloatArray, weights: FloatArray | None, groups: Any = None
    ) -> None:
        alpha = check_rate(self.alpha)
        fitted = fit_groups(self.groups, X, scores, weights, groups)
        self._groups, members, scores, weights = fitted
        features = with_all_rows(members)
        # in a unit that is a power of two scores are of size one
        centre = float(np.median(scores))
        unit = float(2.0 ** np.frexp(np.abs(scores - centre).max())[1])
        level = max(1 - alpha - TIE, (1 - alpha) / 2)
        vertex = fit_vertex(features, (scores - centre) / unit, level, weights)
        # the program itself holds every calibration row, of which the basis is all that is needed
        self._span, self._inverse = vertex.program.span, vertex.inverse
        self._basis_scores = scores[vertex.basis]
        self.groups_ = self._groups.names_
        self.intercept_, self.coef_ = float(centre + unit * vertex.coef[0]), unit * vertex.coef[1:]
        counts = features if weights is None else features * weights[:, None]
        thresholds = self._thresholds(features)
        check_law(scores, thresholds, counts, 1 - alpha)
        sizes = counts.sum(axis=0)
        self.group_sizes_ = sizes[1:]
        self._group_rows = effective_columns(members, weights)
        self.group_coverage_ = ((scores <= thresholds) @ counts / sizes)[1:]
        rows = self.group_sizes_ if self._group_rows is None else self._group_rows
        warn_if_small(self.groups_, rows, alpha)
        share, k = "share" if weights is None else "weighted share", len(self.groups_)
        self.guarantee_ = Guarantee(
            "approximate",
            "given groups",
            alpha,
            len(scores),
            (ONE_LAW,),
            n_groups=k,
            note=f"Groups may overlap. In the sample, without ties, the {share} covered exceeds "
            f"the target by at most the {len(vertex.basis)} points that thresholds meet exactly; "
            f"for a new point the gap is of order sqrt(log({k + 1}) / points of the group), with "
            "high probability. For exact coverage use ConditionalCalibration(groups=...).",
        )

    def _predict(self, X: Any, groups: Any = None) -> FloatArray:
        thresholds = self._thresholds(with_all_rows(self._groups.transform(X, given=groups)))
        unknown = np.flatnonzero(np.isinf(thresholds))
        if len(unknown):
            warn_infinite(
                f"{len(unknown)} rows, the first of them row {unknown[0]}, belong to a mix of "
                "groups about which calibration points say nothing"
            )
        return thresholds

    def _members(self, X: Any, groups: Any = None) -> Members:
        return members_of_matrix(self.groups_, self._groups.transform(X, given=groups))

    def _thresholds(self, features: FloatArray) -> FloatArray:
        weights = self._span.coordinates(features) @ self._inverse
        thresholds = interpolated(weights, self._basis_scores)
        return np.where(self._span.contains(features), thresholds, np.inf)


def check_law(scores: FloatArray, thresholds: FloatArray, counts: FloatArray, level: float) -> None:
    """Refuse thresholds whose last digits were lost: an optimum covers ``level`` in every group."""
    sizes = counts.sum(axis=0)
    typical = np.median(np.abs(scores[scores != 0])) if scores.any() else 0.0
    slack = 1e-9 * np.maximum(np.abs(thresholds), typical)  # scores that tie but for rounding
    below = (scores < thresholds - slack) @ counts
    covered = (scores <= thresholds + slack) @ counts
    if (below > (level + 1e-6) * sizes).any() or (covered < (level - 1e-6) * sizes).any():
        raise ProgramError(
            f"scores of size {np.abs(scores).max():.3g} and {typical:.3g} cannot "
            "be added up without losing digits: take logarithms of the scores, or use BatchMVP"
        )


def with_all_rows(members: FloatArray) -> FloatArray:
    """Indicators of the groups, those of a group of all rows before them."""
    return np.column_stack([np.ones(len(members)), members])

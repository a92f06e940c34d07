"""Certify a fitted rule on rows that it has not seen."""

from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from plcp.certificate.fingerprint import fingerprint
from plcp.certificate.members import groups_of, named_groups, with_everybody
from plcp.certificate.outcome import (
    Outcome,
    alpha_of,
    cautions_of,
    check_kind,
    check_rows,
    check_rule_groups,
    draws,
    outcome_of,
)
from plcp.certificate.record import Certificate, GroupBounds
from plcp.certificate.surroundings import parameters_of, versions_of
from plcp.certificate.verdicts import reaches, rows_to_decide, sentence
from plcp.conformal.base import Conformal
from plcp.metrics import coverage_by_group
from plcp.metrics.grouping import Grouping
from plcp.rows import is_frame
from plcp.validation import check_share

ASSUMPTIONS = (
    "The rows were drawn independently from the population that coverage is claimed of.",
    "None of them was used to train, tune or calibrate the rule: this cannot be seen from here.",
    "Groups and target were settled without a look at which of these rows are covered.",
)
DRAWN = "The rule draws at random: coverage is that of the sets as drawn, over rows and draws."


def certify(
    rule: Any,
    X: Any,
    y: ArrayLike,
    *,
    groups: Any = None,
    rule_groups: ArrayLike | None = None,
    target: float | None = None,
    confidence: float = 0.95,
    made_at: datetime | None = None,
) -> Certificate:
    """Bound the coverage of a fitted rule from below and above, in each group.

    Coverage counts of new rows follow the binomial law whatever the rule is and however it was
    fitted, so the bounds hold for every number of rows: they need no guarantee of the rule's own.

    Parameters
    ----------
    rule : threshold rule, ConformalRegressor or ConformalClassifier
        Fitted.
    X : array, frame or data set of n rows
        Rows that had no part in training or calibration. This cannot be checked in general; a
        rule whose threshold is the very score of a row given here is warned of.
    y : array-like of shape (n,)
        Labels, for a conformal estimator; scores, for a threshold rule.
    groups : labels, boolean matrix, dict of name to booleans, frame, columns of X, or None
        Groups to speak of, as in `plcp.metrics.coverage_by_group`, or columns and functions of X,
        as in `plcp.Groups`; they may overlap. None: those that the rule learned or was given. All
        rows together always come first.
    rule_groups : array-like or None
        What ``rule.predict`` takes as ``groups``, for a rule that was fitted with such.
    target : float or None
        Coverage that verdicts compare with; None: 1 - alpha. Coverage of a good rule is close to
        1 - alpha, which takes many rows to tell from it: a target somewhat below is soon settled.
    confidence : float, default=0.95
        Probability with which bounds hold: of each group, and of all groups together.
    made_at : datetime with a time zone, or None
        Time to state; None: now.

    Returns
    -------
    Certificate
        Prints as a page; ``to_dict``, ``to_json``, ``to_frame``.

    References
    ----------
    Clopper, Pearson (1934). The use of confidence or fiducial limits illustrated in the case of the
    binomial. Biometrika.

    Examples
    --------
    >>> from plcp import Mondrian, certify
    >>> from plcp.datasets import make_toy
    >>> seen, new = make_toy(1000, random_state=0), make_toy(5000, random_state=1)
    >>> rule = Mondrian(lambda X: X[:, 0] > 0).fit(seen.X, seen.scores)
    >>> certificate = certify(rule, new.X, new.scores, target=0.87)
    >>> for row in certificate.groups:
    ...     print(f"{row.group:5} {row.n:5} rows: {row.low:.2f} to {row.high:.2f}, {row.verdict}")
    all    5000 rows: 0.88 to 0.90, covers at least 0.87
    False  2485 rows: 0.88 to 0.91, covers at least 0.87
    True   2515 rows: 0.88 to 0.90, covers at least 0.87
    """
    check_kind(rule)
    check_is_fitted(rule, "guarantee_")
    confidence = check_share("confidence", confidence)
    alpha = alpha_of(rule)
    target = 1 - alpha if target is None else check_share("target", target)
    stamp = _stamp(made_at)
    n, given = check_rows(X, y), check_rule_groups(rule, rule_groups)
    named = groups_of(rule, X, n, given) if groups is None else named_groups(groups, X, n)
    outcome = outcome_of(rule, X, y, given)
    return Certificate(
        rule=type(rule).__name__,
        parameters=parameters_of(rule),
        guarantee=rule.guarantee_,
        alpha=alpha,
        target=target,
        confidence=confidence,
        groups=tuple(_bounds(outcome, named, target, confidence)),
        assumptions=(*ASSUMPTIONS, *[DRAWN] * draws(rule)),
        cautions=tuple(cautions_of(outcome)),
        n_rows=n,
        n_columns=int(X.shape[1]) if len(getattr(X, "shape", ())) == 2 else None,
        column_names=tuple(str(name) for name in X.columns) if is_frame(X) else None,
        outcomes="labels" if isinstance(rule, Conformal) else "scores",
        fingerprint=fingerprint(X, y),
        made_at=stamp,
        versions=versions_of(rule),
    )


def _stamp(made_at: datetime | None) -> str:
    if made_at is None:
        made_at = datetime.now(UTC)
    if made_at.tzinfo is None:
        raise ValueError(f"made_at must name its time zone, got {made_at!r}: add tzinfo=UTC")
    return made_at.astimezone(UTC).isoformat(timespec="seconds")


def _bounds(
    outcome: Outcome, groups: Grouping, target: float, confidence: float
) -> list[GroupBounds]:
    """Exact bounds and a verdict for all rows together and for each group."""
    size = np.zeros(groups.n_rows) if outcome.size is None else outcome.size
    everybody = with_everybody(groups)
    table = coverage_by_group(outcome.covered, size, everybody, confidence=confidence)
    tail = (1 - confidence) / (table.n > 0).sum() / 2  # of one end of bounds for all at once
    needed = rows_to_decide(table.hits, table.n, target, tail)
    found = []
    for i, name in enumerate(table.group):
        rows = int(table.n[i])
        covers = reaches(table.low_all[i], table.high_all[i], target)
        rows_needed = int(needed[i]) if covers is None and needed[i] > 0 else None
        found.append(
            GroupBounds(
                group=str(name),
                n=rows,
                hits=int(table.hits[i]),
                coverage=float(table.coverage[i]) if rows else None,
                low=float(table.low[i]),
                high=float(table.high[i]),
                low_all=float(table.low_all[i]),
                high_all=float(table.high_all[i]),
                size=float(table.size[i]) if rows and outcome.size is not None else None,
                covers=covers,
                rows_needed=rows_needed,
                verdict=sentence(covers, target, rows_needed, rows),
            )
        )
    return found

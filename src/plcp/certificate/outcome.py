"""What happened to each row: whether its set covers, how large it is, and what is odd about it."""

import warnings
from collections.abc import Mapping
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import get_tags

from plcp.conformal.base import Conformal, check_one_level
from plcp.quantiles import FloatArray
from plcp.rows import count
from plcp.thresholds import ThresholdRule
from plcp.validation import check_labels, check_scores

MOST_TIED = 0.05  # share of scores that may tie, and about the chance of a false alarm
ROUNDING = 4 * np.finfo(float).eps  # of a threshold that is put together from parts


class Outcome(NamedTuple):
    """Covered or not, sizes if there are sets, and scores beside thresholds, a column a tail."""

    covered: NDArray[np.bool_]
    size: FloatArray | None
    scores: FloatArray
    thresholds: FloatArray


def outcome_of(rule: Any, X: Any, y: ArrayLike, given: Mapping[str, ArrayLike]) -> Outcome:
    """Ask a rule for the sets of the rows, and whether they cover."""
    if isinstance(rule, Conformal):
        sets, *made_of = rule.examine(X, y)
        return Outcome(sets.contains(check_labels(y)), sets.size.astype(float), *made_of)
    scores, thresholds = check_scores(y), rule.predict(X, **given)
    return Outcome(scores <= thresholds, None, scores[:, None], thresholds[:, None])


def cautions_of(outcome: Outcome) -> list[str]:
    """Sentences about what speaks against the bounds, or makes them worth little."""
    cautions = []
    n, met = len(outcome.covered), rows_met(outcome.scores, outcome.thresholds)
    if met:
        cautions.append(
            f"{met} of {n} scores equal their threshold, though hardly two rows have the same "
            "score: rows that calibrated the rule seem to be among these, and if they are, no "
            "bound here holds."
        )
        warnings.warn(cautions[0], UserWarning, stacklevel=3)
    unbounded = int(np.isposinf(outcome.thresholds).any(axis=1).sum())
    if unbounded:  # of which the rule itself has warned
        cautions.append(
            f"{unbounded} of {n} rows have an infinite threshold: their sets "
            "are open to one side at least, or hold every label, and cover for that alone."
        )
    return cautions


def rows_met(scores: FloatArray, thresholds: FloatArray) -> int:
    """Number of rows whose score is their threshold and no other row's, where few scores tie.

    A conformal threshold is the score of a calibration row, which a new score of a continuous law
    meets with probability zero, and one with atoms about as often as scores tie: where more than
    one in twenty does, a threshold met says nothing. Neither does no row met, ever.

    Examples
    --------
    >>> thresholds = np.full((3, 1), 2.0)
    >>> rows_met(np.array([[1.0], [2.0], [3.0]]), thresholds)
    1
    >>> rows_met(np.array([[2.0], [2.0], [3.0]]), thresholds)
    0
    """
    single = np.column_stack([_is_single(column) for column in scores.T])
    telling = single.mean(axis=0) >= 1 - MOST_TIED
    met = single & telling & np.isclose(scores, thresholds, rtol=ROUNDING, atol=0.0)
    return int(met.any(axis=1).sum())


def _is_single(scores: FloatArray) -> NDArray[np.bool_]:
    """Whether each score is that of one row alone."""
    _, codes, times = np.unique(scores, return_inverse=True, return_counts=True)
    return np.asarray(times[codes] == 1)


def alpha_of(rule: Any) -> float:
    """Miscoverage rate of the sets, which is shared out among tails."""
    check_one_level(rule)
    tails = rule.thresholds_ if isinstance(rule, Conformal) else [rule]
    return float(sum(tail.alpha for tail in tails))


def draws(rule: Any) -> bool:
    """Whether a rule's sets depend on random draws."""
    parts = [rule, *rule.thresholds_] if isinstance(rule, Conformal) else [rule]
    own_mass = getattr(getattr(rule, "conformity_", None), "own_mass", None)
    return own_mass == "random" or any(get_tags(part).non_deterministic for part in parts)


def check_kind(rule: Any) -> None:
    """Refuse what is neither a threshold rule nor a conformal estimator."""
    if not isinstance(rule, Conformal | ThresholdRule):
        raise ValueError(
            "rule must be a fitted threshold rule, ConformalRegressor or ConformalClassifier, "
            f"got {type(rule).__name__}: of a pipeline or a search give the rule within, and X as "
            "it sees it; for sets of another library use plcp.metrics.coverage_by_group"
        )


def check_rows(X: Any, y: Any) -> int:
    """Return the number of rows, which must be that of the labels, and not zero."""
    if X is None or y is None:
        raise ValueError("X and y must be given, one of them is None: a certificate needs both")
    n, labels = count(X), count(y)
    if n != labels:
        raise ValueError(f"X has {n} rows and y has {labels}: give one label or score a row")
    if n == 0:
        raise ValueError("X and y are empty, 0 rows: a certificate needs at least one row")
    return n


def check_rule_groups(rule: Any, rule_groups: ArrayLike | None) -> dict[str, ArrayLike]:
    """Return what ``predict`` must be given besides X."""
    if rule_groups is not None:
        if "groups" not in signature(rule.predict).parameters:
            raise ValueError(
                f"rule_groups are for rules whose predict takes groups, which {type(rule).__name__}"
                " does not: name groups to certify as groups="
            )
        return {"groups": rule_groups}
    if getattr(rule, "groups", ()) is None and len(rule.groups_):
        raise ValueError(
            f"this {type(rule).__name__} was fitted with groups given by hand: give those of these "
            "rows as rule_groups="
        )
    return {}

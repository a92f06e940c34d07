"""The outcome of each row: whether its set covers it and how large the set is, from any source."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plcp._options import check_same_rows, shortened
from plcp._rows import frame_package
from plcp._validation import check_labels, check_scores
from plcp.conformal import Conformal, check_one_alpha
from plcp.evaluation.columns import holds_lists
from plcp.evaluation.formatting import label, rows
from plcp.metrics.measure import check_size
from plcp.quantiles import FloatArray, IntArray
from plcp.sets import Intervals
from plcp.thresholds import ThresholdRule

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Outcome:
    """Whether each row is covered, and the size of its set.

    Parameters
    ----------
    covered : array of bool, shape (n,)
        Whether each set holds its outcome.
    size : array of shape (n,), optional
        Length of each interval or number of labels of each set; None if it is not known.
    kept : array of bool, optional
        Rows of the table that the outcomes are of; None: all.
    notes : tuple of str
        Rows left out, and what is odd about the others.
    scores, thresholds : array of shape (n, tails), optional
        Of a fitted rule: what its thresholds were compared with, one column per tail.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.evaluation import Outcome
    >>> outcome = Outcome(np.array([True, False, True]), size=np.array([2.0, 1.0, 3.0]))
    >>> len(outcome), outcome.take(np.array([0, 2])).size
    (3, array([2., 3.]))
    """

    covered: NDArray[np.bool_]
    size: FloatArray | None = None
    kept: NDArray[np.bool_] | None = None
    notes: tuple[str, ...] = ()
    scores: FloatArray | None = None
    thresholds: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.covered)

    def take(self, rows: IntArray | None) -> Outcome:
        """Some of the rows; all of them for None."""
        if rows is None:
            return self
        return Outcome(self.covered[rows], None if self.size is None else self.size[rows])


Labels = frozenset[str]


def parse_sets(name: str, column: pd.Series) -> list[Labels | None]:
    """Labels in each row's set; None where there is no set.

    Examples
    --------
    >>> import pandas as pd
    >>> found = parse_sets("set", pd.Series(["a|b", "[1, 2]", "", None]))
    >>> [None if labels is None else sorted(labels) for labels in found]
    [['a', 'b'], ['1', '2'], [], None]
    >>> [sorted(labels) for labels in parse_sets("set", pd.Series([["a", "b"], []]))]
    [['a', 'b'], []]
    """
    parsed: dict[str, Labels] = {}
    found: list[Labels | None] = []
    for row, value in enumerate(column.to_numpy(dtype=object)):
        if isinstance(value, str):
            if value not in parsed:
                parsed[value] = _from_text(value)
            found.append(parsed[value])
        elif isinstance(value, list | tuple | set | frozenset | np.ndarray):
            found.append(_labels(value))
        elif value is None or value != value:
            found.append(None)
        else:
            raise ValueError(
                f"column {name!r} must hold sets, as lists, as text like 'a|b' or as JSON lists, "
                f"got {value!r} at row {row}: name another column, or convert it"
            )
    return found


def _from_text(text: str) -> Labels:
    if text.lstrip().startswith("["):
        try:
            return _labels(json.loads(text))
        except json.JSONDecodeError:
            pass  # a label may begin with a bracket
    return _labels(part.strip() for part in text.split("|") if part.strip())


def _labels(values: Iterable[Any]) -> Labels:
    return frozenset(label(value).strip() for value in values)


SWAPPED = 0.9  # share of crossed intervals that is no accident
TRUTHS = {"true": True, "false": False, "1": True, "0": False}


def judge_intervals(frame: pd.DataFrame, target: str, lower: str, upper: str) -> Outcome:
    """Judge intervals by their ends, which belong to them.

    Rows without an outcome, or without an end, are left out and counted; an end that is not there
    is infinite. An interval whose lower end is above the upper one holds nothing.
    """
    y, low, high = (numbers(frame, name) for name in (target, lower, upper))
    kept, notes = _kept(target, ~np.isnan(y), ~np.isnan(low) & ~np.isnan(high))
    if notes and (half := int((np.isnan(low) != np.isnan(high)).sum())):
        notes.append(f"{rows(half)} had one end only: write inf or -inf for an open end.")
    y, low, high = y[kept], low[kept], high[kept]
    crossed, held = int((low > high).sum()), int(((low <= y) & (y <= high)).sum())
    if crossed > SWAPPED * len(y) and int(((high <= y) & (y <= low)).sum()) > held:
        raise ValueError(
            f"lower {lower!r} lies above upper {upper!r} in {crossed:,} of {rows(len(y))}: they "
            "are swapped; name them the other way round"
        )
    intervals = Intervals(low, high)
    if empty := int(intervals.is_empty.sum()):
        notes.append(
            f"{rows(empty)} with {lower!r} above {upper!r}: such a set is empty and covers nothing."
        )
    return Outcome(intervals.contains(y), intervals.size, kept, tuple(notes))


def judge_sets(frame: pd.DataFrame, target: str, sets: str) -> Outcome:
    """Judge sets of labels: lists, text such as ``a|b``, or JSON lists.

    Labels are compared by their text. Rows without an outcome, or without a set, are left out and
    counted; an empty list and an empty text are empty sets, and cover nothing.
    """
    held = parse_sets(sets, frame[sets])
    present = np.array([members is not None for members in held], dtype=bool)
    kept, notes = _kept(target, ~frame[target].isna().to_numpy(), present)
    pairs = [
        (label(y).strip(), members)
        for y, members in zip(frame[target].to_numpy()[kept], np.array(held)[kept], strict=True)
    ]
    covered = np.array([y in members for y, members in pairs], dtype=bool)
    if not covered.any():
        _check_spelling(target, sets, pairs)
    if empty := sum(not members for _, members in pairs):
        notes.append(f"{rows(empty)} with an empty set, which covers nothing.")
    size = np.array([len(members) for _, members in pairs], dtype=float)
    return Outcome(covered, size, kept, tuple(notes))


def judge_covered(frame: pd.DataFrame, covered: str, size: str | None = None) -> Outcome:
    """Take what is judged already: true or false, 1 or 0; rows without it are left out."""
    pd = frame_package("pandas")

    if holds_lists(frame[covered]):
        raise ValueError(
            f"column {covered!r} must hold true or false, but holds lists: is it a set?"
        )
    codes, found = pd.factorize(frame[covered])
    truths = [TRUTHS.get(label(value).strip().lower()) for value in found]
    if None in truths:
        place = truths.index(None)
        raise ValueError(
            f"column {covered!r} must hold true or false, or 1 or 0, got {label(found[place])!r} "
            f"at row {int(np.argmax(codes == place))}: name the column that says which rows are "
            "covered"
        )
    present = codes >= 0
    sizes = None if size is None else numbers(frame, size)
    has_set = np.ones(len(codes), dtype=bool) if sizes is None else ~np.isnan(sizes)
    kept, notes = _kept(covered, present, has_set)
    indicator = np.array([*truths, False], dtype=bool)[codes[kept]]
    checked = None if sizes is None or not kept.any() else check_size(sizes[kept])
    return Outcome(indicator, checked, kept, tuple(notes))


def numbers(frame: pd.DataFrame, name: str) -> FloatArray:
    """Return the numbers of a column, NaN where they are missing; refuse anything else."""
    from pandas.api import types

    kind = types.infer_dtype(frame[name], skipna=True)
    if kind not in ("integer", "floating", "mixed-integer-float", "decimal", "boolean", "empty"):
        raise ValueError(
            f"column {name!r} must hold numbers, but holds {kind}: name another column, or convert "
            "it"
        )
    return np.asarray(frame[name].to_numpy(dtype=float, na_value=np.nan))


def _kept(
    target: str, has_outcome: NDArray[np.bool_], has_set: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], list[str]]:
    """Rows that can be judged, and how many cannot."""
    notes = []
    if without := int((~has_outcome).sum()):
        notes.append(f"{rows(without)} left out: no value in {target!r}.")
    if without := int((has_outcome & ~has_set).sum()):
        notes.append(f"{rows(without)} left out: no set was given for them.")
    kept = has_outcome & has_set
    if not kept.any():
        raise ValueError(
            f"none of {rows(len(kept))} has both a value in {target!r} and a set: "
            "there is nothing to audit; name other columns, or give rows that have both"
        )
    return kept, notes


def _check_spelling(target: str, sets: str, pairs: list[tuple[str, Any]]) -> None:
    """Refuse labels that are never those of any set: they are spelled otherwise."""
    outcomes, labels = {y for y, _ in pairs}, set().union(*(members for _, members in pairs))
    if labels and not outcomes & labels:
        raise ValueError(
            f"{target!r} holds {shortened(sorted(outcomes))}, but sets in {sets!r} hold "
            f"{shortened(sorted(labels))}: spell labels alike in both"
        )


MOST_TIED = 0.05  # share of scores that may tie, and about the chance of a false alarm
ROUNDING = 4 * np.finfo(float).eps  # of a threshold that is put together from parts


def outcome_of(rule: Any, X: Any, y: ArrayLike, given: Mapping[str, ArrayLike]) -> Outcome:
    """Return whether the sets of a fitted rule, or its thresholds, cover the rows."""
    if isinstance(rule, Conformal):
        sets, scores, thresholds = rule.examine(X, y)
        size = sets.size.astype(float)
        return Outcome(sets.contains(check_labels(y)), size, scores=scores, thresholds=thresholds)
    check_same_rows(X, y=y)
    scores, thresholds = check_scores(y), rule.predict(X, **given)
    return Outcome(scores <= thresholds, scores=scores[:, None], thresholds=thresholds[:, None])


def cautions_of(outcome: Outcome) -> list[str]:
    """Sentences about what speaks against the bounds, or makes them worth little."""
    cautions: list[str] = []
    if outcome.scores is None or outcome.thresholds is None:
        return cautions
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
            f"{unbounded} of {n} rows have an infinite threshold: for that alone their sets hold "
            "the outcome, whatever it is, to one side at least."
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
    rarely_tied = single.mean(axis=0) >= 1 - MOST_TIED
    met = single & rarely_tied & np.isclose(scores, thresholds, rtol=ROUNDING, atol=0.0)
    return int(met.any(axis=1).sum())


def _is_single(scores: FloatArray) -> NDArray[np.bool_]:
    """Whether each score is that of one row alone."""
    _, codes, times = np.unique(scores, return_inverse=True, return_counts=True)
    return np.asarray(times[codes] == 1)


def alpha_of(rule: Any) -> float:
    """Miscoverage rate of the sets, which is shared out among tails."""
    check_one_alpha(rule)
    tails = rule.tail_rules_ if isinstance(rule, Conformal) else [rule]
    return float(sum(tail._fitted_alphas()[0] for tail in tails))


def draws(rule: Any) -> bool:
    """Whether a rule's sets depend on random draws."""
    parts = [rule.conformity_, *rule.tail_rules_] if isinstance(rule, Conformal) else [rule]
    return any(part.draws for part in parts)


def check_kind(rule: Any) -> None:
    """Refuse what is neither a threshold rule nor a conformal estimator."""
    if not isinstance(rule, Conformal | ThresholdRule):
        raise ValueError(
            "rule must be a fitted threshold rule, ConformalRegressor or ConformalClassifier, "
            f"got {type(rule).__name__}: of a pipeline or a search give the rule within, and X as "
            "it sees it; for sets of another library use plcp.metrics.coverage_by_group"
        )

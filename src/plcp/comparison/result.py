"""The outcome of a comparison: a table, paired differences, and a recommendation with reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plcp._formatting import fold, text_table
from plcp._options import check_option
from plcp._rows import frame_package
from plcp.comparison.measures import LEAST_ROWS
from plcp.comparison.recommendation import Choice, choose, may_be_smallest
from plcp.evaluation.formatting import number
from plcp.metrics.compare import Comparison, compare
from plcp.metrics.measure import Difference, Measure
from plcp.quantiles import FloatArray, IntArray
from plcp.thresholds.guarantees import Guarantee

if TYPE_CHECKING:
    import pandas

    from plcp.comparison.display import MethodsDisplay

METRICS = ("conditional error", "worst group", "coverage", "size", "seconds")
WHAT_HOLDS = (
    "Differences are paired: all methods are measured on the same rows. Intervals hold for the "
    "methods as they were fitted on these folds, over new rows; how much they would vary with "
    "other training and calibration rows is not in them, and folds share such rows."
)


@dataclass(frozen=True, eq=False)
class ComparedMethod:
    """What one method did on the rows of a comparison.

    Parameters
    ----------
    name : str
        Its name.
    how : str
        How to make it.
    cost : str
        What it needs, as in `plcp.comparison.ROSTER`; empty for methods of the user.
    conditional_error : Measure
        Excess risk of the target coverage (ERT) in L1: how far coverage given x is off, at least.
    worst_group : Measure or None
        Coverage of the group that is covered least, chosen on other rows; None where all groups are
        small.
    coverage, size, seconds : Measure
        Share of rows covered; mean length or number of labels; time of a fold.
    fit_seconds, predict_seconds : float
        Mean over folds, without the model that all methods share.
    guarantee : Guarantee or None
        The weakest of all folds; None: it states none.
    covered, sizes : array of shape (n,)
        Of each row's set, predicted by folds that the row had no part in.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from plcp import compare_methods
    >>> X = np.linspace([[0.0]], [[1.0]], 200)[:, 0]
    >>> found = compare_methods(X, np.sin(40 * X[:, 0]), Ridge(), ["split"], cv=2)
    >>> found.methods["split"].covered.shape, found.methods["split"].guarantee.kind
    ((200,), 'exact')
    """

    name: str
    how: str
    cost: str
    conditional_error: Measure
    worst_group: Measure | None
    coverage: Measure
    size: Measure
    seconds: Measure
    fit_seconds: float
    predict_seconds: float
    guarantee: Guarantee | None
    covered: NDArray[np.bool_]
    sizes: FloatArray

    @property
    def group(self) -> str:
        """Name of the worst group, as most rows show it; empty where all groups are small."""
        return "" if self.worst_group is None else str(self.worst_group.table["group"][-1])

    def measure(self, metric: str) -> Measure | None:
        """Return one of its measures, by the name of the metric."""
        return getattr(self, metric.replace(" ", "_"))


@dataclass(frozen=True, eq=False, repr=False)
class MethodComparison:
    """Methods on the same rows: their measures, paired differences and the one to use.

    Made by `plcp.compare_methods`.

    Parameters
    ----------
    methods : mapping of str to ComparedMethod
        Those that were measured, in the order given.
    left_out : mapping of str to str
        Names of the others, with the reason.
    alpha, confidence : float
        Miscoverage rate of the sets, and of each interval the probability with which it holds.
    task : str
        "regression" or "classification".
    rows : array of int
        Positions of the rows compared, among those given.
    folds : int
        Number of folds.
    groups : tuple of str
        Names of the groups among which the worst was sought.
    notes : tuple of str
        What else a reader should know.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from plcp import compare_methods
    >>> from plcp.datasets import make_toy
    >>> task = make_toy(2000, random_state=0)
    >>> found = compare_methods(task.X, task.y, LinearRegression(), ["split", "rectified"], cv=2)
    >>> found.recommended, found.best
    ('rectified', ('rectified',))
    >>> found.differences("conditional error").differences["rectified"].high < 0
    True
    """

    methods: Mapping[str, ComparedMethod]
    left_out: Mapping[str, str]
    alpha: float
    confidence: float
    task: str
    rows: IntArray
    folds: int
    groups: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def recommended(self) -> str:
        """Name of the method to use."""
        return self._choice.name

    @property
    def reason(self) -> str:
        """Why it is recommended, in sentences made from the measures."""
        return " ".join(self._choice.reasons)

    @cached_property
    def best(self) -> tuple[str, ...]:
        """Names of the methods among which that of the smallest conditional error is.

        With the given confidence, whichever it is (Hsu 1984).
        """
        measures = {name: one.conditional_error for name, one in self.methods.items()}
        return tuple(may_be_smallest(measures, self.confidence, floor=0.0))

    @cached_property
    def _choice(self) -> Choice:
        return choose(self.methods, self.best, self.alpha, self.confidence, self._units)

    @property
    def _units(self) -> str:
        return "length" if self.task == "regression" else "number of labels"

    @property
    def reference(self) -> str:
        """Method that tables compare the others with: "split", or else the first."""
        return "split" if "split" in self.methods else next(iter(self.methods))

    @property
    def ordered(self) -> list[ComparedMethod]:
        """The methods, the smallest estimate of conditional error first."""
        methods = self.methods.values()
        return sorted(methods, key=lambda one: (one.conditional_error.estimate, one.name))

    def differences(
        self, metric: str = "conditional error", reference: str | None = None
    ) -> Comparison:
        """Paired differences of all methods from one, with intervals and corrected p-values.

        Parameters
        ----------
        metric : {"conditional error", "worst group", "coverage", "size", "seconds"}
            What is compared. Methods without a finite number for each row are left out. Times are
            paired by fold.
        reference : str, optional
            The method to compare with; "split", or else the first.
        """
        check_option("metric", metric, METRICS)
        found = self._comparable(metric)
        wanted = self.reference if reference is None else reference
        if wanted not in found:
            raise ValueError(
                f"reference must be one of {list(found)}, which have a finite {metric}, got "
                f"{wanted!r}"
            )
        return compare(found, wanted, confidence=self.confidence)

    def _comparable(self, metric: str) -> dict[str, Measure]:
        measures = {name: one.measure(metric) for name, one in self.methods.items()}
        return {
            name: measure
            for name, measure in measures.items()
            if measure is not None and np.isfinite(measure.estimate)
        }

    def _from_reference(self, metric: str) -> Mapping[str, Difference]:
        found = self._comparable(metric)
        is_known = self.reference in found and len(found) > 1
        return self.differences(metric).differences if is_known else {}

    @property
    def records(self) -> list[dict[str, Any]]:
        """One dict per method, the best conditional error first, of plain Python values.

        Keys that end in ``_low`` and ``_high`` are ends of intervals, those with ``_minus`` are
        differences from the `reference`.
        """
        minus_reference = {metric: self._from_reference(metric) for metric in METRICS}
        rows = []
        for one in self.ordered:
            record: dict[str, Any] = {
                "method": one.name,
                "recommended": one.name == self.recommended,
                "may_be_best": one.name in self.best,
                "guarantee": "none" if one.guarantee is None else one.guarantee.kind,
                "scope": None if one.guarantee is None else one.guarantee.scope,
                "cost": one.cost or None,
                "group": one.group or None,
            }
            for metric in METRICS:
                key, measure = metric.replace(" ", "_"), one.measure(metric)
                ends = [np.nan] * 3
                if measure is not None:
                    ends = [measure.estimate, measure.low, measure.high]
                record |= dict(zip((key, f"{key}_low", f"{key}_high"), ends, strict=True))
                minus = minus_reference[metric].get(one.name, Difference(*[np.nan] * 4))
                names = (f"{key}_minus", f"{key}_minus_low", f"{key}_minus_high")
                record |= dict(zip(names, minus, strict=False))
            record |= {
                "fit_seconds": one.fit_seconds,
                "predict_seconds": one.predict_seconds,
                "how": one.how,
            }
            rows.append(record)
        return rows

    def to_pandas(self) -> pandas.DataFrame:
        """Return the records as a pandas frame, one row per method."""
        return frame_package("pandas").DataFrame(self.records)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the single rows, as plain Python values."""
        shared = ("recommended", "reason", "reference", "alpha", "confidence", "task", "folds")
        return {
            **{key: getattr(self, key) for key in shared},
            "rows": len(self.rows),
            "best": [*self.best],
            "groups": [*self.groups],
            "methods": self.records,
            "guarantees": {
                name: None if one.guarantee is None else one.guarantee.to_dict()
                for name, one in self.methods.items()
            },
            "left_out": dict(self.left_out),
            "notes": [*self.notes],
        }

    def plot(self, axes: Any = None, **styles: Any) -> MethodsDisplay:
        """Draw conditional error, worst group and size of each method.

        Parameters
        ----------
        axes : sequence of three matplotlib Axes, optional
            Where to draw; a new figure unless given.
        **styles
            As in `plcp.comparison.MethodsDisplay.plot`.
        """
        from plcp.comparison.display import MethodsDisplay

        return MethodsDisplay(comparison=self).plot(axes, **styles)

    def __str__(self) -> str:
        sure = f"{100 * self.confidence:g} %"
        counts = f"{len(self.rows):,} rows, {self.folds} folds, alpha = {self.alpha:g}"
        paragraphs = [
            f"error: conditional error, in percentage points: how far coverage given x is from "
            f"{100 * (1 - self.alpha):g} %, at least; none was found where it is below 0. *: with "
            f"{sure} confidence the method of the smallest error is among these.",
            self._about_groups(),
            "seconds: time of a fold, without the model that all methods share.",
        ]
        for reason in dict.fromkeys(self.left_out.values()):
            names = [name for name, other in self.left_out.items() if other == reason]
            paragraphs.append(f"left out, {reason}: {', '.join(names)}")
        how = self.methods[self.recommended].how
        paragraphs += ["", f"Recommended: {self.recommended}, that is {how}"]
        paragraphs += [f"- {sentence}" for sentence in self._choice.reasons]
        paragraphs += ["", WHAT_HOLDS, *self.notes]
        lines = [line for text in paragraphs for line in (fold(text) if text else [""])]
        return "\n".join([f"{counts}, {sure} intervals", "", *self._table(), *lines])

    def _about_groups(self) -> str:
        names = dict.fromkeys((self.recommended, self.reference))
        worst = [f"{group} for {name}" for name in names if (group := self.methods[name].group)]
        if not worst:
            return f"worst group: none has {LEAST_ROWS} rows or more."
        return (
            "worst group: coverage of the group that is covered least, measured on rows that did "
            f"not choose it: {', '.join(worst)}."
        )

    def _table(self) -> list[str]:
        minus = self._from_reference("conditional error")
        size = "length" if self.task == "regression" else "labels"
        head = ["method", "error", f"minus {self.reference}", "worst group", "covered", size]
        body = []
        for one in self.ordered:
            error, worst, difference = one.conditional_error, one.worst_group, minus.get(one.name)
            body.append(
                [
                    f"{'* ' if one.name in self.best else ''}{one.name}",
                    points(error.estimate, error.low, error.high),
                    "" if difference is None else points(*difference[:3]),
                    "" if worst is None else f"{worst.estimate:.3f}",
                    f"{one.coverage.estimate:.3f}",
                    number(one.size.estimate),
                    f"{one.seconds.estimate:.2g}",
                    _brief(one.guarantee),
                ]
            )
        return text_table([*head, "seconds", "guarantee"], body, text=("guarantee",))

    def __repr__(self) -> str:
        n = len(self.methods)
        return f"MethodComparison({n} methods, recommended={self.recommended!r})"


def points(estimate: float, low: float, high: float) -> str:
    """Write a probability and its interval in percentage points.

    Examples
    --------
    >>> points(0.0123, 0.01, 0.0246)
    '1.2 [1.0, 2.5]'
    """
    return "{:z.1f} [{:z.1f}, {:z.1f}]".format(*(100 * end for end in (estimate, low, high)))


def _brief(guarantee: Guarantee | None) -> str:
    """Kind of a guarantee, with the scope if it holds for more than the average."""
    if guarantee is None or guarantee.kind == "none":
        return "none"
    scope = guarantee.scope.removeprefix("learned ")
    return guarantee.kind if scope == "marginal" else f"{guarantee.kind}, {scope}"

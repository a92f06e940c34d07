"""The outcome of a comparison: a table, paired differences, and a recommendation with reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plcp._formatting import fold, text_table
from plcp._options import check_option
from plcp.comparison.measures import differences, may_be_smallest, share_missed
from plcp.comparison.roster import ROSTER
from plcp.metrics.compare import Comparison
from plcp.metrics.measure import Difference, Measure
from plcp.quantiles import FloatArray, IntArray
from plcp.thresholds.guarantees import KINDS, Guarantee

if TYPE_CHECKING:
    import pandas

    from plcp.comparison.display import MethodsDisplay

METRICS = ("conditional error", "worst group", "coverage", "size", "seconds")
FEW_NAMES = 6  # that a sentence lists
MARGIN = 0.05  # sets that are larger by less are as good
WHAT_HOLDS = (
    "Differences are paired: all methods are measured on the same rows. Intervals hold for the "
    "methods as they were fitted on these folds, over new rows; how much they would vary with "
    "other training and calibration rows is not in them, and folds share such rows. Conditional "
    "error is a lower bound, ERT in L1."
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
    conditional_error : Measure
        Excess risk of the target coverage (ERT) in L1: how far coverage given x is off, at least.
    worst_group : Measure or None
        Coverage of the group that is covered least, chosen on other rows; None where all groups are
        small.
    group : str
        Name of that group.
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
    conditional_error: Measure
    worst_group: Measure | None
    group: str
    coverage: Measure
    size: Measure
    seconds: Measure
    fit_seconds: float
    predict_seconds: float
    guarantee: Guarantee | None
    covered: NDArray[np.bool_]
    sizes: FloatArray

    def measure(self, metric: str) -> Measure | None:
        """Return one of its measures, by the name of the metric."""
        return getattr(self, metric.replace(" ", "_"))

    @property
    def promise(self) -> str:
        """Kind of its guarantee, with the scope if it holds for more than the average."""
        if self.guarantee is None or self.guarantee.kind == "none":
            return "none"
        kind, scope = self.guarantee.kind, self.guarantee.scope
        return kind if scope == "marginal" else f"{kind}, {scope.removeprefix('learned ')}"

    @property
    def rank_of_promise(self) -> int:
        """How strong its guarantee is: 0 is the strongest."""
        return KINDS.index("none" if self.guarantee is None else self.guarantee.kind)


class Choice(NamedTuple):
    """A recommended method, and the sentences that say why."""

    name: str
    reason: str


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
    >>> found = compare_methods(task.X, task.y, LinearRegression(), ["split", "rectified"])
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
        return self._choice.reason

    @cached_property
    def best(self) -> tuple[str, ...]:
        """Names of the methods among which that of the smallest conditional error is.

        With the given confidence, whichever it is: see `plcp.comparison.measures.may_be_smallest`.
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
        return differences(found, wanted, self.confidence)

    def _comparable(self, metric: str) -> dict[str, Measure]:
        measures = {name: one.measure(metric) for name, one in self.methods.items()}
        return {
            name: measure
            for name, measure in measures.items()
            if measure is not None and np.isfinite(measure.estimate)
        }

    def _from_reference(self, metric: str) -> Mapping[str, Difference]:
        found = self._comparable(metric)
        if len(found) < 2 or self.reference not in found:
            return {}
        return differences(found, self.reference, self.confidence).differences

    @property
    def records(self) -> list[dict[str, Any]]:
        """One dict per method, the best conditional error first, of plain Python values.

        Keys that end in ``_low`` and ``_high`` are ends of intervals, those with ``_minus`` are
        differences from the `reference`.
        """
        minus_reference = {metric: self._from_reference(metric) for metric in METRICS}
        rows = []
        for one in self._ordered():
            record: dict[str, Any] = {
                "method": one.name,
                "recommended": one.name == self.recommended,
                "may_be_best": one.name in self.best,
                "guarantee": "none" if one.guarantee is None else one.guarantee.kind,
                "scope": None if one.guarantee is None else one.guarantee.scope,
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

    def _ordered(self) -> list[ComparedMethod]:
        methods = self.methods.values()
        return sorted(methods, key=lambda one: (one.conditional_error.estimate, one.name))

    def to_pandas(self) -> pandas.DataFrame:
        """Return the records as a pandas frame, one row per method."""
        import pandas

        return pandas.DataFrame(self.records)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the single rows, as plain Python values."""
        return {
            "recommended": self.recommended,
            "reason": self.reason,
            "best": list(self.best),
            "reference": self.reference,
            "alpha": self.alpha,
            "confidence": self.confidence,
            "task": self.task,
            "rows": len(self.rows),
            "folds": self.folds,
            "groups": list(self.groups),
            "methods": self.records,
            "guarantees": {
                name: None if one.guarantee is None else one.guarantee.to_dict()
                for name, one in self.methods.items()
            },
            "left_out": dict(self.left_out),
            "notes": list(self.notes),
        }

    def with_notes(self, notes: Iterable[str]) -> MethodComparison:
        """Return the same comparison with more notes, before its own."""
        return replace(self, notes=(*notes, *self.notes))

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
        rows = f"{len(self.rows):,} rows, {self.folds} folds, alpha = {self.alpha:g}, "
        lines = [f"{rows}{100 * self.confidence:g} % intervals", ""]
        lines += self._table()
        for reason in dict.fromkeys(self.left_out.values()):
            names = [name for name, other in self.left_out.items() if other == reason]
            lines += fold(f"left out, {reason}: {', '.join(names)}")
        lines += ["", f"Recommended: {self.recommended}, that is {self._how}", *fold(self.reason)]
        lines += ["", *fold(WHAT_HOLDS)]
        for note in self.notes:
            lines += fold(note)
        return "\n".join(lines)

    @property
    def _how(self) -> str:
        return self.methods[self.recommended].how

    def _table(self) -> list[str]:
        minus = self._from_reference("conditional error")
        head = ["method", "error", f"minus {self.reference}", "worst group", "covered"]
        head += ["size", "seconds", "guarantee"]
        body = []
        for one in self._ordered():
            error, worst = one.conditional_error, one.worst_group
            difference = minus.get(one.name)
            body.append(
                [
                    f"{'* ' if one.name in self.best else ''}{one.name}",
                    points(error.estimate, error.low, error.high),
                    "" if difference is None else points(*difference[:3]),
                    "" if worst is None else f"{worst.estimate:.3f}",
                    f"{one.coverage.estimate:.3f}",
                    f"{one.size.estimate:.4g}",
                    f"{one.seconds.estimate:.2g}",
                    one.promise,
                ]
            )
        table = text_table(head, body, text=("guarantee",))
        sure = f"{100 * self.confidence:g} %"
        return [
            *table,
            *fold(
                f"error: conditional error in percentage points. * With {sure} confidence the "
                "method of the smallest conditional error is among these."
            ),
        ]

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
    texts = (f"{100 * value:.1f}".replace("-0.0", "0.0") for value in (estimate, low, high))
    return "{} [{}, {}]".format(*texts)


def choose(
    methods: Mapping[str, ComparedMethod],
    best: Sequence[str],
    alpha: float,
    confidence: float = 0.95,
    units: str = "length",
) -> Choice:
    """Recommend one of the methods that may have the smallest conditional error.

    Of these, those whose worst group may be covered best, or as promised; of these, those with the
    strongest kind of guarantee; of these, those whose sets may be the smallest to within 5 %; of
    these, those whose guarantee holds in groups; of these the fastest. Steps end where one is left.
    """
    left, said = list(best), [_first_step(methods, best, f"{100 * confidence:g} %")]
    steps: list[Callable[[list[str]], tuple[list[str], str]]] = [
        lambda names: _best_worst_group(methods, names, alpha, confidence),
        lambda names: _strongest(methods, names),
        lambda names: _smallest(methods, names, confidence, units),
        lambda names: _in_groups(methods, names),
        lambda names: _fastest(methods, names),
    ]
    for step in steps:
        if len(left) == 1:
            break
        left, sentence = step(left)
        said.append(sentence)
    chosen = methods[left[0]]
    low, high = chosen.coverage.low, chosen.coverage.high
    said.append(f"{chosen.name} covers {chosen.coverage.estimate:.3f} ({low:.3f} to {high:.3f}).")
    return Choice(left[0], " ".join(filter(None, said)))


def _first_step(methods: Mapping[str, ComparedMethod], best: Sequence[str], sure: str) -> str:
    n = len(methods)
    if n == 1:
        return f"{best[0]} is the only method that was measured."
    most = max(0.0, *(methods[name].conditional_error.estimate for name in best))
    estimate = f"{100 * most:.2f} percentage points"
    if len(best) == 1:
        others = "the other one is" if n == 2 else f"all {n - 1} others are"
        return (
            f"{best[0]} has the smallest conditional error, an estimated {estimate}: {others} "
            f"ruled out with {sure} confidence."
        )
    text = (
        f"With {sure} confidence the smallest conditional error is that of {listed(best, 'or')} "
        f"(estimates of at most {estimate})"
    )
    if len(best) == n:
        return f"{text}: none of the {n} methods is ruled out."
    rest = n - len(best)
    return f"{text}; {rest} other{' is' if rest == 1 else 's are'} ruled out."


def _best_worst_group(
    methods: Mapping[str, ComparedMethod], names: list[str], alpha: float, confidence: float
) -> tuple[list[str], str]:
    missed = {
        name: share_missed(worst)
        for name in names
        if (worst := methods[name].worst_group) is not None
    }
    if len(missed) < len(names):
        return names, ""
    left = may_be_smallest(missed, confidence, floor=alpha)
    if len(left) == len(names):
        return names, "Their worst groups do not differ beyond chance."
    lowest = min(1 - missed[name].estimate for name in left)
    return left, (
        f"Of these, {listed(left)} {'covers' if len(left) == 1 else 'cover'} the worst group "
        f"best, beyond chance ({lowest:.3f}{'' if len(left) == 1 else ' or more'})."
    )


def _strongest(methods: Mapping[str, ComparedMethod], names: list[str]) -> tuple[list[str], str]:
    rank = min(methods[name].rank_of_promise for name in names)
    left = [name for name in names if methods[name].rank_of_promise == rank]
    kind = KINDS[rank]
    if kind == "none":
        return left, "None of them has a guarantee."
    if len(left) == len(names):
        return left, f"Their guarantees are of the same kind, {kind}."
    return left, f"Of these, {have(left)} the strongest kind of guarantee, {kind}."


def _smallest(
    methods: Mapping[str, ComparedMethod], names: list[str], confidence: float, units: str
) -> tuple[list[str], str]:
    finite = {
        name: methods[name].size for name in names if np.isfinite(methods[name].size.estimate)
    }
    if not finite:
        return names, "Some sets of each hold every outcome."
    left = may_be_smallest(finite, confidence, margin=MARGIN)
    means = [finite[name].estimate for name in left]
    mean = f"mean {units} {min(means):.4g}"
    if len(left) > 1:
        mean += f" to {max(means):.4g}"
    if len(left) == len(names):
        return left, f"None has sets that are more than {100 * MARGIN:g} % larger ({mean})."
    others = f"the others' are more than {100 * MARGIN:g} % larger, beyond chance"
    return left, f"Of these, {have(left)} the smallest sets ({mean}; {others})."


def _in_groups(methods: Mapping[str, ComparedMethod], names: list[str]) -> tuple[list[str], str]:
    promises = {name: methods[name].guarantee for name in names}
    left = [
        name
        for name, promise in promises.items()
        if promise is not None and promise.kind != "none" and promise.scope != "marginal"
    ]
    if not left or len(left) == len(names):
        return names, ""
    return left, f"Of these, the guarantee of {listed(left)} holds in groups, not only on average."


def _fastest(methods: Mapping[str, ComparedMethod], names: list[str]) -> tuple[list[str], str]:
    """Times that differ by less than a tenth of a second are alike; then estimates decide."""
    places = {name: place for place, name in enumerate(ROSTER)}

    def cost(name: str) -> tuple[Any, ...]:
        one = methods[name]
        tenths = ceil(10 * one.seconds.estimate)
        place = places.get(name, len(places))
        return tenths, one.conditional_error.estimate, one.size.estimate, place, name

    order = sorted(names, key=cost)
    first, second = cost(order[0]), cost(order[1])
    if first[0] < second[0]:
        seconds = methods[order[0]].seconds.estimate
        return order[:1], f"Of these, {order[0]} is the fastest ({seconds:.2g} seconds a fold)."
    if first[:3] == second[:3]:
        alike = [name for name in order if cost(name)[:3] == first[:3]]
        return order[:1], f"Of these, {listed(alike)} give the same sets, and {order[0]} will do."
    what = "the smallest estimate of conditional error among the fastest"
    return order[:1], f"Of these, {order[0]} has {what}."


def listed(names: Sequence[str], word: str = "and") -> str:
    """Write names in a sentence.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(list("abcdefgh")), listed(list("abcdefgh"), "or")
    ('a, b and c', '8 methods', 'one of 8 methods')
    """
    if len(names) > FEW_NAMES:
        return f"{'one of ' if word == 'or' else ''}{len(names)} methods"
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} {word} {names[-1]}"


def have(names: Sequence[str]) -> str:
    """Write names with the verb that they need."""
    return f"{listed(names)} {'has' if len(names) == 1 else 'have'}"

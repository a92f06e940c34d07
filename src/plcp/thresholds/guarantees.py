"""Which coverage holds, for whom, and when: what every fitted rule promises, as data."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

import numpy as np
from sklearn.model_selection import KFold

from plcp._options import is_whole
from plcp.partitions.ordered import OrderedPartition
from plcp.quantiles import IntArray, conformal_rank

EXCHANGEABLE = "calibration and test points are exchangeable"
ONE_LAW = "calibration and test points are independent draws from one distribution"
RATIOS = (
    "the weights are likelihood ratios of test to calibration points, on a scale where no test "
    "point has one above 1"
)
CLUSTERS = (
    "groups of rows are exchangeable, that of a new row included, and the new row is drawn at "
    "random from its group"
)
FALLING = (
    "the density of the score given x falls over the range of the thresholds that are averaged"
)
CONTINUOUS = "scores hardly tie at the thresholds"
MARGINAL_ALONE = "Nothing is promised for particular kinds of input."
EQUATION = "By its draws it is an equation, however many scores tie."
KINDS = ("exact", "pac", "asymptotic", "approximate", "none")  # from the strongest
SCOPES = {  # the probability that is promised
    "marginal": "P(covered)",
    "learned groups": "P(covered | group)",
    "given groups": "P(covered | group)",
    "labels": "P(covered | label)",
}


@dataclass(frozen=True)
class Guarantee:
    """The promise of a fitted rule, which prints as a sentence.

    Attributes
    ----------
    kind : {"exact", "pac", "asymptotic", "approximate", "none"}
        "exact": in finite samples, on average over calibration sets. "pac": in finite samples, for
        all but a share 1 - ``confidence`` of calibration sets. "asymptotic": as the number of
        calibration rows grows. "approximate": as far as weights, or a step that has seen the
        calibration rows, are right. "none": nothing is proved.
    scope : {"marginal", "learned groups", "given groups", "labels"}
        On average over all inputs, or in each group or given each label, and so on average too.
    alpha : float
        Permitted miscoverage.
    n : int
        Number of calibration rows that the promise rests on.
    assumptions : tuple of str
        What must hold.
    n_groups : int or None
        Number of groups, or labels, in scope.
    confidence : float or None
        Probability over calibration sets, where kind is "pac".
    note : str
        What else holds, or why nothing does.
    n_clusters : int or None
        Number of groups that the n rows belong to, if rows were said to belong together: each of
        them counts as one.

    Examples
    --------
    >>> from plcp import SplitConformal
    >>> found = SplitConformal().fit([[0.0]] * 99, range(99)).guarantee_
    >>> found.kind, found.scope, found.alpha, found.n
    ('exact', 'marginal', 0.1, 99)
    >>> print(found)
    P(covered) >= 0.9 on average over all inputs, in finite samples, if calibration and test \
points are exchangeable. Nothing is promised for particular kinds of input.
    """

    kind: str
    scope: str
    alpha: float
    n: int
    assumptions: tuple[str, ...] = ()
    n_groups: int | None = None
    confidence: float | None = None
    note: str = ""
    n_clusters: int | None = None

    def __post_init__(self) -> None:
        """Refuse a kind or a scope that means nothing."""
        for name, value, known in (("kind", self.kind, KINDS), ("scope", self.scope, SCOPES)):
            if value not in known:
                raise ValueError(f"{name} must be one of {[*known]}, got {value!r}")

    @property
    def is_finite_sample(self) -> bool:
        """Whether it holds with the rows there are, however few."""
        return self.kind in ("exact", "pac")

    def __str__(self) -> str:
        """Return the promise as a sentence."""
        return " ".join(part for part in (self._claim(), self.note) if part)

    def _claim(self) -> str:
        if self.kind == "none":
            return "No finite-sample guarantee."
        covered, target, where = SCOPES[self.scope], f"{1 - self.alpha:g}", self._where()
        sure = "" if self.confidence is None else f"{self.confidence:g}"
        if self.n_clusters is not None:
            where += f", from {self.n_clusters} groups of rows"
        claim = {
            "exact": f"{covered} >= {target} {where}, in finite samples",
            "pac": f"With confidence {sure} over calibration sets, {covered} >= "
            f"{target} {where}, in finite samples",
            "asymptotic": f"Asymptotic: {covered} tends to {target} {where}",
            "approximate": f"Approximate: {covered} is about {target} {where}",
        }[self.kind]
        if self.kind == "pac" and self.n_groups is not None and self.n_groups > 1:
            claim += " and for all of them at once"
        return f"{claim}{', if ' if self.assumptions else ''}{' and '.join(self.assumptions)}."

    def _where(self) -> str:
        if self.scope == "marginal":
            return "on average over all inputs"
        one = self.scope.removesuffix("s")
        return (
            f"for the one {one}"
            if self.n_groups == 1
            else f"for each of the {self.n_groups} {one}s"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes and the sentence, as values of JSON."""
        values = {**asdict(self), "assumptions": [*self.assumptions], "text": str(self)}
        if self.n_clusters is None:
            del values["n_clusters"]
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the guarantee of a dict that `to_dict` made."""
        given = {field.name: values[field.name] for field in fields(cls) if field.name in values}
        return cls(**{**given, "assumptions": tuple(given["assumptions"])})


@dataclass(frozen=True)
class Guarantees:
    """The promises of a rule at several alphas, one each; prints as their sentences.

    Examples
    --------
    >>> from plcp import SplitConformal
    >>> rule = SplitConformal(alpha=[0.1, 0.2]).fit([[0.0]] * 99, range(99))
    >>> [(one.alpha, one.kind) for one in rule.guarantee_]
    [(0.1, 'exact'), (0.2, 'exact')]
    """

    each: tuple[Guarantee, ...]

    def __iter__(self) -> Iterator[Guarantee]:
        """Yield the promise at each alpha."""
        return iter(self.each)

    def __str__(self) -> str:
        """Return the promises as sentences, one per line."""
        nested = (
            "A threshold below that of a larger alpha is raised to it, so that sets are nested: "
            "they only grow, and where they do coverage may be higher."
        )
        return "\n".join([*(f"At alpha = {one.alpha:g}: {one}" for one in self), nested])

    def to_dict(self) -> dict[str, Any]:
        """Return the promises and all their sentences, as values of JSON."""
        return {"each": [one.to_dict() for one in self], "text": str(self)}


def weighted_or_exact(
    weighted: bool,
    *others: str,
    confidence: float | None = None,
    clusters: IntArray | None = None,
) -> dict[str, Any]:
    """Kind and assumptions of a promise that is exact unless rows are weighted.

    One with a confidence, which no weighted rows have, is kept by calibration sets one by one.
    ``clusters``: number of the group that each calibration row belongs to, if rows are exchangeable
    only in groups.
    """
    if confidence is not None:
        return {"kind": "pac", "assumptions": (ONE_LAW, *others), "confidence": confidence}
    if clusters is not None:
        n_clusters = len(np.unique(clusters))
        return {"kind": "exact", "assumptions": (CLUSTERS, *others), "n_clusters": n_clusters}
    kind, assumption = ("approximate", RATIOS) if weighted else ("exact", EXCHANGEABLE)
    return {"kind": kind, "assumptions": (assumption, *others)}


def set_guarantee(tails: Sequence[Guarantee], alpha: float, learned: str | None) -> Guarantee:
    """Return what holds for the sets, from what holds for the rule of each tail.

    A set misses where any of its tails does, so the union bound adds their rates. Their groups
    differ, so only the average over all inputs adds up. ``learned`` names what the score fitted
    on the calibration rows.

    Examples
    --------
    >>> lower = upper = Guarantee("exact", "marginal", 0.05, 99, (EXCHANGEABLE,))
    >>> print(set_guarantee([lower, upper], 0.1, None).kind)
    exact
    """
    promise = tails[0] if len(tails) == 1 else _union(tails, alpha)
    if learned is None:
        return promise
    weakest = max(promise.kind, "approximate", key=KINDS.index)
    note = (
        f"{promise.note} The score fitted its {learned} on the calibration rows: fit it on other "
        "rows and pass the number to be exact."
    )
    return replace(promise, kind=weakest, confidence=None, note=note.strip())


def _union(tails: Sequence[Guarantee], alpha: float) -> Guarantee:
    k = len(tails)
    return Guarantee(
        scope="marginal",
        alpha=alpha,
        n=min(tail.n for tail in tails),
        **_together(tails),
        note=f"By the union bound: each of {k} tails covers {1 - alpha / k:g}, with thresholds and "
        "groups of its own: see tail_rules_[i].guarantee_.",
    )


def labels_guarantee(
    promises: Sequence[Guarantee], alpha: float, n: int, n_labels: int
) -> Guarantee:
    """Return what holds given each of some labels, from what holds for their rules.

    A label without a rule is in every set.
    """
    joint = _together(promises)
    notes = ["The shares of the labels may differ from those of calibration."]
    if joint["kind"] == "none":
        notes = []
    if any(promise.scope != "marginal" for promise in promises):
        notes.append("The rule of each label has its own promise: see label_rules_[i].guarantee_.")
    return Guarantee(
        scope="labels", alpha=alpha, n=n, n_groups=n_labels, **joint, note=" ".join(notes)
    )


def _together(promises: Sequence[Guarantee]) -> dict[str, Any]:
    """Return kind, assumptions and confidence of what holds where all of the promises do."""
    missing = [1 - one.confidence for one in promises if one.confidence is not None]
    return {
        "kind": max((one.kind for one in promises), key=KINDS.index, default="exact"),
        "assumptions": tuple(dict.fromkeys(each for one in promises for each in one.assumptions)),
        "confidence": 1 - sum(missing) if missing else None,
        "n_clusters": min(
            (one.n_clusters for one in promises if one.n_clusters is not None), default=None
        ),
    }


def plcp_guarantee(
    rule: Any, follow: bool, n: int, weighted: bool, clusters: IntArray | None = None
) -> Guarantee:
    """Return what holds for a PLCP calibrated on n rows, and when."""
    base = {"alpha": rule.alpha, "n": n}
    in_groups = {**base, "scope": "learned groups", "n_groups": rule.n_groups_}
    if rule._mode == "rotate":
        return _rotated_guarantee(rule, base, weighted, clusters)
    if rule._mode == "held-out":
        note = "Groups were learned from other rows; nothing exact holds for each of them."
        promise = weighted_or_exact(weighted, confidence=rule.confidence, clusters=clusters)
        return Guarantee(**base, **promise, scope="marginal", note=note)
    if rule._mode == "joint":
        note = (
            "Thresholds were read off the training rows of the partition, and tend to cover less "
            f"than {1 - rule.alpha:g} until n is large (Theorem 3.11)."
        )
        return Guarantee("none", **in_groups, note=note)
    if rule._assigns == "mean" and not isinstance(rule.partition_, OrderedPartition):
        note = (
            f"Each threshold covers {1 - rule.alpha:g} of its own group, but their mean is used; "
            "by Jensen its pinball loss is no larger."
        )
        return Guarantee("none", **in_groups, note=note)
    if rule._mode == "split":
        promise = weighted_or_exact(weighted, confidence=rule.confidence, clusters=clusters)
        return Guarantee(**in_groups, **promise)
    learned = "regressor" if follow else "partition"
    growing = "n grows" if clusters is None else "the number of groups of rows grows"
    converging = f"fold models and their average converge to the same {learned} as {growing}"
    return Guarantee(
        "asymptotic",
        **in_groups,
        assumptions=(converging, CONTINUOUS),
        note=_in_the_sample(rule.alpha, n) if follow and not weighted else "",
    )


def _rotated_guarantee(
    rule: Any, base: Mapping[str, Any], weighted: bool, clusters: IntArray | None
) -> Guarantee:
    """Return what holds for a rule of the rotation that is drawn, or for the mean of all."""
    rules = f"{len(rule.rotation_)} rules, each calibrated on a block of rows that it has not seen"
    promise = weighted_or_exact(weighted, clusters=clusters)
    if rule._assigns != "mean":
        note = (
            f"Each row is served by one of {rules}; a hash of its values chooses which, so that "
            "equal rows get the same rule."
        )
        if not draws_blocks(rule.cv, clusters):
            promise["kind"] = "approximate"
            note += (
                " The blocks were given: they must have been drawn without regard to features, "
                "scores, groups and the order of rows for this to be exact."
            )
        return Guarantee(**base, **promise, scope="marginal", note=note)
    note = f"Thresholds are the mean of {rules}. A rule drawn for each row would be exact."
    return Guarantee(
        **base,
        **{
            **promise,
            "kind": "approximate",
            "assumptions": (*promise["assumptions"], FALLING),
        },
        scope="marginal",
        note=note,
    )


def draws_blocks(cv: Any, clusters: IntArray | None) -> bool:
    """Whether blocks are drawn at random, so that nothing rows hold divides them.

    Rows of a block that their content has chosen are not exchangeable with a new row, and neither
    are those of a block by position if rows are sorted, or in the order of time.

    Examples
    --------
    >>> from sklearn.model_selection import KFold
    >>> draws_blocks(6, None), draws_blocks(KFold(6, shuffle=True), None)
    (True, True)
    >>> draws_blocks(KFold(6), None)
    False
    """
    if isinstance(cv, str) or is_whole(cv):
        return True
    return type(cv) is KFold and cv.shuffle and clusters is None


def copies_guarantee(exact: Guarantee, share: float) -> Guarantee:
    """Return what holds for a split by the content of rows, exact but for copies in other parts.

    ``share`` is that of the rows which have such copies.
    """
    if share == 0:
        return replace(exact, note="No two parts hold the same row and score.")
    note = (
        f"About {100 * share:.2g} % of the rows have copies in other parts, drawn together: leave "
        "copies out, or put all copies of a row into one part, to be exact."
    )
    return replace(exact, kind="approximate", note=note)


def despite_copies(promise: Guarantee, share: float) -> Guarantee:
    """Return what holds where copies of rows stayed on one side of a division.

    A new row has no side, and may be a copy of rows on either: then it is not exchangeable with
    those that calibrate. ``share`` is that of the rows which are copies.
    """
    if share == 0 or not promise.is_finite_sample:
        return promise
    note = (
        f"{promise.note} About {100 * share:.2g} % of the rows are taken for copies of others, and "
        "copies were kept together. If they are cases recorded twice, leave them out: the promise "
        "is then exact for new cases."
    )
    return replace(promise, kind="approximate", confidence=None, note=note.strip())


def _in_the_sample(alpha: float, n: int) -> str:
    """What is exact without any assumption; with weights nothing is."""
    return (
        f"In the sample: at least {conformal_rank(n, alpha)} of the {n} calibration scores lie at "
        "or below their own out-of-fold threshold. Split calibration is exact."
    )


def conditional_guarantee(rule: Any, n: int, exact: bool) -> Guarantee:
    """Return what holds for conditional calibration, exact unless its rows chose the class."""
    k, m = rule.n_columns_, len(rule.groups_)
    span = f"in the span of {'a constant' if k == 1 else f'{k} columns'}"
    scope = {
        "scope": "given groups" if m else "marginal",
        "alpha": rule.alpha,
        "n": n,
        "n_groups": m or None,
    }
    if not exact:
        note = (
            f"The same under every shift {span}. Rows were weighted, or chose the kernel that "
            "compares them."
        )
        return Guarantee("approximate", **scope, assumptions=(EXCHANGEABLE,), note=note)
    shifts = "every shift" if rule.randomized else "every nonnegative shift"
    note = f"The same under {shifts} {span}."
    if rule.randomized:
        note = f"The same under {shifts} {span}, as an equation."
    if rule.l2_ is not None:
        note += (
            f" Under a smooth shift f it is off by 2 l2 <g, f> / E[f], with l2 = {rule.l2_:.3g} "
            "and g the smooth part of the thresholds."
        )
    untied = ("no scores tie",) * bool(rule.randomized)
    return Guarantee("exact", **scope, assumptions=(EXCHANGEABLE, *untied), note=note)

"""Which method to use, and why: steps that each keep the methods that may be the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from plcp.comparison.roster import COSTS, ROSTER
from plcp.evaluation.formatting import number
from plcp.metrics.measure import Measure, paired_difference, paired_terms, skewed_mean
from plcp.thresholds.guarantees import KINDS

if TYPE_CHECKING:
    from plcp.comparison.result import ComparedMethod

FEW_NAMES = 6  # that a sentence lists
MARGIN = 0.05  # sets that are larger by less are as good


def may_be_smallest(
    measures: Mapping[str, Measure],
    confidence: float = 0.95,
    *,
    floor: float | None = None,
    margin: float = 0.0,
) -> list[str]:
    """Names of the methods that may have the smallest expectation, in the order of the estimates.

    A method is ruled out if another is smaller beyond chance: if the lower bound of their paired
    difference is above zero, where the bounds for all k - 1 others hold at once (Bonferroni). So
    the one that is smallest in truth is among those that remain with the given confidence,
    whichever it is and however many there are: nothing is lost by looking at the estimates first.

    Of expectations below the ``floor`` none is smaller than another: a method is then ruled out
    only if its own lower bound is above the floor, too. An excess risk below zero, for one, is that
    of a classifier which predicts noise. With a ``margin`` of 0.05 a method is ruled out only if it
    is more than 5 % larger than another, beyond chance.

    References
    ----------
    Hsu (1984). Constrained simultaneous confidence intervals for multiple comparisons with the
    best. Annals of Statistics.

    Examples
    --------
    >>> from plcp.metrics import mean_size
    >>> size = np.arange(100.0)
    >>> sizes = {"a": size, "b": size + 1 + np.arange(100) % 2, "c": size[::-1]}
    >>> may_be_smallest({name: mean_size(each) for name, each in sizes.items()})
    ['a', 'c']
    >>> may_be_smallest({name: mean_size(each) for name, each in sizes.items()}, margin=0.1)
    ['a', 'c', 'b']
    """
    each = max(0.0, 1 - 2 * (1 - confidence) / max(len(measures) - 1, 1))
    order = sorted(measures, key=lambda name: (measures[name].estimate, name))
    terms = paired_terms(measures)

    def is_above_floor(name: str) -> bool:
        law = skewed_mean(terms[name], measures[name].weights)
        return floor is None or law.interval(each)[0] > floor

    def is_larger(name: str, other: str) -> bool:
        one, two = measures[name], measures[other]
        most, step = (1 + margin) * terms[other], max(one.step, two.step)
        return paired_difference(terms[name], most, one.weights, each, step).low > 0

    def is_beaten(name: str) -> bool:
        smaller = order[: order.index(name)]
        return is_above_floor(name) and any(is_larger(name, other) for other in smaller)

    return [name for name in order if not is_beaten(name)]


class Choice(NamedTuple):
    """A recommended method, and the sentences that say why, one per step."""

    name: str
    reasons: list[str]


Methods = Sequence["ComparedMethod"]
Left = tuple[Methods, str]  # those that a step keeps, and its sentence


def choose(
    methods: Mapping[str, ComparedMethod],
    best: Sequence[str],
    alpha: float,
    confidence: float = 0.95,
    units: str = "length",
) -> Choice:
    """Recommend one of the methods that may have the smallest conditional error.

    Of these, those without infinite sets, which cover any outcome; of these, those whose worst
    group may be covered best, or as promised; of these, those with the strongest kind of
    guarantee; of these, those whose sets may be the smallest to within 5 %; of these, those whose
    guarantee holds in groups; of these the simplest, and of several the one with the smallest
    estimates. Steps end where one is left, and none that all methods fail leaves any out. None
    reads the clock: on the same rows the recommendation is the same on any machine.
    """
    left: Methods = [methods[name] for name in best]
    said = [_first_step(left, len(methods), f"{100 * confidence:g} %")]
    steps = (
        _finite,
        partial(_best_worst_group, alpha=alpha, confidence=confidence),
        _strongest,
        partial(_smallest, confidence=confidence, units=units),
        _in_groups,
        _simplest,
        partial(_by_estimates, units=units),
    )
    for step in steps:
        if len(left) > 1:
            left, sentence = step(left)
            said.append(sentence)
    chosen = left[0]
    covered = chosen.coverage
    said.append(
        f"{chosen.name} covers {covered.estimate:.3f} of the rows "
        f"({covered.low:.3f} to {covered.high:.3f})."
    )
    if not _is_finite(chosen):
        said.append(f"Some sets of {chosen.name} are infinite.")
    return Choice(chosen.name, [*filter(None, said)])


def _first_step(best: Methods, n: int, sure: str) -> str:
    if n == 1:
        return f"{best[0].name} is the only method that was measured."
    most, rest = max(one.conditional_error.estimate for one in best), n - len(best)
    each, less = ("", "") if len(best) == 1 else ("each ", " or less")
    found = f"{each}estimated at {100 * most:.1f} percentage points{less}"
    if round(100 * most, 1) <= 0:
        found = "none was found"
    ruled_out = f"{rest} other{' is' if rest == 1 else 's are'} ruled out"
    if rest == 0:
        ruled_out = f"none of the {n} methods is ruled out"
    return (
        f"With {sure} confidence {listed(best, 'or')} has the smallest conditional error "
        f"({found}); {ruled_out}."
    )


def _kept(left: Methods, names: Sequence[str]) -> Methods:
    by_name = {one.name: one for one in left}
    return [by_name[name] for name in names]


def _is_finite(one: ComparedMethod) -> bool:
    return bool(np.isfinite(one.size.estimate))


def _finite(left: Methods) -> Left:
    kept = [one for one in left if _is_finite(one)]
    if not kept or len(kept) == len(left):
        return left, ""
    others = [one for one in left if not _is_finite(one)]
    have = "has infinite sets, and is" if len(others) == 1 else "have infinite sets, and are"
    return kept, f"Of these, {listed(others)} {have} set aside."


def _best_worst_group(left: Methods, alpha: float, confidence: float) -> Left:
    coverage = {one.name: one.worst_group for one in left if one.worst_group is not None}
    if len(coverage) < len(left):
        return left, ""
    # the largest coverage is the smallest of its negative; that of 1 - alpha is as good as any
    kept = may_be_smallest(
        {name: _negative(one) for name, one in coverage.items()}, confidence, floor=alpha - 1
    )
    if len(kept) == len(left):
        return left, "Their worst groups do not differ beyond chance."
    lowest = min(coverage[name].estimate for name in kept)
    few = len(kept) == 1
    left = _kept(left, kept)
    return left, (
        f"Of these, {listed(left)} {'covers' if few else 'cover'} the worst group best, beyond "
        f"chance ({lowest:.3f}{'' if few else ' or more'})."
    )


def _negative(measure: Measure) -> Measure:
    terms: Any = measure.terms
    return replace(measure, estimate=-measure.estimate, terms=-terms)


def _strongest(left: Methods) -> Left:
    rank = min(_rank_of_guarantee(one) for one in left)
    kept = [one for one in left if _rank_of_guarantee(one) == rank]
    if KINDS[rank] == "none":
        return kept, "None of them has a guarantee."
    if len(kept) == len(left):
        return kept, f"Their guarantees are of the same kind, {KINDS[rank]}."
    has = "has" if len(kept) == 1 else "have"
    return kept, f"Of these, {listed(kept)} {has} the strongest kind of guarantee, {KINDS[rank]}."


def _rank_of_guarantee(one: ComparedMethod) -> int:
    return KINDS.index("none" if one.guarantee is None else one.guarantee.kind)


def _smallest(left: Methods, confidence: float, units: str) -> Left:
    if not _is_finite(left[0]):
        return left, ""
    mean_sizes = {one.name: one.size for one in left}
    kept = _kept(left, may_be_smallest(mean_sizes, confidence, margin=MARGIN))
    sizes = sorted(one.size.estimate for one in kept)
    ends = dict.fromkeys(number(size) for size in (sizes[0], sizes[-1]))
    mean = f"mean {units} {' to '.join(ends)}"
    percent = f"more than {100 * MARGIN:g} % larger"
    if len(kept) == len(left):
        return kept, f"None has sets that are {percent} than another's, beyond chance ({mean})."
    has = "has" if len(kept) == 1 else "have"
    others = f"the others' are {percent}, beyond chance"
    return kept, f"Of these, {listed(kept)} {has} the smallest sets ({mean}; {others})."


def _in_groups(left: Methods) -> Left:
    kept = [
        one
        for one in left
        if one.guarantee is not None
        and one.guarantee.kind != "none"
        and one.guarantee.scope != "marginal"
    ]
    if not kept or len(kept) == len(left):
        return left, ""
    return kept, f"Of these, the guarantee of {listed(kept)} holds in groups, not only on average."


def _simplest(left: Methods) -> Left:
    def place(one: ComparedMethod) -> int:
        return COSTS.index(one.cost) if one.cost else len(COSTS)

    kept = [one for one in left if place(one) == min(map(place, left))]
    if len(kept) == len(left):
        return left, ""
    is_ = "is" if len(kept) == 1 else "are"
    return kept, f"Of these, {listed(kept)} {is_} the simplest ({kept[0].cost})."


def _by_estimates(left: Methods, units: str) -> Left:
    """Chance may decide here; of methods that give the same sets, the order of names does."""
    places = [*ROSTER]

    def key(one: ComparedMethod) -> tuple[Any, ...]:
        place = places.index(one.name) if one.name in ROSTER else len(places)
        return max(0.0, one.conditional_error.estimate), one.size.estimate, place, one.name

    first, second, *_ = order = sorted(left, key=key)
    if key(first)[:2] == key(second)[:2]:
        alike = [one for one in order if key(one)[:2] == key(first)[:2]]
        return [first], f"Of these, {listed(alike)} give the same sets, and {first.name} will do."
    what = "conditional error" if key(first)[0] < key(second)[0] else f"mean {units}"
    return [first], f"Of these, {first.name} has the smallest estimate of {what}."


def listed(methods: Methods, word: str = "and") -> str:
    """Write names of methods in a sentence."""
    names = [one.name for one in methods]
    if len(names) > FEW_NAMES:
        return f"{'one of ' if word == 'or' else ''}{len(names)} methods"
    return f" {word} ".join(filter(None, [", ".join(names[:-1]), names[-1]]))

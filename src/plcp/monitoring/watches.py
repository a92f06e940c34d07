"""What a monitor reads off a fitted rule: the misses that calibration predicts, and those seen."""

import hashlib
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import fields, is_dataclass
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plcp._options import check_same_rows
from plcp._validation import check_lengths, check_scores
from plcp.conformal import Conformal
from plcp.monitoring.martingale import Urn
from plcp.quantiles import FloatArray, IntArray, shared_confidence
from plcp.thresholds.base import ThresholdRule, distinct, members_of_codes


class Watch(NamedTuple):
    """Thresholds of one alpha and one tail, and the misses that calibration predicts for them.

    ``title`` names them among others of the same rule; ``all_rows`` is the urn of all rows where
    not each of them is in just one group; ``exact`` says whether misses follow the urns exactly if
    nothing drifts; ``digest`` identifies the thresholds.
    """

    title: str
    alpha: float
    all_rows: Urn
    groups: dict[str, Urn]
    exact: bool
    digest: str


class Misses(NamedTuple):
    """Which rows were missed, and the rows of each group, rising.

    ``disjoint`` says whether each row is in just one group, or in one that calibration had not.
    """

    missed: NDArray[np.bool_]
    members: list[IntArray]
    disjoint: bool


def watches_of(model: Any) -> list[Watch]:
    """Return what to monitor in a fitted rule or conformal estimator: each tail and alpha."""
    model = copy(model)  # so that a fit that ends meanwhile changes nothing here
    if isinstance(model, ThresholdRule):
        return _watches_of_rule(model)
    score = model.conformity_
    exact = score.learned is None and not score.draws
    one = len(model.tail_rules_) == 1
    return [
        watch._replace(
            title=watch.title if one else f"tail {i}, {watch.title}", exact=watch.exact and exact
        )
        for i, rule in enumerate(model.tail_rules_, start=1)
        for watch in _watches_of_rule(rule)
    ]


def misses_of(model: Any, X: Any, y: ArrayLike, rule_groups: ArrayLike | None) -> list[Misses]:
    """Return which rows were missed, one record per watch.

    ``y`` holds scores for a threshold rule, labels for a conformal estimator.
    """
    model = copy(model)
    if isinstance(model, Conformal):
        if rule_groups is not None:
            raise ValueError(
                "rule_groups are for bare threshold rules: the rule of this "
                f"{type(model).__name__} finds groups in X"
            )
        scores, rows, codes = model._scored(X, y)
        tails = zip(model.tail_rules_, scores.T, strict=True)
        return [
            found
            for rule, column in tails
            for found in _misses_of_rule(
                rule, rows, column, *model._given_to_rule(rule, codes).values()
            )
        ]
    if rule_groups is not None and "groups" not in signature(model.predict).parameters:
        raise ValueError(
            f"rule_groups are for rules whose predict takes groups, which {type(model).__name__} "
            "does not: leave them out"
        )
    check_same_rows(X, y=y)
    groups = () if rule_groups is None else (rule_groups,)
    return _misses_of_rule(model, X, check_scores(y), *groups)


def _watches_of_rule(rule: ThresholdRule) -> list[Watch]:
    if hasattr(rule, "rules_"):
        return [_watch_of(each, f"alpha {each.alpha:g}, ") for each in rule.rules_]
    return [_watch_of(rule, "")]


def _watch_of(rule: Any, title: str) -> Watch:
    alpha, names = float(rule.alpha), rule.group_names()
    sizes: FloatArray = np.empty(0)
    if names:  # the calibration rows of each group, of weighted ones the effective number
        sizes = np.asarray(rule.group_sizes_ if rule._group_rows is None else rule._group_rows)
    if not hasattr(rule, "_n_calibration") and len(sizes) == 0:
        raise ValueError(
            f"this {type(rule).__name__} does not know how many rows calibrated it: fit it again"
        )
    n_calibration = float(getattr(rule, "_n_calibration", np.sum(sizes)))
    # a drawn rank is missed with probability alpha, which is no whole number of n + 1
    kind = (alpha, rule._weighted or rule._drawn_ranks is not None)
    shared_by = 1 if rule.guarantee_.scope == "marginal" else max(len(names), 1)
    confidence = shared_confidence(getattr(rule, "confidence", None), shared_by)
    return Watch(
        title=title,
        alpha=alpha,
        all_rows=Urn.of(n_calibration, *kind, confidence),
        groups={
            name: Urn.of(size, *kind, confidence)
            for name, size in zip(distinct(["all", *names])[1:], sizes, strict=True)
        },
        # equal new rows share their draw, and each calibration row has its own
        exact=rule._reads_ranks
        and rule.guarantee_.is_finite_sample
        and not rule.draws
        and not rule._clustered
        and (rule.guarantee_.scope != "marginal" or len(names) < 2),
        digest=_digest(rule),
    )


def _misses_of_rule(rule: Any, X: Any, scores: FloatArray, *groups: ArrayLike) -> list[Misses]:
    return [_misses(each, X, scores, *groups) for each in getattr(rule, "rules_", [rule])]


def _misses(rule: Any, X: Any, scores: FloatArray, *given: ArrayLike) -> Misses:
    groups, thresholds = rule.assign(X, *given)
    check_lengths(thresholds, scores)
    names = rule.group_names()
    if groups is None or not names:
        return Misses(scores > thresholds, [*rule.members(X, *given).values()], disjoint=False)
    members = members_of_codes(names, np.where(groups < 0, len(names), groups))
    return Misses(scores > thresholds, [*members.values()], disjoint=True)


def _digest(rule: ThresholdRule) -> str:
    """SHA-256 of all numbers that a fitted rule holds, its partition and regressor aside."""
    digest = hashlib.sha256(f"{type(rule).__name__} {float(rule.alpha)!r}".encode())
    options = rule.get_params(deep=False)
    for name, value in sorted(vars(rule).items()):
        if name not in options:
            for numbers in _numbers_in(value):
                digest.update(f"{name} {numbers.shape}".encode())
                digest.update(np.asarray(numbers, dtype="<f8").tobytes())
    return digest.hexdigest()


def _numbers_in(value: Any) -> Iterator[NDArray[Any]]:
    """Arrays of numbers in a value, in lists and in records of them."""
    if isinstance(value, bool | int | float | np.ndarray | np.generic):
        array = np.asarray(value)
        if array.dtype.kind in "biuf":
            yield array
    elif isinstance(value, Mapping):
        value = [*value.values()]
    elif is_dataclass(value):
        value = [getattr(value, field.name) for field in fields(value)]
    if isinstance(value, list | tuple):
        for each in value:
            yield from _numbers_in(each)

"""Calibrate a table: methods by name, and the model that one of them learns from rows in memory."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from plcp._files import find_column
from plcp._options import check_count, check_option
from plcp.evaluation.certificate import versions_of
from plcp.explain import explain_groups
from plcp.explain.explanation import LEAST_ROWS
from plcp.tables.columns import (
    Feature,
    Framer,
    LeftOut,
    learn_features,
    learn_labels,
    left_out_note,
    rule_input,
    to_frame,
)
from plcp.tables.model import TabularModel
from plcp.tables.roles import METHODS, CalibrationOptions, Roles
from plcp.tables.scores import Counts, Pairs, check_order, learn_classes, read_pairs
from plcp.thresholds import PLCP, BatchGCP, Mondrian, Rectified, SplitConformal, ThresholdRule
from plcp.thresholds._plcp_learning import most_groups
from plcp.thresholds.base import check_alphas

MOST_GROUPS = 8  # as many as people read; thresholds follow the regressor, and more gain little


@dataclass(frozen=True)
class Method:
    """A rule, and its input: "features", the columns "by" which it groups, or nothing."""

    make: Callable[[Any, int], ThresholdRule]  # of CalibrationOptions and the number of rows
    input: str | None = "features"
    learns_groups: bool = False


def _plcp(options: Any, rows: int) -> PLCP:
    m = options.groups or most_groups(rows, MOST_GROUPS)
    return PLCP(n_groups=m, alpha=options.alpha, random_state=options.seed)


def _plcp_split(options: Any, rows: int) -> PLCP:
    # half of the rows learn the groups
    return _plcp(options, rows // 2).set_params(calibration="split")


RULES = {
    "plcp": Method(_plcp, learns_groups=True),
    "plcp-split": Method(_plcp_split, learns_groups=True),
    "split": Method(lambda given, _: SplitConformal(alpha=given.alpha), input=None),
    "rectified": Method(lambda given, _: Rectified(alpha=given.alpha, random_state=given.seed)),
    "mondrian": Method(lambda given, _: Mondrian([*given.by], alpha=given.alpha), input="by"),
    "batch-gcp": Method(lambda given, _: BatchGCP([*given.by], alpha=given.alpha), input="by"),
}


def find_method(options: CalibrationOptions) -> Method:
    """Return the method, after a check of options that do not go with it."""
    name, by, groups = options.method, options.by, options.groups
    found = RULES[check_option("method", name, METHODS)]
    if found.input == "by" and not by:
        raise ValueError(f"method {name!r} needs groups: name their columns, as in --by sex")
    if found.input != "by" and by:
        raise ValueError(
            f"method {name!r} takes no groups by {by[0]!r}: use 'mondrian' or 'batch-gcp'"
        )
    if groups is not None:
        check_count("groups", groups, 1)
        if not found.learns_groups:
            raise ValueError(
                f"method {name!r} learns no groups, got groups={groups}: use 'plcp' or 'plcp-split'"
            )
    return found


@dataclass(frozen=True)
class Task:
    """Rows in memory, the input that a rule makes of them, and which rule is wanted."""

    method: Method
    options: CalibrationOptions  # with a single alpha
    roles: Roles
    classes: pa.Array | None
    features: tuple[Feature, ...]
    X: Any
    pairs: Pairs

    @property
    def alpha(self) -> float:
        """Miscoverage rate."""
        return float(self.options.alpha)  # type: ignore[arg-type]

    def make_rule(self) -> ThresholdRule:
        """Return the rule, not yet fitted."""
        return self.method.make(self.options, len(self.pairs.scores))


@dataclass(frozen=True)
class Fitted:
    """A fitted rule and split conformal prediction beside it, and the rows they were fitted to.

    ``learned_from`` is the number of rows that the rule's groups were learned from, where others
    gave thresholds too.
    """

    rule: Any
    split: SplitConformal
    features: tuple[Feature, ...]
    counts: Counts
    notes: tuple[str, ...]
    learned_from: int | None = None


Fit = Callable[[Task], Fitted]


def fit_in_memory(task: Task) -> Fitted:
    """Fit to the rows of the task, and to no others."""
    pairs = task.pairs
    pairs.counts.check_any("calibrate")
    rule = task.make_rule()
    notes = warnings_of(lambda: rule.fit(task.X, pairs.scores, pairs.weights))
    split = SplitConformal(alpha=task.alpha)
    no_features = np.zeros((len(pairs.scores), 1))
    warnings_of(lambda: split.fit(no_features, pairs.scores, pairs.weights))  # the rule's again
    return Fitted(rule, split, task.features, pairs.counts, tuple(notes))


def warnings_of(work: Callable[[], Any]) -> list[str]:
    """Do the work, and return the text of each warning once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return list(dict.fromkeys(str(warning.message) for warning in caught))


def calibrate(table: pa.Table, roles: Roles, **options: Any) -> TabularModel:
    """Learn a threshold for each kind of row from rows whose outcomes are known.

    Rows without an outcome, a prediction, a score or a weight are left out, and counted in the
    model's ``notes``.

    Parameters
    ----------
    table : pyarrow.Table
        The calibration rows.
    roles : Roles
        Which column is what.
    **options
        Fields of `plcp.tables.roles.CalibrationOptions`: method, alpha, by, groups, seed, …

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.tables import calibrate, choose_roles
    >>> table = pa.table({"x": np.arange(99.0), "y": np.arange(99.0), "yhat": np.zeros(99)})
    >>> roles = choose_roles(table.column_names, target="y", prediction="yhat")
    >>> calibrate(table, roles, method="split").rule.threshold_
    89.0
    """
    return learn(table, roles, CalibrationOptions(**options), fit_in_memory)


def learn(table: pa.Table, roles: Roles, options: CalibrationOptions, fit: Fit) -> TabularModel:
    """Return the model of some rows, whose rule is fitted by ``fit``."""
    alpha, *others = check_alphas(options.alpha)
    by = [find_column(name, table.column_names) for name in options.by or ()]
    sensitive = [find_column(name, table.column_names) for name in options.sensitive]
    first = replace(options, alpha=alpha, by=by)
    method = find_method(first)
    _check_known(by, roles)
    classes = learn_classes(table, roles) if roles.task == "classes" else None
    pairs = read_pairs(table, roles, classes)
    check_order(pairs.table, roles)
    if method.input == "features":
        _check_enough(pairs, options.method)
    features, left_out = _input_columns(method.input, pairs.table, roles, by)
    X = rule_input(Framer(features), pairs.table)
    task = Task(method, first, roles, classes, features, X, pairs)
    fitted = fit(task)
    more = {other: fit(replace(task, options=replace(first, alpha=other))) for other in others}
    words = None
    if options.explain and method.learns_groups:
        words = _describe(fitted.rule, X, pairs, sensitive, options.seed)
    counts, weights = fitted.counts, pairs.weights
    return TabularModel(
        roles=roles,
        features=fitted.features,
        left_out=left_out,
        rule=fitted.rule,
        others=tuple(other.rule for other in more.values()),
        split=fitted.split,
        classes=classes,
        method=options.method,
        explanation=words,
        about={
            "rows": counts.used,
            **({} if fitted.learned_from is None else {"rows_learned_from": fitted.learned_from}),
            "weight": float(counts.used if weights is None else weights.sum()),
            "rows_left_out": counts.rows - counts.used,
            "seed": options.seed,
            "options": {
                "method": options.method,
                "alpha": options.alpha,
                "by": by,
                "groups": options.groups,
            },
            "versions": versions_of(fitted.rule) | {"pyarrow": pa.__version__},
            **(options.about or {}),
        },
        notes=(
            *counts.notes,
            *left_out_note(left_out, pairs.table),
            *fitted.notes,
            *_notes_of_others(fitted, more),
        ),
    )


def _notes_of_others(first: Fitted, others: Mapping[float, Fitted]) -> Iterator[str]:
    """Notes on further alphas that the first does not have."""
    for alpha, fitted in others.items():
        yield from (f"alpha = {alpha:g}: {one}" for one in fitted.notes if one not in first.notes)


def _check_known(by: Sequence[str], roles: Roles) -> None:
    unknown = [name for name in by if name in (roles.target, roles.score)]
    if unknown:
        raise ValueError(
            f"cannot group by {unknown[0]!r}: new rows will not have it; name another column"
        )


def _check_enough(pairs: Pairs, method: str) -> None:
    pairs.counts.check_any("calibrate")
    if len(pairs.scores) == 1:
        raise ValueError(
            f"method {method!r} cannot learn from one row: give more, or use the method 'split'"
        )


def _input_columns(
    what: str | None, table: pa.Table, roles: Roles, by: Sequence[str]
) -> tuple[tuple[Feature, ...], tuple[LeftOut, ...]]:
    """Columns that a rule uses, and those it may not."""
    if what is None:
        return (), ()
    if what == "by":
        return learn_labels(table, by), ()
    features, left_out = learn_features(
        table,
        roles.features,
        named=roles.named,
        codes=roles.codes,
        predictions=roles.predictions,
    )
    if not features:
        why = "".join(f"; {left.column!r}: {left.reason}" for left in left_out)
        raise ValueError(
            "there is no column to learn groups from: name features, or use the method "
            f"'split'{why}"
        )
    return features, left_out


def _describe(rule: Any, X: Any, pairs: Pairs, named: Sequence[str], seed: int) -> Any:
    """Learned groups described; None where there are too few rows to learn a description from."""
    if len(pairs.scores) < LEAST_ROWS:
        return None
    sensitive = to_frame(pairs.table.select([*named])) if named else ()
    return explain_groups(rule, X, sensitive=sensitive, random_state=seed).to_dict()

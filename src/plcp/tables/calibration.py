"""Calibrate a table: the model that a method learns from its rows."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from plcp._files import find_column
from plcp._options import check_count, check_option
from plcp.explain import explain_groups
from plcp.explain.explanation import LEAST_ROWS
from plcp.storage.files import versions_of
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
from plcp.tables.io import TableFile
from plcp.tables.model import TabularModel
from plcp.tables.roles import METHODS, CalibrationOptions, Method, Roles
from plcp.tables.scores import (
    Counts,
    Pairs,
    check_order,
    learn_classes,
    read_outcomes,
    read_pairs,
)
from plcp.thresholds import SplitConformal, ThresholdRule
from plcp.thresholds.base import check_alphas, check_confidence
from plcp.thresholds.labels import LabelConditional


def find_method(options: CalibrationOptions) -> Method:
    """Return the method, after a check of options that do not go with it."""
    name, by, groups = options.method, options.by, options.groups
    found = METHODS[check_option("method", name, tuple(METHODS))]
    if found.input == "by" and not by:
        raise ValueError(f"method {name!r} needs groups: name their columns, as in --by sex")
    if found.input != "by" and by:
        others = " or ".join(repr(key) for key, one in METHODS.items() if one.input == "by")
        raise ValueError(f"method {name!r} takes no groups by {by[0]!r}: use {others}")
    if options.confidence is not None:
        check_confidence(options.confidence)
        if not found.takes_confidence:
            others = " or ".join(repr(key) for key, one in METHODS.items() if one.takes_confidence)
            raise ValueError(f"method {name!r} keeps no confidence: use {others}")
    if groups is not None:
        check_count("groups", groups, 1)
        if not found.learns_groups:
            others = " or ".join(repr(key) for key, one in METHODS.items() if one.learns_groups)
            raise ValueError(f"method {name!r} learns no groups, got groups={groups}: use {others}")
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
        rows = len(self.pairs.scores)
        if not self.options.label_conditional or self.classes is None:
            return self.method.make(self.options, rows)
        labels = self.classes.cast(pa.string()).to_pylist()
        return LabelConditional(self.method.make(self.options, rows // len(labels)), labels)


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
    rule, given = task.make_rule(), {}
    if isinstance(rule, LabelConditional):
        given = {"groups": read_outcomes(pairs.table, task.roles, task.classes)[0]}
    notes = warnings_of(lambda: rule.fit(task.X, pairs.scores, pairs.weights, **given))
    split = SplitConformal(alpha=task.alpha, confidence=task.options.confidence)
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
        Fields of `plcp.tables.CalibrationOptions`: method, alpha, by, groups, seed, …

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from plcp.tables import calibrate, choose_roles
    >>> table = pa.table({"x": np.arange(99.0), "y": np.arange(99.0), "yhat": np.zeros(99)})
    >>> roles = choose_roles(table.column_names, target="y", prediction="yhat")
    >>> calibrate(table, roles, method="split").rule.threshold_
    89.0
    """
    return learn(table, roles, CalibrationOptions(**options), fit_in_memory)


def calibrate_file(
    file: TableFile, roles: Roles, *, most: int = 1_000_000, **options: Any
) -> TabularModel:
    """Learn from a table on disk, of whose rows at most ``most`` are held in memory.

    Of more rows, so many are drawn, and the groups learned from them; the thresholds are read off
    all rows, by counting. Split and Mondrian learn the same, to the last bit, as from all rows in
    memory. Rectified and BatchGCP, and any method with weights or given the label, use the rows
    drawn alone; the model's notes state it.

    Parameters
    ----------
    file : TableFile
        The calibration rows.
    roles : Roles
        Which column is what.
    most : int, default=1_000_000
        How many rows to hold.
    **options
        Those of `calibrate`.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from plcp.tables import calibrate_file, choose_roles
    >>> from plcp.tables.io import create_table, open_table
    >>> table = pa.table({"s": range(99)})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with create_table(f"{folder}/cal.parquet", table.schema) as writer:
    ...         writer.write(table.to_batches()[0])
    ...     file = open_table(f"{folder}/cal.parquet")
    ...     calibrate_file(file, choose_roles(["s"], score="s"), most=5, method="split").rule
    ...
    SplitConformal()
    """
    given = CalibrationOptions(**options)
    method = find_method(given)
    used = {*roles.unknown_later, *roles.predictions, *(given.by or ()), *given.sensitive}
    if method.input == "features":
        used.update(roles.features)
    columns = [name for name in file.schema.names if name in used]
    if given.method == "plcp-split" and file.n_rows is not None and file.n_rows > most:
        most = min(most, file.n_rows // 2)  # the rows that calibrate alone must not be few
    sample = file.draw(columns, most=most, seed=given.seed)
    fit: Fit = fit_in_memory
    notes: list[str] = []
    if file.n_rows != len(sample.rows):
        if method.in_memory or roles.weight is not None or given.label_conditional:
            whose = f"the method {given.method}"
            if roles.weight is not None:
                whose = "a weighted table"
            elif given.label_conditional:
                whose = "label-conditional thresholds"
            why = f"No others were used: the rows of {whose} must be in memory; --rows takes more."
            notes = [f"{note} {why}" for note in file.sample_note(len(sample.rows))]
        else:
            from plcp.tables.out_of_core import Counting

            fit = Counting(file, columns, sample.rows).fit
    model = learn(sample.table, roles, given, fit)
    file.check_unchanged()
    return replace(model, notes=(*notes, *model.notes))


def learn(table: pa.Table, roles: Roles, options: CalibrationOptions, fit: Fit) -> TabularModel:
    """Return the model of some rows, whose rule is fitted by ``fit``."""
    alpha, *others = check_alphas(options.alpha)
    by = [find_column(name, table.column_names) for name in options.by or ()]
    sensitive = [find_column(name, table.column_names) for name in options.sensitive]
    first = replace(options, alpha=alpha, by=by)
    method = find_method(first)
    for name in by:
        if name in (roles.target, roles.score):
            remedy = "name another column"
            if roles.task == "classes":
                remedy = "give each label thresholds of its own, by --label-conditional"
            raise ValueError(f"cannot group by {name!r}: new rows will not have it; {remedy}")
    if options.label_conditional and roles.task != "classes":
        raise ValueError(
            "label_conditional needs labels, which have probabilities: name their columns, as by "
            "--probabilities 'p_*'; other outcomes are in no class"
        )
    classes = learn_classes(table, roles) if roles.task == "classes" else None
    pairs = read_pairs(table, roles, classes)
    check_order(pairs.table, roles)
    features: tuple[Feature, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    if method.input == "by":
        features = learn_labels(pairs.table, by)
    elif method.input == "features":
        features, left_out = _learn_features(pairs, roles, options.method)
    X = rule_input(Framer(features), pairs.table)
    task = Task(method, first, roles, classes, features, X, pairs)
    fitted = fit(task)
    more = {other: fit(replace(task, options=replace(first, alpha=other))) for other in others}
    words = None
    one_rule = not options.label_conditional  # and not groups of its own for each label
    if one_rule and options.explain and method.learns_groups and len(pairs.scores) >= LEAST_ROWS:
        compared = to_frame(pairs.table.select(sensitive)) if sensitive else ()
        found = explain_groups(fitted.rule, X, sensitive=compared, random_state=options.seed)
        words = found.to_dict()
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
                "confidence": options.confidence,
                "by": by,
                "groups": options.groups,
                "label_conditional": options.label_conditional,
            },
            "versions": versions_of(fitted.rule) | {"pyarrow": pa.__version__},
            **(options.about or {}),
        },
        notes=(
            *counts.notes,
            *left_out_note(left_out, pairs.table),
            *fitted.notes,
            *(
                f"alpha = {alpha:g}: {note}"
                for alpha, other in more.items()
                for note in other.notes
                if note not in fitted.notes
            ),
        ),
    )


def _learn_features(
    pairs: Pairs, roles: Roles, method: str
) -> tuple[tuple[Feature, ...], tuple[LeftOut, ...]]:
    pairs.counts.check_any("calibrate")
    if len(pairs.scores) == 1:
        raise ValueError(
            f"method {method!r} cannot learn from one row: give more, or use the method 'split'"
        )
    features, left_out = learn_features(
        pairs.table,
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

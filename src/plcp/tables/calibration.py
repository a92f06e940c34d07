"""Methods by name: the rule each of them stands for."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from plcp._files import find_column
from plcp._options import check_count, check_option, check_rate
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
from plcp.tables.roles import Roles
from plcp.tables.scores import Counts, Pairs, check_order, learn_classes, read_pairs
from plcp.thresholds import PLCP, BatchGCP, Mondrian, Rectified, SplitConformal, ThresholdRule
from plcp.thresholds._plcp_learning import most_groups
from plcp.thresholds.base import Alpha, check_alphas

MOST_GROUPS = 8  # as many as people read; thresholds follow the regressor, and more gain little


@dataclass(frozen=True)
class Choice:
    """What a rule is made from: level, seed, the user's groups, how many to learn, rows."""

    alpha: float
    seed: int
    by: tuple[str, ...]
    groups: int | None
    rows: int


@dataclass(frozen=True)
class Method:
    """A rule, and what it looks at: "features", the columns "by" which it groups, or nothing."""

    make: Callable[[Choice], ThresholdRule]
    looks_at: str | None = "features"
    learns_groups: bool = False


def _plcp(choice: Choice) -> PLCP:
    m = choice.groups or most_groups(choice.rows, MOST_GROUPS)
    return PLCP(n_groups=m, alpha=choice.alpha, random_state=choice.seed)


def _plcp_split(choice: Choice) -> PLCP:
    m = choice.groups or most_groups(choice.rows // 2, MOST_GROUPS)  # half of the rows teach
    return _plcp(choice).set_params(n_groups=m, calibration="split")


METHODS = {
    "plcp": Method(_plcp, learns_groups=True),
    "plcp-split": Method(_plcp_split, learns_groups=True),
    "split": Method(lambda choice: SplitConformal(alpha=choice.alpha), looks_at=None),
    "rectified": Method(lambda choice: Rectified(alpha=choice.alpha, random_state=choice.seed)),
    "mondrian": Method(lambda choice: Mondrian([*choice.by], alpha=choice.alpha), looks_at="by"),
    "batch-gcp": Method(lambda choice: BatchGCP([*choice.by], alpha=choice.alpha), looks_at="by"),
}


def check_choice(method: str, alpha: float, by: Sequence[str], groups: int | None) -> Method:
    """Return the method of this name, after a look at options that do not go with it."""
    found = METHODS[check_option("method", method, tuple(METHODS))]
    check_rate(alpha)
    if found.looks_at == "by" and not by:
        raise ValueError(f"method {method!r} needs groups: name their columns, as in --by sex")
    if found.looks_at != "by" and by:
        raise ValueError(
            f"method {method!r} takes no groups by {by[0]!r}: use 'mondrian' or 'batch-gcp'"
        )
    if groups is not None:
        check_count("groups", groups, 1)
        if not found.learns_groups:
            raise ValueError(
                f"method {method!r} learns no groups, got groups={groups}: use 'plcp' or "
                "'plcp-split'"
            )
    return found


@dataclass(frozen=True)
class Options:
    """What a user asks of a calibration, as `calibrate` explains it."""

    method: str = "plcp"
    alpha: Alpha = 0.1
    by: Sequence[str] | None = None
    groups: int | None = None
    seed: int = 0
    explain: bool = True
    sensitive: Sequence[str] = ()
    about: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Task:
    """Rows in memory, what a rule may see of them, and which rule is wanted."""

    method: Method
    choice: Choice
    roles: Roles
    classes: pa.Array | None
    features: tuple[Feature, ...]
    X: Any
    pairs: Pairs


@dataclass(frozen=True)
class Fitted:
    """A fitted rule and split conformal prediction beside it, and the rows they stand on.

    ``taught`` is the number of rows that the rule learned from, where others gave thresholds too.
    """

    rule: Any
    split: SplitConformal
    features: tuple[Feature, ...]
    counts: Counts
    notes: tuple[str, ...]
    taught: int | None = None


Fit = Callable[[Task], Fitted]


def fit_in_memory(task: Task) -> Fitted:
    """Fit to the rows of the task, and to no others."""
    pairs = task.pairs
    pairs.counts.check_any("calibrate")
    rule = task.method.make(task.choice)
    told = warned(lambda: rule.fit(task.X, pairs.scores, pairs.weights))
    split = SplitConformal(alpha=task.choice.alpha)
    nothing = np.zeros((len(pairs.scores), 1))
    warned(lambda: split.fit(nothing, pairs.scores, pairs.weights))  # the same as of the rule
    return Fitted(rule, split, task.features, pairs.counts, tuple(told))


def warned(work: Callable[[], Any]) -> list[str]:
    """Do something, and return what it warns of, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return list(dict.fromkeys(str(warning.message) for warning in caught))


def calibrate(
    table: pa.Table,
    roles: Roles,
    *,
    method: str = "plcp",
    alpha: Alpha = 0.1,
    by: Sequence[str] | None = None,
    groups: int | None = None,
    seed: int = 0,
    explain: bool = True,
    sensitive: Sequence[str] = (),
    about: Mapping[str, Any] | None = None,
) -> TabularModel:
    """Learn a threshold for each kind of row from rows whose outcomes are known.

    Rows without an outcome, a prediction, a score or a weight are left out, and counted in the
    model's ``notes``.

    Parameters
    ----------
    table : pyarrow.Table
        The calibration rows.
    roles : Roles
        Which column is what.
    method : str, default="plcp"
        One of ``METHODS``: "plcp", "plcp-split", "split", "rectified", "mondrian", "batch-gcp".
    alpha : float or sequence of float, default=0.1
        Miscoverage rate. Of several, the first has the groups and the words, and each has sets.
    by : sequence of str or None
        Columns whose values are groups, for "mondrian" and "batch-gcp".
    groups : int or None
        How many groups "plcp" and "plcp-split" learn; None: by the number of rows.
    seed : int, default=0
        Seed of all that is drawn.
    explain : bool, default=True
        Whether learned groups are put in words.
    sensitive : sequence of str
        Columns that the words compare the learned groups with, features or not.
    about : mapping or None
        What else the model shall remember of its making: a digest of the file, the time.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.tables import calibrate, choose_roles
    >>> table = pa.table({"x": np.arange(99.0), "y": np.arange(99.0), "yhat": np.zeros(99)})
    >>> roles = choose_roles(table.column_names, target="y", prediction="yhat")
    >>> calibrate(table, roles, method="split").rule.threshold_
    89.0
    """
    options = Options(method, alpha, by, groups, seed, explain, sensitive, about)
    return learn(table, roles, options, fit_in_memory)


def learn(table: pa.Table, roles: Roles, options: Options, fit: Fit) -> TabularModel:
    """Return the model of some rows, whose rule is fitted by ``fit``."""
    method, seed = options.method, options.seed
    alpha, *others = check_alphas(options.alpha)
    by = [find_column(name, table.column_names) for name in options.by or ()]
    sensitive = [find_column(name, table.column_names) for name in options.sensitive]
    chosen = check_choice(method, alpha, by, options.groups)
    _check_known(by, roles)
    classes = learn_classes(table, roles) if roles.task == "classes" else None
    pairs = read_pairs(table, roles, classes)
    check_order(pairs.table, roles)
    if chosen.looks_at == "features":
        _check_can_teach(pairs, method)
    features, left_out = _looked_at(chosen.looks_at, pairs.table, roles, by)
    X = rule_input(Framer(features), pairs.table)
    choice = Choice(alpha, seed, tuple(by), options.groups, len(pairs.scores))
    task = Task(chosen, choice, roles, classes, features, X, pairs)
    fitted = fit(task)
    more = {level: fit(replace(task, choice=replace(choice, alpha=level))) for level in others}
    words = None
    if options.explain and chosen.learns_groups:
        words = _in_words(fitted.rule, X, pairs, sensitive, seed)
    counts, weights = fitted.counts, pairs.weights
    return TabularModel(
        roles=roles,
        features=fitted.features,
        left_out=left_out,
        rule=fitted.rule,
        others=tuple(other.rule for other in more.values()),
        split=fitted.split,
        classes=classes,
        method=method,
        explanation=words,
        about={
            "rows": counts.used,
            **({} if fitted.taught is None else {"rows_that_taught": fitted.taught}),
            "weight": float(counts.used if weights is None else weights.sum()),
            "rows_left_out": counts.rows - counts.used,
            "seed": seed,
            "options": {
                "method": method,
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
    """Notes on further levels that the first does not have."""
    for level, fitted in others.items():
        yield from (f"alpha = {level:g}: {one}" for one in fitted.notes if one not in first.notes)


def _check_known(by: Sequence[str], roles: Roles) -> None:
    unknown = [name for name in by if name in (roles.target, roles.score)]
    if unknown:
        raise ValueError(
            f"groups by {unknown[0]!r} cannot be: it is not known of new rows; name columns that "
            "they have"
        )


def _check_can_teach(pairs: Pairs, method: str) -> None:
    pairs.counts.check_any("calibrate")
    if len(pairs.scores) == 1:
        raise ValueError(
            f"one row teaches {method!r} nothing: give more, or use the method 'split'"
        )


def _looked_at(
    what: str | None, table: pa.Table, roles: Roles, by: Sequence[str]
) -> tuple[tuple[Feature, ...], tuple[LeftOut, ...]]:
    """Columns that a rule looks at, and those it may not."""
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


def _in_words(rule: Any, X: Any, pairs: Pairs, named: Sequence[str], seed: int) -> Any:
    """Learned groups in words; None where there are too few rows to learn words from."""
    if len(pairs.scores) < LEAST_ROWS:
        return None
    sensitive = to_frame(pairs.table.select([*named])) if named else ()
    return explain_groups(rule, X, sensitive=sensitive, random_state=seed).to_dict()

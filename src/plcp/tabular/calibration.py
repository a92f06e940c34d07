"""From a table with predictions and outcomes to a fitted rule."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from plcp.certificate.surroundings import versions_of
from plcp.explain import explain_groups
from plcp.explain.explaining import LEAST_ROWS
from plcp.files import find_column
from plcp.tabular.features import Feature, LeftOut, learn_features, learn_labels
from plcp.tabular.fitting import Fit, Options, Task, fit_in_memory
from plcp.tabular.frames import Framer, rule_input, to_frame
from plcp.tabular.methods import Choice, check_choice
from plcp.tabular.model import TabularModel
from plcp.tabular.pairs import Pairs, read_pairs
from plcp.tabular.predictions import learn_classes
from plcp.tabular.roles import Roles


def calibrate(
    table: pa.Table,
    roles: Roles,
    *,
    method: str = "plcp",
    alpha: float = 0.1,
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
    alpha : float, default=0.1
        Miscoverage rate.
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
    >>> from plcp.tabular import calibrate, choose_roles
    >>> table = pa.table({"x": np.arange(99.0), "y": np.arange(99.0), "yhat": np.zeros(99)})
    >>> roles = choose_roles(table.column_names, target="y", prediction="yhat")
    >>> calibrate(table, roles, method="split").rule.threshold_
    89.0
    """
    options = Options(method, alpha, by, groups, seed, explain, sensitive, about)
    return learn(table, roles, options, fit_in_memory)


def learn(table: pa.Table, roles: Roles, options: Options, fit: Fit) -> TabularModel:
    """Return the model of some rows, whose rule is fitted by ``fit``."""
    method, alpha, seed = options.method, options.alpha, options.seed
    by = [find_column(name, table.column_names) for name in options.by or ()]
    sensitive = [find_column(name, table.column_names) for name in options.sensitive]
    chosen = check_choice(method, alpha, by, options.groups)
    _check_known(by, roles)
    classes = learn_classes(table, roles) if roles.task == "classes" else None
    pairs = read_pairs(table, roles, classes)
    if chosen.looks_at == "features":
        _check_can_teach(pairs, method)
    features, left_out = _looked_at(chosen.looks_at, pairs.table, roles, by)
    X = rule_input(Framer(features), pairs.table)
    choice = Choice(alpha, seed, tuple(by), options.groups, len(pairs.scores))
    fitted = fit(Task(chosen, choice, roles, classes, features, X, pairs))
    words = None
    if options.explain and chosen.learns_groups:
        words = _in_words(fitted.rule, X, pairs, sensitive, seed)
    counts, weights = fitted.counts, pairs.weights
    return TabularModel(
        roles=roles,
        features=fitted.features,
        left_out=left_out,
        rule=fitted.rule,
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
            "options": {"method": method, "alpha": alpha, "by": by, "groups": options.groups},
            "versions": versions_of(fitted.rule) | {"pyarrow": pa.__version__},
            **(options.about or {}),
        },
        notes=(*counts.notes, *fitted.notes),
    )


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
    features, left_out = learn_features(table, roles.features, named=roles.named, codes=roles.codes)
    if not features:
        raise ValueError(
            "there is no column to learn groups from: name features, or use the method 'split'"
        )
    return features, left_out


def _in_words(rule: Any, X: Any, pairs: Pairs, named: Sequence[str], seed: int) -> Any:
    """Learned groups in words; None where there are too few rows to learn words from."""
    if len(pairs.scores) < LEAST_ROWS:
        return None
    sensitive = to_frame(pairs.table.select([*named])) if named else ()
    return explain_groups(rule, X, sensitive=sensitive, random_state=seed).to_dict()

"""From a table with predictions and outcomes to a fitted rule."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from plcp.certificate.surroundings import versions_of
from plcp.explain import explain_groups
from plcp.explain.explaining import LEAST_ROWS
from plcp.files import find_column
from plcp.tabular.features import Feature, LeftOut, learn_features, learn_labels
from plcp.tabular.frames import Framer, rule_input, to_frame
from plcp.tabular.methods import Choice, check_choice
from plcp.tabular.model import TabularModel
from plcp.tabular.pairs import Pairs, read_pairs
from plcp.tabular.predictions import learn_classes
from plcp.tabular.roles import Roles
from plcp.thresholds import SplitConformal


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
    by = [find_column(name, table.column_names) for name in by or ()]
    sensitive = [find_column(name, table.column_names) for name in sensitive]
    chosen = check_choice(method, alpha, by, groups)
    unknown = [name for name in by if name in (roles.target, roles.score)]
    if unknown:
        raise ValueError(
            f"groups by {unknown[0]!r} cannot be: it is not known of new rows; name columns that "
            "they have"
        )
    classes = learn_classes(table, roles) if roles.task == "classes" else None
    pairs = read_pairs(table, roles, classes)
    if chosen.looks_at == "features" and len(pairs.scores) == 1:
        raise ValueError(
            f"one row teaches {method!r} nothing: give more, or use the method 'split'"
        )
    features, left_out = _looked_at(chosen.looks_at, pairs.table, roles, by)
    X = rule_input(Framer(features), pairs.table)
    choice = Choice(alpha, seed, tuple(by), groups, len(pairs.scores))
    rule, told = _fitted(chosen.make(choice), X, pairs)
    split, _ = _fitted(SplitConformal(alpha=alpha), np.zeros((len(pairs.scores), 1)), pairs)
    words = None
    if explain and chosen.learns_groups:
        words = _in_words(rule, X, pairs, sensitive, seed)
    return TabularModel(
        roles=roles,
        features=features,
        left_out=left_out,
        rule=rule,
        split=split,
        classes=classes,
        method=method,
        explanation=words,
        about={
            "rows": len(pairs.scores),
            "weight": float(len(pairs.scores) if pairs.weights is None else pairs.weights.sum()),
            "rows_left_out": pairs.left_out,
            "seed": seed,
            "options": {"method": method, "alpha": alpha, "by": by, "groups": groups},
            "versions": versions_of(rule) | {"pyarrow": pa.__version__},
            **(about or {}),
        },
        notes=(*pairs.notes, *told),
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


def _fitted(rule: Any, X: Any, pairs: Pairs) -> tuple[Any, list[str]]:
    """Return the fitted rule, and what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rule.fit(X, pairs.scores, pairs.weights)
    return rule, list(dict.fromkeys(str(warning.message) for warning in caught))


def _in_words(rule: Any, X: Any, pairs: Pairs, named: Sequence[str], seed: int) -> Any:
    """Learned groups in words; None where there are too few rows to learn words from."""
    if len(pairs.scores) < LEAST_ROWS:
        return None
    sensitive = to_frame(pairs.table.select([*named])) if named else ()
    return explain_groups(rule, X, sensitive=sensitive, random_state=seed).to_dict()

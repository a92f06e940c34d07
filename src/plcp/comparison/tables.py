"""Methods compared on a table on disk, whose predictions are columns."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from plcp.comparison.comparing import compare_methods, masks_by
from plcp.comparison.result import MethodComparison
from plcp.evaluation.roles import By, check_by
from plcp.metrics.groups import as_grouping
from plcp.tables.columns import Framer, learn_features, left_out_note, rule_input, to_frame
from plcp.tables.roles import Roles
from plcp.tables.scores import (
    check_order,
    learn_classes,
    read_outcomes,
    read_pairs,
    read_predictions,
)


def compare_table(
    table: pa.Table,
    roles: Roles,
    *,
    by: Iterable[By | str] = (),
    notes: Iterable[str] = (),
    **options: Any,
) -> MethodComparison:
    """Compare the methods that need no model of their own, on predictions in a table.

    Rows without an outcome or a prediction are left out, and counted in the notes. Columns are
    used as in ``plcp.tables.calibrate``: predictions are features, too.

    Parameters
    ----------
    table : pyarrow.Table
        Rows with outcomes and predictions, none of which trained the model.
    roles : Roles
        Which column is what, from `plcp.tables.choose_roles`.
    by : iterable of By or str
        Columns of the groups that you care about, such as "sex" or "age:5".
    notes : iterable of str
        What else a reader should know.
    **options
        As in `plcp.compare_methods`: methods, alpha, cv, confidence, max_rows and so on.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from plcp.comparison import compare_table
    >>> from plcp.tables import choose_roles
    >>> x = np.linspace(0, 1, 400)
    >>> table = pa.table({"x": x, "y": np.sin(99 * x) * (1 + x), "yhat": np.zeros(400)})
    >>> roles = choose_roles(table.column_names, target="y", prediction="yhat", features="x")
    >>> sorted(compare_table(table, roles, methods=["split", "conditional"]).methods)
    ['conditional', 'split']
    """
    if roles.score is not None or roles.weight is not None:
        raise ValueError(
            "scores and weights cannot be compared: name the target and predictions, and leave "
            "weight out"
        )
    classes = learn_classes(table, roles) if roles.task == "classes" else None
    check_order(table, roles)
    pairs = read_pairs(table, roles, classes)
    pairs.counts.check_any("be compared")
    rows = pairs.table
    features, left_out = learn_features(
        rows,
        roles.features,
        named=roles.named,
        codes=roles.codes,
        predictions=roles.predictions,
    )
    X = rule_input(Framer(features), rows).copy()  # in one piece: rules add a column
    y = read_outcomes(rows, roles, classes)[0]
    values = read_predictions(rows, roles).values
    if classes is None:
        options["prediction"] = values[:, 0] if values.shape[1] == 1 else values
    else:
        names = np.array([str(name) for name in classes.to_pylist()])
        options["probabilities"], y = pd.DataFrame(values, columns=names), names[y]
    columns = check_by(by)
    if columns:
        options["groups"] = as_grouping(masks_by(to_frame(rows), columns), rows.num_rows)
    found = compare_methods(X, y, **options)
    more = (*notes, *pairs.counts.notes, *left_out_note(left_out, table))
    return replace(found, notes=(*more, *found.notes))

"""The calibration rows of a table: their scores and weights, and which rows were of no use."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from plcp.quantiles import FloatArray
from plcp.tabular.arrow import role_numbers
from plcp.tabular.predictions import read_outcomes, read_predictions, score_of
from plcp.tabular.roles import Roles
from plcp.tabular.tally import Counts, Tally


@dataclass(frozen=True)
class Pairs:
    """Rows that calibrate, with scores and weights, and how many do not."""

    table: pa.Table
    scores: FloatArray
    weights: FloatArray | None
    counts: Counts


def read_pairs(table: pa.Table, roles: Roles, classes: pa.Array | None) -> Pairs:
    """Score the rows that have all that a score needs, and a weight if there are weights.

    Examples
    --------
    >>> table = pa.table({"y": [1.0, None, 2.0], "yhat": [3.0, 3.0, 3.0]})
    >>> pairs = read_pairs(table, Roles(target="y", prediction="yhat"), None)
    >>> pairs.scores, pairs.counts.notes
    (array([2., 1.]), ['1 of 3 rows has no target and is left out'])
    """
    tally = Tally(np.ones(table.num_rows, dtype=bool))
    scores = read_scores(table, roles, classes, tally)
    weights = None
    if roles.weight is not None:
        weights = role_numbers(table[roles.weight], "weight", roles.weight)
        tally.require(np.isfinite(weights), "weight")
        _check_weights(weights[tally.keep], roles.weight)
    keep = tally.keep
    return Pairs(
        table=table if keep.all() else table.filter(pa.array(keep)),
        scores=scores[keep],
        weights=None if weights is None else weights[keep],
        counts=tally.counts,
    )


def read_scores(
    table: pa.Table, roles: Roles, classes: pa.Array | None, tally: Tally
) -> FloatArray:
    """Score of each row, nan where it cannot be known."""
    score = score_of(roles)
    if score is None:
        scores = role_numbers(table[roles.score], "score", str(roles.score))
        tally.require(np.isfinite(scores), "score")
        return scores
    outcomes, known = read_outcomes(table, roles, classes)
    tally.require(known, "target")
    predicted = read_predictions(table, roles)
    tally.require(predicted.present, "prediction")
    tally.rescaled += predicted.rescaled
    scores = np.full(table.num_rows, np.nan)
    both = known & predicted.present
    scores[both] = score(predicted.values[both], outcomes[both])
    return scores


def _check_weights(weights: FloatArray, name: str) -> None:
    """Refuse weights that say nothing, or less than nothing."""
    if weights.min(initial=0.0) < 0:
        raise ValueError(
            f"weight {name!r} holds {weights.min():g}, but weights are not negative: mend it, or "
            "name another column"
        )
    if len(weights) and not weights.any():
        raise ValueError(f"weight {name!r} is 0 in every row: mend it, or name another column")

"""Labelled rows under a model, and under split conformal prediction beside it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from plcp.files import find_column
from plcp.quantiles import FloatArray, IntArray
from plcp.tabular.applying import assigned
from plcp.tabular.frames import Framer, rule_input, to_frame
from plcp.tabular.model import TabularModel
from plcp.tabular.pairs import read_scores
from plcp.tabular.predictions import read_predictions
from plcp.tabular.tally import Tally
from plcp.tabular.words import unseen_note


@dataclass(frozen=True)
class Examined:
    """Whether each set holds its label, and how large it is, beside split's.

    Parameters
    ----------
    covered, split_covered : ndarray of bool
        Whether the sets hold what came true.
    size, split_size : ndarray or None
        Lengths of intervals or numbers of labels; None where scores were made elsewhere.
    groups : ndarray or None
        The rule's group of each row, -1 for none; None if the rule has no groups.
    thresholds : ndarray
        Threshold of each row.
    frame : pandas.DataFrame
        All columns of the rows, by their own types.
    notes : tuple of str
        Rows left out, and values never seen.
    """

    covered: NDArray[np.bool_]
    size: FloatArray | None
    groups: IntArray | None
    thresholds: FloatArray
    split_covered: NDArray[np.bool_]
    split_size: FloatArray | None
    frame: Any
    notes: tuple[str, ...]


def examine(model: TabularModel, table: pa.Table, where: str = "the table") -> Examined:
    """Compare sets with what came true; rows without outcome or prediction are left out.

    Examples
    --------
    >>> from plcp.tabular import calibrate, choose_roles
    >>> table = pa.table({"y": np.arange(19.0), "yhat": np.zeros(19)})
    >>> roles = choose_roles(table.column_names, target="y", prediction="yhat")
    >>> int(examine(calibrate(table, roles, method="split"), table).covered.sum())
    18
    """
    roles = model.roles
    outcome = roles.target if roles.score is None else roles.score
    for name in (*model.needed, str(outcome)):
        find_column(name, table.column_names, where)
    framer = Framer(model.features)
    framer.check(table.schema)
    tally = Tally(np.ones(table.num_rows, dtype=bool))
    scores = read_scores(table, roles, model.classes, tally)
    tally.counts.check_any("be examined")
    kept = table if tally.keep.all() else table.filter(pa.array(tally.keep))
    scores = scores[tally.keep]
    groups, thresholds = assigned(model.rule, rule_input(framer, kept))
    everywhere = np.full(len(scores), model.split.threshold_)
    unseen = [unseen_note(f, framer.unseen.get(f.column)) for f in model.features]
    return Examined(
        covered=scores <= thresholds,
        size=_sizes(model, kept, thresholds),
        groups=groups,
        thresholds=thresholds,
        split_covered=scores <= everywhere,
        split_size=_sizes(model, kept, everywhere),
        frame=to_frame(kept),
        notes=(*tally.counts.notes, *(note for note in unseen if note)),
    )


def _sizes(model: TabularModel, table: pa.Table, thresholds: FloatArray) -> FloatArray | None:
    score = model.conformity
    if score is None:
        return None
    predicted = read_predictions(table, model.roles)
    return np.asarray(score.invert(predicted.values, thresholds).size, dtype=float)

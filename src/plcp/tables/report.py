"""The report of a model: sets and outcomes of test rows, beside split conformal prediction's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from plcp._files import find_column
from plcp.evaluation import (
    By,
    CoverageReport,
    GroupList,
    Outcome,
    choice_of,
    choose_features,
    learn_failures,
    model_groups,
    summarise,
)
from plcp.evaluation.groups import LABELS
from plcp.evaluation.roles import check_by
from plcp.quantiles import FloatArray, IntArray
from plcp.tables.application import assigned, unseen_notes
from plcp.tables.columns import Framer, rule_input, to_frame
from plcp.tables.model import TabularModel
from plcp.tables.roles import MOST_GROUPS
from plcp.tables.scores import Tally, read_outcomes, read_predictions, read_scores
from plcp.thresholds.labels import LabelConditional


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
        Threshold of each row, that of its label where each label has its own.
    frame : pandas.DataFrame
        All columns of the rows, by their own types.
    notes : tuple of str
        Rows left out, and values that calibration rows lack.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from plcp.tables import calibrate, choose_roles
    >>> table = pa.table({"x": range(19), "y": range(1, 20), "yhat": [0.0] * 19})
    >>> roles = choose_roles(table.column_names, target="y", prediction="yhat")
    >>> model = calibrate(table, roles, method="split")
    >>> from plcp.tables import examine
    >>> found = examine(model, pa.table({"x": [1, 2], "y": [3, 90], "yhat": [0.0, 0.0]}))
    >>> found.covered, found.size
    (array([ True, False]), array([36., 36.]))
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
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from plcp.tables import calibrate, choose_roles, examine
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
    size = _sizes(model, kept, thresholds)
    if thresholds.ndim == 2:
        codes = read_outcomes(kept, roles, model.classes)[0]
        thresholds = thresholds[np.arange(len(codes)), codes]
    everywhere = np.full(len(scores), model.split.threshold_)
    return Examined(
        covered=scores <= thresholds,
        size=size,
        groups=groups,
        thresholds=thresholds,
        split_covered=scores <= everywhere,
        split_size=_sizes(model, kept, everywhere),
        frame=to_frame(kept),
        notes=(*tally.counts.notes, *unseen_notes(framer)),
    )


def _sizes(model: TabularModel, table: pa.Table, thresholds: FloatArray) -> FloatArray | None:
    score = model.conformity
    if score is None:
        return None
    predicted = read_predictions(table, model.roles)
    return np.asarray(score.invert(predicted.values, thresholds).size, dtype=float)


BY_ROWS = (
    "One group per 200 rows that they are learned from, at most {}, so that each can be described: "
    "thresholds follow a learned regressor within groups, and more groups would gain little."
)
SAME_ROWS = (
    "The test file is the file that the model was calibrated on (the same SHA-256), so coverage of "
    "its rows proves nothing: give rows that had no part in calibration."
)
UNWEIGHTED = (
    "The calibration rows were weighted by {!r}; here every row counts once, so that coverage may "
    "differ from the target where weights matter."
)
SIZES = {"classes": LABELS, "scores": None}


def summarise_model(
    model: TabularModel,
    table: pa.Table,
    *,
    by: Iterable[By | str] = (),
    confidence: float = 0.95,
    digest: str | None = None,
    provenance: Mapping[str, Any] | None = None,
    notes: Iterable[str] = (),
    where: str = "the table",
) -> CoverageReport:
    """Examine test rows, and report what the model's sets and Split's hold of them.

    Parameters
    ----------
    model : TabularModel
        The calibrated model.
    table : pyarrow.Table
        Rows with outcomes that had no part in calibration.
    by : iterable of By or str
        Columns to group by, beside the labels where the target is one.
    confidence : float, default=0.95
        Of intervals.
    digest : str, optional
        SHA-256 of the file that the rows come from: you get a warning if it is
        that of the calibration rows.
    provenance : mapping, optional
        What to report of the test rows beside what the model remembers of its own making.
    notes : iterable of str
        What else a reader should know.
    where : str
        What messages call the table.

    Returns
    -------
    CoverageReport
        Its ``to_html`` is the page.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from plcp.tables import calibrate, choose_roles
    >>> table = pa.table({"x": range(19), "y": range(1, 20), "yhat": [0.0] * 19})
    >>> roles = choose_roles(table.column_names, target="y", prediction="yhat")
    >>> model = calibrate(table, roles, method="split")
    >>> from plcp.tables import summarise_model
    >>> report = summarise_model(model, table)
    >>> report.summary["kind"]
    'report'
    """
    found = examine(model, table, where)
    # one group is all rows: there is nothing to compare it with
    words = model.explanation if len(model.groups_table()) > 1 else None
    outcomes = {"Split": Outcome(found.split_covered, found.split_size)}
    by_label = isinstance(model.rule, LabelConditional)
    if model.method != "split" or by_label:
        rule = model.rule.rule if isinstance(model.rule, LabelConditional) else model.rule
        name = type(rule).__name__.removesuffix("Conformal") + " by label" * by_label
        outcomes[name] = Outcome(found.covered, found.size)
    frame, columns, label = found.frame, check_by(by), model.roles.target
    if model.classes is not None:
        frame = frame.astype({label: "category"})  # numbers of classes are names
        if label not in {item.column for item in columns}:
            columns = (By(str(label)), *columns)
    of_file = {} if digest is None else {"SHA-256 of the test file": digest}
    first_of_several, unweighted = [], []
    if model.others:
        alphas = ", ".join(f"{alpha:g}" for alpha in model.alphas)
        first_of_several = [
            f"The model has sets for alpha = {alphas}; those for {model.alpha:g} are measured."
        ]
    if model.roles.weight is not None:
        unweighted = [UNWEIGHTED.format(model.roles.weight)]
    choice = choice_of(model.rule)
    if choice is not None and model.about["options"]["groups"] is None:
        choice = {**choice, "about": BY_ROWS.format(MOST_GROUPS)}
    rows = ("test", len(found.covered)), ("calibration", model.about["rows"])
    test, calibration = (f"{count:,} {kind} row{'s' * (count != 1)}" for kind, count in rows)
    summary = summarise(
        outcomes,
        alpha=model.alpha,
        confidence=confidence,
        learned=_groups(model, found, words, confidence),
        frame=frame,
        by=columns,
        title=f"Coverage of {model.roles.target or model.roles.score}",
        subtitle=f"{test}, {calibration}, method {model.method}{' by label' * by_label}",
        size_name=SIZES.get(model.roles.task, "length"),
        guarantee=str(model.guarantee),
        warning=SAME_ROWS if digest is not None and digest == model.about.get("digest") else None,
        explanation=words,
        choice=choice,
        provenance=_made_of(model) | of_file | dict(provenance or {}),
        notes=[*notes, *first_of_several, *model.notes, *found.notes, *unweighted],
    )
    return CoverageReport(summary)


def _groups(
    model: TabularModel, found: Examined, words: Mapping[str, Any] | None, confidence: float
) -> GroupList:
    """Groups that the model learned, if it has words for them; else those it fails."""
    if found.groups is not None and words is not None:
        thresholds = [group["threshold"] for group in model.groups_table()]
        return model_groups(found.groups, thresholds, words)
    unseen = [name for name in found.frame.columns if name not in model.roles.features]
    X, _ = choose_features(found.frame, None, unseen)
    return learn_failures(
        X, found.covered, alpha=model.alpha, confidence=confidence, seed=model.about["seed"]
    )


def _made_of(model: TabularModel) -> dict[str, str]:
    """What the model remembers of its making, one line each."""
    about = model.about
    given = {
        key: ", ".join(map(str, value)) if isinstance(value, list) else value
        for key, value in about["options"].items()
        if value
    }
    origin = {
        "calibration rows": f"{about['rows']:,}",
        "rows that groups were learned from": about.get("rows_learned_from"),
        "calibration file": about.get("file"),
        "SHA-256 of the calibration file": about.get("digest"),
        "calibrated at": about.get("made_at"),
        "options": ", ".join(f"{key} {value}" for key, value in given.items()),
        "seed": about["seed"],
        "versions": ", ".join(f"{key} {value}" for key, value in about["versions"].items()),
    }
    return {name: str(value) for name, value in origin.items() if value is not None}

"""The summary of a calibrated model on test rows, with split conformal prediction beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from plcp.audit import By, Outcome, choice_of, model_groups, summarise
from plcp.tabular import TabularModel, examine

NAMES = {"plcp": "PLCP", "plcp-split": "PLCP", "rectified": "Rectified", "batch-gcp": "BatchGCP"}
SIZES = {"classes": "number of labels", "scores": None}


def summarise_model(
    model: TabularModel,
    table: pa.Table,
    *,
    by: Iterable[By | str] = (),
    confidence: float = 0.95,
    provenance: Mapping[str, Any] | None = None,
    where: str = "the table",
) -> dict[str, Any]:
    """Examine test rows, and summarise what the model's sets and Split's hold of them.

    Parameters
    ----------
    model : TabularModel
        The calibrated model.
    table : pyarrow.Table
        Rows with outcomes that had no part in calibration.
    by : iterable of By or str
        Columns to group by.
    confidence : float, default=0.95
        Of intervals.
    provenance : mapping, optional
        What to tell of the test rows beside what the model knows of its own making.
    where : str
        What messages call the table.

    Returns
    -------
    dict
        The summary, for `write_page`.
    """
    found = examine(model, table, where)
    outcomes = {"Split": Outcome(found.split_covered, found.split_size)}
    if model.method != "split":
        name = NAMES.get(model.method, model.method.capitalize())
        outcomes[name] = Outcome(found.covered, found.size)
    learned = None
    if found.groups is not None and model.explanation is not None:
        thresholds = [group["threshold"] for group in model.groups_table()]
        learned = model_groups(found.groups, thresholds, model.explanation)
    return summarise(
        outcomes,
        alpha=model.alpha,
        confidence=confidence,
        learned=learned,
        frame=found.frame,
        by=by,
        title=f"Coverage of {model.roles.target or model.roles.score}",
        subtitle=_subtitle(model, len(found.covered)),
        size_name=SIZES.get(model.roles.task, "length"),
        guarantee=model.guarantee,
        explanation=model.explanation,
        choice=choice_of(model.rule),
        provenance={**_made_of(model), **(provenance or {})},
        notes=[*model.notes, *found.notes],
    )


def _subtitle(model: TabularModel, n: int) -> str:
    return f"{n:,} test rows, {model.about['rows']:,} calibration rows, method {model.method}"


def _made_of(model: TabularModel) -> dict[str, str]:
    """What the model remembers of its making, one line each."""
    about = model.about
    given = {key: value for key, value in about["options"].items() if value}
    told = {
        "calibration rows": f"{about['rows']:,}",
        "calibration file": about.get("file"),
        "SHA-256 of the calibration file": about.get("digest"),
        "calibrated at": about.get("made_at"),
        "options": ", ".join(f"{key} {value}" for key, value in given.items()),
        "seed": about["seed"],
        "versions": ", ".join(f"{key} {value}" for key, value in about["versions"].items()),
    }
    return {name: str(value) for name, value in told.items() if value is not None}

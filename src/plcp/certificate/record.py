"""The certificate itself: what was found, what was assumed, on which data, when, with what."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plcp.certificate.page import page
from plcp.validation.told import Told

if TYPE_CHECKING:
    import pandas

FORMAT = "plcp certificate 1"
DICT = Told("certificate", "those of to_dict")
JSON = Told("certificate", "what to_json wrote")


@dataclass(frozen=True)
class GroupBounds:
    """Exact bounds on the coverage of one group.

    Parameters
    ----------
    group : str
        Its name.
    n, hits : int
        Number of its rows, and how many of them were covered.
    coverage : float or None
        The share covered; None of no rows.
    low, high : float
        Clopper–Pearson bounds on the probability of being covered: they hold it with the
        certificate's confidence, whatever it is.
    low_all, high_all : float
        Wider bounds, which hold the probabilities of all groups at once with that confidence.
    size : float or None
        Mean size of the sets, infinite if one of them is; None of no rows or of a bare threshold
        rule, which knows no sets.
    covers : bool or None
        Whether the bounds of all at once lie above the target (True), below it (False), or leave
        it open (None).
    rows_needed : int or None
        Where they leave it open: the number of rows of the group that would settle it with
        probability 0.8, if its coverage is the share seen. None: too close to the target to tell.
    verdict : str
        ``covers`` in words.
    """

    group: str
    n: int
    hits: int
    coverage: float | None
    low: float
    high: float
    low_all: float
    high_all: float
    size: float | None
    covers: bool | None
    rows_needed: int | None
    verdict: str


@dataclass(frozen=True)
class Certificate:
    """How often a rule's sets cover, in each group, by rows it had not seen.

    Made by `plcp.certify`. It holds no row of the data, prints as a page, and can be handed on as a
    dict, as JSON or as a frame; read back it equals itself. It is not signed: whoever must know
    that nobody changed it certifies the same rule on the same rows again, and compares.

    Parameters
    ----------
    rule, parameters : str, dict
        Class of what was certified, and its parameters.
    guarantee : str
        What the rule promises of itself.
    alpha, target, confidence : float
        Miscoverage rate of the rule; the coverage that verdicts compare with; the probability
        with which bounds hold.
    groups : tuple of GroupBounds
        "all" first, then each group.
    assumptions, cautions : tuple of str
        What the bounds rest on, and what was noticed that speaks against it.
    n_rows, n_columns : int, int or None
        Of the data; None where rows are no rows of a table.
    column_names : tuple of str or None
        Of a frame.
    outcomes : str
        "labels" or "scores": what was given as y.
    fingerprint : str
        SHA-256 of the values of X and y, in the order of the rows.
    made_at : str
        Time in ISO 8601, UTC.
    versions : dict
        Of Python and of the libraries.
    """

    rule: str
    parameters: Mapping[str, Any]
    guarantee: str
    alpha: float
    target: float
    confidence: float
    groups: tuple[GroupBounds, ...]
    assumptions: tuple[str, ...]
    cautions: tuple[str, ...]
    n_rows: int
    n_columns: int | None
    column_names: tuple[str, ...] | None
    outcomes: str
    fingerprint: str
    made_at: str
    versions: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values that strict JSON can hold: an infinite size is "inf"."""
        lists = {key: _listed(value) for key, value in asdict(self).items()}
        for group in lists["groups"]:
            group["size"] = "inf" if group["size"] == float("inf") else group["size"]
        return {"format": FORMAT, **lists}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Certificate:
        """Return the certificate that `to_dict` told."""
        DICT.check_keys(values, {"format", *(field.name for field in fields(cls))})
        if values["format"] != FORMAT:
            DICT.refuse(f"of format {values['format']!r}")
        kept = {key: _tupled(value) for key, value in values.items() if key != "format"}
        kept["groups"] = tuple(_group(row) for row in values["groups"])
        return cls(**kept)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return JSON without NaN or Infinity, and write it to a file if one is named."""
        text = json.dumps(self.to_dict(), indent=2, allow_nan=False, ensure_ascii=False)
        if path is not None:
            Path(path).write_text(text + "\n", encoding="utf-8")
        return text

    @classmethod
    def from_json(cls, source: str | os.PathLike[str]) -> Certificate:
        """Return the certificate of a JSON text, which begins with a brace, or of a file."""
        is_text = isinstance(source, str) and source.lstrip().startswith("{")
        text = str(source) if is_text else Path(source).read_text(encoding="utf-8")
        return cls.from_dict(JSON.parse(text))

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas frame, one row a group."""
        import pandas

        return pandas.DataFrame([asdict(group) for group in self.groups])

    def to_text(self) -> str:
        """Return a page of at most 100 columns."""
        return page(self)

    def __str__(self) -> str:
        return self.to_text()


def _group(values: Mapping[str, Any]) -> GroupBounds:
    DICT.check_keys(values, {field.name for field in fields(GroupBounds)})
    size = values["size"]
    return GroupBounds(**{**values, "size": None if size is None else float(size)})


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _tupled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value

"""Coverage and size by group: of one trial as JSON, of all trials as arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plcp.experiments.report import Table, spread

Floats = NDArray[np.float64]


def outcome(
    covered: ArrayLike, size: ArrayLike, groups: Mapping[str, ArrayLike], **numbers: float
) -> dict[str, Any]:
    """Coverage and mean size of sets, overall and in each group, as JSON values."""
    hits, sizes = np.asarray(covered, dtype=bool), np.asarray(size, dtype=float)
    rows = [np.asarray(mask, dtype=bool) for mask in groups.values()]
    return {
        "coverage": [float(hits[mask].mean()) for mask in rows],
        "size": [float(sizes[mask].mean()) for mask in rows],
        "overall": {
            "coverage": float(hits.mean()),
            "size": float(sizes.mean()),
            **{name: float(value) for name, value in numbers.items()},
        },
    }


@dataclass(frozen=True)
class Summary:
    """All trials: of each method, arrays (trials, groups) and numbers (trials,) of the whole."""

    groups: list[str]
    counts: Floats
    coverage: dict[str, Floats]
    size: dict[str, Floats]
    overall: dict[str, dict[str, Floats]]
    alpha: float

    @property
    def methods(self) -> list[str]:
        """Names, in the order they ran."""
        return list(self.coverage)

    def gap(self, method: str) -> Floats:
        """How far each group's mean coverage over trials is from 1 - alpha."""
        return np.abs(self.coverage[method].mean(axis=0) - (1 - self.alpha))


def summarise(records: Sequence[dict[str, Any]]) -> Summary:
    """All trials, whose results are ``{"groups": {name: rows}, "methods": {name: outcome}}``."""
    results = [record["results"] for record in records]
    methods = results[0]["methods"]
    return Summary(
        groups=list(results[0]["groups"]),
        counts=np.array([list(result["groups"].values()) for result in results], dtype=float),
        coverage={m: _stack(results, m, "coverage") for m in methods},
        size={m: _stack(results, m, "size") for m in methods},
        overall={
            m: {
                key: np.array([result["methods"][m]["overall"][key] for result in results])
                for key in methods[m]["overall"]
            }
            for m in methods
        },
        alpha=records[0]["settings"]["alpha"],
    )


def _stack(results: list[dict[str, Any]], method: str, key: str) -> Floats:
    return np.array([result["methods"][method][key] for result in results], dtype=float)


def group_table(summary: Summary, caption: str, digits: int = 3) -> Table:
    """Mean coverage (and size) of each method in each group, over trials."""
    rows = [
        [group, *(_cell(summary, method, g, digits) for method in summary.methods)]
        for g, group in enumerate(summary.groups)
    ]
    return Table(caption, ["", *summary.methods], rows)


def _cell(summary: Summary, method: str, group: int, digits: int) -> str:
    coverage, size = (part[method][:, group].mean() for part in (summary.coverage, summary.size))
    return f"{coverage:.3f} ({size:,.{digits}f})"


def overall_table(
    summary: Summary,
    caption: str,
    columns: Mapping[str, str],
    digits: int | Mapping[str, int] = 3,
) -> Table:
    """Numbers of the whole test set, mean and range over trials; ``columns``: key → heading.

    ``digits`` may name some of the keys; the others have three.
    """
    shown = dict.fromkeys(columns, digits) if isinstance(digits, int) else digits
    rows = [
        [method, *(spread(summary.overall[method][key], shown.get(key, 3)) for key in columns)]
        for method in summary.methods
    ]
    return Table(caption, ["", *columns.values()], rows)

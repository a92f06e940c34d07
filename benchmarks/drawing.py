"""Records of runs as Markdown tables."""

from typing import Any

import numpy as np

Records = list[dict[str, Any]]


def pick(records: Records, **wanted: Any) -> Records:
    return [r for r in records if all(r[key] == value for key, value in wanted.items())]


def mean(records: Records, key: str) -> float:
    return float(np.mean([record[key] for record in records]))


def unique(records: Records, key: str) -> list[Any]:
    return list(dict.fromkeys(record[key] for record in records))


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def short(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(short(v) for v in value) + "]"
    return f"{value:.3g}" if isinstance(value, float) else str(value)

"""The tables of docs/results.md, written from the JSON of the benchmarks and nothing else.

python benchmarks/tables.py > docs/results.md
"""

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from records import RESULTS

LIMITS = {
    "paper:50000": (0.06, 0.03),
    "paper:10000": (0.13, 0.08),
    "paper:2000": (0.6, 0.4),
    "paper:300": (1.05, 0.85),
    "nonlinear:50000": (0.07, 0.04),
    "nonlinear:5000": (0.25, 0.18),
    "nonlinear:300": (1.05, 0.85),
}
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


def by_task(records: Records, cell: Callable[[Records, Records], str]) -> str:
    """One row a task, one column a method; a cell sees its runs and the first method's."""
    names = unique(records, "method")
    rows = []
    for task in unique(records, "task"):
        base = pick(records, task=task, method=names[0])
        rows.append([task, *(cell(pick(records, task=task, method=name), base) for name in names)])
    return table(["", *names], rows)


def ratio_of(key: str) -> Callable[[Records, Records], str]:
    return lambda runs, base: f"{mean(runs, key) / mean(base, key):.3f}"


def synthetic(records: Records) -> str:
    rows = []
    for task in unique(records, "task"):
        split, ours = (pick(records, task=task, method=m) for m in ("Split", "PLCP, default"))
        ratios = [a["msce"] / b["msce"] for a, b in zip(ours, split, strict=True)]
        limit, aim = LIMITS[task]
        rows.append(
            [
                task,
                f"{limit:g} / {aim:g}",
                f"{mean(ours, 'msce') / mean(split, 'msce'):.3f}",
                f"{min(ratios):.3f} to {max(ratios):.3f}",
                f"{mean(ours, 'coverage'):.4f}",
                f"{sum(r['in_band'] for r in ours)} of {len(ours)}",
            ]
        )
    header = ["task:n", "limit / aim", "MSCE / Split's", "over seeds", "coverage", "in band"]
    return (
        table(header, rows)
        + "\nAll methods, MSCE relative to Split's:\n\n"
        + by_task(records, ratio_of("msce"))
        + "\nMarginal coverage:\n\n"
        + by_task(records, lambda runs, _: f"{mean(runs, 'coverage'):.4f}")
    )


def real(records: Records, size: str) -> str:
    return (
        "ERT (L1), relative to the first column's:\n\n"
        + by_task(records, ratio_of("ert"))
        + "\nERT (L1) × 100:\n\n"
        + by_task(records, lambda runs, _: f"{100 * mean(runs, 'ert'):.2f}")
        + "\nMarginal coverage:\n\n"
        + by_task(records, lambda runs, _: f"{mean(runs, 'coverage'):.4f}")
        + "\nMean length, relative to the first column's:\n\n"
        + by_task(records, ratio_of(size))
        + "\nFit, seconds:\n\n"
        + by_task(records, lambda runs, _: f"{mean(runs, 'fit_seconds'):.2f}")
    )


def census(records: Records) -> str:
    return by_task(
        records, lambda runs, _: f"{mean(runs, 'coverage'):.3f} ({mean(runs, 'length'):,.0f})"
    )


def main() -> None:
    conditional = json.loads((RESULTS / "conditional.json").read_text())
    speed = json.loads((RESULTS / "speed.json").read_text())
    print("# Results\n\nWritten by `benchmarks/tables.py` from `benchmarks/results/*.json`.\n")
    parts: list[tuple[str, str, Callable[[Records], str]]] = [
        ("synthetic", "Synthetic tasks, exact MSCE", synthetic),
        ("real", "Real sets, absolute residuals", lambda r: real(r, "mean_threshold")),
        ("cqr", "Real sets, scores of CQR", lambda r: real(r, "length")),
        ("census", "Census: coverage (mean length) of people nobody named", census),
    ]
    for part, title, draw in parts:
        entry = conditional[part]
        print(f"## {title}\n\nCommit {entry['provenance']['commit']}.\n")
        print(draw(entry["results"]))
    print("## Speed and memory\n")
    for part, entry in speed.items():
        print(f"- **{part}** (commit {entry['provenance']['commit']}): {entry['results']}")


if __name__ == "__main__":
    main()

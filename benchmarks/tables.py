"""The tables of docs/results.md and README.md, written from the JSON of the benchmarks alone.

python benchmarks/tables.py
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
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
ROOT = Path(__file__).parent.parent


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


def readme_synthetic(records: Records) -> str:
    """MSCE of every method, relative to Split's, with the limit the default was held to."""
    return by_task(records, ratio_of("msce"))


def readme_real(records: Records) -> str:
    """Relative ERT and coverage of every method, and their means over the sets."""
    names = unique(records, "method")
    cells: dict[str, list[tuple[float, float, float]]] = {name: [] for name in names}
    rows = []
    for task in unique(records, "task"):
        base = pick(records, task=task, method=names[0])
        row = [task]
        for name in names:
            runs = pick(records, task=task, method=name)
            cell = tuple(mean(runs, k) / mean(base, k) for k in ("ert", "mean_threshold"))
            cells[name].append((*cell, mean(runs, "coverage")))
            row.append(f"{cell[0]:.2f} ({mean(runs, 'coverage'):.3f})")
        rows.append(row)
    means = {name: np.mean(values, axis=0) for name, values in cells.items()}
    rows.append(["**mean**", *(f"**{m[0]:.2f}** ({m[2]:.3f})" for m in means.values())])
    rows.append(["mean length", *(f"{m[1]:.3f}" for m in means.values())])
    return table(["ERT / Split's (coverage)", *names], rows)


def results_page(conditional: dict[str, Any], speed: dict[str, Any]) -> str:
    parts: list[tuple[str, str, Callable[[Records], str]]] = [
        ("synthetic", "Synthetic tasks, exact MSCE", synthetic),
        ("real", "Real sets, absolute residuals", lambda r: real(r, "mean_threshold")),
        ("cqr", "Real sets, scores of CQR", lambda r: real(r, "length")),
        ("census", "Census: coverage (mean length) of people nobody named", census),
    ]
    text = "# Results\n\nWritten by `benchmarks/tables.py` from `benchmarks/results/*.json`.\n"
    for part, title, draw in parts:
        entry = conditional[part]
        text += f"\n## {title}\n\nCommit {entry['provenance']['commit']}.\n\n"
        text += draw(entry["results"])
    text += "\n## Speed and memory\n\nRatios in one run, as `benchmarks/speed.py` says.\n\n"
    for part, entry in speed.items():
        facts = ", ".join(f"{key} {_short(value)}" for key, value in entry["results"].items())
        text += f"- **{part}** (commit {entry['provenance']['commit']}): {facts}\n"
    return text


def _short(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_short(v) for v in value) + "]"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def readme_with_tables(readme: str, conditional: dict[str, Any]) -> str:
    """Return the README with the blocks between <!-- name --> and <!-- /name --> made anew."""
    drawn = {"synthetic": readme_synthetic, "real": readme_real, "census": census}
    for name, draw in drawn.items():
        block = f"<!-- {name} -->\n{draw(conditional[name]['results'])}<!-- /{name} -->"
        readme = re.sub(f"<!-- {name} -->.*?<!-- /{name} -->", block, readme, flags=re.S)
    return readme


def load() -> tuple[dict[str, Any], dict[str, Any]]:
    conditional, speed = (
        json.loads((RESULTS / f"{name}.json").read_text()) for name in ("conditional", "speed")
    )
    return conditional, speed


def main() -> None:
    conditional, speed = load()
    (ROOT / "docs" / "results.md").write_text(results_page(conditional, speed))
    readme = ROOT / "README.md"
    readme.write_text(readme_with_tables(readme.read_text(), conditional))


if __name__ == "__main__":
    main()

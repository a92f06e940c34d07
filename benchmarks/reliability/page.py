"""The tables of docs/explanation/reliability.md, from results/reliability.json alone.

python -m benchmarks.reliability.page
"""

from collections.abc import Callable
from typing import Any

from benchmarks.reliability.tables import (
    DEFAULT,
    FIVE_FOLDS,
    delays,
    false_alarms,
    faults,
    files,
    growth,
    kilobytes,
    levels,
    served,
)
from benchmarks.shared import ROOT, fill, load, table

PAGE = ROOT / "docs" / "explanation" / "reliability.md"
NOT_YET = "Not measured yet.\n"
Results = dict[str, Any]
TABLES: dict[str, tuple[str, Callable[[Results], str]]] = {
    "faults": ("faults", faults),
    "files": ("files", files),
    "growth": ("files", growth),
    "served": ("onnx", served),
    "false-alarms": ("streams", false_alarms),
    "delays": ("streams", delays),
    "levels": ("levels", levels),
}


def summary(results: Results) -> str:
    """What matters most of each part."""
    rows = []
    if "files" in results:
        of = {name: each["plcp"] for name, each in results["files"]["results"]["models"].items()}
        for what in ("save", "load"):
            rows.append([f"{what} of {DEFAULT}", f"{of[DEFAULT][f'{what}_ms']:.1f} ms"])
        rows.append([f"size of {FIVE_FOLDS}", kilobytes(of[FIVE_FOLDS]["bytes"])])
    if "onnx" in results:
        ratios = {
            name: of["rates"]["1"]["times"]
            for name, of in results["onnx"]["results"]["rules"].items()
        }
        least = min(ratios, key=lambda name: ratios[name])
        what = f"ONNX, one row at a time: speed relative to Python's, least of all ({least})"
        rows.append([what, f"{ratios[least]:.1f}"])
    if "streams" in results:
        found = results["streams"]["results"]
        exact = [of["ours"] for of in found["false_alarms"]]
        times, streams = sum(of["alarms"] for of in exact), sum(of["streams"] for of in exact)
        what = f"simulated streams with a false alarm, ever, at a rate of {found['rate']:.0%}"
        rows.append([what, f"{times / streams:.1%}"])
    return table(["quantity", "measured"], rows) if rows else NOT_YET


def surroundings(results: Results) -> str:
    """Where each part was measured."""
    lines = []
    for part, entry in results.items():
        here = entry["provenance"]
        versions = ", ".join(f"{name} {number}" for name, number in here["versions"].items())
        lines.append(
            f"- **{part}**: commit {here['commit']}, Python {here['python']}, {versions}\n"
        )
    return "".join(lines) or NOT_YET


def page(text: str, results: Results) -> str:
    """The page of reliability with what lies between its marks drawn again."""
    drawn = {"summary": summary(results), "measured": surroundings(results)}
    for name, (part, draw_part) in TABLES.items():
        drawn[name] = draw_part(results[part]["results"]) if part in results else NOT_YET
    return fill(text, drawn)


def draw() -> None:
    PAGE.write_text(
        page(PAGE.read_text(encoding="utf-8"), load("reliability/reliability")), encoding="utf-8"
    )


if __name__ == "__main__":
    draw()

"""One page of all experiments in a directory: the paper's figures beside ours, and links."""

import json
from pathlib import Path
from typing import Any

from plcp.experiments.catalogue import NAMES
from plcp.experiments.report import Table, spread

INTRODUCTION = (
    "Each experiment of Kiyani, Pappas and Hassani, Conformal Prediction with Learned Features "
    "(ICML 2024), run by `plcp reproduce NAME`: the paper's algorithm and settings, what this "
    "library does by default, and the rivals that the paper names, on the same data. The paper "
    "prints numbers in its Tables 1 and 2 alone; for the rest its words stand. It does not state "
    "its blur levels, optimiser and clipping: the pages say what was taken instead."
)


def write_overview(out: Path) -> Path:
    """Write ``README.md`` from the JSON of each experiment that the directory holds."""
    pages = [json.loads(path.read_text(encoding="utf-8")) for path in _pages(out)]
    path = out / "README.md"
    path.write_text(to_markdown(pages), encoding="utf-8", newline="\n")
    return path


def _pages(out: Path) -> list[Path]:
    return [path for name in NAMES if (path := out / f"{name}.json").exists()]


def to_markdown(pages: list[dict[str, Any]]) -> str:
    """Return the page as Markdown."""
    rows = [row for page in pages for row in _rows(page)]
    header = ["experiment", "", "paper", "PLCP, as published", "PLCP, default"]
    table = Table("The paper's figures and ours (mean, lowest to highest trial)", header, rows)
    parts = ["# The paper's experiments", INTRODUCTION, table.to_markdown(), *map(_part, pages)]
    return "\n\n".join(parts) + "\n"


def _rows(page: dict[str, Any]) -> list[list[str]]:
    link = f"[{page['name']}]({page['name']}.md)"
    return [
        [link, line["quantity"], line["paper"]]
        + [
            spread(line[key], line["digits"]) if line[key] else "–"
            for key in ("published", "default")
        ]
        for line in page["lines"]
    ]


def _part(page: dict[str, Any]) -> str:
    name = page["name"]
    words = [page["question"], " ".join(page["reading"]), _verdict(page["claims"])]
    parts = [f"## [{page['title']}]({name}.md)", *words, f"![{page['title']}]({name}.svg)"]
    return "\n\n".join(part for part in parts if part)


def _verdict(claims: list[dict[str, Any]]) -> str:
    """How much of what was to be reached was, and what was not."""
    missed = [claim["text"] for claim in claims if not claim["holds"]]
    if not claims:
        return ""
    held = f"Reached: {len(claims) - len(missed)} of {len(claims)} aims."
    return held + (f" Not reached: {'; '.join(missed)}." if missed else "")

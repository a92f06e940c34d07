"""One page of all experiments in a directory: the paper's figures beside ours, and links."""

import json
from pathlib import Path
from typing import Any

from plcp.experiments.catalogue import NAMES
from plcp.experiments.report import Table, spread


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
    return (
        "\n\n".join(["# The paper's experiments", table.to_markdown(), *map(_part, pages)]) + "\n"
    )


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
    missed = [claim["text"] for claim in page["claims"] if not claim["holds"]]
    words = [page["question"], " ".join(page["reading"])]
    words += [f"Not reached: {'; '.join(missed)}."] if missed else []
    parts = [f"## [{page['title']}]({name}.md)", *words, f"![{page['title']}]({name}.svg)"]
    return "\n\n".join(part for part in parts if part)

"""A report on disk: Markdown and JSON to read, SVG and PNG to show."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from plcp.experiments.experiment import Record
from plcp.experiments.report import Numbers, Report, Table, spread


def write_page(name: str, report: Report, records: Sequence[Record], out: Path) -> list[Path]:
    """Write ``name.md``, ``name.json`` and the figures into a directory; the files' paths."""
    out.mkdir(parents=True, exist_ok=True)
    page, numbers = out / f"{name}.md", out / f"{name}.json"
    page.write_text(to_markdown(name, report, records), encoding="utf-8", newline="\n")
    content = json.dumps(to_dict(name, report, records), indent=1) + "\n"
    numbers.write_text(content, encoding="utf-8", newline="\n")
    drawn = [
        path
        for title, draw in report.figures.items()
        for path in save_figure(draw(), out / file_stem(name, report, title))
    ]
    return [page, numbers, *drawn]


def file_stem(name: str, report: Report, title: str) -> str:
    """Name of a figure's files: the first has the experiment's."""
    return name if title == next(iter(report.figures)) else f"{name}-{title}"


def save_figure(figure: Any, stem: Path) -> list[Path]:
    """Save a figure as SVG and PNG; the same figure gives the same SVG."""
    import matplotlib

    paths = [stem.with_name(stem.name + ending) for ending in (".svg", ".png")]
    with matplotlib.rc_context({"svg.hashsalt": "plcp", "svg.fonttype": "path"}):
        figure.savefig(paths[0], metadata={"Date": None})
        figure.savefig(paths[1], dpi=150)
    return paths


def to_markdown(name: str, report: Report, records: Sequence[Record]) -> str:
    """Return the page as Markdown: what came out first, then the details."""
    figures = [_figure(name, report, title) for title in report.figures]
    tables = [table.to_markdown() for table in report.tables]
    notes = _bullets("Notes", report.notes)
    parts = [report.question, *_result(report), *figures, *tables, notes]
    shown = [f"# {_title(report)}", *filter(None, parts), _origin(name, report, records)]
    return "\n\n".join(shown) + "\n"


def _figure(name: str, report: Report, title: str) -> str:
    caption = report.captions.get(title, "")
    image = f"![{caption or _title(report)}]({file_stem(name, report, title)}.svg)"
    return f"{image}\n\n*{caption}*" if caption else image


def to_text(report: Report) -> str:
    """Return what a terminal shows: what came out, and what to know of it."""
    parts = [_title(report), *_result(report), _bullets("Notes", report.notes)]
    return "\n\n".join(filter(None, parts))


def _result(report: Report) -> list[str]:
    """The reading, the paper's figures beside ours, and what was reached: those that there are."""
    compared = comparison(report).to_markdown() if report.lines else ""
    claims = _bullets("What was to be reached", _claims(report))
    return [part for part in (" ".join(report.reading), compared, claims) if part]


def _bullets(caption: str, items: Sequence[str]) -> str:
    return "\n".join([f"**{caption}**", "", *(f"- {item}" for item in items)]) if items else ""


def _title(report: Report) -> str:
    quick = " (a quick run: small settings, not the paper's)" if report.quick else ""
    return report.title + quick


def comparison(report: Report) -> Table:
    """The paper's figures beside ours."""
    rows = [
        [line.quantity, line.paper, *_ours(line.published, line.default, line.digits)]
        for line in report.lines
    ]
    header = ["", "paper", "PLCP, as published", "PLCP, default"]
    return Table("The paper's figures and ours (mean, lowest to highest trial)", header, rows)


def _ours(published: Numbers, default: Numbers, digits: int) -> list[str]:
    return [spread(values, digits) if len(values) else "–" for values in (published, default)]


def _claims(report: Report) -> list[str]:
    return [
        f"{'reached' if claim.holds else '**not reached**'}: {claim.text} ({claim.measured})"
        for claim in report.claims
    ]


def _origin(name: str, report: Report, records: Sequence[Record]) -> str:
    """How many trials, of what software, and how long they took."""
    seconds = np.array([record["seconds"] for record in records])
    known = [f"{key} {value}" for key, value in _common(records, "versions").items()]
    n, first, last = len(records), records[0]["seed"], records[-1]["seed"]
    trials = f"one trial, seed {first}" if n == 1 else f"{n} trials, seeds {first} to {last}"
    return (
        f"{trials}, {np.median(seconds):.0f} s each (median) on one thread; "
        f"{', '.join(known)}. `{_command(name, report, records)}`; a line a trial in "
        f"[{name}.jsonl]({name}.jsonl)."
    )


def _command(name: str, report: Report, records: Sequence[Record]) -> str:
    first = records[0]["seed"]
    seed, quick = f" --seed {first}" if first else "", " --quick" if report.quick else ""
    return f"plcp reproduce {name.removesuffix('-quick')} --trials {len(records)}{seed}{quick}"


def _common(records: Sequence[Record], key: str) -> dict[str, str]:
    """What all records have, and all the values where they differ."""
    names = dict.fromkeys(name for record in records for name in record[key])
    return {
        name: " and ".join(dict.fromkeys(str(record[key].get(name)) for record in records))
        for name in names
    }


def to_dict(name: str, report: Report, records: Sequence[Record]) -> dict[str, Any]:
    """Return the page as JSON values."""
    return {
        "name": name,
        "title": _title(report),
        "question": report.question,
        "reading": list(report.reading),
        "settings": records[0]["settings"],
        "seeds": [record["seed"] for record in records],
        "versions": _common(records, "versions"),
        "lines": [
            {
                "quantity": line.quantity,
                "paper": line.paper,
                "published": _rounded(line.published),
                "default": _rounded(line.default),
                "digits": line.digits,
            }
            for line in report.lines
        ],
        "tables": [
            {"caption": t.caption, "header": list(t.header), "rows": [list(r) for r in t.rows]}
            for t in report.tables
        ],
        "claims": [
            {"text": c.text, "measured": c.measured, "holds": c.holds} for c in report.claims
        ],
        "notes": list(report.notes),
    }


def _rounded(values: Numbers) -> list[float]:
    """Ten digits: the last of sixteen depend on the processor."""
    return [float(f"{value:.10g}") for value in values]

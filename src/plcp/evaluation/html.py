"""The report as a page: one HTML file that needs nothing else and computes nothing."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from plcp.evaluation import charts, formatting as words
from plcp.evaluation.charts import series_of
from plcp.evaluation.formatting import between, exact_percent, number, percent
from plcp.evaluation.summary import all_groups, verdicts_of
from plcp.explain.columns import runs
from plcp.explain.explanation import what_was_considered

PAGE_WORDS = (
    exact_percent,
    between,
    number,
    percent,
    runs,
    what_was_considered,
    *words.WORDS,
)


def render_page(summary: Mapping[str, Any]) -> str:
    """Return the page of a summary as HTML.

    The page computes nothing: it shows the summary's figures, and carries the summary itself as
    JSON for machines. Whatever comes from data is escaped.

    Parameters
    ----------
    summary : mapping
        What ``plcp.evaluation`` found.

    Returns
    -------
    page : str
        One HTML file, with its styles, script and charts inside.
    """
    rows = [group for _, group in all_groups(summary)]
    first = [group["cells"] for group in summary["failed"]["groups"]] + [summary["overall"]]
    everywhere = [group["cells"] for group in rows]
    return (
        _templates()
        .get_template("page.html.j2")
        .render(
            summary=summary,
            methods=series_of(summary["methods"]),
            rows=rows,
            lists=[named for named in (summary["learned"], *summary["named"]) if named["groups"]],
            words=[g for g in summary["learned"]["groups"] if g["special"] or g.get("precision")],
            first_scale=_scale(summary, first),
            scale=_scale(summary, everywhere),
            style=_part("style.css"),
            script=_part("script.js"),
            policy=_policy(),
            first_verdicts=verdicts_of(first),
            verdicts=verdicts_of(everywhere),
        )
    )


def _scale(summary: Mapping[str, Any], groups: Sequence[Mapping[str, Any]]) -> charts.Scale:
    cells = [cell for cells in groups for cell in cells.values()]
    return charts.coverage_scale(cells, summary["target"])


@cache
def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("plcp.evaluation"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.policies["json.dumps_kwargs"] = {"allow_nan": False}
    templates.globals |= {name: getattr(charts, name) for name in charts.__all__}
    templates.filters |= {word.__name__: word for word in PAGE_WORDS}
    return templates


@cache
def _part(name: str) -> Markup:
    """Our own style or script, put into the page as it is."""
    return Markup(files("plcp.evaluation").joinpath("templates", name).read_text(encoding="utf-8"))


def _policy() -> str:
    """What a browser may do with the page: run our style and script, and fetch nothing."""
    style, script = (_fingerprint(_part(name)) for name in ("style.css", "script.js"))
    return (
        f"default-src 'none'; style-src '{style}'; script-src '{script}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _fingerprint(content: str) -> str:
    return "sha256-" + b64encode(sha256(content.encode()).digest()).decode()

"""The report as a page: one HTML file that needs nothing else and computes nothing."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from plcp._verdict import Verdict
from plcp.evaluation import charts, formatting as words
from plcp.evaluation.charts import series_of
from plcp.evaluation.formatting import between, exact_percent, number, percent
from plcp.evaluation.summary import all_groups
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
MOST_DRAWN = 60  # groups of one chart; the table has all


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
    rows = list(all_groups(summary))
    cells = [*summary["overall"].values(), *(c for _, g in rows for c in g["cells"].values())]
    return (
        _templates()
        .get_template("page.html.j2")
        .render(
            summary=summary,
            methods=series_of(summary["methods"]),
            rows=rows,
            scale=charts.coverage_scale(cells, summary["target"]),
            style=_part("style.css"),
            script=_part("script.js"),
            policy=_policy(),
            verdicts=[verdict for verdict in Verdict if verdict is not Verdict.DRIFTING],
        )
    )


def drawn(groups: Sequence[Mapping[str, Any]], subject: str) -> list[Mapping[str, Any]]:
    """The groups that a chart has room for: those of lowest coverage, in the order they came."""

    def coverage(i: int) -> float:
        found = groups[i]["cells"][subject]["coverage"]
        return 2.0 if found is None else found  # after all others

    return [groups[i] for i in sorted(sorted(range(len(groups)), key=coverage)[:MOST_DRAWN])]


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
    templates.globals["drawn"] = drawn
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

"""The report as a page and as text: complete, narrow, and safe whatever the data hold."""

import base64
import hashlib
import json
import math
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import summaries
from hypothesis import example, given, settings, strategies as st
from markup import parse

from plcp._formatting import WIDTH, fold, room
from plcp.evaluation import By, CoverageReport, Described, GroupList, Outcome, audit, summarise
from plcp.evaluation.formatting import percent
from plcp.evaluation.html import render_page
from strategies import few

KINDS = {"report": summaries.report, "audit": summaries.audit, "hostile": summaries.hostile}
OURS = {"kind", "format", "size_name", "verdict"}  # words that come from us, not from data


@pytest.fixture(scope="module", params=KINDS)
def summary(request):
    return KINDS[request.param]()


def short_report():
    """Every section, with two groups each."""
    whole = summaries.report()
    learned = whole["learned"] | {"groups": whole["learned"]["groups"][:2]}
    return whole | {"learned": learned, "named": whole["named"][:1]}


@cache
def plain_skeleton():
    return parse(render_page(short_report())).skeleton


def renamed(value, text):
    """Return a summary with a text put into every name and sentence."""
    if isinstance(value, list):
        return [renamed(item, text) for item in value]
    if not isinstance(value, dict):
        return f"{value}{text}" if isinstance(value, str) and value != "inf" else value
    methods = {"Split", "PLCP"}
    return {
        (key + text if key in methods else key): item if key in OURS else renamed(item, text)
        for key, item in value.items()
    }


@given(st.text(max_size=40))
@example("<script>alert(1)</script>")
@example("\"'><img src=x onerror=alert(1)>")
@example("</title></style></script><b>")
@example("{{7*7}}{% raw %}{#")
@example("<!-- <script> ]]> &lt; &#60;")
@settings(max_examples=25)
def test_no_tag_or_attribute_arises_from_data(text):
    named = renamed(short_report(), text)
    found = parse(render_page(named))
    assert found.skeleton == plain_skeleton()
    assert found.summary == named
    shown = "".join(found.texts)
    for expected in (named["title"], named["named"][0]["groups"][0]["name"], named["notes"][0]):
        assert expected in shown


def test_summary_is_carried_as_it_is(summary):
    assert parse(render_page(summary)).summary == summary


def test_only_our_style_and_script_may_run(summary):
    page = parse(render_page(summary))
    [policy] = [kept["content"] for tag, kept in page.tags if "http-equiv" in kept]
    [style], script = page.styles, page.scripts[-1]
    for kind, content in (("style", style), ("script", script)):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy


def test_nothing_outside_is_named(summary):
    page = parse(render_page(summary))
    names = {name for _, kept in page.tags for name in kept}
    assert not {name for name in names if name.startswith("on")} | names & {"src", "style"}
    assert all(link.startswith("#") or link == "data:," for link in page.values("href"))
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in page.values("href") if link.startswith("#")} <= set(ids)


def test_sections_without_data_are_left_out():
    whole, least = (parse(render_page(KINDS[kind]())) for kind in ("report", "audit"))
    left_out = {"lengths", "words"}
    assert {"groups", "details"} | left_out <= set(whole.values("id"))
    assert not left_out & set(least.values("id"))
    assert "Guarantee" in whole.texts
    assert "Guarantee" not in least.texts
    assert "Threshold" in whole.texts
    assert "Threshold" not in least.texts


def test_a_summary_without_any_group_still_has_its_headline():
    nothing = {"count": 0, "about": "", "groups": []}
    bare = summaries.audit() | {"learned": {"about": "", "groups": []}, "provenance": []}
    page = parse(render_page(bare | {"failed": nothing}))
    assert bare["headline"]["finding"] in page.texts
    assert not {"groups", "words", "details"} & set(page.values("id"))


def test_headings_stand_in_order(summary):
    depths = [int(tag[1]) for tag, _ in parse(render_page(summary)).tags if tag in HEADINGS]
    assert depths[0] == 1
    assert depths.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(depths))


HEADINGS = {"h1", "h2", "h3", "h4"}


def test_a_value_that_is_no_json_is_refused():
    broken = summaries.audit() | {"alpha": math.nan}
    with pytest.raises(ValueError, match="JSON"):
        render_page(broken)


def test_every_dot_says_what_the_summary_says():
    summary = summaries.report()
    said = [label for label in parse(render_page(summary)).values("aria-label") if "\n" in label]
    for named in (summary["learned"], *summary["named"]):
        for group in named["groups"]:
            for method, cell in group["cells"].items():
                start = f"{group['name']}\n{method}: coverage {percent(cell['coverage'])}"
                lines = [label for label in said if label.startswith(start + ",")]
                shown = 1 + (group["name"] in {one["name"] for one in summary["failed"]["groups"]})
                assert len(lines) == shown
                assert lines[0].endswith(f"{cell['hits']:,} of {cell['n']:,} rows covered")


def test_written_page_is_the_rendered_one(tmp_path):
    summary, path = summaries.report(), tmp_path / "report.html"
    CoverageReport(summary).to_html(path)
    assert path.read_text(encoding="utf-8") == render_page(summary)
    with pytest.raises(FileExistsError, match=r"report\.html exists"):
        CoverageReport(summaries.audit()).to_html(path)
    CoverageReport(summaries.audit()).to_html(path, force=True)
    assert parse(path.read_text(encoding="utf-8")).summary == summaries.audit()


def test_a_file_name_that_is_no_text_loses_no_page(tmp_path):
    path = tmp_path / "report.html"
    named = summaries.audit() | {"title": "audit of caf\udce9.csv"}
    CoverageReport(named).to_html(path)
    page = parse(path.read_text(encoding="utf-8"))
    assert r"audit of caf\udce9.csv" in page.texts


def test_json_on_the_page_needs_no_special_reader():
    page = render_page(summaries.hostile())
    start = page.index('id="summary">') + len('id="summary">')
    data = page[start : page.index("</script>", start)]
    assert "<" not in data
    assert json.loads(data) == summaries.hostile()


@pytest.fixture(scope="module")
def audited():
    """A real audit of intervals that fail where a column with a hostile name is large."""
    rng = np.random.default_rng(0)
    x = rng.uniform(size=3_000)
    y = rng.normal(scale=1 + 3 * (x > 0.7))
    frame = {"<script>": x, "kind": np.where(x > 0.5, "<b>", "&amp;"), "y": y}
    half = rng.uniform(1.5, 1.9, size=len(y))
    frame |= {"lo": -half, "hi": half}
    by = [By("<script>", 4), By("kind", None)]
    return audit(frame, target="y", lower="lo", upper="hi", by=by).to_dict()


def test_a_real_audit_is_shown_whole(audited):
    page = parse(render_page(audited))
    assert page.summary == audited
    assert len(page.scripted) == 2
    rows = [*audited["learned"]["groups"], *(g for n in audited["named"] for g in n["groups"])]
    assert len(rows) == 4 + 2 + len(audited["learned"]["groups"])
    for group in rows:
        assert group["name"] in page.texts
    assert audited["headline"]["finding"] in page.texts
    assert "lengths" in page.values("id")
    assert "words" not in page.values("id")


names = st.text(min_size=1, max_size=150)


@few
@given(st.lists(names, min_size=2, max_size=4), names, st.booleans())
def test_lines_keep_within_the_width_whatever_names_there_are(groups, title, sized):
    n = 3 * len(groups)
    outcome = Outcome(np.arange(n) % 2 > 0, np.full(n, 1e9) if sized else None)
    learned = GroupList([Described(name) for name in groups], np.arange(n) % len(groups), title)
    result = summarise(
        {"Split": outcome, "PLCP": outcome},
        alpha=0.1,
        learned=learned,
        title=title,
        subtitle=title,
        size_name="number of labels" if sized else None,
        provenance={title: title},
        notes=[title],
        guarantee=title,
        choice={"about": title, "points": [], "chosen": 3},
        explanation={
            "fidelity": 0.5,
            "importance": [{"feature": title, "value": 0.1, "error": 0.1}],
            "sensitive": [{"column": title, "dependence": 0.1, "text": title}],
        },
    )
    text = CoverageReport(result).to_text()
    assert all(room(line) <= WIDTH for line in text.split("\n"))
    assert text.replace("\n", "").isprintable()


def test_every_group_has_its_figures(rng):
    n = 3000
    frame = pd.DataFrame(
        {"y": rng.normal(size=n), "lo": -1.7, "hi": 1.7, "sex": rng.choice(["f", "m"], size=n)}
    )
    summary = audit(frame, target="y", lower="lo", upper="hi", by="sex").to_dict()
    lines = CoverageReport(summary).to_text().splitlines()
    for group in summary["named"][0]["groups"]:
        cell = group["cells"]["audited"]
        line = next(line for line in lines if line.startswith(group["name"]))
        for figure in (f"{cell['n']:,}", f"{100 * cell['coverage']:.1f} %", "3.4", cell["verdict"]):
            assert figure in line
    for line in (*summary["headline"].values(), summary["failed"]["about"]):
        assert line is None or line in " ".join(" ".join(lines).split())


def test_a_group_without_rows_and_infinite_sizes_are_shown():
    outcome = Outcome(np.array([True, False]), np.array([np.inf, 1.0]))
    learned = GroupList([Described("some"), Described("empty")], np.zeros(2, dtype=int), "")
    text = CoverageReport(
        summarise({"a": outcome}, alpha=0.1, learned=learned, size_name="length")
    ).to_text()
    some, empty = (
        next(line for line in text.splitlines() if line.startswith(name))
        for name in ("some", "empty")
    )
    assert "∞" in some
    assert empty.split()[:3] == ["empty", "0", "–"]


@few
@given(names, st.integers(4, 40))
def test_folding_loses_nothing_but_space(text, width):
    lines = fold(text, width)
    assert all(room(line) <= width for line in lines)
    kept = "".join(sign if sign.isprintable() else "�" for sign in " ".join(text.split()))
    assert "".join(lines).replace(" ", "") == kept.replace(" ", "")

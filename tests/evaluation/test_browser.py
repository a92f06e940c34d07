"""The page in a real browser: silent, readable everywhere, and usable by keyboard."""

import os
import shutil
from math import inf

import pytest
import summaries
from playwright.sync_api import sync_playwright

from plcp.evaluation import CoverageReport
from plcp.evaluation.formatting import count, number, percent, signed

HANG = 1_800_000  # milliseconds: only a browser that hangs is waited for so long
KINDS = {"report": summaries.report, "audit": summaries.audit, "hostile": summaries.hostile}


@pytest.fixture(scope="module")
def browser():
    path = shutil.which("chromium")
    if path is None:
        (pytest.fail if "CI" in os.environ else pytest.skip)("install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"], timeout=HANG
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def addresses(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for kind, summary in KINDS.items():
        CoverageReport(summary()).to_html(folder / f"{kind}.html")
    return {kind: (folder / f"{kind}.html").as_uri() for kind in KINDS}


@pytest.fixture
def visit(browser, addresses):
    """Open a page; at the end it must have requested nothing and complained of nothing."""
    visits = []

    def go(kind, width=1280, opened=True, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        context.set_default_timeout(HANG)
        page, seen = context.new_page(), []
        page.on("console", lambda message: seen.append(message.text))
        page.on("pageerror", lambda error: seen.append(str(error)))
        page.on("dialog", lambda dialog: (seen.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: seen.append(request.url))
        visits.append((context, addresses[kind], seen))
        page.goto(addresses[kind])
        if opened:
            page.evaluate(OPEN)
        return page

    yield go
    for context, address, seen in visits:
        context.close()
        assert seen == [address]


def rows_of(summary):
    """Column, group and cells, in the order of the table."""
    for column, groups in [("learned", summary["learned"]["groups"])] + [
        (named["column"], named["groups"]) for named in summary["named"]
    ]:
        for group in groups:
            yield column, group


def cells_of(summary, group):
    """Values of one row as numbers, and as the reader sees them."""
    sized = summary["size_name"] is not None
    yield group["n"], count(group["n"])
    if summary["kind"] == "report":
        yield group["threshold"], number(group["threshold"])
    for method in summary["methods"]:
        cell = group["cells"][method]
        yield cell["coverage"], f"{percent(cell['coverage'])} {signed(cell['verdict'])}"
        if sized:
            yield cell["size"], number(cell["size"])


READ_TABLE = """() => [...document.querySelectorAll("#all-groups tbody tr")].map(row =>
  [...row.cells].filter(cell => cell.matches("td.figure")).map(cell => [
    cell.querySelector("data")?.value ?? null, cell.innerText.trim().split("\\n")[0].trim()]))"""

OPEN = """() => { for (const part of document.querySelectorAll("details")) part.open = true; }"""


@pytest.mark.parametrize("kind", KINDS)
def test_every_figure_of_the_table_is_the_summarys(visit, kind):
    page = visit(kind)
    carried = page.evaluate("JSON.parse(document.getElementById('summary').textContent)")
    assert carried == KINDS[kind]()
    expected = [
        [(None if value is None else str(value), text) for value, text in cells_of(carried, group)]
        for _, group in rows_of(carried)
    ]
    found = [[tuple(cell) for cell in row] for row in page.evaluate(READ_TABLE)]
    assert [[text for _, text in row] for row in found] == [
        [text for _, text in row] for row in expected
    ]
    as_numbers = [[None if v is None else float(v) for v, _ in row] for row in found]
    assert as_numbers == [[None if v is None else float(v) for v, _ in row] for row in expected]


def press_tab_until(page, is_there):
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate(is_there):
            return
    raise AssertionError("the keyboard does not get there")


SORTED_COLUMN = """place => [...document.querySelectorAll("#all-groups tbody tr")]
  .map(row => row.cells[place].dataset.sort)"""


def test_the_first_screen_shows_which_groups_fail(visit):
    summary, page = summaries.report(), visit("report", opened=False)
    assert page.locator("h1").inner_text() == summary["headline"]["finding"]
    rows = page.locator("main > section").first.locator(".row:not(.head)")
    shown = [*summary["failed"]["groups"], {"name": "All rows", "cells": summary["overall"]}]
    assert rows.count() == len(shown)
    for i, group in enumerate(shown):
        result = rows.nth(i).text_content()
        assert group["name"] in result
        for cell in group["cells"].values():
            assert f"{signed(cell['verdict'])[0]} {percent(cell['coverage'])}" in result
        box = rows.nth(i).bounding_box()
        assert box["y"] + box["height"] <= 900
    assert summary["headline"]["guarantee"] in page.locator(".lines").inner_text()
    phone = visit("report", width=390, opened=False).locator(".first .overall").bounding_box()
    assert phone["y"] + phone["height"] <= 900


def test_the_guarantee_links_to_its_details(visit):
    page = visit("report", opened=False)
    whole = page.get_by_text(summaries.report()["guarantee"])
    assert not whole.is_visible()
    page.get_by_role("link", name="Details").press("Enter")
    whole.wait_for(state="visible")


def test_folded_parts_open_by_keyboard_and_stand_open_on_paper(visit):
    page = visit("report", opened=False)
    table = page.locator("#all-groups")
    assert not table.is_visible()
    page.locator("summary").first.press("Enter")
    table.wait_for(state="visible")
    other = visit("report", opened=False)
    other.emulate_media(media="print")
    assert other.locator("#lengths .bar").last.bounding_box()["width"] > 0
    assert other.locator("#all-groups tbody tr").last.is_visible()


def test_sorting_by_keyboard(visit):
    page = visit("report")
    heads = page.locator("#all-groups thead th")
    page.locator("#filter").focus()
    for place in range(heads.count()):
        if heads.nth(place).get_attribute("data-kind") is None:
            continue  # the chart
        press_tab_until(page, f"document.activeElement.closest('th')?.cellIndex === {place}")
        before = page.evaluate(SORTED_COLUMN, place)
        is_number = heads.nth(place).get_attribute("data-kind") == "number"
        known = [float(value) if is_number else value for value in before if value]
        missing = [""] * (len(before) - len(known))
        for key, way in (("Enter", "ascending"), ("Space", "descending")):
            page.keyboard.press(key)
            assert heads.nth(place).get_attribute("aria-sort") == way
            assert page.locator("#all-groups th[aria-sort$=ending]").count() == 1
            after = page.evaluate(SORTED_COLUMN, place)
            found = [float(value) if value and is_number else value for value in after]
            if is_number:  # letters are ordered as the reader's language has it
                known.sort(reverse=way == "descending")
                assert found == [*known, *missing]
            else:
                groups = [x for i, x in enumerate(found) if i == 0 or found[i - 1] != x]
                assert sorted(groups) == sorted(set(known))  # equal ones stand together


def test_infinite_sizes_are_the_largest_and_missing_ones_last(visit):
    page = visit("hostile")
    page.locator("#all-groups thead button", has_text="Threshold").press("Enter")
    values = page.evaluate(SORTED_COLUMN, 2)
    known = [float(value) for value in values if value]
    assert known == sorted(known)
    assert known[-1] == inf
    assert values[len(known) :] == [""] * (len(values) - len(known))
    assert len(known) < len(values)


def test_filtering_by_keyboard(visit):
    summary, page = summaries.report(), visit("report")
    page.keyboard.press("Tab")
    press_tab_until(page, "document.activeElement.id === 'filter'")
    names = page.locator("#all-groups tbody tr:visible th .name")
    rows = list(rows_of(summary))
    page.keyboard.type("BELOW")
    assert names.all_inner_texts() == [
        group["name"]
        for _, group in rows
        if any(cell["verdict"] == "below" for cell in group["cells"].values())
    ]
    assert page.locator("#shown").inner_text() == f"{names.count()} of {len(rows)} shown"
    assert 0 < names.count() < len(rows)
    page.keyboard.press("Control+a")
    page.keyboard.type("black")
    assert names.all_inner_texts() == ["2 Black alone"]
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    assert names.count() == len(rows)


def test_arrow_keys_move_between_dots_and_the_tip_says_their_figures(visit):
    summary, page = summaries.report(), visit("report")
    tip = page.locator("#tip")
    assert tip.is_hidden()
    press_tab_until(page, "document.activeElement.matches('#all-groups .mark')")
    dots = [
        (group["name"], method, group["cells"][method])
        for _, group in rows_of(summary)
        for method in summary["methods"]
    ]
    for name, method, cell in dots:
        lines = tip.inner_text().split("\n")
        assert lines[0] == name
        assert lines[1].startswith(f"{method}: coverage {percent(cell['coverage'])}, ")
        assert lines[3] == f"{count(cell['hits'])} of {count(cell['n'])} rows covered"
        box = tip.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 1280
        assert 0 <= box["y"] <= 900 - box["height"]
        page.keyboard.press("ArrowDown")
    assert tip.inner_text().startswith(dots[-1][0])  # the last stays
    page.keyboard.press("ArrowUp")
    assert f"{dots[-2][1]}: coverage" in tip.inner_text()
    page.keyboard.press("Home")
    assert tip.inner_text().startswith(dots[0][0])
    page.keyboard.press("End")
    assert tip.inner_text().startswith(dots[-1][0])
    page.keyboard.press("Escape")
    assert tip.is_hidden()


def test_every_chart_answers_the_pointer_and_the_keyboard(visit):
    page = visit("report")
    tip = page.locator("#tip")
    for section in ("groups", "lengths", "words"):
        marks = page.locator(f"#{section} .mark")
        reached = marks.nth(1)
        reached.locator(".shape, rect").first.hover()
        assert tip.inner_text() == reached.get_attribute("aria-label")
        page.mouse.move(0, 0)
        assert tip.is_hidden()
        reached.focus()
        page.keyboard.press("ArrowLeft")
        assert tip.inner_text() == marks.first.get_attribute("aria-label")
        stops = page.locator(f"#{section} .mark[tabindex='0']").count()
        assert stops == page.locator(f"#{section} .chart").count()
        page.keyboard.press("Escape")


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_wider_than_the_screen(visit, kind):
    page = visit(kind)
    beyond = """() => [...document.querySelectorAll("body *")].filter(element =>
      !element.closest("svg, .hidden, thead") && element.getClientRects().length &&
      element.getBoundingClientRect().right > innerWidth + 0.5).map(element => element.outerHTML)"""
    for width in (360, 768, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(beyond) == []


COLOURS = """() => {
  const solid = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (!/, 0\\)$/.test(colour)) return colour;
    }
  };
  const found = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const ink = element.closest("svg") ? style.fill : style.color;
    found.add(JSON.stringify([ink, solid(element)]));
  }
  for (const shape of document.querySelectorAll(".shape, .all, line.target"))
    found.add(JSON.stringify([getComputedStyle(shape).stroke, solid(shape)]));
  return [...found].map(JSON.parse);
}"""


def luminance(colour):
    channels = [int(part) / 255 for part in colour.removeprefix("rgb(").rstrip(")").split(",")]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def assert_contrast(page):
    pairs = page.evaluate(COLOURS)
    assert len(pairs) >= 5
    for pair in pairs:
        dark, light = sorted(map(luminance, pair))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, pair


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_and_marks_stand_out(visit, scheme):
    """The contrast of 4.5 to 1 that WCAG 2.2 requires of text (AA)."""
    page = visit("report", color_scheme=scheme)
    page.locator("#groups .mark").first.focus()  # the tip is text too
    assert_contrast(page)
    paper = luminance(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert (paper > 0.5) == (scheme == "light")


@pytest.mark.parametrize("kind", ["report", "audit"])
def test_print_cuts_no_table(visit, kind):
    page = visit(kind, width=680, color_scheme="dark")  # what A4 has between margins of 15 mm
    page.emulate_media(media="print")
    cut = """() => [...document.querySelectorAll("table, .row, svg")].filter(
      element => element.getBoundingClientRect().right > innerWidth + 0.5).length"""
    assert page.evaluate(cut) == 0
    assert page.locator("#filter").is_hidden()
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert luminance(paper) == 1  # dark paper costs ink
    assert_contrast(page)
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_without_scripts_the_page_says_the_same(visit):
    page, scripted = visit("report", java_script_enabled=False), visit("report")
    for place in ("main > section", "#all-groups tbody", "#lengths", "#words", "#details"):
        assert page.locator(place).first.inner_text() == scripted.locator(place).first.inner_text()
    assert page.locator("#filter").is_hidden()
    assert page.locator("#all-groups button").count() == 0
    mark = page.locator(".mark").first
    assert mark.locator("title").text_content() == mark.get_attribute("aria-label")


def test_names_stay_text(visit):
    page = visit("hostile")
    assert page.title() == summaries.hostile()["title"]
    assert page.locator("script").count() == 2
    assert page.locator("img, iframe, b").count() == 0
    names = page.locator("#all-groups tbody th .name").all_text_contents()
    shown = [group["name"] for _, group in rows_of(summaries.hostile())]
    seen = str.maketrans({"\x00": None, "\udce9": "\\udce9"})  # HTML has neither
    assert names == [name.translate(seen) for name in shown]

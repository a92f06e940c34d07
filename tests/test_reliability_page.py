"""The page on reliability is drawn from what was measured."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

import trust_page


def test_tables_are_drawn_from_the_records():
    text = trust_page.PAGE.read_text(encoding="utf-8")
    results = trust_page.load()
    assert text == trust_page.page(text, results)
    assert text.count("<!-- /") == len(trust_page.TABLES) + 2
    assert {part for part, _ in trust_page.TABLES.values()} == {*results}


def test_nothing_came_out_in_silence():
    results = trust_page.load()
    assert results["inputs"]["results"]["neither"] == {}

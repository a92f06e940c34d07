"""The tables people read are the numbers that were measured."""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

import tables  # noqa: E402


def test_results_page_is_drawn_from_the_records():
    assert (ROOT / "docs" / "benchmarks.md").read_text() == tables.results_page(**tables.load())


def test_tables_of_the_readme_are_drawn_from_the_records():
    readme = (ROOT / "README.md").read_text()
    results = tables.load()
    drawn = {name: results[name] for name in ("conditional", "neural", "rivals", "cli")}
    assert readme == tables.readme_with_tables(readme, **drawn)
    assert readme.count("<!-- /") == 5

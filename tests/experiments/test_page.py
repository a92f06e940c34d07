"""Pages: every part of a report, in every format, with the numbers of the trials."""

import json
from dataclasses import replace

import pytest

from coin_tosses import bare, coin
from plcp.experiments.report import spread, to_markdown, to_text, write_page
from plcp.experiments.runner import Ledger, run_trials, write_overview


@pytest.fixture
def records(tmp_path):
    experiment = coin()
    return run_trials(experiment, experiment.settings, range(4), Ledger(tmp_path / "coin.jsonl"))


def test_every_file_is_written_and_is_what_it_says(records, tmp_path):
    files = write_page("coin", coin().report(records), records, tmp_path / "new")
    assert [path.name for path in files] == [
        "coin.md",
        "coin.json",
        "coin.svg",
        "coin.png",
        "coin-again.svg",
        "coin-again.png",
    ]
    page = files[0].read_text()
    for path in files[2::2]:
        assert "<svg" in path.read_text()
        assert f"]({path.name})" in page
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in files[3::2])


def test_the_same_report_gives_the_same_files(records, tmp_path):
    once, again = (
        write_page("coin", coin().report(records), records, tmp_path / name) for name in "ab"
    )
    for one, other in zip(once, again, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_the_page_shows_every_part(records):
    page = to_markdown("coin", coin().report(records), records)
    heads = [record["results"]["heads"] for record in records]
    assert page.startswith("# Tosses\n")
    for part in (
        f"{sum(heads) / 4:.1f} heads on average.",
        f"| heads | five | {spread(heads, 1)} | – |",
        f"| 3 | {heads[3]} |",
        f"- reached: some heads ({max(heads)})",
        "- A coin is no experiment of the paper.",
        "![Tosses](coin.svg)",
        "![The coin, drawn again.](coin-again.svg)\n\n*The coin, drawn again.*",
        "4 trials, seeds 0 to 3",
        "`plcp reproduce coin --trials 4`",
        f"plcp {records[0]['versions']['plcp']}",
    ):
        assert part in page


def test_the_page_names_the_command_that_gives_its_trials(records):
    page = to_markdown("coin", coin().report(records[2:]), records[2:])
    assert "`plcp reproduce coin --trials 2 --seed 2`" in page


def test_what_is_not_reached_is_said(records):
    for record in records:
        record["results"]["heads"] = 0
    report = coin().report(records)
    assert "- **not reached**: some heads (0)" in to_markdown("coin", report, records)


def test_versions_that_differ_are_all_named(records):
    records[2]["versions"]["numpy"] = "9.9"
    page = to_markdown("coin", coin().report(records), records)
    assert f"numpy {records[0]['versions']['numpy']} and 9.9" in page


def test_the_terminal_sees_what_came_out_and_notes_but_no_details(records):
    report = coin().report(records)
    text = to_text(report)
    assert text.startswith(f"Tosses\n\n{report.reading[0]}")
    assert "| heads | five |" in text
    assert "**What was to be reached**" in text
    assert f"- {report.notes[0]}" in text
    for detail in ("![", "**Heads**"):
        assert detail not in text
        assert detail in to_markdown("coin", report, records)


def test_what_is_asked_stands_above_what_came_out(records, tmp_path):
    report = replace(coin().report(records), question="How often do coins fall on heads?")
    write_page("toy", report, records, tmp_path)
    overview = write_overview(tmp_path).read_text()
    for page in ((tmp_path / "toy.md").read_text(), overview):
        assert f"\n\n{report.question}\n\n{report.reading[0]}" in page
    assert report.question not in to_text(report)  # who asks is at the terminal


def test_a_report_of_reading_and_figure_alone_is_a_page(records, tmp_path):
    report = bare(records)
    page = to_markdown("coin", report, records)
    assert page.count("**") == 0
    write_page("coin", report, records, tmp_path)
    assert json.loads((tmp_path / "coin.json").read_text())["claims"] == []


def test_the_overview_names_what_the_directory_holds(records, tmp_path):
    report = coin().report(records)
    write_page("toy", report, records, tmp_path)
    (tmp_path / "stranger.json").write_text("{}")
    page = write_overview(tmp_path).read_text()
    heads = [record["results"]["heads"] for record in records]
    assert f"| [toy](toy.md) | heads | five | {spread(heads, 1)} | – |" in page
    assert "stranger" not in page
    assert "Reached: 1 of 1 aims.\n" in page
    for record in records:
        record["results"]["heads"] = 0
    write_page("toy", coin().report(records), records, tmp_path)
    assert "Reached: 0 of 1 aims. Not reached: some heads." in write_overview(tmp_path).read_text()

"""What is said of RxRx1's protocol follows the numbers of the trials."""

import pytest

from plcp.experiments.methods import DEFAULT, PUBLISHED, SPLIT
from plcp.experiments.shifted import CONDITIONAL, ORACLE, Wording, report_shifted

WORDS = Wording("a title", "What is it?", "batch", "batches", "not given", ("a stand-in",))
OVERALL = {"coverage": 0.9, "hard": 0.85, "empty": 0.0, "seconds": 1.0}
METHODS = (SPLIT, CONDITIONAL, PUBLISHED, DEFAULT, ORACLE)


def record(coverage, size, seed=0):
    """A trial with given coverages of two batches and mean sizes, by method."""
    methods = {
        name: {
            "coverage": coverage.get(name, [0.9, 0.9]),
            "size": [size.get(name, 2.0)] * 2,
            "overall": dict(OVERALL, size=size.get(name, 2.0)),
        }
        for name in METHODS
    }
    about = {"temperature": 1.0, "accuracy": [0.5, 0.99], "least": [0.9, 0.99]}
    results = {"groups": {"4": 50, "5": 50}, "methods": methods, "about": about}
    return {"settings": {"alpha": 0.1, "n_groups": 3}, "seed": seed, "results": results}


def claims_of(coverage, size):
    report = report_shifted([record(one, size, seed) for seed, one in enumerate(coverage)], WORDS)
    return [(claim.text, claim.holds) for claim in report.claims]


def test_claims_follow_the_mean_over_trials():
    split = {SPLIT: [0.8, 0.95]}
    off_alone_right_together = [split | {DEFAULT: [c, 0.92]} for c in (0.75, 1.0)]
    (near, nearer), (small, smaller), *_ = claims_of(off_alone_right_together, {})
    assert DEFAULT in near
    assert nearer
    assert CONDITIONAL in small
    assert smaller  # as large is no larger
    (_, nearer), (_, smaller), *_ = claims_of([split | {DEFAULT: [0.9, 0.96]}], {DEFAULT: 2.1})
    assert not nearer
    assert not smaller
    (_, nearer), *_ = claims_of([split | {DEFAULT: split[SPLIT]}], {})
    assert not nearer  # as near is not nearer


def test_claims_are_made_of_both_kinds_of_plcp_and_of_broken_ties_where_they_were_run():
    plain = record({}, {})
    broken = record({}, {})
    broken["results"]["ties_broken"] = broken["results"]["methods"]
    texts = [claim.text for claim in report_shifted([plain], WORDS).claims]
    assert [text.split(":")[0] for text in texts] == [DEFAULT] * 2 + [PUBLISHED] * 2
    both = report_shifted([broken], WORDS)
    assert len(both.claims) == 2 * len(texts)
    assert sum("ties broken" in claim.text for claim in both.claims) == len(texts)
    assert list(both.figures) == ["by-group", "ties-broken"]


def test_the_report_reads_the_right_part_of_the_results():
    trial = record({SPLIT: [0.71, 0.99]}, {DEFAULT: 1.25})
    trial["results"]["ties_broken"] = record({SPLIT: [0.55, 0.9]}, {})["results"]["methods"]
    report = report_shifted([trial], WORDS)
    assert "Split 0.710 to 0.990;" in report.reading[0]
    assert "PLCP, default 1.25;" in report.reading[2]
    captions = {table.caption: table.rows for table in report.tables}
    kept = captions["Coverage (and mean set size), mean over trials"]
    broken = captions["Coverage (and mean set size), ties broken at random, mean over trials"]
    assert (kept[0][1], broken[0][1]) == ("0.710 (2.00)", "0.550 (2.00)")


@pytest.mark.parametrize(
    ("split", "default", "forced"),
    [
        (0.95, 0.99, True),  # 0.99 is the lowest coverage of the second batch
        (0.86, 0.97, True),
        (0.995, 0.999, False),  # Split is farther away than the lowest coverage
        (0.95, 0.94, False),  # nothing to explain
        (0.95, 0.80, False),  # too low for the lowest coverage to be the reason
    ],
)
def test_a_batch_is_excused_where_the_lowest_coverage_is_farther_away_than_split(
    split, default, forced
):
    ours = {DEFAULT: [0.9, default], PUBLISHED: [0.9, 0.99]}  # of the default alone it is said
    trial = record({SPLIT: [0.9, split]} | ours, {})
    trial["results"]["ties_broken"] = trial["results"]["methods"]
    claims = {claim.text: claim.measured for claim in report_shifted([trial], WORDS).claims}
    excused = [text for text, measured in claims.items() if "cover at least" in measured]
    assert excused == [text for text in claims if text.startswith(f"{DEFAULT}: every")][:forced]
    assert all("at least 0.990 of batch 5: Split is nearer" in claims[text] for text in excused)

"""Reports: numbers of all trials in tables, figures and pages."""

import json
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from numpy.testing import assert_allclose, assert_array_equal

from coin_tosses import coin
from plcp.experiments.methods import CROSS, PUBLISHED, SPLIT
from plcp.experiments.report import (
    Summary,
    dependence,
    draw_by_group,
    gain,
    gain_cell,
    group_table,
    outcome,
    overall_table,
    spread,
    summarise,
    write_page,
)
from plcp.experiments.runner import Ledger, run_trials, write_overview
from plcp.metrics import hsic, improvement, size_correlation


@pytest.fixture
def records(tmp_path):
    experiment = coin()
    return run_trials(experiment, experiment.settings, range(4), Ledger(tmp_path / "coin.jsonl"))


def test_every_file_is_written_and_is_what_it_states(records, tmp_path):
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


METHODS = ["one", "two"]
GROUPS = {"a": 3, "b": 7, "c": 5}


def number(trial, method, group, what):
    """Give every cell of every trial a number of its own."""
    return trial / 10 + METHODS.index(method) / 100 + group / 1000 + (what == "size")


def record(trial, alpha=0.2):
    return {
        "settings": {"alpha": alpha},
        "results": {
            "groups": {name: rows + trial for name, rows in GROUPS.items()},
            "methods": {
                method: {
                    "coverage": [number(trial, method, g, "coverage") for g in range(3)],
                    "size": [number(trial, method, g, "size") for g in range(3)],
                    "overall": {"coverage": trial + 0.25, "loss": trial / 8},
                }
                for method in METHODS
            },
        },
    }


@pytest.fixture
def summary():
    return summarise([record(trial) for trial in range(4)])


def test_an_outcome_counts_rows_of_overlapping_groups(rng):
    covered, size = rng.random(50) < 0.7, rng.exponential(size=50)
    groups = {"odd": rng.random(50) < 0.5, "all": np.ones(50, dtype=bool)}
    found = outcome(covered, size, groups, loss=np.float64(0.5))
    for place, rows in enumerate(groups.values()):
        inside = [i for i in range(50) if rows[i]]
        assert_allclose(found["coverage"][place], sum(covered[i] for i in inside) / len(inside))
        assert_allclose(found["size"][place], sum(size[i] for i in inside) / len(inside))
    assert found["overall"]["coverage"] == found["coverage"][1]
    assert found["overall"]["size"] == found["size"][1]
    assert found["overall"]["loss"] == 0.5
    assert json.loads(json.dumps(found)) == found


def test_a_summary_has_every_number_in_its_place(summary):
    assert summary.groups == list(GROUPS)
    assert summary.methods == METHODS
    for trial in range(4):
        assert_array_equal(summary.counts[trial], [3 + trial, 7 + trial, 5 + trial])
        for method in METHODS:
            assert summary.overall[method]["loss"][trial] == trial / 8
            for g in range(3):
                cell = number(trial, method, g, "coverage"), number(trial, method, g, "size")
                assert summary.coverage[method][trial, g] == cell[0]
                assert summary.size[method][trial, g] == cell[1]


def test_a_gap_is_that_of_the_mean_over_trials_not_the_mean_of_gaps():
    """Two trials that miss to both sides alike have no gap."""
    trials = [record(0), record(0)]
    for one, value in zip(trials, (0.75, 0.85), strict=True):
        one["results"]["methods"]["one"]["coverage"] = [value, 0.5, 1.0]
    assert_allclose(summarise(trials).gap("one"), [0.0, 0.3, 0.2], atol=1e-15)


def test_tables_have_a_row_for_each_group_and_each_method(summary):
    by_group = group_table(summary, "By group", digits=1)
    assert by_group.header == ["", *METHODS]
    assert by_group.rows[2] == ["c", "0.152 (1.2)", "0.162 (1.2)"]
    overall = overall_table(summary, "All", {"loss": "pinball loss", "coverage": "coverage"}, 2)
    assert overall.header == ["", "pinball loss", "coverage"]
    assert overall.rows[1] == ["two", "0.19 (0.00 to 0.38)", "1.75 (0.25 to 3.25)"]


MANY = [
    SPLIT,
    "CQR",
    "LocalCP",
    "BatchGCP",
    PUBLISHED,
    CROSS,
    "Conditional Calibration",
    "oracle",
]
FEW = [SPLIT, PUBLISHED, CROSS]
LONG = ["White", "Black", "Asian", "two or more races", "men", "women", "California", "over 60"]
shapes = pytest.mark.parametrize(
    ("groups", "methods"),
    [
        ([str(i) for i in range(1, 21)], MANY[:4]),
        ([str(i) for i in range(5)], MANY),
        (LONG, FEW),
        (LONG + LONG[::-1], MANY),
    ],
    ids=["twenty groups", "eight methods", "long names", "all of it"],
)


def made_up(groups, methods, trials=3, low=4.0, high=5.0):
    groups = list(groups)
    rng = np.random.default_rng(7)
    shape = trials, len(groups)
    return Summary(
        groups=groups,
        counts=np.full(shape, 100.0),
        coverage={method: rng.uniform(0.8, 1.0, shape) for method in methods},
        size={method: rng.uniform(low, high, shape) for method in methods},
        overall={method: {} for method in methods},
        alpha=0.1,
    )


def rendered(figure):
    FigureCanvasAgg(figure).draw()
    return figure


def marks(axes):
    """Places, means and ends of bars of each method."""
    return {
        container.get_label(): (
            container[0].get_xdata(),
            container[0].get_ydata(),
            np.array(container[2][0].get_segments())[:, :, 1],
        )
        for container in axes.containers
    }


@shapes
def test_marks_are_means_over_trials_and_bars_reach_from_lowest_to_highest(groups, methods):
    summary = made_up(groups, methods)
    panels = draw_by_group(summary, "mean length").axes
    for axes, values in zip(panels, (summary.coverage, summary.size), strict=True):
        drawn = marks(axes)
        assert list(drawn) == methods
        for method in methods:
            _, middle, bars = drawn[method]
            assert_allclose(middle, values[method].mean(axis=0))
            assert_allclose(bars[:, 0], values[method].min(axis=0))
            assert_allclose(bars[:, 1], values[method].max(axis=0))


@shapes
def test_names_do_not_run_into_each_other_nor_out_of_the_figure(groups, methods):
    figure = rendered(draw_by_group(made_up(groups, methods), "mean length", "kind of input"))
    side_by_side = figure.axes[0].get_position().y0 == figure.axes[1].get_position().y0
    for axes in figure.axes if side_by_side else figure.axes[1:]:  # stacked panels share theirs
        labels = axes.get_xticklabels()
        assert [label.get_text() for label in labels] == groups
        assert axes.get_xlabel() == "kind of input"
        upright = [label for label in labels if label.get_rotation() == 0]
        boxes = [label.get_window_extent() for label in upright]
        assert all(a.x1 < b.x0 for a, b in pairwise(boxes))
    legend = figure.legends[0].get_window_extent()
    assert figure.bbox.x0 <= legend.x0
    assert legend.x1 <= figure.bbox.x1
    assert all(not legend.overlaps(axes.get_window_extent()) for axes in figure.axes)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == methods


def dependent_summary(*trials):
    """Summary of trials, each a mapping of methods to (covered, size)."""
    all_rows = {"all": np.ones(len(trials[0][SPLIT][0]), dtype=bool)}
    return summarise(
        [
            {
                "settings": {"alpha": 0.1},
                "results": {
                    "groups": {"all": 1},
                    "methods": {
                        name: outcome(covered, size, all_rows, **dependence(covered, size))
                        for name, (covered, size) in trial.items()
                    },
                },
            }
            for trial in trials
        ]
    )


def draw(rng, n=200):
    covered = rng.uniform(size=n) < 0.9
    return covered, rng.integers(0, 4, n) + covered


@pytest.mark.parametrize(
    ("covered", "size"), [([True] * 4, [1, 2, 3, 4]), ([True, False] * 2, [2] * 4)]
)
def test_a_constant_depends_on_nothing(covered, size):
    assert dependence(np.array(covered), np.array(size)) == {"hsic": 0.0, "pearson": 0.0}


def test_gains_are_those_of_the_metrics_themselves():
    rng = np.random.default_rng(0)
    trials = [{SPLIT: draw(rng), "other": draw(rng)} for _ in range(3)]
    found = dependent_summary(*trials)
    for key, metric in (("hsic", hsic), ("pearson", size_correlation)):
        expected = [
            float(improvement(metric(*trial["other"]), metric(*trial[SPLIT]))) for trial in trials
        ]
        np.testing.assert_allclose(gain(found, "other", key), expected, rtol=1e-12)
        assert np.array_equal(gain(found, SPLIT, key), np.zeros(3))


def test_trials_in_which_split_has_no_dependence_show_nothing():
    rng = np.random.default_rng(0)
    covered, size = draw(rng)
    constant = np.ones_like(size)
    mixed = dependent_summary(
        {SPLIT: (covered, constant), "other": (covered, size)},
        {SPLIT: (covered, size), "other": (covered, constant)},
    )
    assert np.array_equal(gain(mixed, "other", "pearson"), [100.0])
    assert gain_cell(mixed, "other", "pearson") == "100"
    nothing = dependent_summary({SPLIT: (covered, constant), "other": (covered, size)})
    assert gain_cell(nothing, "other", "hsic") == "–"

"""The figure by group: every number where it belongs, nothing cut off, nothing hidden."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from numpy.testing import assert_allclose

from plcp.experiments.methods import DEFAULT, PUBLISHED, SPLIT
from plcp.experiments.report import Summary, draw_by_group

MANY = [
    SPLIT,
    "CQR",
    "LocalCP",
    "BatchGCP",
    PUBLISHED,
    DEFAULT,
    "Conditional Calibration",
    "oracle",
]
FEW = [SPLIT, PUBLISHED, DEFAULT]
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
def test_every_mark_stands_alone_within_its_group_and_within_the_axes(groups, methods):
    for axes in draw_by_group(made_up(groups, methods), "mean length").axes:
        drawn = marks(axes)
        places = np.array([x for x, _, _ in drawn.values()])
        assert (np.abs(places - np.arange(len(groups))) < 0.5).all()
        assert (np.diff(places, axis=0) > 0).all()
        bars = np.array([bar for _, _, bar in drawn.values()])
        (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
        assert left < places.min()
        assert places.max() < right
        assert bottom < bars.min()
        assert bars.max() < top


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


@shapes
def test_methods_differ_in_colour_and_in_mark(groups, methods):
    axes = draw_by_group(made_up(groups, methods), "mean length").axes[0]
    styles = [(c[0].get_color(), c[0].get_marker()) for c in axes.containers]
    for one, other in combinations(styles, 2):
        assert one[0] != other[0]
        assert one[1] != other[1]


def test_a_method_keeps_its_colour_and_its_mark_whoever_stands_beside_it():
    def styles(methods):
        axes = draw_by_group(made_up("ab", methods), "mean length").axes[0]
        return {c.get_label(): (c[0].get_color(), c[0].get_marker()) for c in axes.containers}

    many, few = styles(MANY), styles(FEW[::-1])
    assert {method: many[method] for method in FEW} == few


def test_the_level_is_drawn_across_coverage_alone():
    coverage, size = draw_by_group(made_up("ab", FEW), "mean length").axes
    dashed = [
        [line for line in axes.lines if line.get_linestyle() == "--"] for axes in (coverage, size)
    ]
    assert [list(line.get_ydata()) for line in dashed[0]] == [[0.9, 0.9]]
    assert dashed[1] == []


def test_only_the_methods_asked_for_are_shown():
    axes = draw_by_group(made_up("ab", MANY), "mean length", methods=[DEFAULT, SPLIT]).axes[0]
    assert list(marks(axes)) == [DEFAULT, SPLIT]


def test_zero_is_shown_where_sizes_differ_much_and_left_out_where_they_do_not():
    apart = draw_by_group(made_up("ab", FEW, low=1.0, high=9.0), "set size").axes[1]
    alike = draw_by_group(made_up("ab", FEW, low=8.0, high=9.0), "set size").axes[1]
    assert apart.get_ylim()[0] == 0
    assert alike.get_ylim()[0] > 0
    wide = draw_by_group(made_up("ab", FEW, low=1.0, high=9.0), "set size", log_size=True).axes[1]
    assert wide.get_yscale() == "log"


def test_what_a_bar_means_is_said_where_there_is_one():
    several, one = (draw_by_group(made_up("ab", FEW, trials), "set size") for trials in (3, 1))
    assert several.legends[0].get_title().get_text().startswith("mean of 3 trials")
    assert one.legends[0].get_title().get_text() == ""


def test_crowded_panels_are_stacked_and_share_the_name_of_the_groups():
    upper, lower = draw_by_group(made_up(map(str, range(20)), MANY[:4]), "mean length", "kind").axes
    assert upper.get_position().x0 == lower.get_position().x0
    assert (upper.get_xlabel(), lower.get_xlabel()) == ("", "kind")
    left, right = draw_by_group(made_up(map(str, range(5)), MANY[:4]), "mean length", "kind").axes
    assert left.get_position().y0 == right.get_position().y0
    assert (left.get_xlabel(), right.get_xlabel()) == ("kind", "kind")

"""Charts put values where they belong."""

from itertools import pairwise
from xml.etree import ElementTree

import pytest
import summaries
from hypothesis import assume, given, strategies as st

from plcp.evaluation.charts import (
    coverage_scale,
    draw_axis,
    draw_bar,
    draw_curve,
    draw_histogram,
    draw_strip,
    round_scale,
    value_scale,
)

finite = st.floats(-1e9, 1e9).map(lambda x: round(x, 6))


def across(element, name):
    return float(element.get(name).removesuffix("%")) / 100


def elements(drawing, kind):
    """Elements of a class, in order."""
    return [e for e in ElementTree.fromstring(drawing).iter() if kind in e.get("class", "").split()]


@given(finite, finite, st.integers(3, 12))
def test_scales_hold_their_values_in_few_round_steps(a, b, most):
    low, high = sorted((a, b))
    scale = round_scale(low, high, most)
    assert scale.low <= low <= high <= scale.high
    assert 2 <= len(scale.ticks) <= most + 1
    assert list(scale.ticks) == sorted(set(scale.ticks))
    assert (scale.ticks[0], scale.ticks[-1]) == (scale.low, scale.high)
    steps = [y - x for x, y in pairwise(scale.ticks)]
    assert f"{steps[0]:.0e}"[0] in "125"
    assert steps == pytest.approx([steps[0]] * len(steps), rel=1e-5)


@given(finite, finite, finite)
def test_places_are_in_proportion_and_never_outside(a, b, value):
    assume(a != b)
    scale = round_scale(min(a, b), max(a, b))
    place = scale.fraction(value)
    assert 0 <= place <= 1
    if scale.holds(value):
        back = scale.low + place * (scale.high - scale.low)
        assert back == pytest.approx(value, abs=1e-9 * (scale.high - scale.low))


def test_dots_and_intervals_stand_at_their_values():
    summary = summaries.report()
    cells = summary["learned"]["groups"][7]["cells"]
    scale = coverage_scale(cells.values(), 0.9)
    strip = draw_strip("group 8", cells, ["Split", "PLCP"], scale, 0.9)
    [link], [interval] = elements(strip, "link"), elements(strip, "all")
    back = [
        scale.low + across(line, end) * (scale.high - scale.low)
        for line in (link, interval)
        for end in ("x1", "x2")
    ]
    split, plcp = cells["Split"], cells["PLCP"]
    expected = [split["coverage"], plcp["coverage"], plcp["low_all"], plcp["high_all"]]
    assert back == pytest.approx(expected, abs=1e-5)
    [target] = elements(strip, "target")
    assert scale.low + across(target, "x1") * (scale.high - scale.low) == pytest.approx(0.9)
    dots = [e for e in ElementTree.fromstring(strip).iter("svg") if e.find("circle") is not None]
    found = [scale.low + across(dot, "x") * (scale.high - scale.low) for dot in dots]
    assert found == pytest.approx([cells[m]["coverage"] for m in ("Split", "PLCP")], abs=1e-5)


@given(st.integers(0, 400), st.integers(0, 400))
def test_labels_stand_at_both_ends_and_never_on_a_dot_or_the_interval(split, plcp):
    cells = {"Split": summaries.cell(split, 400), "PLCP": summaries.cell(plcp, 400)}
    scale = coverage_scale(cells.values(), 0.9)
    strip = draw_strip("some", cells, ["Split", "PLCP"], scale, 0.9, labelled=True)
    left, right = elements(strip, "label")
    shares = [cells["PLCP"]["low_all"], cells["PLCP"]["high_all"], split / 400, plcp / 400]
    for label, end, anchor in ((left, min, "end"), (right, max, "start")):
        assert label.get("text-anchor") == anchor
        assert across(label, "x") == pytest.approx(scale.fraction(end(shares)), abs=1e-4)
        assert label.get("aria-hidden") == "true"
    said = sorted(float("".join(label.itertext())[2:-2]) for label in (left, right))
    assert said == pytest.approx(sorted([split / 4, plcp / 4]), abs=0.051)
    if split != plcp:
        assert ("series-1" in left.get("class")) == (split < plcp)


def test_one_method_has_one_label():
    cells = {"audited": summaries.cell(300, 412)}
    scale = coverage_scale(cells.values(), 0.9)
    strip = draw_strip("some", cells, ["audited"], scale, 0.9, labelled=True)
    [label] = elements(strip, "label")
    assert "".join(label.itertext()) == "▼ 72.8 %"
    assert not elements(draw_strip("some", cells, ["audited"], scale, 0.9), "label")


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 500)), max_size=8))
def test_one_scale_holds_every_dot_and_the_target(counts):
    cells = [summaries.cell(min(a, b), max(a, b)) for a, b in counts]
    scale = coverage_scale(cells, 0.9)
    found = [cell["coverage"] for cell in cells if cell["n"]]
    assert all(scale.holds(value) for value in [*found, 0.9])
    assert 0 <= scale.low < scale.high <= 1


def test_an_interval_beyond_the_scale_ends_in_an_arrow():
    large, small = summaries.cell(9_000, 10_000), summaries.cell(8, 9)
    scale = coverage_scale([large, large, small], 0.9)
    assert not scale.holds(small["low_all"])
    strip = draw_strip("few", {"audited": small}, ["audited"], scale, 0.9)
    assert elements(strip, "arrow")
    strip = draw_strip("many", {"audited": large}, ["audited"], scale, 0.9)
    assert not elements(strip, "arrow")


def test_a_group_without_rows_has_no_dot():
    empty = summaries.cell(0, 0)
    strip = draw_strip("none", {"audited": empty}, ["audited"], coverage_scale([empty], 0.9), 0.9)
    assert not elements(strip, "mark")
    assert elements(strip, "target")


def test_the_axis_names_every_tick_and_the_target():
    scale = round_scale(0.8, 1.0)
    axis = ElementTree.fromstring(draw_axis(scale, 0.9))
    said = {text.text: across(text, "x") for text in axis.iter("text")}
    assert said["target 90 %"] == pytest.approx(0.5)
    assert [float(text) / 100 for text in said if "target" not in text] == list(scale.ticks)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=30))
def test_bars_are_as_high_as_their_counts(counts):
    edges = list(range(len(counts) + 1))
    bars = elements(draw_histogram("PLCP", 0, edges, counts, "length"), "bar")
    heights = [float(bar.get("height")) for bar in bars]
    tallest = max(heights)
    expected = [tallest * n / max(max(counts), 1) for n in counts]
    assert heights == pytest.approx(expected, abs=0.02)
    foot = float(bars[0].get("y")) + heights[0]
    assert [float(bar.get("y")) + h for bar, h in zip(bars, heights, strict=True)] == pytest.approx(
        [foot] * len(bars), abs=0.02
    )


def test_numbers_of_labels_are_whole():
    drawing = draw_histogram("PLCP", 0, [-0.5, 0.5, 1.5, 2.5], [1, 7, 2], "number of labels")
    said = [mark.get("aria-label").split("\n")[1] for mark in elements(drawing, "mark")]
    assert said == [f"number of labels {n}" for n in range(3)]
    labels = list(ElementTree.fromstring(drawing).iter("text"))
    assert {text.text: across(text, "x") for text in labels} == pytest.approx(
        {"0": 1 / 6, "1": 3 / 6, "2": 5 / 6}, abs=1e-4
    )
    wide = draw_histogram("PLCP", 0, [-0.5, 2.5, 5.5], [1, 7], "number of labels")
    said = [mark.get("aria-label").split("\n")[1] for mark in elements(wide, "mark")]
    assert said == ["number of labels 0–2", "number of labels 3–5"]


def test_the_curve_falls_where_the_loss_falls_and_rings_the_chosen():
    points = [{"n_groups": m, "loss": loss} for m, loss in ((8, 3.0), (1, 5.0), (2, 4.0), (4, 1.0))]
    drawing = draw_curve(points, 4)
    marks = elements(drawing, "mark")
    assert [mark.get("aria-label").split("\n") for mark in marks] == [
        ["1 group", "loss 5"],
        ["2 groups", "loss 4"],
        ["4 groups, chosen", "loss 1"],
        ["8 groups", "loss 3"],
    ]
    places = [mark.find("svg") for mark in marks]
    gaps = [across(b, "x") - across(a, "x") for a, b in pairwise(places)]
    assert gaps == pytest.approx([gaps[0]] * 3, abs=1e-4)  # doubling is one step
    y = [float(place.get("y")) for place in places]
    assert y[0] < y[2]  # a large loss stands high
    assert [(y[i] - y[0]) / (y[2] - y[0]) for i in range(4)] == pytest.approx([0, 0.25, 1, 0.5])
    [ring] = [e for e in elements(drawing, "chosen") if e.tag == "circle"]
    assert (across(ring, "cx"), float(ring.get("cy"))) == (across(places[2], "x"), y[2])


def test_bars_of_importance_start_at_zero_and_reach_their_values():
    items = [
        {"feature": "a", "value": 0.4, "error": 0.1},
        {"feature": "b", "value": -0.2, "error": None},
    ]
    scale = value_scale(items)
    for item in items:
        drawing = draw_bar(item, scale)
        [bar], [error] = elements(drawing, "bar"), elements(drawing, "error")
        ends = across(bar, "x"), across(bar, "x") + across(bar, "width")
        assert ends == pytest.approx(
            sorted((scale.fraction(0), scale.fraction(item["value"]))), abs=1e-4
        )
        spread = (across(error, "x2") - across(error, "x1")) * (scale.high - scale.low)
        assert spread == pytest.approx(2 * (item["error"] or 0), abs=1e-4)

"""What is drawn of groups is what plcp.metrics says of them."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression

from plcp import (
    PLCP,
    ConformalClassifier,
    ConformalRegressor,
    Mondrian,
    SignedResidual,
    SplitConformal,
)
from plcp.metrics import column_groups, coverage_by_group
from plcp.plotting import ComparisonDisplay, CoverageDisplay, SizeDisplay
from plcp.plotting.size import LARGEST_POINT


def spans(lines):
    """Ends of horizontal lines, one per row; lines without a place are none."""
    return np.array([segment[:, 0] for segment in lines.get_segments() if len(segment)])


def job(people):
    return np.asarray(people[0]["job"])


def table_of(covered, sets, name, groups, **options):
    return coverage_by_group(covered[name], groups, sets[name].size, alpha=0.1, **options)


def test_points_and_intervals_are_those_of_the_table(covered, sets, people):
    display = CoverageDisplay.from_predictions(covered, job(people), confidence=0.8)
    for name in covered:
        table = table_of(covered, sets, name, job(people), confidence=0.8)
        assert_array_equal(display.points_[name].get_xdata(), table.coverage)
        assert_array_equal(spans(display.each_[name]), np.column_stack([table.low, table.high]))
        assert_array_equal(
            spans(display.all_[name]), np.column_stack([table.low_all, table.high_all])
        )
    assert "80 %" in display.ax_.get_xlabel()


def test_each_point_stands_in_the_row_of_its_group(covered, people):
    display = CoverageDisplay.from_predictions(covered, job(people))
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert [name.split(" (")[0] for name in names] == ["factory", "office", "own"]
    for name in covered:
        assert_array_equal(np.round(display.points_[name].get_ydata()), [0, 1, 2])
        segments = display.each_[name].get_segments()
        assert_array_equal([line[0, 1] for line in segments], display.points_[name].get_ydata())
    first, last = display.ax_.get_ylim()
    assert first > last  # the first group is at the top
    heights = [points.get_ydata() for points in display.points_.values()]
    assert (heights[0] < heights[1]).all()  # methods side by side, in the order of the legend


def test_learned_groups_are_those_of_the_model(models, covered, sets, people):
    model = models["PLCP"]
    display = CoverageDisplay.from_estimator(model, *people)
    table = table_of(covered, sets, "PLCP", model.groups(people[0]))
    assert_array_equal(display.tables["PLCP"].hits, table.hits)
    assert_array_equal(display.tables["PLCP"].size, table.size)
    assert_array_equal(display.points_["PLCP"].get_xdata(), table.coverage)


@pytest.mark.parametrize("how", ["column", "function", "labels", "masks"])
def test_named_groups_in_every_form(models, covered, sets, people, how):
    X = people[0]
    old = np.asarray(X["age"] > 60)
    groups = {
        "column": "job",
        "function": {"old": lambda X: X["age"] > 60},
        "labels": job(people),
        "masks": {"old": old, "all": np.ones(len(X), dtype=bool)},
    }[how]
    wanted = column_groups(X, groups) if how in ("column", "function") else groups
    display = CoverageDisplay.from_estimator(models["Split"], *people, groups=groups)
    table = table_of(covered, sets, "Split", wanted)
    assert_array_equal(display.points_["Split"].get_xdata(), table.coverage)
    assert display.tables["Split"].group.tolist() == table.group.tolist()


def test_weights_count_rows(covered, people):
    weights = np.arange(len(people[0])) % 3
    for display in (CoverageDisplay, ComparisonDisplay):
        weighted = display.from_predictions(covered, job(people), sample_weight=weights)
        repeated = {name: np.repeat(hits, weights) for name, hits in covered.items()}
        plain = display.from_predictions(repeated, np.repeat(job(people), weights))
        for name in covered:
            assert_array_equal(weighted.points_[name].get_xdata(), plain.points_[name].get_xdata())


def test_a_threshold_rule_is_drawn_with_scores(people):
    X, y = people
    scores = np.abs(y - X["age"])
    rule = Mondrian("job").fit(X[:300], scores[:300])
    display = CoverageDisplay.from_estimator(rule, X[300:], scores[300:])
    hits = scores[300:] <= rule.predict(X[300:])
    table = coverage_by_group(hits, job(people)[300:])
    assert_array_equal(display.points_["Mondrian"].get_xdata(), table.coverage)
    assert np.isnan(display.tables["Mondrian"].size).all()  # a rule makes no sets
    sized = SizeDisplay.from_estimator(rule, X[300:], scores[300:])
    thresholds = coverage_by_group(hits, job(people)[300:], rule.predict(X[300:])).size
    assert_array_equal(sized.points_["Mondrian"].get_offsets()[:, 1], thresholds)
    assert sized.ax_.get_ylabel() == "mean threshold"


def test_groups_given_by_hand_are_handed_on(people):
    X, y = people
    scores, groups = np.abs(y - X["age"]), job(people)
    rule = Mondrian().fit(X[:300], scores[:300], groups=groups[:300])
    with pytest.raises(ValueError, match="rule_groups="):
        CoverageDisplay.from_estimator(rule, X[300:], scores[300:])
    for display in (CoverageDisplay, SizeDisplay):
        drawn = display.from_estimator(rule, X[300:], scores[300:], rule_groups=groups[300:])
        assert drawn.tables["Mondrian"].group.tolist() == ["factory", "office", "own"]


def test_rows_that_calibrated_are_warned_of(people):
    X, y = people
    rule = SplitConformal().fit(X, np.abs(y - X["age"]))
    with pytest.warns(UserWarning, match="rows that calibrated the rule"):
        CoverageDisplay.from_estimator(rule, X, np.abs(y - X["age"]), groups="job")


def test_size_against_coverage_as_large_as_the_share(covered, sets, people):
    groups = {"old": np.asarray(people[0]["age"] > 60), "own": job(people) == "own"}
    size = {name: each.size for name, each in sets.items()}
    display = SizeDisplay.from_predictions(covered, size, groups)
    for name in covered:
        table = table_of(covered, sets, name, groups)
        offsets = np.column_stack([table.coverage, table.size])
        assert_array_equal(display.points_[name].get_offsets(), offsets)
        areas = LARGEST_POINT * table.n / len(people[0])  # shares of all rows: groups overlap
        assert_array_equal(display.points_[name].get_sizes(), areas)
    all_rows = SizeDisplay.from_predictions(covered, size, np.zeros(len(people[0])))
    for one in (display, all_rows):  # a method has no size
        *methods, _ = one.ax_.get_legend().legend_handles
        assert_array_equal([handle.get_sizes().item() for handle in methods], 50)


def test_sizes_are_called_by_what_they_are(models, people):
    assert SizeDisplay.from_estimator(models["PLCP"], *people).ax_.get_ylabel() == "mean length"
    named = SizeDisplay.from_estimator(models["PLCP"], *people, size_name="length, 1000 $, $")
    assert named.ax_.get_ylabel() == "length, 1000 $, $"
    X, y = load_iris(return_X_y=True)
    classifier = FrozenEstimator(LogisticRegression(max_iter=1000).fit(X[::3], y[::3]))
    model = ConformalClassifier(classifier, threshold=SplitConformal()).fit(X[1::3], y[1::3])
    display = SizeDisplay.from_estimator(model, X[2::3], y[2::3], groups=y[2::3])
    assert display.ax_.get_ylabel() == "mean number of labels"


def test_infinite_sizes_are_reported_of():
    size = [1.0, np.inf, 2.0, 3.0]
    display = SizeDisplay.from_predictions([True] * 4, size, ["a", "a", "b", "b"])
    texts = [text.get_text() for text in display.ax_.texts]
    assert "groups of infinite size, not shown: 1 of sets" in texts
    assert "a" not in texts
    assert "b" in texts
    display.figure_.canvas.draw()


def test_a_group_without_rows_has_a_name_and_no_line():
    masks = {"some": np.array([True, True]), "none": np.array([False, False])}
    display = CoverageDisplay.from_predictions([True, False], masks)
    assert len(spans(display.each_["coverage"])) == 1
    assert display.ax_.get_yticklabels()[1].get_text() == "none (0 rows)"
    display.figure_.canvas.draw()


def test_a_comparison_joins_before_and_after(models, covered, people):
    display = ComparisonDisplay.from_estimator(
        models["PLCP"], *people, before=models["Split"], groups="job"
    )
    assert list(display.points_) == ["Split", "PLCP"]
    groups = column_groups(people[0], "job")
    before, after = (coverage_by_group(covered[n], groups) for n in covered)
    assert_array_equal(spans(display.joins_), np.column_stack([before.coverage, after.coverage]))
    assert_array_equal(display.points_["Split"].get_xdata(), before.coverage)
    assert_array_equal(display.points_["PLCP"].get_xdata(), after.coverage)
    assert_array_equal(
        spans(display.all_["PLCP"]), np.column_stack([after.low_all, after.high_all])
    )


def test_a_comparison_keeps_sizes(models, covered, sets, people):
    model = models["PLCP"]
    display = ComparisonDisplay.from_estimator(model, *people, before=models["Split"])
    for name in covered:
        table = table_of(covered, sets, name, model.groups(people[0]))
        assert_array_equal(display.tables[name].size, table.size)


def test_a_comparison_takes_the_learned_groups_of_the_one_after(models, people):
    display = ComparisonDisplay.from_estimator(models["PLCP"], *people, before=models["Split"])
    sizes = np.bincount(models["PLCP"].groups(people[0]))
    assert_array_equal(display.tables["Split"].n, sizes)


def test_two_rules_of_one_kind_are_distinguished(models, people):
    display = ComparisonDisplay.from_estimator(models["PLCP"], *people, before=models["PLCP"])
    assert list(display.points_) == ["PLCP, before", "PLCP, after"]


def test_a_method_looks_alike_in_every_picture(covered, people):
    coverage = CoverageDisplay.from_predictions(covered, job(people))
    comparison = ComparisonDisplay.from_predictions(covered, job(people))
    alone = CoverageDisplay.from_predictions({"Split": covered["Split"]}, job(people))
    colors = [to_hex(drawn.points_["Split"].get_color()) for drawn in (coverage, comparison, alone)]
    assert len(set(colors)) == 1
    assert to_hex(coverage.points_["PLCP"].get_color()) not in colors


def test_names_are_text_and_whole(covered, people):
    long = "costs $5 or $7, <b>and</b> " + "a name that goes on " * 3 + "and ends"
    groups = {long: np.ones(len(people[0]), dtype=bool)}
    display = CoverageDisplay.from_predictions({"PLCP $x^2$": covered["PLCP"]}, groups)
    (label,) = display.ax_.get_yticklabels()
    assert label.get_text().replace("\n", " ") == f"{long} (600 rows)"
    display.figure_.canvas.draw()
    assert label.get_window_extent().x0 >= 0
    assert not label.get_parse_math()
    assert not any(text.get_parse_math() for text in display.ax_.get_legend().get_texts())


def test_names_beside_points_cover_no_other_and_stand_by_their_own(rng):
    figure, ax = plt.subplots(figsize=(8, 6))
    groups = np.repeat([f"group with number {i}" for i in range(20)], 50)
    hits = rng.random(1000) < 0.9
    display = SizeDisplay.from_predictions(hits, rng.random(1000), groups, ax=ax)
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in display.ax_.texts]
    assert len(boxes) > 5
    points = ax.transData.transform(display.points_["sets"].get_offsets())
    for i, (text, box) in enumerate(zip(display.ax_.texts, boxes, strict=True)):
        assert box.x0 >= ax.bbox.x0
        assert box.x1 <= ax.bbox.x1
        assert not any(box.overlaps(other) for other in boxes[:i])
        away = np.maximum(np.maximum(box.min - points, points - box.max), 0)
        nearest = np.argmin(np.hypot(*away.T))
        assert display.tables["sets"].group[nearest] == text.get_text()


def test_two_tails_have_groups_of_their_own_and_one_target(people):
    X, y = people[0][["age"]], people[1]
    line = FrozenEstimator(LinearRegression().fit(X, y))
    rule = PLCP(n_groups=2, cv=2, calibration="cross", random_state=0)
    fitted = ConformalRegressor(line, SignedResidual(), rule).fit(X[:400], y[:400])
    display = CoverageDisplay.from_estimator(fitted, X[400:], y[400:])
    assert {name[:6] for name in display.tables["PLCP"].group} == {"tail 1", "tail 2"}
    assert_array_equal(display.target_.get_xdata(), 1 - rule.alpha)

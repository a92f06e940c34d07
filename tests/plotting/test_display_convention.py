"""Laws that every display keeps, as those of scikit-learn do."""

import inspect
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

import plcp.plotting
from plcp import PLCP, ConformalRegressor, SplitConformal
from plcp.metrics import coverage_by_group
from plcp.plotting import (
    ComparisonDisplay,
    CoverageDisplay,
    HistoryDisplay,
    SelectionDisplay,
    SizeDisplay,
    ThresholdDisplay,
)

DISPLAYS = [getattr(plcp.plotting, name) for name in plcp.plotting.__all__]
HISTORY = [{"n_groups": m, "held_out": 1 / m} for m in (1, 2, 4)] + [{"loss": 0.1}, {"loss": 0.2}]
COVERED = {"Split": [True, False, True, True], "PLCP": [True, True, True, False]}
GROUPS = ["a", "a", "b", "b"]
PREDICTIONS = {
    CoverageDisplay: (COVERED, GROUPS),
    SizeDisplay: (COVERED, {"Split": [1.0] * 4, "PLCP": [1.0, 1.0, 2.0, 2.0]}, GROUPS),
    ComparisonDisplay: (COVERED, GROUPS),
    ThresholdDisplay: (np.arange(8.0).reshape(4, 2), np.arange(4.0), ["x0", "x1"]),
    HistoryDisplay: (HISTORY,),
    SelectionDisplay: (HISTORY,),
}

STYLED = {  # a keyword of plot, and the artist it is for
    CoverageDisplay: ("point_kwargs", lambda display: display.points_["PLCP"]),
    SizeDisplay: ("point_kwargs", lambda display: display.points_["PLCP"]),
    ComparisonDisplay: ("target_kwargs", lambda display: display.target_),
    ThresholdDisplay: ("mesh_kwargs", lambda display: display.mesh_),
    HistoryDisplay: ("line_kwargs", lambda display: display.ax_.lines[0]),
    SelectionDisplay: ("chosen_kwargs", lambda display: display.chosen_),
}


def data_of(display):
    """Data of all lines, points and colours on the axes, as text to compare."""
    found = [line.get_xydata().tolist() for line in display.ax_.lines]
    found += [each.get_offsets().tolist() for each in display.ax_.collections]
    found += [
        np.array(path.vertices).tolist() for e in display.ax_.collections for path in e.get_paths()
    ]
    return repr(found)


@pytest.mark.parametrize("display", DISPLAYS)
class TestConvention:
    def test_a_new_figure_or_the_axes_given(self, display):
        drawn = display.from_predictions(*PREDICTIONS[display])
        assert plt.get_fignums() == [drawn.figure_.number]
        assert drawn.ax_.figure is drawn.figure_
        _, ax = plt.subplots()
        assert display.from_predictions(*PREDICTIONS[display], ax=ax).ax_ is ax
        assert len(plt.get_fignums()) == 2

    def test_plot_gives_the_display_itself_and_draws_the_same_again(self, display):
        drawn = display.from_predictions(*PREDICTIONS[display])
        first, once = drawn.ax_, data_of(drawn)
        figure, ax = plt.subplots()
        assert drawn.plot(ax) is drawn
        assert drawn.ax_ is ax
        assert ax is not first
        assert drawn.figure_ is figure
        assert data_of(drawn) == once
        assert drawn.plot().figure_ not in (figure, first.figure)

    def test_init_keeps_what_it_is_given_and_draws_nothing(self, display):
        drawn = display.from_predictions(*PREDICTIONS[display])
        plt.close("all")
        given = {name: getattr(drawn, name) for name in inspect.signature(display).parameters}
        again = display(**given)
        assert not plt.get_fignums()
        assert not hasattr(again, "ax_")
        assert data_of(again.plot()) == data_of(drawn.plot())

    def test_both_axes_are_named(self, display):
        ax = display.from_predictions(*PREDICTIONS[display]).ax_
        assert ax.get_xlabel()
        assert ax.get_ylabel() or [text.get_text() for text in ax.get_yticklabels()]

    def test_styles_reach_the_artist(self, display):
        keyword, artist_of = STYLED[display]
        drawn = display.from_predictions(*PREDICTIONS[display], **{keyword: {"gid": "mine"}})
        assert artist_of(drawn).get_gid() == "mine"
        with pytest.raises(TypeError):
            display.from_predictions(*PREDICTIONS[display], colour="red")

    def test_bad_input_leaves_no_figure(self, display):
        plt.close("all")
        with pytest.raises((ValueError, TypeError)):
            display.from_predictions(*PREDICTIONS[display][:-1], None)
        assert not plt.get_fignums()

    def test_unfitted_estimators_are_refused(self, display):
        X = np.zeros((4, 1))
        arguments = {HistoryDisplay: (), SelectionDisplay: (), ThresholdDisplay: (X, 0)}
        more = {"before": SplitConformal()} if display is ComparisonDisplay else {}
        for estimator in (PLCP(), ConformalRegressor(LinearRegression())):
            with pytest.raises(NotFittedError):
                display.from_estimator(estimator, *arguments.get(display, (X, X[:, 0])), **more)
        assert not plt.get_fignums()


@pytest.mark.parametrize(
    "display", [d for d in DISPLAYS if d not in (SizeDisplay, ThresholdDisplay)]
)
def test_lines_take_long_names_and_short(display):
    keyword, artist_of = STYLED[display]
    for style in ({"color": "red", "linewidth": 3}, {"c": "red", "lw": 3}):
        line = artist_of(display.from_predictions(*PREDICTIONS[display], **{keyword: style}))
        assert (line.get_color(), line.get_linewidth()) == ("red", 3)


def test_what_is_refused_is_said_with_its_remedy(models, people):
    X, y = people
    plcp, split = models["PLCP"], models["Split"]
    refused = [
        (lambda: CoverageDisplay.from_estimator(split, X, y), "Split has no groups.*groups="),
        (lambda: CoverageDisplay.from_estimator(plcp, X, y[:-1]), "600 rows and y has 599"),
        (lambda: CoverageDisplay.from_estimator(plcp, X, y, groups=[1, 2]), "shape"),
        (lambda: CoverageDisplay.from_estimator("PLCP", X, y), "got str"),
        (lambda: CoverageDisplay.from_estimator(plcp, X, y, confidence=2), "confidence"),
        (lambda: CoverageDisplay.from_predictions({}, GROUPS), "names no method"),
        (lambda: CoverageDisplay.from_predictions(COVERED, GROUPS, alpha=2), "alpha"),
        (lambda: CoverageDisplay.from_predictions(COVERED, GROUPS[:3]), "shape"),
        (lambda: CoverageDisplay(tables={}, alpha=0.1), "names no method"),
        (lambda: SizeDisplay.from_predictions(COVERED, [1.0] * 4, GROUPS), "size must name"),
        (
            lambda: SizeDisplay.from_predictions(COVERED, {"Split": [1.0] * 4}, GROUPS),
            "size must name",
        ),
        (lambda: SizeDisplay.from_predictions([True] * 4, [1.0] * 3, GROUPS), "size must have"),
        (lambda: ComparisonDisplay.from_predictions(COVERED["PLCP"], GROUPS), "two methods"),
        (
            lambda: ComparisonDisplay.from_predictions({"PLCP": COVERED["PLCP"]}, GROUPS),
            "two methods, got .'PLCP'.*CoverageDisplay",
        ),
        (
            lambda: ComparisonDisplay.from_estimator(plcp, X, y, before=split.tail_rules_[0]),
            "SplitConformal and ConformalRegressor do not take the same y",
        ),
        (lambda: ThresholdDisplay.from_estimator(plcp, X, "aeg"), "did you mean 'age'"),
        (lambda: ThresholdDisplay.from_estimator(plcp, X, "zzzz"), "name or a position"),
        (lambda: ThresholdDisplay.from_estimator(plcp, X, 2), "no feature 2 among the 2"),
        (lambda: ThresholdDisplay.from_estimator(plcp, X, ["age"] * 3), "one column or two"),
        (lambda: ThresholdDisplay.from_predictions(X, y[:5], "age"), r"thresholds .*\(600,\)"),
        (lambda: ThresholdDisplay.from_predictions(np.zeros(3), np.zeros(3), 0), "columns"),
    ]
    for draw, message in refused:
        with pytest.raises(ValueError, match=message):
            draw()
    assert not plt.get_fignums()


def test_a_feature_of_dates_or_of_nothing_is_refused():
    dates = np.array([["2020-01-01"]], dtype="datetime64[D]")
    with pytest.raises(ValueError, match="such as years"):
        ThresholdDisplay.from_predictions(dates, [1.0], 0)
    with pytest.raises(ValueError, match="no finite value"):
        ThresholdDisplay.from_predictions(np.full((3, 1), np.nan), np.ones(3), 0)


def test_tables_of_different_groups_are_refused():
    tables = {
        name: coverage_by_group([True, False], groups)
        for name, groups in (("Split", ["a", "b"]), ("PLCP", ["a", "c"]))
    }
    for display in (CoverageDisplay, ComparisonDisplay):
        with pytest.raises(ValueError, match="Split and PLCP are measured on different groups"):
            display(tables=tables, alpha=0.1)


def test_different_levels_are_not_compared(people):
    X, y = people
    scores = np.abs(y - X["age"])
    one, other = (SplitConformal(alpha).fit(X[:300], scores[:300]) for alpha in (0.1, 0.2))
    with pytest.raises(ValueError, match=r"alpha = 0\.2 and the estimator 0\.1"):
        ComparisonDisplay.from_estimator(one, X[300:], scores[300:], before=other, groups="job")


def test_without_matplotlib_numbers_stand_and_the_remedy_is_said():
    code = """
import sys
sys.modules["matplotlib"] = None
from plcp.plotting import SelectionDisplay
display = SelectionDisplay(n_groups=[1, 2], held_out=[0.2, 0.1], chosen=2)
try:
    display.plot()
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "SelectionDisplay needs matplotlib: pip install 'plcp[plot]'\n"

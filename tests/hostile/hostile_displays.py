"""Displays with clean arguments: what each was given to draw, drawn on one picture's axes."""

from functools import cache, partial

import hostile_by_hand as by_hand
import hostile_data as data
import numpy as np
from hostile_entries import fitted, plain
from hostile_essence import difference
from hostile_functions import ALPHA, COVERED, GROUPS, ONE, SIZE
from hostile_services import rule
from matplotlib.figure import Figure

from plcp import plotting

HISTORY = [{"objective": 0.3, "held_out": 0.4}, {"objective": 0.2, "held_out": 0.35}]
TRIED = [{"n_groups": n, "held_out": loss} for n, loss in ((1, 0.3), (2, 0.25), (4, 0.26))]


@cache
def picture():
    return Figure().subplots()


def axes():
    picture().clear()
    return picture()


def table(display):
    """What is drawn of the first method."""
    return next(iter(display.tables.values()))


def both(covered, **given):
    """Two methods, of which the second covers all."""
    pair = {"Split": covered, "all": np.ones(len(given["groups"]), dtype=bool)}
    return table(plotting.ComparisonDisplay.from_predictions(pair, ax=axes(), **given))


def of_predictions(display):
    def call(**given):
        return table(display.from_predictions(**given, ax=axes()))

    return call


def of_rule(display, X, scores):
    more = {"before": rule()} if display is plotting.ComparisonDisplay else {}
    return table(display.from_estimator(rule(), X, scores, ax=axes(), **more))


def by_rule(entry, name, bad, given, answer):
    """Rows and hits of each group, counted by hand from what the rule says of the same rows."""
    groups, thresholds = rule().assign(given["X"])
    hits = np.asarray(given["scores"], dtype=float) <= thresholds
    masks = [groups == group for group in range(len(answer.n))]
    right = [(mask.sum(), hits[mask].sum()) for mask in masks]
    return difference([np.column_stack([answer.n, answer.hits])], [np.array(right)], None)


def thresholds(X):
    return plotting.ThresholdDisplay.from_estimator(rule(), X, 0, ax=axes()).thresholds


def asked(entry, name, bad, given, answer):
    """Thresholds that are drawn are the rule's."""
    right = rule().predict(given["X"])
    return difference([answer], [right], None)


def cells(X, thresholds, features):
    display = plotting.ThresholdDisplay.from_predictions(X, thresholds, features, ax=axes())
    return [display.thresholds, display.profile.n]


def every_row(entry, name, bad, given, answer):
    """Rows are in a cell each, but for those without a value."""
    values = np.asarray(given["thresholds"], dtype=float)
    known = np.isfinite(given["X"][:, given["features"]]).sum()
    sound = np.array_equal(answer[0], values) and answer[1].sum() == known
    return None if sound else "not every row in a cell"


def history(history):
    return plotting.HistoryDisplay.from_predictions(history, ax=axes()).curves


def selection(history):
    display = plotting.SelectionDisplay.from_predictions(history, ax=axes())
    return [display.n_groups, display.held_out, np.array(display.chosen)]


BY_GROUPS = (plotting.CoverageDisplay, plotting.SizeDisplay, plotting.ComparisonDisplay)
SOFT = fitted("PLCP, softmax", data.as_array)
BY_GROUP = {"covered": COVERED, "groups": GROUPS, "alpha": ALPHA}
COUNTED = (by_hand.coverage_by_group,)
SIZES = ONE | {"infinite sets", "groups with gaps"}
DISPLAYS = {
    "CoverageDisplay.from_predictions": plain(
        of_predictions(plotting.CoverageDisplay), SIZES, COUNTED, **BY_GROUP
    ),
    "SizeDisplay.from_predictions": plain(
        of_predictions(plotting.SizeDisplay), SIZES, COUNTED, **BY_GROUP, size=SIZE
    ),
    "ComparisonDisplay.from_predictions": plain(both, SIZES, COUNTED, **BY_GROUP),
    **{
        f"{display.__name__}.from_estimator": plain(
            partial(of_rule, display),
            laws=(by_rule,),
            X=("few rows", data.X),
            scores=("few scores", data.SCORES),
        )
        for display in BY_GROUPS
    },
    "ThresholdDisplay.from_estimator": plain(thresholds, laws=(asked,), X=("few rows", data.X)),
    "ThresholdDisplay.from_predictions": plain(
        cells,
        laws=(every_row,),
        thresholds=("thresholds", data.SCORES),
        features=("column", 0),
        X=("drawn rows", data.X),
    ),
    "HistoryDisplay.from_predictions": plain(history, history=("history", HISTORY)),
    "SelectionDisplay.from_predictions": plain(selection, history=("tried", TRIED)),
    **{
        f"{display.__name__}.from_estimator, rule": plain(
            lambda rule, display=display, rest=rest: essence_of(
                display.from_estimator(rule, *rest, ax=axes())
            ),
            rule=("rules", SOFT if display is plotting.HistoryDisplay else rule()),
        )
        for display, rest in (
            (plotting.CoverageDisplay, (data.X, data.SCORES)),
            (plotting.SizeDisplay, (data.X, data.SCORES)),
            (plotting.ThresholdDisplay, (data.X, 0)),
            (plotting.HistoryDisplay, ()),
        )
    },
}


def essence_of(display):
    kept = ("tables", "thresholds", "curves")
    return next(getattr(display, name) for name in kept if hasattr(display, name))

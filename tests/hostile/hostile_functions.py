"""Public functions, scores and sets with clean arguments, each of a kind."""

import hostile_by_hand as by_hand
import hostile_data as data
import numpy as np
from hostile_entries import LABELS, fitted, plain, times
from hostile_laws import degree_law, row_law, row_order, table_unit_law
from scipy.stats import expon
from sklearn.tree import DecisionTreeClassifier

import plcp
from plcp import metrics, scores, theory
from plcp.evaluation import learn_failures
from plcp.explain import explain_groups

RESPONSE = ("numbers", data.Y)
SCORES = ("numbers", data.SCORES)
COVERED = ("covered", data.COVERED)
SIZE = ("sizes", data.SIZE)
GROUPS = ("groups", data.GROUPS)
COUNTS = ("counts", data.WEIGHTS)
ALPHA = ("alpha", data.ALPHA)
ROWS = ("X", data.X)
BAND = ("bands", data.BAND)
SHARES = ("probabilities", data.PROBABILITY)
OBJECTS = {"object columns", "denormals"}
EACH_ROW = {"no rows", "a column", "row by row"}
ONE = {"one outcome", "one group", "one row"}
ASKS_A_TREE = OBJECTS | {"one column", "gaps", "sparse", "numbers as text", "one outcome"}
LINE = plcp.LinearQuantile(max_iter=200)
TREE = DecisionTreeClassifier(max_depth=2, random_state=0)


def of_score(score, prediction, response):
    """Score and inverse, each with its arguments."""
    size = ("thresholds", data.SIZE)
    yield "", plain(score, EACH_ROW, (row_law,), prediction=prediction, y=response)
    yield (
        ".invert",
        plain(score.invert, EACH_ROW, (row_law,), prediction=prediction, threshold=size),
    )


def of_scores():
    for score in (scores.AbsoluteResidual(), scores.SignedResidual("upper")):
        yield score, ("numbers", data.X[:, 0]), RESPONSE
    yield scores.QuantileResidual(), BAND, RESPONSE
    yield scores.NormalizedResidual(), ("bands", np.abs(data.BAND) + 1), RESPONSE
    for score in (scores.LabelProbability(), scores.CumulativeProbability()):
        yield score, SHARES, ("codes", data.CODES)


FUNCTIONS = {
    f"{type(score).__name__}{name}": entry
    for score, prediction, response in of_scores()
    for name, entry in of_score(score, prediction, response)
} | {
    "Intervals": plain(
        plcp.Intervals, {"no rows"}, (row_law,), lower=("ends", data.Y), upper=("ends", data.Y + 1)
    ),
    "Intervals.contains": plain(
        plcp.Intervals(data.Y - 1, data.Y + 1).contains, laws=(row_law,), y=("thresholds", data.Y)
    ),
    "LabelSets": plain(plcp.LabelSets, mask=("masks", data.PROBABILITY > 0.25)),
    "LabelSets.contains": plain(
        plcp.LabelSets(data.PROBABILITY > 0.25, ["f", "m"]).contains, y=("known", data.LABELS)
    ),
    "coverage": plain(
        metrics.coverage,
        ONE | {"infinite sets"},
        (by_hand.coverage,),
        covered=COVERED,
        sample_weight=COUNTS,
    ),
    "mean_size": plain(
        metrics.mean_size,
        ONE | {"infinite sets"},
        (by_hand.mean_size,),
        size=SIZE,
        sample_weight=COUNTS,
    ),
    "coverage_by_group": plain(
        metrics.coverage_by_group,
        ONE | {"infinite sets", "groups with gaps"},
        (by_hand.coverage_by_group,),
        covered=COVERED,
        size=SIZE,
        groups=GROUPS,
        alpha=ALPHA,
    ),
    "coverage_gap": plain(
        metrics.coverage_gap,
        ONE | {"groups with gaps"},
        (by_hand.coverage_gap,),
        covered=COVERED,
        groups=GROUPS,
        alpha=ALPHA,
    ),
    "feature_stratified_coverage": plain(
        metrics.feature_stratified_coverage,
        ONE | {"groups with gaps"},
        (by_hand.feature_stratified_coverage,),
        covered=COVERED,
        groups=GROUPS,
    ),
    "size_stratified_coverage": plain(
        metrics.size_stratified_coverage,
        ONE | {"infinite sets"},
        (by_hand.size_order,),
        covered=COVERED,
        size=SIZE,
    ),
    "hsic": plain(metrics.hsic, ONE, (by_hand.hsic,), covered=COVERED, size=SIZE),
    "size_correlation": plain(metrics.size_correlation, covered=COVERED, size=SIZE),
    "interval_score": plain(
        metrics.interval_score,
        laws=(by_hand.interval_score,),
        intervals=BAND,
        y=RESPONSE,
        alpha=ALPHA,
    ),
    "msce": plain(
        metrics.msce,
        laws=(by_hand.msce,),
        conditional_coverage=("shares", data.COVERED * 0.5),
        alpha=ALPHA,
    ),
    "pinball_excess_bound": plain(
        lambda **given: metrics.pinball_excess_bound(**given, lipschitz=1.0),
        laws=(by_hand.no_excess,),
        scores=SCORES,
        thresholds=SCORES,
        best_thresholds=SCORES,
        alpha=ALPHA,
    ),
    "msce_of_law": plain(
        lambda **given: metrics.msce_of_law(**given, law=expon()),
        laws=(by_hand.msce_of_law,),
        thresholds=("thresholds", data.SCORES),
        alpha=ALPHA,
    ),
    "ert": plain(
        lambda **given: metrics.ert(**given, classifier=TREE),
        ASKS_A_TREE,
        (table_unit_law,),
        X=ROWS,
        covered=COVERED,
        alpha=ALPHA,
    ),
    "estimated_msce": plain(
        lambda **given: metrics.estimated_msce(**given, classifier=TREE),
        ASKS_A_TREE,
        (table_unit_law,),
        X=ROWS,
        covered=COVERED,
        alpha=ALPHA,
    ),
    "worst_slab": plain(
        lambda **given: metrics.worst_slab(**given, n_directions=5),
        OBJECTS | {"one column", "numbers as text", "any unit", "one outcome"},
        (table_unit_law,),
        X=ROWS,
        covered=COVERED,
    ),
    "quantile_bins": plain(
        metrics.quantile_bins,
        ONE | {"folds"},
        (row_order,),
        values=("thresholds", data.SCORES),
        sample_weight=COUNTS,
    ),
    "cut_bins": plain(
        lambda values: metrics.cut_bins(values, [1.0, 2.0]),
        laws=(row_law,),
        values=("thresholds", data.SCORES),
    ),
    "column_groups": plain(
        lambda X: metrics.column_groups(X, 2),
        LABELS | OBJECTS | ONE,
        (by_hand.column_groups,),
        X=ROWS,
    ),
    "quantile_variance": plain(
        lambda scores, unit=1.0, **given: theory.quantile_variance(
            scores=times(scores, unit), **given, regressor=LINE, cv=2, random_state=0
        ),
        OBJECTS | {"one column"},
        (degree_law(2), by_hand.no_spread),
        X=ROWS,
        scores=("estimated scores", data.SCORES),
        alpha=ALPHA,
    ),
    "lipschitz_constant": plain(
        lambda scores, unit=1.0, **given: theory.lipschitz_constant(
            scores=times(scores, unit), **given, regressor=LINE, cv=2, n_bins=2, random_state=0
        ),
        OBJECTS | {"one column", "large scores", "small scores"},
        (degree_law(-1), by_hand.no_slope),
        X=("few rows", data.X),
        scores=("estimated scores", data.SCORES),
        alpha=ALPHA,
    ),
    "certify": plain(
        lambda X, y: plcp.certify(fitted("PLCP, line", data.as_array), X, y),
        OBJECTS | {"one row", "a column", "as fitted"},
        (by_hand.certify,),
        X=ROWS,
        y=SCORES,
    ),
    "explain_groups": plain(
        lambda X: explain_groups(fitted("PLCP, line", data.as_array), X, random_state=0),
        OBJECTS | {"as fitted"},
        (by_hand.explained,),
        X=ROWS,
    ),
    "learn_failures": plain(
        lambda covered: learn_failures(data.pandas(data.X), covered).codes,
        {"one outcome"},
        (by_hand.failures,),
        covered=COVERED,
    ),
}

"""Public functions, scores and sets with clean arguments, each of a kind."""

import hostile_data as data
import numpy as np
from hostile_entries import LABELS, fitted, plain
from scipy.stats import expon
from sklearn.tree import DecisionTreeClassifier

import plcp
from plcp import metrics, scores, theory
from plcp.audit import learn_failures
from plcp.explain import explain_groups

NUMBERS = ("numbers", data.Y)
SCORES = ("numbers", data.SCORES)
COVERED = ("covered", data.COVERED)
SIZE = ("sizes", data.SIZE)
GROUPS = ("groups", data.GROUPS)
COUNTS = ("counts", data.WEIGHTS)
ALPHA = ("alpha", data.ALPHA)
ROWS = ("X", data.X)
BAND = ("bands", data.BAND)
SHARES = ("probabilities", data.PROBABILITY)
OBJECTS = {"object columns"}
ASKS_A_TREE = OBJECTS | {"one column", "gaps", "sparse", "numbers as text"}
TREE = DecisionTreeClassifier(max_depth=2, random_state=0)


def of_score(score, prediction, response):
    """Score and inverse, each with its arguments."""
    yield "", plain(score, prediction=prediction, y=response)
    yield ".invert", plain(score.invert, prediction=prediction, threshold=("thresholds", data.SIZE))


def of_scores():
    for score in (scores.AbsoluteResidual(), scores.SignedResidual("upper")):
        yield score, ("numbers", data.X[:, 0]), NUMBERS
    yield scores.QuantileResidual(), BAND, NUMBERS
    yield scores.NormalizedResidual(), ("bands", np.abs(data.BAND) + 1), NUMBERS
    for score in (scores.LabelProbability(), scores.CumulativeProbability()):
        yield score, SHARES, ("codes", data.CODES)


FUNCTIONS = {
    f"{type(score).__name__}{name}": entry
    for score, prediction, response in of_scores()
    for name, entry in of_score(score, prediction, response)
} | {
    "Intervals": plain(plcp.Intervals, lower=("ends", data.Y), upper=("ends", data.Y + 1)),
    "Intervals.contains": plain(
        plcp.Intervals(data.Y - 1, data.Y + 1).contains, y=("thresholds", data.Y)
    ),
    "LabelSets": plain(plcp.LabelSets, mask=("masks", data.PROBABILITY > 0.25)),
    "LabelSets.contains": plain(
        plcp.LabelSets(data.PROBABILITY > 0.25, ["f", "m"]).contains, y=("known", data.LABELS)
    ),
    "coverage": plain(metrics.coverage, covered=COVERED, sample_weight=COUNTS),
    "mean_size": plain(metrics.mean_size, size=SIZE, sample_weight=COUNTS),
    "coverage_by_group": plain(
        metrics.coverage_by_group,
        covered=COVERED,
        size=SIZE,
        groups=GROUPS,
        alpha=("optional alpha", data.ALPHA),
    ),
    "coverage_gap": plain(metrics.coverage_gap, covered=COVERED, groups=GROUPS, alpha=ALPHA),
    "feature_stratified_coverage": plain(
        metrics.feature_stratified_coverage, covered=COVERED, groups=GROUPS
    ),
    "size_stratified_coverage": plain(metrics.size_stratified_coverage, covered=COVERED, size=SIZE),
    "hsic": plain(metrics.hsic, covered=COVERED, size=SIZE),
    "size_correlation": plain(metrics.size_correlation, covered=COVERED, size=SIZE),
    "interval_score": plain(metrics.interval_score, intervals=BAND, y=NUMBERS, alpha=ALPHA),
    "msce": plain(metrics.msce, conditional_coverage=("shares", data.COVERED * 0.5), alpha=ALPHA),
    "pinball_excess_bound": plain(
        lambda **given: metrics.pinball_excess_bound(**given, lipschitz=1.0),
        scores=SCORES,
        thresholds=SCORES,
        best_thresholds=SCORES,
        alpha=ALPHA,
    ),
    "msce_of_law": plain(
        lambda **given: metrics.msce_of_law(**given, law=expon()),
        thresholds=("thresholds", data.SCORES),
        alpha=ALPHA,
    ),
    "ert": plain(
        lambda **given: metrics.ert(**given, classifier=TREE),
        ASKS_A_TREE,
        X=ROWS,
        covered=COVERED,
        alpha=ALPHA,
    ),
    "estimated_msce": plain(
        lambda **given: metrics.estimated_msce(**given, classifier=TREE),
        ASKS_A_TREE,
        X=ROWS,
        covered=COVERED,
        alpha=ALPHA,
    ),
    "worst_slab": plain(
        lambda **given: metrics.worst_slab(**given, n_directions=5),
        OBJECTS | {"one column", "numbers as text"},
        X=ROWS,
        covered=COVERED,
    ),
    "quantile_bins": plain(
        metrics.quantile_bins, values=("thresholds", data.SCORES), sample_weight=COUNTS
    ),
    "cut_bins": plain(
        lambda values: metrics.cut_bins(values, [1.0, 2.0]), values=("thresholds", data.SCORES)
    ),
    "column_groups": plain(lambda X: metrics.column_groups(X, 2), LABELS | OBJECTS, X=ROWS),
    "quantile_variance": plain(
        lambda **given: theory.quantile_variance(
            **given, index=plcp.LinearQuantile(), cv=2, random_state=0
        ),
        OBJECTS | {"one column"},
        X=ROWS,
        scores=("y", data.SCORES),
        alpha=ALPHA,
    ),
    "lipschitz_constant": plain(
        lambda **given: theory.lipschitz_constant(
            **given, index=plcp.LinearQuantile(), cv=2, n_bins=2, random_state=0
        ),
        OBJECTS | {"one column"},
        X=ROWS,
        scores=("y", data.SCORES),
        alpha=ALPHA,
    ),
    "certify": plain(
        lambda X, y: plcp.certify(fitted("PLCP, line", data.as_array), X, y),
        OBJECTS,
        X=ROWS,
        y=SCORES,
    ),
    "explain_groups": plain(
        lambda X: explain_groups(fitted("PLCP, line", data.as_array), X, random_state=0),
        OBJECTS,
        X=ROWS,
    ),
    "learn_failures": plain(
        lambda covered: learn_failures(data.pandas(data.X), covered).codes, covered=COVERED
    ),
}

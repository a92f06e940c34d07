"""MAPIE's metrics and conditional estimators, by their signatures, answered by plcp.

Their arrays have a last axis for several confidence levels.
"""

import numpy as np
from modules import module, no_counterpart
from sklearn.frozen import FrozenEstimator

from plcp import (
    ConditionalCalibration,
    ConformalClassifier,
    ConformalRegressor,
    CumulativeProbability,
    LabelProbability,
    SignedResidual,
)
from plcp.metrics import (
    coverage,
    coverage_by_group,
    coverage_gap,
    cut_bins,
    ert,
    hsic,
    interval_score,
    mean_size,
    quantile_bins,
    size_stratified_coverage,
    worst_slab,
)
from plcp.sets import Intervals, LabelSets


def levels(array):
    """One array for each confidence level."""
    array = np.asarray(array)
    return [array] if array.ndim < 3 else [*np.moveaxis(array, 2, 0)]


def intervals_of(array):
    return [Intervals(level[..., 0], level[..., 1]) for level in levels(array)]


def label_sets_of(array):
    return [LabelSets(level) for level in levels(array)]


def of_each(metric, sets):
    return np.array([metric(one) for one in sets])


def regression_coverage_score(y_true, y_intervals):
    return of_each(
        lambda sets: float(coverage(sets.contains(y_true))),
        intervals_of(y_intervals),
    )


def regression_mean_width_score(y_intervals):
    return of_each(lambda sets: float(mean_size(sets.size)), intervals_of(y_intervals))


def regression_ssc(y_true, y_intervals, num_bins=3):
    return of_each(
        lambda sets: (
            coverage_by_group(sets.contains(y_true), quantile_bins(sets.size, num_bins)).coverage
        ),
        intervals_of(y_intervals),
    )


def regression_ssc_score(y_true, y_intervals, num_bins=3):
    return of_each(
        lambda sets: float(
            size_stratified_coverage(sets.contains(y_true), sets.size, bins=num_bins)
        ),
        intervals_of(y_intervals),
    )


def mapie_hsic(y_true, y_intervals, kernel_sizes=(1, 1)):
    """Their square root of the criterion; the width of our kernel is the unit of the sizes."""
    of_size, of_coverage = kernel_sizes
    if of_coverage != 1:
        raise NotImplementedError("our kernel of the coverage indicator has one width")
    return of_each(
        lambda sets: float(hsic(sets.contains(y_true), sets.size / np.sqrt(of_size))) ** 0.5,
        intervals_of(y_intervals),
    )


def regression_mwi_score(y_true, y_pis, confidence_level):
    [sets] = intervals_of(y_pis)
    return float(interval_score(sets, y_true, 1 - confidence_level))


def classification_coverage_score(y_true, y_pred_set):
    return of_each(
        lambda sets: float(coverage(sets.contains(y_true))),
        label_sets_of(y_pred_set),
    )


def classification_mean_width_score(y_pred_set):
    return of_each(lambda sets: float(mean_size(sets.size)), label_sets_of(y_pred_set))


def size_edges(sets, num_bins):
    """The largest size of each bin but the last; None: a bin for each size from 0 on."""
    sizes = np.arange(len(sets.classes) + 1)
    bins = np.array_split(sizes, len(sizes) if num_bins is None else num_bins)
    return [sizes_of_bin[-1] for sizes_of_bin in bins[:-1]]


def classification_ssc(y_true, y_pred_set, num_bins=None):
    return of_each(
        lambda sets: (
            coverage_by_group(
                sets.contains(y_true), cut_bins(sets.size, size_edges(sets, num_bins))
            ).coverage
        ),
        label_sets_of(y_pred_set),
    )


def classification_ssc_score(y_true, y_pred_set, num_bins=None):
    return of_each(
        lambda sets: float(
            size_stratified_coverage(
                sets.contains(y_true), sets.size, bins=size_edges(sets, num_bins)
            )
        ),
        label_sets_of(y_pred_set),
    )


def covered_by(y, y_intervals, y_sets):
    [sets] = intervals_of(y_intervals) if y_sets is None else label_sets_of(y_sets)
    return sets.contains(y)


def mapie_coverage_gap(
    y, groups, confidence_level, *, y_intervals=None, y_sets=None, weighted=False
):
    if weighted:
        raise NotImplementedError("plcp counts all groups alike")
    return float(coverage_gap(covered_by(y, y_intervals, y_sets), groups, 1 - confidence_level))


def worst_slab_coverage(
    x, y, *, y_intervals=None, y_sets=None, delta=0.1, n_directions=1000, random_state=42
):
    covered = covered_by(y, y_intervals, y_sets)
    return float(
        worst_slab(x, covered, mass=delta, n_directions=n_directions, random_state=random_state)
    )


def excess_risk_target_coverage(
    x, y, confidence_level, *, y_intervals=None, y_sets=None, n_splits=5, random_state=42
):
    covered = covered_by(y, y_intervals, y_sets)
    return float(ert(x, covered, 1 - confidence_level, cv=n_splits, random_state=random_state))


class Conditional:
    """Their split conformal estimators whose coverage holds for a linear class of shifts."""

    def __init__(
        self,
        feature_map,
        estimator=None,
        confidence_level=0.9,
        conformity_score=None,
        prefit=True,
        exact=True,
        randomize=False,
    ):
        self.feature_map = feature_map
        self.estimator = estimator
        self.alpha = [1 - level for level in np.atleast_1d(confidence_level)]
        self.conformity_score = conformity_score
        self.randomize = randomize
        self.model = self.made()

    def made(self):
        rule = ConditionalCalibration(
            self.feature_map, alpha=self.alpha, randomized=self.randomize, random_state=0
        )
        return self.around(FrozenEstimator(self.estimator), self.score(), rule)

    def fit(self, X, y):
        self.estimator.fit(X, y)
        return self

    def conformalize(self, X, y):
        self.model.fit(X, y)
        self.conformity_scores = self.model.examine(X, y).scores[:, 0]
        return self

    def predict(self, X):
        return self.model.predict(X)


class ConditionalRegressor(Conditional):
    around = ConformalRegressor

    def score(self):
        """Theirs is symmetric by default, as ours is."""
        asymmetric = getattr(self.conformity_score, "sym", True) is False
        return SignedResidual() if asymmetric else None

    def predict_interval(self, X):
        return self.model.predict(X), self.model.predict_interval(X)


class ConditionalClassifier(Conditional):
    around = ConformalClassifier

    def score(self):
        return {
            None: LabelProbability(),
            "lac": LabelProbability(),
            "aps": CumulativeProbability(random_state=0),
        }[self.conformity_score]

    def predict_set(self, X):
        sets = self.model.predict_set(X)
        masks = [sets[alpha].mask for alpha in self.alpha]
        return self.model.predict(X), np.stack(masks, axis=2)


MODULES = [
    module(
        "mapie.metrics.regression",
        coverage_width_based=no_counterpart,
        hsic=mapie_hsic,
        regression_coverage_score=regression_coverage_score,
        regression_mean_width_score=regression_mean_width_score,
        regression_mwi_score=regression_mwi_score,
        regression_ssc=regression_ssc,
        regression_ssc_score=regression_ssc_score,
    ),
    module(
        "mapie.metrics.classification",
        classification_coverage_score=classification_coverage_score,
        classification_mean_width_score=classification_mean_width_score,
        classification_ssc=classification_ssc,
        classification_ssc_score=classification_ssc_score,
    ),
    module(
        "mapie.metrics.conditional",
        coverage_gap=mapie_coverage_gap,
        excess_risk_target_coverage=excess_risk_target_coverage,
        worst_slab_coverage=worst_slab_coverage,
    ),
    module(
        "mapie.conditional_conformal_prediction",
        ConditionalSplitConformalClassifier=ConditionalClassifier,
        ConditionalSplitConformalRegressor=ConditionalRegressor,
        _import_cvxpy=no_counterpart,
        _solve_dual=no_counterpart,
        binary_search=no_counterpart,
        finish_dual_setup=no_counterpart,
        setup_cvx_problem=no_counterpart,
    ),
]

"""Laws that hold for every rule, whatever the shape, ties, scale and weights of the rows."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from sklearn.base import clone

from bands import beta_binomial_band
from estimators import Sign
from plcp import (
    PLCP,
    RLCP,
    BatchGCP,
    BatchMVP,
    ConditionalCalibration,
    LinearQuantile,
    LocalCP,
    Mondrian,
    OrderedPartition,
    PosteriorConformal,
    Rectified,
    SoftmaxPartition,
    SplitConformal,
    TreePartition,
)
from plcp.exceptions import InfiniteThresholdWarning
from plcp.quantiles import conformal_rank

LINE = OrderedPartition(LinearQuantile(), 2)
SOFT = SoftmaxPartition(2, n_starts=1, max_rounds=2, random_state=0)
RULES = {
    "split": SplitConformal(),
    "mondrian": Mondrian(Sign()),
    "batch gcp": BatchGCP(Sign()),
    "batch mvp": BatchMVP(Sign()),
    "conditional": ConditionalCalibration(groups=Sign()),
    "plcp": PLCP(random_state=0),
    "plcp, line": PLCP(LINE, 2, random_state=0),
    "plcp, line, split": PLCP(LINE, 2, calibration="split", random_state=0),
    "plcp, softmax, joint": PLCP(SOFT, 2, calibration="joint", random_state=0),
    "plcp, tree": PLCP(TreePartition(2, min_samples_leaf=5), 2, random_state=0),
    "rectified": Rectified(LinearQuantile(), random_state=0),
    "rlcp": RLCP(random_state=0),
    "local": LocalCP(random_state=0),
    "posterior": PosteriorConformal(SOFT, random_state=0),
}
# whose thresholds are ranks of the same scores at every alpha: no others need be monotone alone
BY_RANKS = ["split", "mondrian", "conditional", "local", "rlcp"]
CACHES = {"_tables"}  # made at the first call
some = settings(max_examples=8)


@st.composite
def calibration_sets(draw, most_columns=3):
    """Rows on a coarse grid, scores with ties at any scale, and weights, of some rows or none."""
    n, d = draw(st.integers(20, 40)), draw(st.integers(1, most_columns))
    X = draw(hnp.arrays(float, (n, d), elements=st.integers(-8, 8).map(lambda i: i / 4)))
    X[: n // 2, 0], X[n // 2 :, 0] = np.abs(X[: n // 2, 0]) + 1, -np.abs(X[n // 2 :, 0])
    scores = draw(hnp.arrays(float, n, elements=st.integers(0, 12).map(float)))
    weights = draw(st.none() | hnp.arrays(float, n, elements=st.integers(1, 3).map(float)))
    return X, scores * 10.0 ** draw(st.integers(-300, 299)), weights


def fitted(name, X, scores, weights=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few rows, and groups of which none is left
        return clone(RULES[name]).set_params(**options).fit(X, scores, sample_weight=weights)


def thresholds(name, X, scores, weights=None, **options):
    """Thresholds, and whether a warning said that some are infinite."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rule = clone(RULES[name]).set_params(**options).fit(X, scores, sample_weight=weights)
        found = rule.predict(X)
    of_numpy = [str(warning.message) for warning in caught if warning.category is RuntimeWarning]
    assert of_numpy == []
    return found, any(warning.category is InfiniteThresholdWarning for warning in caught)


@pytest.mark.parametrize("name", RULES)
@some
@given(pairs=calibration_sets(), alpha=st.sampled_from([0.05, 0.2, 0.5]))
def test_thresholds_are_finite_or_a_warning_names_infinity(name, pairs, alpha):
    found, warned = thresholds(name, *pairs, alpha=alpha)
    assert not np.isnan(found).any()
    assert not np.isneginf(found).any()
    assert warned or np.isfinite(found).all()


@pytest.mark.parametrize("name", RULES)
@some
@given(pairs=calibration_sets(), power=st.integers(-60, 60))
def test_scores_times_a_power_of_two_have_thresholds_times_that_power(name, pairs, power):
    """To the bit: a unit is nothing but a unit, at the ends of floating point too."""
    X, scores, weights = pairs
    scores = scores / (scores.max() or 1.0)
    small, _ = thresholds(name, X, scores, weights, alpha=0.2)
    large, _ = thresholds(name, X, np.ldexp(scores, power), weights, alpha=0.2)
    assert_array_equal(large, np.ldexp(small, power))


@pytest.mark.parametrize("name", BY_RANKS)
@some
@given(pairs=calibration_sets())
def test_a_smaller_alpha_has_no_smaller_threshold(name, pairs):
    options = {"bandwidth": 1.0} if name in ("local", "rlcp") else {}  # "auto" depends on alpha
    columns = [thresholds(name, *pairs, alpha=alpha, **options)[0] for alpha in (0.5, 0.2, 0.05)]
    assert (np.array(columns[1:]) >= columns[:-1]).all()


@pytest.mark.parametrize("name", RULES)
@some
@given(pairs=calibration_sets(), alphas=st.lists(st.sampled_from([0.05, 0.2, 0.5]), min_size=2))
def test_thresholds_of_several_alphas_never_cross(name, pairs, alphas):
    alphas = sorted(set(alphas)) if len(set(alphas)) > 1 else [0.05, 0.5]
    found, _ = thresholds(name, *pairs, alpha=alphas)
    assert (found[:, :-1] >= found[:, 1:]).all()


@pytest.mark.parametrize("name", RULES)
@some
@given(pairs=calibration_sets())
def test_predicting_leaves_a_rule_unchanged(name, pairs):
    X, scores, weights = pairs
    rule = fitted(name, X, scores, weights, alpha=0.2)
    before = state_of(rule)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        first = rule.predict(X)
        rule.assign(X), rule.members(X), rule.score(X, scores)
        assert_array_equal(rule.predict(X), first)
    assert state_of(rule) == before


def state_of(rule):
    """Attributes of a rule as bytes, without its caches."""
    state = {key: value for key, value in vars(rule).items() if key not in CACHES}
    return pickle.dumps(sorted(state.items(), key=lambda pair: pair[0]))


@pytest.mark.parametrize("alpha", [0.1, 0.3])
@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e299])
def test_coverage_is_beta_binomial_at_any_scale(rng, alpha, scale):
    """One threshold of Split, one per group of Mondrian: the count of covered rows has a known law.

    A learned partition that did not see the rows which calibrate it has the same, group by group.
    """
    n, n_test = 400, 4000
    X, new = rng.uniform(-1, 1, (n, 2)), rng.uniform(-1, 1, (n_test, 2))
    scores, new_scores = ((2 + x[:, 0]) * rng.exponential(size=len(x)) * scale for x in (X, new))
    for name in ("split", "mondrian", "plcp, line, split"):
        options = {"within": "constant"} if name.startswith("plcp") else {}
        rule = fitted(name, X, scores, alpha=alpha, **options)
        groups, found = rule.assign(new)
        groups = np.zeros(n_test, dtype=int) if groups is None else groups
        sizes = np.atleast_1d(getattr(rule, "group_sizes_", n)).astype(int)
        for group, size in enumerate(sizes):
            inside = groups == group
            covered = (new_scores[inside] <= found[inside]).sum()
            rank = conformal_rank(size, alpha)
            low, high = beta_binomial_band(inside.sum(), size, rank)
            assert low <= covered <= high

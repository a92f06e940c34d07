"""BatchGCP: the coverage law of every group, a second solver, and what it reduces to."""

import pickle
import warnings
from contextlib import nullcontext

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from plcp import BatchGCP, BatchMVP, Mondrian
from plcp.exceptions import (
    InfiniteThresholdWarning,
    ProgramError,
    SmallGroupWarning,
    UnseenCategoryWarning,
)
from plcp.quantiles import pinball_loss, weighted_quantiles
from plcp.thresholds import batch_gcp
from strategies import alphas, few, scores_with_groups

# Random worlds of few rows: groups too small to rely on have tests of their own.
pytestmark = pytest.mark.filterwarnings("ignore::plcp.exceptions.SmallGroupWarning")

HIGHS = 1e-7  # the tolerance HiGHS solves to
SAME = 1e-6  # scores of few digits and small determinants: what is nearer than this is equal


@st.composite
def overlapping(draw, max_groups=5):
    """Whole scores with ties, groups that overlap as they like, and whole weights."""
    n = draw(st.integers(1, 40))
    scores = draw(hnp.arrays(float, n, elements=st.integers(-20, 20).map(float)))
    members = draw(hnp.arrays(bool, (n, draw(st.integers(1, max_groups)))))
    members[draw(st.integers(0, n - 1))] = True  # no group is empty
    weights = draw(st.none() | hnp.arrays(float, n, elements=st.integers(1, 4).map(float)))
    return scores, members, weights


def fit(scores, members, alpha, weights=None):
    return BatchGCP(alpha=alpha).fit(np.zeros((len(scores), 1)), scores, weights, groups=members)


def thresholds(rule, members):
    return rule.predict(np.zeros((len(members), 1)), groups=members)


def check_law(scores, members, counts, q, alpha):
    near = SAME * np.median(np.abs(scores[scores != 0])) if scores.any() else 0.0
    for group in [np.ones(len(scores), dtype=bool), *members.T]:
        target = (1 - alpha) * counts[group].sum()
        assert counts[group & (scores < q - near)].sum() <= target + SAME
        assert counts[group & (scores <= q)].sum() >= target - SAME


@few
@given(overlapping(), alphas)
def test_every_group_covers_what_it_should_in_the_sample(drawn, alpha):
    """Weight below q is at most, weight at or below at least, 1 - alpha of the group's."""
    scores, members, weights = drawn
    counts = np.ones(len(scores)) if weights is None else weights
    scores = scores / 10  # tenths, which sums of tenths miss by rounding
    check_law(
        scores, members, counts, thresholds(fit(scores, members, alpha, weights), members), alpha
    )


def test_sums_of_tied_scores_cover_them(rng):
    """Tenths tie, and 0.1 + 0.7 is 0.7999999999999999."""
    for alpha in np.tile([0.1, 0.2, 0.5], 20):
        members = rng.random((150, 6)) < rng.uniform(0.1, 0.9, 6)
        scores = np.round(rng.exponential(size=150), 1)
        q = thresholds(fit(scores, members, alpha), members)
        check_law(scores, members, np.ones(150), q, alpha)


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e300])
def test_outliers_blur_no_other_score(rng, size):
    """One score in fifty is a hundred million million times the others."""
    for alpha in (0.05, 0.1, 0.5):
        members = rng.random((200, 4)) < 0.5
        scores = size * np.where(rng.random(200) < 0.02, 1.0, 1e-14) * rng.exponential(size=200)
        for signed in (scores, -scores):
            q = thresholds(fit(signed, members, alpha), members)
            check_law(signed, members, np.ones(200), q, alpha)


@pytest.mark.parametrize(
    ("threshold", "lost"), [(7.9, True), (8.0, False), (9.0, False), (9.1, True)]
)
def test_thresholds_that_lost_their_digits_are_refused(threshold, lost):
    """Of 0 … 9 the 0.9-quantiles are 8 to 9: nine at or below, and no more than nine below."""
    given = np.arange(10.0), np.full(10, threshold), np.ones((10, 1)), 0.9
    with pytest.raises(ProgramError, match="without losing digits") if lost else nullcontext():
        batch_gcp.check_law(*given)


@few
@given(overlapping(), alphas)
def test_loss_is_that_of_a_second_solver(drawn, alpha):
    """HiGHS: min Σ w ((1 - alpha) u + alpha v), s = b + Mλ + u - v, u, v ≥ 0."""
    scores, members, weights = drawn
    counts = np.ones(len(scores)) if weights is None else weights
    n, k = members.shape
    oracle = linprog(
        np.r_[np.zeros(k + 1), (1 - alpha) * counts, alpha * counts],
        A_eq=np.hstack([np.ones((n, 1)), members, np.eye(n), -np.eye(n)]),
        b_eq=scores,
        bounds=[(None, None)] * (k + 1) + [(0, None)] * (2 * n),
        method="highs",
    )
    q = thresholds(fit(scores, members, alpha, weights), members)
    assert_allclose(pinball_loss(q, scores, alpha) @ counts, oracle.fun, rtol=HIGHS, atol=HIGHS * n)


@few
@given(scores_with_groups(), alphas)
def test_disjoint_groups_are_mondrian_without_the_test_point(drawn, alpha):
    """Rank ⌈(1 - alpha) n_g⌉ of each group, where Mondrian takes ⌈(1 - alpha)(n_g + 1)⌉."""
    scores, labels = drawn
    present = np.unique(labels)
    members = labels[:, None] == present
    q = thresholds(fit(scores, members, alpha), np.eye(len(present), dtype=bool))
    expected = weighted_quantiles(scores, members.astype(float), 1 - alpha)
    assert_array_equal(q, expected)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfiniteThresholdWarning)
        mondrian = Mondrian(alpha=alpha).fit(labels[:, None], scores, groups=labels)
    above = [
        np.sum((scores[own] > low) & (scores[own] <= high))
        for own, low, high in zip(members.T, q, mondrian.thresholds_, strict=True)
    ]
    assert max(above) <= 1


@few
@given(overlapping(max_groups=1), alphas)
def test_one_group_of_everybody_is_the_quantile(drawn, alpha):
    scores, members, _ = drawn
    rule = fit(scores, np.ones_like(members), alpha)
    expected = weighted_quantiles(scores, np.ones((len(scores), 1)), 1 - alpha)
    assert_array_equal(thresholds(rule, [[True]]), expected)
    assert_array_equal(rule.coef_, [0.0])


def draw(rng, n=400):
    frame = pd.DataFrame(
        {"sex": rng.choice([1.0, 2.0], n), "town": rng.choice([*"abc"], n), "x": rng.normal(size=n)}
    )
    scores = rng.exponential(1 + frame["sex"] + (frame["town"] == "a") + (frame["x"] > 0))
    return frame, scores


def positive(X):
    return np.asarray(X["x"]) > 0


def test_every_source_of_groups_gives_the_same(rng):
    frame, scores = draw(rng)
    columns = [frame["sex"] == 1, frame["sex"] == 2, *(frame["town"] == town for town in "abc")]
    matrix = np.column_stack([*columns, positive(frame)])
    expected = thresholds(fit(scores, matrix, 0.1), matrix)
    assert len(np.unique(expected)) == 12
    for table in (frame, pl.from_pandas(frame), frame.astype({"town": "category"})):
        for groups in (["sex", "town", positive], [0, 1, positive], lambda X: matrix):
            assert_array_equal(BatchGCP(groups).fit(table, scores).predict(table), expected)


def test_what_it_says_of_its_groups(rng):
    frame, scores = draw(rng)
    rule = BatchGCP(["sex", positive]).fit(frame, scores)
    members = np.column_stack([frame["sex"] == 1, frame["sex"] == 2, positive(frame)])
    q = rule.predict(frame)
    assert rule.groups_ == ["sex=1", "sex=2", "positive"]
    assert_array_equal(rule.group_sizes_, members.sum(axis=0))
    covered = scores <= q
    assert_array_equal(rule.group_coverage_, (members * covered[:, None]).sum(0) / members.sum(0))
    assert_allclose(rule.intercept_ + members @ rule.coef_, q, rtol=1e-12)
    assert rule.guarantee_.kind == "approximate"
    assert rule.guarantee_.n_groups == 3


def test_row_order_group_order_shift_and_scale(rng):
    """Without ties, whatever the order; whole scores, so that shift and scale are exact."""
    members = rng.random((120, 4)) < 0.5
    scores = rng.permutation(120) * 8.0
    base = thresholds(fit(scores, members, 0.1), members)
    rows, columns = rng.permutation(120), rng.permutation(4)
    assert_allclose(thresholds(fit(scores[rows], members[rows], 0.1), members), base, atol=SAME)
    other = fit(scores, members[:, columns], 0.1)
    assert_allclose(thresholds(other, members[:, columns]), base, atol=SAME)
    assert_allclose(thresholds(fit(scores + 64, members, 0.1), members), base + 64, atol=SAME)
    assert_allclose(thresholds(fit(4 * scores, members, 0.1), members), 4 * base, atol=SAME)


@few
@given(overlapping(), alphas)
def test_weights_are_repeated_rows_and_zero_is_none(drawn, alpha):
    scores, members, _ = drawn
    counts = np.arange(len(scores)) % 3
    counts[members.all(axis=1)] = 2
    weighted = thresholds(fit(scores, members, alpha, counts), members[counts > 0])
    repeated = fit(np.repeat(scores, counts), np.repeat(members, counts, axis=0), alpha)
    loss = [
        pinball_loss(q, scores[counts > 0], alpha) @ counts[counts > 0]
        for q in (weighted, thresholds(repeated, members[counts > 0]))
    ]
    assert loss[0] == pytest.approx(loss[1], abs=SAME)
    assert_array_equal(fit(scores, members, alpha, counts).group_sizes_, repeated.group_sizes_)


def test_a_mix_of_groups_never_seen_has_an_infinite_threshold(rng):
    frame, scores = draw(rng)
    rule = BatchGCP(["sex", "town"]).fit(frame, scores)
    new = frame.iloc[:3].assign(sex=[1.0, 3.0, 2.0], town=["a", "b", "z"])
    with (
        pytest.warns(UnseenCategoryWarning, match="never saw"),
        pytest.warns(InfiniteThresholdWarning, match="2 rows, the first of them row 1, belong"),
    ):
        assert_array_equal(np.isinf(rule.predict(new)), [False, True, True])


def test_a_group_without_points_is_refused_with_its_name(rng):
    frame, scores = draw(rng)
    groups = {"tall": lambda X: X["x"] > 100, "all": lambda X: X["x"] < 100}
    with pytest.raises(ValueError, match=r"\['tall'\] hold no calibration point"):
        BatchGCP(groups).fit(frame, scores)
    weightless = (frame["town"] != "a").astype(float)
    assert "town=a" not in BatchGCP("town").fit(frame, scores, weightless).groups_


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (None, "groups is None"),
        (np.ones((399, 1), dtype=bool), "inconsistent numbers of samples"),
        (np.full((400, 1), np.nan), r"got .*nan.* at row 0, group 0"),
        (np.ones((400, 0)), "at least one group"),
    ],
)
def test_matrices_that_are_none(rng, groups, message):
    frame, scores = draw(rng)
    with pytest.raises(ValueError, match=message):
        BatchGCP().fit(frame, scores, groups=groups)


def test_second_fit_clone_and_pickle(rng):
    frame, scores = draw(rng)
    rule = BatchGCP("town").fit(frame, scores)
    other, other_scores = draw(rng, 90)
    rule.set_params(groups=["sex", positive]).fit(other, other_scores)
    fresh = clone(rule)
    with pytest.raises(NotFittedError):
        fresh.predict(other)
    fresh.fit(other, other_scores)
    assert rule.__dict__.keys() == fresh.__dict__.keys()
    assert_array_equal(rule.predict(other), fresh.predict(other))
    again = pickle.loads(pickle.dumps(rule))
    assert_array_equal(again.predict(other), fresh.predict(other))


def test_alpha_next_to_one(rng):
    X, scores = rng.normal(size=(200, 2)), rng.exponential(size=200)
    rule = BatchGCP(lambda X: X > 0, alpha=1 - 1e-9).fit(X, scores)
    assert (rule.group_coverage_ > 0).all()


def test_scores_that_tie_but_for_rounding_are_taken(rng):
    """Differences of tenths are tenths, give or take the last digit."""
    for _ in range(40):
        X = rng.integers(0, 2, (400, 4))
        scores = rng.exponential(size=400).round(1) * (1 + 2.3e-16 * rng.integers(-1, 2, 400))
        q = BatchGCP([0, 1, 2, 3]).fit(X, scores).predict(X)
        assert ((scores <= q + 1e-9) @ X >= 0.9 * X.sum(axis=0) - 1e-9).all()


@pytest.mark.parametrize("rule", [BatchGCP(0), BatchMVP(0)])
def test_a_group_too_small_to_rely_on_is_named(rng, rule):
    labels = np.repeat([0, 1, 2], [8, 9, 83])[:, None]
    with pytest.warns(SmallGroupWarning, match=r"groups \['x0=0'\] hold fewer than 9"):
        rule.fit(labels, rng.exponential(size=100))

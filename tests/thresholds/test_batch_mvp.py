"""BatchMVP: plain loops as oracle, the multivalid law, and patches replayed."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, reject, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from plcp import BatchMVP
from plcp.exceptions import ProgramError
from strategies import alphas, few

# Random worlds of few rows: groups too small to rely on have tests of their own.
pytestmark = pytest.mark.filterwarnings("ignore::plcp.exceptions.SmallGroupWarning")

n_levels = st.sampled_from([1, 2, 3, 7, 100])
tols = st.sampled_from([None, 0.1, 0.01, 0.001])


@st.composite
def overlapping(draw, max_groups=4):
    """Whole scores with ties, and groups that overlap as they like."""
    n = draw(st.integers(1, 30))
    scores = draw(hnp.arrays(float, n, elements=st.integers(-9, 9).map(float)))
    members = draw(hnp.arrays(bool, (n, draw(st.integers(1, max_groups)))))
    members[draw(st.integers(0, n - 1))] = True  # no group is empty
    return scores, members


def plain_grid(scores, m):
    """Smallest scores with at least j/m of all at or below them."""
    n = len(scores)
    return sorted(
        {min(s for s in scores if m * sum(scores <= s) >= j * n) for j in range(1, m + 1)}
    )


def gap(scores, rows, level, target):
    return abs(sum(scores[i] <= level for i in rows) - target * len(rows))


def plain_cells(scores, members, q, target):
    """Error of every cell (group, threshold) that holds a point, all rows being group 0."""
    groups = np.column_stack([np.ones(len(scores), dtype=bool), members])
    cells = {}
    for g in range(groups.shape[1]):
        for v in sorted(set(q)):
            rows = [i for i in range(len(scores)) if groups[i, g] and q[i] == v]
            if rows:
                error = gap(scores, rows, v, target) ** 2 / len(rows) / len(scores)
                cells[g, v] = error, rows
    return cells


def plain_move(scores, rows, level, levels, target):
    """Level that is nearest the target among rows; the old one if none is nearer."""
    best = min(levels, key=lambda v: gap(scores, rows, v, target))
    return best if gap(scores, rows, best, target) < gap(scores, rows, level, target) else level


def plain_sums(cells):
    return [sum(cells[c][0] for c in cells if c[0] == g) for g in sorted({g for g, _ in cells})]


def plain_fit(scores, members, alpha, m, tol, max_patches):
    """The algorithm in loops: thresholds of the rows, or None where it must fail."""
    target, levels = 1 - alpha, plain_grid(scores, m)
    all_rows = range(len(scores))
    start = plain_move(scores, all_rows, levels[0], levels, target)
    q = [start] * len(scores)
    least = 4 * target * (1 - target) / len(scores) if tol is None else 0
    for patches in range(max_patches + 1):
        cells = plain_cells(scores, members, q, target)
        if tol is not None and max(plain_sums(cells)) <= tol:
            return q
        for (_, v), (error, rows) in sorted(cells.items(), key=lambda c: -c[1][0]):
            new = plain_move(scores, rows, v, levels, target)
            if error > least and new != v:
                break
        else:
            return q if tol is None else None
        if patches < max_patches:
            q = [new if i in rows else old for i, old in enumerate(q)]
    return None


def fit(scores, members, alpha=0.1, weights=None, **settings):
    X = np.zeros((len(scores), 1))
    return BatchMVP(alpha=alpha, **settings).fit(X, scores, weights, groups=members)


def thresholds(rule, members):
    return rule.predict(np.zeros((len(members), 1)), groups=members)


def check_against_plain_loops(scores, members, alpha, m, tol):
    expected = plain_fit(scores, members, alpha, m, tol, max_patches=30)
    if expected is None:
        with pytest.raises(ProgramError, match="the multivalid error is"):
            fit(scores, members, alpha, n_levels=m, tol=tol, max_patches=30)
        return 0
    rule = fit(scores, members, alpha, n_levels=m, tol=tol, max_patches=30)
    assert_array_equal(thresholds(rule, members), expected)
    return len(rule.patches_)


@few
@given(overlapping(), alphas, n_levels, tols)
def test_patches_are_those_of_plain_loops(drawn, alpha, m, tol):
    check_against_plain_loops(*drawn, alpha, m, tol)


@pytest.mark.parametrize("tol", [None, 0.01, 0.003])
@pytest.mark.parametrize("n_scores", [10, 1000])
def test_many_patches_are_those_of_plain_loops(rng, n_scores, tol):
    """Worlds whose groups differ, so that one patch calls for another."""
    n_patches = []
    for _ in range(20):
        members = rng.random((60, 3)) < 0.5
        scale = n_scores * (1 + members @ [1, 2, 4]) / 8
        scores = np.floor(scale * rng.random(60))
        n_patches.append(check_against_plain_loops(scores, members, 0.2, 20, tol))
    assert max(n_patches) > 3


def test_points_stay_where_another_level_is_only_as_near():
    """All of the first group at 5: covering all or none is as far from one half."""
    scores = np.r_[np.full(20, 5.0), np.full(4, 1.0), np.full(16, 9.0)]
    members = (np.arange(40) < 20)[:, None]
    rule = fit(scores, members, alpha=0.5)
    assert_array_equal(thresholds(rule, members), 5.0)
    assert len(rule.patches_) == 0


def test_levels_are_not_pushed_on_by_rounding():
    """7 / 100 * 100 is 7.000000000000001."""
    rule = fit(np.arange(100.0), np.ones((100, 1)), n_levels=100)
    assert_array_equal(rule.levels_, np.arange(100))


@few
@given(overlapping(), alphas, n_levels, st.sampled_from([0.3, 0.1, 0.03]))
def test_the_sum_over_thresholds_is_within_tol_in_every_group(drawn, alpha, m, tol):
    scores, members = drawn
    try:
        rule = fit(scores, members, alpha, n_levels=m, tol=tol)
    except ProgramError:
        reject()  # hypothesis fails where this is the rule
    sums = plain_sums(plain_cells(scores, members, thresholds(rule, members), 1 - alpha))
    assert max(sums) == pytest.approx(rule.error_)
    assert rule.error_ <= tol


@few
@given(overlapping(), alphas)
def test_without_tol_no_cell_beyond_noise_can_come_nearer(drawn, alpha):
    scores, members = drawn
    rule = fit(scores, members, alpha)
    cells = plain_cells(scores, members, thresholds(rule, members), 1 - alpha)
    for (_, v), (error, rows) in cells.items():
        if error > 4 * alpha * (1 - alpha) / len(scores) + np.finfo(float).eps:
            nearest = min(gap(scores, rows, level, 1 - alpha) for level in rule.levels_)
            assert gap(scores, rows, v, 1 - alpha) == nearest


@few
@given(overlapping(max_groups=1), alphas, n_levels)
def test_one_group_of_everybody_is_the_level_nearest_the_quantile(drawn, alpha, m):
    scores, members = drawn
    rule = fit(scores, np.ones_like(members), alpha, n_levels=m)
    levels = plain_grid(scores, m)
    gaps = [gap(scores, range(len(scores)), level, 1 - alpha) for level in levels]
    assert_array_equal(rule.levels_, levels)
    assert_array_equal(thresholds(rule, [[True]]), levels[int(np.argmin(gaps))])
    assert len(rule.patches_) == 0


@few
@given(overlapping(), alphas, n_levels)
def test_weights_are_repeated_rows_and_zero_is_none(drawn, alpha, m):
    scores, members = drawn
    counts = np.arange(len(scores)) % 3
    counts[members.all(axis=1)] = 2
    weighted = fit(scores, members, alpha, counts, n_levels=m)
    rows = np.repeat(np.arange(len(scores)), counts)
    repeated = fit(scores[rows], members[rows], alpha, n_levels=m)
    for name in ("levels_", "start_", "patches_", "group_sizes_"):
        assert_array_equal(getattr(weighted, name), getattr(repeated, name))


def draw(rng, n=2000):
    frame = pd.DataFrame({"sex": rng.choice([1, 2], n), "town": rng.choice([*"abc"], n)})
    return frame, rng.exponential(frame["sex"] + 3.0 * (frame["town"] == "a"))


def test_any_rising_change_of_scores_changes_thresholds_alike(rng):
    frame, scores = draw(rng)
    rule = BatchMVP(["sex", "town"]).fit(frame, scores)
    curved = BatchMVP(["sex", "town"]).fit(frame, np.log(scores))
    assert len(rule.patches_) > 0
    assert_array_equal(curved.patches_, rule.patches_)
    assert_array_equal(curved.predict(frame), np.log(rule.predict(frame)))


def test_row_order_does_not_matter(rng):
    frame, scores = draw(rng)
    order = rng.permutation(len(frame))
    rule = BatchMVP(["sex", "town"]).fit(frame, scores)
    other = BatchMVP(["sex", "town"]).fit(frame.iloc[order], scores[order])
    assert_array_equal(other.predict(frame), rule.predict(frame))


def test_what_it_says_of_its_groups(rng):
    frame, scores = draw(rng)
    rule = BatchMVP(["sex", "town"]).fit(frame, scores)
    assert rule.groups_ == ["sex=1", "sex=2", "town=a", "town=b", "town=c"]
    columns = [frame["sex"] == 1, frame["sex"] == 2, *(frame["town"] == town for town in "abc")]
    covered = scores <= rule.predict(frame)
    assert_array_equal(rule.group_sizes_, [own.sum() for own in columns])
    assert_array_equal(rule.group_coverage_, [(covered & own).sum() / own.sum() for own in columns])
    constant = scores <= np.quantile(scores, 0.9, method="higher")
    gaps = [[abs(c[own].mean() - 0.9) for own in columns] for c in (covered, constant)]
    assert max(gaps[0]) < max(gaps[1])
    assert f"is at most {rule.error_:.2g}" in rule.guarantee_.note
    assert rule.guarantee_.kind == "approximate"


def test_a_matrix_is_the_columns_it_holds(rng):
    frame, scores = draw(rng)
    matrix = np.column_stack([frame["sex"] == 1, frame["sex"] == 2])
    given = fit(scores, matrix)
    expected = BatchMVP("sex").fit(frame, scores).predict(frame)
    assert_array_equal(thresholds(given, matrix), expected)


@pytest.mark.filterwarnings("ignore::plcp.UnseenCategoryWarning")
def test_a_row_in_no_group_is_still_somebody(rng):
    frame, scores = draw(rng)
    rule = BatchMVP("town").fit(frame, scores)
    stranger = pd.DataFrame({"sex": [1], "town": ["z"]})
    assert np.isin(rule.predict(stranger), rule.levels_).all()


def test_an_end_that_was_not_reached_is_an_error(rng):
    frame, scores = draw(rng)
    with pytest.raises(ProgramError, match=r"max_patches=1 .* error is 0\.\d+: raise tol"):
        BatchMVP("town", tol=1e-6, max_patches=1).fit(frame, scores)
    with pytest.raises(ProgramError, match=r"after 0: .* 0\.01, above tol=0\.001; raise tol or n"):
        BatchMVP("town", tol=1e-3).fit(frame, np.zeros(len(frame)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tol": 0.0}, r"tol must lie in \(0, 1\), got 0.0"),
        ({"n_levels": 0}, "n_levels must be a whole number, at least 1, got 0"),
        ({"max_patches": -1}, "max_patches must be a whole number, at least 0, got -1"),
        ({"alpha": 1.2}, r"alpha must lie in \(0, 1\), got 1.2"),
        ({"groups": None}, "groups is None"),
        ({"groups": lambda X: X["sex"] > 5}, r"\['group 0'\] hold no calibration point"),
    ],
)
def test_bad_settings(rng, settings, message):
    frame, scores = draw(rng)
    with pytest.raises(ValueError, match=message):
        BatchMVP(**{"groups": "sex", **settings}).fit(frame, scores)


def test_second_fit_clone_and_pickle(rng):
    frame, scores = draw(rng)
    rule = BatchMVP(["sex", "town"]).fit(frame, scores)
    other, other_scores = draw(rng, 300)
    rule.set_params(groups="sex").fit(other, other_scores)
    fresh = clone(rule)
    with pytest.raises(NotFittedError):
        fresh.predict(other)
    fresh.fit(other, other_scores)
    assert rule.__dict__.keys() == fresh.__dict__.keys()
    assert_array_equal(rule.predict(frame), fresh.predict(frame))
    assert_array_equal(pickle.loads(pickle.dumps(rule)).predict(frame), fresh.predict(frame))

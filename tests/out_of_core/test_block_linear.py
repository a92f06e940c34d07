"""Lines through blocks of rows: a function of the rows alone, and near the least loss of all."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_array_equal
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import mean_pinball_loss

from plcp.out_of_core import Held, hash_rows, linear as start
from plcp.out_of_core.linear import (
    ANY,
    MOST_PASSES,
    Candidate,
    Evaluation,
    Grid,
    Search,
    fit_folds,
    fit_line,
    fold_of,
    sums_of,
)
from plcp.regressors import LinearQuantile

PROMISED = 1e-3  # excess of the loss over the linear program's
N = 1500


@pytest.fixture
def small_sample(monkeypatch):
    """A sample of 400 rows of four columns, so that all rows have to be asked."""
    monkeypatch.setattr(start, "ENTRIES", 0)
    monkeypatch.setattr(start, "ROWS_A_COLUMN", 100)


def draw(rng, n=N):
    X = rng.standard_normal((n, 4))
    return X, X @ [1.0, -2.0, 0.0, 0.5] + np.exp(X[:, 0] / 2) * rng.standard_normal(n)


def far_scores(X, y):
    y[:9] = 1e12
    y[9:12] = -1e12
    return X, y


def far_feature(X, y):
    X[0, 1], X[1, 2] = 1e12, -1e30
    return X, y


def far_in_both(X, y):
    X[0], y[0] = 1e3, 2e3
    return X, y


def rare_feature(X, y):
    X[:, 2] = 5.0
    X[[3, 8], 2] = 6.0, -7.0
    return X, y


def skewed_features(X, y):
    X = np.exp(2 * X)
    return X, np.abs(y) * (1 + X[:, 0])


def half_alike(X, y):
    X[: N // 3], y[: N // 3] = 1.0, 2.0
    return X, y


def far_group(X, y):
    X[:, 2] = np.arange(N) < 30
    return X, y + 1e6 * X[:, 2]


WORLDS = {
    "plain": lambda X, y: (X, y),
    "far scores": far_scores,
    "far feature": far_feature,
    "far in both": far_in_both,
    "far group": far_group,
    "constant feature": lambda X, y: (X * [1, 1, 0, 1] + [0, 0, 0.1, 0], y),
    "rare feature": rare_feature,
    "skewed features": skewed_features,
    "half alike": half_alike,
    "ties": lambda X, y: (X.round(), y.round()),
    "few kinds": lambda X, y: ((X > 0).astype(float), (y > 1) + 2.0 * (X[:, 0] > 0)),
    "atom": lambda X, y: (X, np.maximum(y, 0.0)),
    "collinear": lambda X, y: (np.column_stack([X[:, :3], X[:, 0] - 3 * X[:, 1]]), y),
    "exact": lambda X, y: (X, X @ [1.0, 2.0, 3.0, 4.0] + 0.1),
    "equal scores": lambda X, y: (X, np.full(len(y), 0.3)),
    "other units": lambda X, y: (X * [1e-6, 1, 1e6, 1] + [0, 10, 1e5, -1e3], 1e6 + y),
}


def world(name, rng, n=N):
    return WORLDS[name](*draw(rng, n))


def cut(X, y, places):
    return Held(list(zip(np.split(X, places), np.split(y, places), strict=True)))


def numbers(models):
    return [[*model.coef_, model.intercept_] for model in models]


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize("name", WORLDS)
def test_neither_order_nor_blocks_change_a_bit(name, rng):
    X, y = world(name, rng)
    base = numbers(fit_folds(Held([(X, y)]), 0.9, 2, seed=1))
    order = rng.permutation(len(y))
    places = np.sort(rng.integers(0, len(y), 7))
    blocks = cut(X[order], y[order], [0, *places, places[-1]])  # two have no rows
    assert_array_equal(numbers(fit_folds(blocks, 0.9, 2, seed=1)), base)


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize("seed", range(16))
def test_rounding_does_not_keep_collinear_columns_from_being_certified(seed):
    """What is left of the pull along them is rounding, which differs from CPU to CPU."""
    X, y = world("collinear", np.random.default_rng(seed))
    assert all(m.n_iter_ < MOST_PASSES for m in fit_folds(Held([(X, y)]), 0.9, 2, seed=1))


@settings(max_examples=15)
@given(n=st.integers(1, 60), d=st.integers(1, 8), seed=st.integers(0, 2**32), data=st.data())
def test_nor_in_small_sets_of_any_shape(n, d, seed, data):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-3, 4, (n, d)).astype(float), rng.integers(0, 4, n).astype(float)
    places = sorted(data.draw(st.lists(st.integers(0, n), max_size=4)))
    order = rng.permutation(n)
    one, other = fit_line(Held([(X, y)]), 0.8), fit_line(cut(X[order], y[order], places), 0.8)
    assert_array_equal(numbers([one]), numbers([other]))


@pytest.mark.usefixtures("small_sample")
def test_nor_does_the_way_rows_are_stored(rng):
    X, y = draw(rng)
    single = X.astype(np.float32)
    base = numbers([fit_line(Held([(single.astype(float), y)]), 0.9)])
    frame = pd.DataFrame(single, columns=list("abcd"))
    for other in (single, np.asfortranarray(single), np.repeat(single, 2, axis=1)[:, ::2], frame):
        assert_array_equal(numbers([fit_line(Held([(other, y)]), 0.9)]), base)


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize(("name", "quantile"), [*((name, 0.9) for name in WORLDS), ("plain", 0.1)])
def test_the_loss_is_that_of_the_linear_program(name, quantile, rng):
    X, y = world(name, rng)
    folds = fold_of(hash_rows(X, y, 0), 2)
    models = fit_folds(cut(X, y, [500]), quantile, 2)
    for fold, model in enumerate(models):
        Z, scores = X[folds != fold], y[folds != fold]
        if name == "far scores":  # they count by their side; as they are they would drown the rest
            scores = np.clip(scores, -1e3, 1e3)
        # a solver for programs wants numbers of ordinary size
        unit = np.abs(Z).max(axis=0)
        exact = QuantileRegressor(quantile=quantile, alpha=0).fit(Z / unit, scores)
        best = mean_pinball_loss(scores, exact.predict(Z / unit), alpha=quantile)
        loss = mean_pinball_loss(scores, model.predict(Z), alpha=quantile)
        assert loss <= best * (1 + PROMISED) + 1e-9 * np.abs(scores).mean()


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize("quantile", [0.5, 0.9])
def test_no_line_is_better_than_a_certificate_says(quantile, rng):
    """Weak duality, at lines that are no optima: the linear program is the judge."""
    X, y = draw(rng, 400)
    exact = QuantileRegressor(quantile=quantile, alpha=0).fit(X, y)
    best = mean_pinball_loss(y, exact.predict(X), alpha=quantile)
    grid = Grid(np.zeros(4), np.ones(4))
    n_certified = 0
    for _ in range(60):
        away = 10.0 ** rng.uniform(-5, -1) * rng.standard_normal(5)
        theta = np.append(exact.coef_, exact.intercept_) + away
        bandwidth = 10.0 ** rng.uniform(-1.5, 0.5)
        for _ in range(3):  # at the line drawn, and nearer to an optimum
            candidate = Candidate(theta, np.ones(5), bandwidth, ANY, -1, 0.0)
            sums = sums_of(X, y, [candidate], grid, 1, 0)
            found = Evaluation.of(sums, 0, candidate, quantile)
            loss = mean_pinball_loss(y, X @ theta[:-1] + theta[-1], alpha=quantile)
            assert found.loss == pytest.approx(loss, rel=1e-6)
            assert loss - found.excess <= best * (1 + 1e-6)
            n_certified += np.isfinite(found.excess)
            theta = theta + found.step
    assert n_certified > 30


def test_far_values_count_in_full_where_a_line_reaches_them():
    X, y = np.arange(20.0)[:, None], 10 * np.arange(20.0)
    grid = Grid(np.zeros(1), np.ones(1))
    candidate = Candidate(np.array([10.0, 0.0]), np.ones(2), 0.1, (0.0, 50.0), -1, 1e9)
    search = Search(candidate)
    sums = sums_of(X, y, [candidate], grid, 1, 0)
    assert sums.crossed.tolist() == [14]
    search.learn([Evaluation.of(sums, 0, candidate, 0.5)])
    assert not search.is_certified
    assert search.candidate.bounds == ANY


class Counted(Held):
    """Blocks in memory that count how often they are gone through."""

    n_passes = 0

    def each(self, function, *args):
        """Go through all blocks once more."""
        self.n_passes += 1
        return super().each(function, *args)


@pytest.mark.parametrize("quantile", [0.1, 0.5])
def test_six_passes_do(quantile, rng, monkeypatch):
    monkeypatch.setattr(start, "ENTRIES", 20_000)
    X, y = draw(rng, 50_000)
    blocks = Counted([(X[:30_000], y[:30_000]), (X[30_000:], y[30_000:])])
    models = fit_folds(blocks, quantile, 3)
    assert blocks.n_passes <= 6
    assert all(0 < model.n_iter_ <= MOST_PASSES for model in models)


def test_few_rows_are_fitted_as_they_are(rng):
    X, y = draw(rng)
    order = np.argsort(hash_rows(X, y, 0))
    local = LinearQuantile(0.9).fit(X[order], y[order])
    assert_array_equal(numbers([fit_line(cut(X, y, [99]), 0.9)]), numbers([local]))


def test_rows_of_a_fold_do_not_teach_its_model(rng):
    X, y = draw(rng)
    folds = fold_of(hash_rows(X, y, 5), 4)
    models = fit_folds(Held([(X, y)]), 0.9, 4, seed=5)
    for fold, model in enumerate(models):
        rest = fit_line(Held([(X[folds != fold], y[folds != fold])]), 0.9, seed=5)
        assert_array_equal(numbers([rest]), numbers([model]))


@pytest.mark.usefixtures("small_sample")
def test_a_second_copy_of_all_rows_changes_nothing(rng):
    X, y = draw(rng)
    twice = fit_line(Held([(X, y), (X, y)]), 0.9)
    assert_array_equal(numbers([twice]), numbers([fit_line(Held([(X, y)]), 0.9)]))


@pytest.mark.usefixtures("small_sample")
def test_half_the_rows_lie_below_the_median(rng):
    X, y = draw(rng)
    assert np.mean(y < fit_line(Held([(X, y)]), 0.5).predict(X)) == pytest.approx(0.5, abs=0.01)


def test_folds_are_even_among_rows_of_small_hashes():
    hashes = np.sort(np.random.default_rng(0).integers(0, 2**64 - 1, 10**6, dtype=np.uint64))
    for some in (hashes, hashes[:30_000]):
        shares = np.bincount(fold_of(some, 3), minlength=3) / len(some)
        assert np.abs(shares - 1 / 3).max() < 5 / np.sqrt(len(some))  # ten standard errors


def test_one_row_and_more_columns_than_rows(rng):
    X, y = draw(rng, 3)
    assert fit_line(Held([(X[:1], y[:1])]), 0.9).predict(X[:1]) == pytest.approx(y[:1])
    assert fit_line(Held([(X, y)]), 0.9).predict(X) == pytest.approx(y)


def test_names_of_columns_are_kept(rng):
    X, y = draw(rng, 50)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = fit_line(Held([(frame, y)]), 0.9)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert_array_equal(model.predict(frame), fit_line(Held([(X, y)]), 0.9).predict(X))


def spoilt(value):
    X, y = draw(np.random.default_rng(0), 20)
    X[7, 2] = value
    return X, y


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (spoilt(np.nan), "column 2 of X contains NaN at row 7: .* boosted regressor"),
        (spoilt(-np.inf), "column 2 of X contains infinity at row 7"),
        (spoilt(1e200), "column 2 of X contains 1e\\+200 at row 7"),
        (
            (pd.DataFrame({"a": [1.0], "b": ["x"]}), np.ones(1)),
            "column 'b' of X holds no numbers .*: leave it out",
        ),
        ((pd.DataFrame({"a": [1.0, np.nan]}), np.ones(2)), "column 'a' of X contains NaN at row 1"),
        ((np.ones((2, 1)), [0.0, np.nan]), "y contains NaN at row 1"),
        ((np.ones((0, 2)), np.ones(0)), "calibration set is empty"),
        ((np.ones((5, 2)), np.ones(5)), "all 5 rows fall into fold . of 3"),
    ],
)
def test_errors_name_the_column_and_the_remedy(block, message):
    with pytest.raises(ValueError, match=message):
        fit_folds(Held([block]), 0.9, 3)


def test_no_blocks_are_refused():
    with pytest.raises(ValueError, match="calibration set is empty"):
        fit_line(Held([]), 0.9)


def test_levels_and_folds_are_checked(rng):
    blocks = Held([draw(rng, 20)])
    with pytest.raises(ValueError, match=r"quantile must lie in \(0, 1\), got 1.5"):
        fit_line(blocks, 1.5)
    with pytest.raises(ValueError, match="n_folds must be a whole number, at least 2, got 1"):
        fit_folds(blocks, 0.9, 1)

"""LinearQuantile against the linear program, and the laws every quantile regression obeys."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import mean_pinball_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

from plcp.regressors import linear
from plcp.regressors.linear import LinearQuantile

PROMISED = 1e-3  # excess of the loss over the linear program's
TOL = 1e-10  # gradient at which the laws below are compared
SAME = {"rtol": 0, "atol": 1e-7}  # TOL over the curvature, in data of unit spread
LEVELS = [0.05, 0.5, 0.9]


def draw(n=300, d=4, seed=0):
    """Heteroscedastic rows of unit spread; 0.05 n, 0.5 n and 0.9 n are integers, the hard case."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X @ rng.standard_normal(d) + np.exp(X[:, 0] / 2) * rng.standard_normal(n)


def standardise(X):
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1)


def objective(model, X, y, quantile, l1=0.0):
    penalty = l1 * np.abs(model.coef_).sum()
    return mean_pinball_loss(y, model.predict(X), alpha=quantile) + penalty


def coefficients(X, y, quantile=0.9, sample_weight=None, **parameters):
    """Slopes and intercept."""
    model = LinearQuantile(quantile, tol=TOL, **parameters).fit(X, y, sample_weight)
    return np.append(model.coef_, model.intercept_)


@parametrize_with_checks([LinearQuantile(), LinearQuantile(l1=0.01)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


NOISES = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "cauchy": lambda rng, n: rng.standard_cauchy(n),
    "ties": lambda rng, n: rng.integers(0, 3, n).astype(float),
    "atom": lambda rng, n: np.maximum(rng.standard_normal(n), 0),
    "far": lambda rng, n: 1e6 + rng.standard_normal(n),
}


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("quantile", [*LEVELS, 0.99])
@pytest.mark.parametrize("l1", [0.0, 0.05])
@pytest.mark.parametrize(("n", "d"), [(200, 5), (60, 20), (30, 24)])
def test_loss_is_that_of_the_linear_program(noise, quantile, l1, n, d):
    rng = np.random.default_rng(n)
    X = standardise(rng.standard_normal((n, d)))
    y = X @ rng.standard_normal(d) + NOISES[noise](rng, n)
    ours = LinearQuantile(quantile, l1=l1).fit(X, y)
    exact = QuantileRegressor(quantile=quantile, alpha=l1, solver="highs").fit(X, y)
    best = objective(exact, X, y, quantile, l1)
    assert objective(ours, X, y, quantile, l1) <= best * (1 + PROMISED)


@pytest.mark.parametrize("quantile", LEVELS)
@pytest.mark.parametrize("size", [1e4, 1e8, 1e12, -1e12])
def test_outliers_count_by_their_side(quantile, size):
    """The optimum is that of the linear program whatever their size."""
    X, y = draw()
    outlying = np.arange(300) < 5
    ours = LinearQuantile(quantile).fit(X, np.where(outlying, size, y))
    near = np.where(outlying, 100 * np.sign(size), y)
    exact = QuantileRegressor(quantile=quantile, alpha=0).fit(X, near)
    best = objective(exact, X, near, quantile)
    assert objective(ours, X, near, quantile) <= best * (1 + PROMISED)


def test_a_row_far_out_in_both_directions_counts_in_full():
    X, y = draw(d=1)
    X[0], y[0] = 1e9, 2e9
    ours = LinearQuantile(0.5).fit(X, y)
    exact = QuantileRegressor(quantile=0.5, alpha=0).fit(X, y)
    assert objective(ours, X, y, 0.5) <= objective(exact, X, y, 0.5) * (1 + PROMISED)


@pytest.mark.parametrize("quantile", LEVELS)
def test_loss_without_intercept(quantile):
    X, y = draw()
    ours = LinearQuantile(quantile, fit_intercept=False).fit(X, y)
    exact = QuantileRegressor(quantile=quantile, alpha=0, fit_intercept=False).fit(X, y)
    assert ours.intercept_ == 0
    assert objective(ours, X, y, quantile) <= objective(exact, X, y, quantile) * (1 + PROMISED)


def test_l1_finds_the_zeros_of_the_linear_program():
    X, _ = draw(n=2000, d=10)
    X = standardise(X)
    y = 3 * X[:, 0] - 2 * X[:, 1] + np.random.default_rng(1).standard_normal(len(X))
    ours = LinearQuantile(l1=0.1).fit(X, y).coef_
    exact = QuantileRegressor(alpha=0.1).fit(X, y).coef_
    assert_array_equal(ours != 0, exact != 0)


def test_enough_l1_leaves_the_quantile_of_y():
    X, y = draw(n=299)
    model = LinearQuantile(0.9, l1=1.0).fit(X, y)
    assert_array_equal(model.coef_, 0)
    assert model.intercept_ == np.quantile(y, 0.9, method="inverted_cdf")


def test_l2_shrinks():
    X, y = draw()
    norms = [np.linalg.norm(LinearQuantile(l2=l2).fit(X, y).coef_) for l2 in (0, 0.01, 0.1, 1, 10)]
    assert_array_equal(norms, sorted(norms, reverse=True))


@pytest.mark.parametrize("quantile", LEVELS)
def test_fraction_below_is_the_quantile(quantile):
    X, y = draw()
    below = np.mean(y < LinearQuantile(quantile).fit(X, y).predict(X))
    assert below == pytest.approx(quantile)


@pytest.mark.parametrize("quantile", LEVELS)
@pytest.mark.parametrize("constant", [0.0, 0.1, 1e8])
def test_constant_features_leave_the_weighted_quantile(quantile, constant):
    rng = np.random.default_rng(0)
    y, weight = rng.standard_normal(101), rng.integers(0, 4, 101)
    model = LinearQuantile(quantile).fit(np.full((101, 2), constant), y, weight)
    repeated = np.repeat(y, weight)
    assert_array_equal(model.coef_, 0)
    assert model.intercept_ == np.quantile(repeated, quantile, method="averaged_inverted_cdf")


@pytest.mark.parametrize("quantile", LEVELS)
def test_equivariance_in_y(quantile):
    X, y = draw()
    shift, direction = np.array([0, 0, 0, 0, 7.0]), np.array([1.0, -2.0, 0, 5.0, 0])
    base = coefficients(X, y, quantile)
    assert_allclose(coefficients(X, 3 * y, quantile), 3 * base, **SAME)
    assert_allclose(coefficients(X, y + 7, quantile), base + shift, **SAME)
    assert_allclose(coefficients(X, y + X @ direction[:-1], quantile), base + direction, **SAME)


@pytest.mark.parametrize("quantile", LEVELS)
def test_reflection(quantile):
    X, y = draw()
    assert_allclose(coefficients(X, y, quantile), -coefficients(X, -y, 1 - quantile), **SAME)


@pytest.mark.parametrize("l1", [0.0, 0.01])
def test_units_and_order_do_not_matter(l1):
    X, y = draw()
    base = LinearQuantile(0.9, l1=l1, tol=TOL).fit(X, y).predict(X)
    units = X * [1e-6, 1.0, 1e3, -1e6] + [0.0, 10.0, -1e3, 1e6]
    assert_allclose(LinearQuantile(0.9, l1=l1, tol=TOL).fit(units, y).predict(units), base, **SAME)
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = LinearQuantile(0.9, l1=l1, tol=TOL).fit(X[order], y[order])
    assert_allclose(shuffled.predict(X), base, **SAME)


@pytest.mark.parametrize("penalties", [{}, {"l1": 0.01}, {"l2": 0.01}])
def test_weights_are_frequencies(penalties):
    X, y = draw()
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = coefficients(X, y, sample_weight=weight, **penalties)
    repeated = coefficients(np.repeat(X, weight, axis=0), np.repeat(y, weight), **penalties)
    assert_allclose(weighted, repeated, **SAME)
    rescaled = coefficients(X, y, sample_weight=1e3 * weight, **penalties)
    assert_allclose(weighted, rescaled, **SAME)


def test_single_precision_is_kept_and_close():
    X, y = draw()
    single = LinearQuantile(0.9).fit(X.astype(np.float32), y)
    assert single.coef_.dtype == single.predict(X.astype(np.float32)).dtype == np.float32
    double = LinearQuantile(0.9).fit(X.astype(np.float32).astype(float), y)
    assert_allclose(single.coef_, double.coef_, rtol=1e-5)  # float32 resolves 1e-7


def test_many_rows_start_from_a_few(monkeypatch):
    X, y = draw(n=3000)
    whole = objective(LinearQuantile(0.9).fit(X, y), X, y, 0.9)
    monkeypatch.setattr(linear, "THINNED_ROWS", 100)
    thinned = objective(LinearQuantile(0.9).fit(X, y), X, y, 0.9)
    assert abs(thinned - whole) <= PROMISED * whole


def test_few_rows_may_all_be_alike(monkeypatch):
    monkeypatch.setattr(linear, "THINNED_ROWS", 100)
    X, y = draw()
    y[::3] = 1.0  # the rows kept of 300
    exact = QuantileRegressor(quantile=0.9, alpha=0).fit(X, y)
    ours = objective(LinearQuantile(0.9).fit(X, y), X, y, 0.9)
    assert ours <= objective(exact, X, y, 0.9) * (1 + PROMISED)


@pytest.mark.parametrize("quantile", [*LEVELS, 0.995])
def test_quantile_of_many_values(quantile):
    rng = np.random.default_rng(0)
    values = rng.standard_normal(2 * linear.THINNED_ROWS).round(3)
    weight = rng.integers(1, 4, len(values)).astype(float)
    repeated = np.repeat(values, weight.astype(int))
    expected = np.quantile(repeated, quantile, method="averaged_inverted_cdf")
    assert linear.weighted_quantile(values, weight, quantile) == expected


def test_collinear_columns_share_their_coefficient():
    X, y = draw()
    once = LinearQuantile(0.9).fit(X, y)
    twice = LinearQuantile(0.9).fit(np.column_stack([X, X]), y)
    assert_allclose(twice.coef_[:4] + twice.coef_[4:], once.coef_, rtol=PROMISED)
    assert_allclose(twice.coef_[:4], twice.coef_[4:], rtol=PROMISED)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_rows_are_interpolated(n):
    X, y = draw(n=n, d=8)
    assert_allclose(LinearQuantile(0.9).fit(X, y).predict(X), y, **SAME)


def test_constant_y():
    X, _ = draw()
    model = LinearQuantile(0.9, l1=0.1).fit(X, np.full(len(X), 3.0))
    assert_array_equal(model.predict(X), 3.0)


def test_none_is_the_median():
    X, y = draw()
    assert_array_equal(coefficients(X, y, None), coefficients(X, y, 0.5))


def test_a_wide_bandwidth_is_smoother_than_the_default():
    X, y = draw()
    smooth = LinearQuantile(0.9, bandwidth=5.0).fit(X, y)
    assert objective(smooth, X, y, 0.9) > objective(LinearQuantile(0.9).fit(X, y), X, y, 0.9)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"quantile": 1.2}, r"quantile must lie in \(0, 1\), got 1.2"),
        ({"quantile": 0}, r"quantile must lie in \(0, 1\), got 0"),
        ({"l1": -1.0}, "l1 must not be negative, got -1.0"),
        ({"l2": -1.0}, "l2 must not be negative, got -1.0"),
        ({"bandwidth": 0.0}, "bandwidth must be positive or None, got 0.0"),
    ],
)
def test_errors_name_the_value(parameters, message):
    with pytest.raises(ValueError, match=message):
        LinearQuantile(**parameters).fit(*draw())


def test_no_convergence_warns():
    with pytest.warns(ConvergenceWarning, match="increase max_iter"):
        LinearQuantile(max_iter=1).fit(*draw())

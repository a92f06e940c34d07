"""Conditional calibration over a kernel's functions: reductions, its law, and what it refuses."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from plcp import ConditionalCalibration, KernelShifts, SplitConformal
from plcp.kernels import GaussianKernel
from plcp.quantiles import conformal_rank

SMOOTH = GaussianKernel(0.5)


def rule(kernel=SMOOTH, l2=0.01, alpha=0.1, **options):
    shifts = KernelShifts(kernel, l2=l2, **options)
    return ConditionalCalibration(kernel=shifts, alpha=alpha, random_state=0)


def humped(rng, n=150):
    """Scores three times as large in the middle, which no line follows."""
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, (1 + 2 * (np.abs(X[:, 0]) < 0.5)) * rng.exponential(size=n)


def test_a_stiff_kernel_gives_split(rng):
    """The smooth part is at most (n + 1) k / (2 l2 (n + 1)) large, half of that with its dual."""
    X, scores = humped(rng)
    q = rule(l2=1e6).fit(X, scores).predict(X)
    assert_allclose(q, SplitConformal().fit(X, scores).threshold_, atol=1 / (2 * 1e6))


@pytest.mark.parametrize("seed", range(6))
def test_coverage_over_all_places_of_the_test_row(seed):
    """Leaving each row out in turn, at least ⌈(1 - alpha) n⌉ of n are covered, in groups too."""
    rng = np.random.default_rng(seed)
    X, scores = humped(rng, 24)
    old = X[:, 1] > 0
    covered = np.empty(24, dtype=bool)
    for j in range(24):
        others = np.arange(24) != j
        fitted = rule(l2=10.0 ** -(seed % 3 + 1), alpha=0.25).set_params(groups=is_old)
        fitted.fit(X[others], scores[others])
        covered[j] = scores[j] <= fitted.predict(X[[j]])[0]
    for members in (old, ~old, np.ones(24, dtype=bool)):
        assert covered[members].sum() >= conformal_rank(members.sum() - 1, 0.25)
    assert not covered.all()


def is_old(X):
    return np.column_stack([X[:, 1] > 0, X[:, 1] <= 0])


def test_the_middle_is_found_by_default(rng):
    X, scores = humped(rng, 2400)
    fitted = ConditionalCalibration(kernel=KernelShifts(), random_state=0).fit(X, scores)
    edge, middle = fitted.predict([[-0.9, 0.0], [0.0, 0.0]])
    assert middle > 1.5 * edge
    assert fitted.guarantee_.kind == "exact"
    assert f"l2 = {fitted.l2_:.3g}" in fitted.guarantee_.note


def test_penalty_and_bandwidth_settled_on_calibration_rows_are_approximate(rng):
    X, scores = humped(rng)
    assert rule("gaussian", "auto", tuning_size=0).fit(X, scores).guarantee_.kind == "approximate"
    assert rule().fit(X, scores).guarantee_.kind == "exact"


def test_units_of_a_column_do_not_matter_by_default_nor_those_of_the_scores(rng):
    X, scores = humped(rng)
    default = ConditionalCalibration(kernel=KernelShifts(), random_state=0)
    base = default.fit(X, scores).predict(X)
    units = [2.0**10, 2.0**-10]  # in which rows are divided alike
    assert_allclose(default.fit(X * units, scores).predict(X * units), base)
    assert_allclose(default.fit(X, 8 * scores).predict(X), 8 * base, rtol=1e-6)


def test_draws_and_threads(rng, monkeypatch):
    monkeypatch.setattr("plcp.groups.shifts.KernelProgram.rows_at_once", 10)
    X, scores = humped(rng)
    drawn = rule().set_params(randomized=True).fit(X, scores)
    q = drawn.predict(X)
    assert_array_equal(drawn.set_params(n_jobs=2).predict(X), q)
    assert (q <= rule().fit(X, scores).predict(X) + 1e-9).all()  # a draw is at most 1 - alpha


def test_too_large_is_refused_with_its_size_before_it_starts(rng):
    def never(X, Z):
        raise AssertionError("the kernel was computed")

    with pytest.raises(
        ValueError, match=r"5000 rows needs 0.7 GiB.*max_gigabytes = 0.1.*about \d+"
    ):
        rule(never, max_gigabytes=0.1).fit(rng.normal(size=(5000, 1)), rng.normal(size=5000))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "gaussian", "bandwidth": 0.0}, "bandwidth must be a positive number"),
        ({"kernel": "gaussian", "bandwidth": "wide"}, "bandwidth must be"),
        ({"kernel": "box"}, "kernel must be"),
        ({"l2": 0.0}, "l2 must be a positive number or 'auto', got 0.0"),
        ({"l2": "large"}, "l2 must be"),
        ({"tuning_size": 1.0}, r"tuning_size must lie in \[0, 1\), got 1.0"),
        ({"kernel": lambda X, Z: np.full((len(X), len(Z)), np.nan)}, "finite numbers, got nan"),
        ({"kernel": lambda X, Z: np.ones(len(X))}, "one number for each row of X and of Z"),
        ({"kernel": lambda X, Z: -SMOOTH(X, Z)}, "must be positive definite"),
        ({"kernel": lambda X, Z: X[:, :1] + 2 * Z[:, 0]}, "must be symmetric"),
    ],
)
def test_bad_kernels_are_refused(rng, options, message):
    X, scores = humped(rng)
    with pytest.raises(ValueError, match=message):
        rule(**options).fit(X, scores)


def test_weights_and_columns_of_text_are_refused(rng):
    X, scores = humped(rng)
    with pytest.raises(ValueError, match="sample_weight is not supported with a kernel"):
        rule().fit(X, scores, sample_weight=np.arange(1.0, 151.0))
    with pytest.raises(ValueError, match="column 'sex'"):
        rule().fit(pd.DataFrame({"sex": ["f", "m"] * 75}), scores)


def test_sorted_rows_settle_the_same_space(rng):
    """Scale and bandwidth are settled on rows from all over, in whatever order they come."""
    X = np.sort(rng.uniform(size=(1000, 1)), axis=0)
    shifts = KernelShifts(l2=0.1, tuning_size=0)
    fitted = ConditionalCalibration(kernel=shifts, random_state=0).fit(
        X, rng.exponential(size=1000)
    )
    assert_allclose(fitted._program.space.scale, X.std(), rtol=0.1)


def test_too_few_rows_to_choose_a_penalty():
    with pytest.raises(ValueError, match=r"l2='auto' needs at least 3 rows .*, got 1"):
        rule("gaussian", "auto").fit(np.arange(2.0)[:, None], np.arange(2.0))


def test_an_outlier_does_not_choose_the_penalty(rng):
    X, scores = humped(rng)
    scores[0] = 1e12
    fitted = rule("gaussian", "auto", tuning_size=0).fit(X, scores)
    assert fitted.l2_ > 1e-7
    assert (fitted.predict(X) < 100).mean() > 0.9

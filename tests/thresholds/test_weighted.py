"""What local rules share: rows that settle the space, scale, frames, and bad input."""

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from plcp import RLCP, LocalCP
from plcp.kernels import BoxKernel, GaussianKernel
from worlds import quietly

RULES = [LocalCP, RLCP]
both = pytest.mark.parametrize("rule", RULES)


def draw(rng, n=300, d=2):
    return rng.normal(size=(n, d)), rng.exponential(size=n)


@both
def test_tuning_rows_calibrate_nothing(rng, rule):
    X, scores = draw(rng)
    assert len(rule(random_state=0).fit(X, scores).scores_) == 240
    assert len(rule(random_state=0, tuning_size=0.5).fit(X, scores).scores_) == 150
    assert len(rule(random_state=0, tuning_size=0).fit(X, scores).scores_) == 300
    assert len(rule("box", np.inf).fit(X, scores).scores_) == 300
    assert len(rule(GaussianKernel(1.0)).fit(X, scores).scores_) == 300


@both
def test_the_space_knows_nothing_of_the_rows_that_calibrate(rng, rule):
    """The guarantee stands on it: other calibration rows, and the kernel stays the same."""
    X, scores = draw(rng)
    first = rule(random_state=0).fit(X, scores)
    calibrating = np.isin(scores, first.scores_)
    X[calibrating] *= 8  # a power of two, which leaves the division of rows alone
    second = rule(random_state=0).fit(X, scores)
    assert second.kernel_ == first.kernel_
    assert_array_equal(second._space.scale, first._space.scale)


@both
def test_a_guarantee_is_exact_only_where_calibrating_rows_settle_nothing(rng, rule):
    X, scores = draw(rng)
    for exact in (rule(), rule(BoxKernel(1.0)), rule(bandwidth=np.inf, tuning_size=0)):
        assert exact.fit(X, scores).guarantee_.kind == "exact"
    for fitted in (rule(tuning_size=0).fit(X, scores), rule().fit(X, scores, np.full(300, 2.0))):
        assert fitted.guarantee_.kind == "approximate"


@both
def test_units_do_not_matter_and_constant_columns_do_not_count(rng, rule):
    X, scores = draw(rng)
    X = np.round(X * 2**20) / 2**20  # so few digits that the change of units is exact
    plain = quietly(rule(random_state=0), X, scores, X)
    assert len(np.unique(plain)) > 1
    kernel = rule(random_state=0).fit(X, scores).kernel_
    scaled = np.column_stack([X * [8.0, 0.5], np.full(300, 0.1)])
    assert rule(random_state=0).fit(scaled, scores).kernel_ == kernel
    if rule is LocalCP:  # the other draws by the content of the row
        assert_array_equal(quietly(rule(random_state=0), scaled, scores, scaled), plain)


@both
def test_effective_size_widens_the_kernel(rng, rule):
    X, scores = draw(rng)
    sizes = [rule(random_state=0, effective_size=size).fit(X, scores) for size in (20, 60, 200)]
    widths = [fitted.kernel_.bandwidth for fitted in sizes]
    assert widths == sorted(set(widths))
    assert rule(effective_size=240).fit(X, scores).kernel_.bandwidth == np.inf
    assert rule().fit(X[:20], scores[:20]).kernel_.bandwidth == np.inf


@both
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_of_numbers(rng, rule, frame):
    X, scores = draw(rng)
    X[:, 1] = X[:, 1] > 0
    columns = {"a": X[:, 0], "b": X[:, 1].astype(bool)}
    expected = quietly(rule(random_state=0), X, scores, X)
    assert_array_equal(
        quietly(rule(random_state=0), frame(columns), scores, frame(columns)), expected
    )


@both
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_column_that_is_no_number_is_named(rule, frame):
    X = frame({"age": [1.0, 2.0], "sex": ["f", "m"]})
    with pytest.raises(ValueError, match=r"column 'sex' .* holds no numbers.*encode it"):
        rule().fit(X, [1.0, 2.0])


@both
def test_gaps_are_named(rule):
    X = pd.DataFrame({"age": pd.array([1, None, 3], dtype="Int64"), "b": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match=r"NaN at row 1, column 'age'.*imputer"):
        rule().fit(X, [1.0, 2.0, 3.0])
    fitted = rule("gaussian", np.inf).fit(X[["b"]], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"inf .infinity. at row 0, column 'b'"):
        fitted.predict(pd.DataFrame({"b": [np.inf]}))


@both
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bandwidth": 0}, "bandwidth must be a positive number.*got 0"),
        ({"bandwidth": -1.0}, "got -1.0"),
        ({"bandwidth": np.nan}, "got nan"),
        ({"bandwidth": "wide"}, "bandwidth must be a positive number or 'auto', got 'wide'"),
        ({"kernel": "triangle"}, "kernel must be one of 'gaussian', 'box', got 'triangle'"),
        ({"kernel": 3}, "kernel must be 'gaussian', 'box' or an object with a call"),
        ({"kernel": BoxKernel(1.0), "bandwidth": 2.0}, "bandwidth=2.0 is for the kernels known by"),
        ({"effective_size": 0}, "effective_size must be at least 1, got 0"),
        (
            {"effective_size": "many"},
            "effective_size must be a positive number or 'auto', got 'many'",
        ),
        ({"tuning_size": 1.0}, "tuning_size must lie in .0, 1., got 1.0"),
        ({"tuning_size": "half"}, "tuning_size must lie in"),
        ({"alpha": 1.2}, "alpha must lie in"),
    ],
)
def test_options_that_make_no_sense(rng, rule, options, message):
    with pytest.raises(ValueError, match=message):
        rule(**options).fit(*draw(rng))


@both
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (lambda X, Z: np.full((len(X), len(Z)), np.nan), "finite weights .* got nan"),
        (lambda X, Z: -np.ones((len(X), len(Z))), "not negative, got -1.0"),
        (lambda X, Z: np.ones(len(X)), r"shape \(300, 300\)|shape \(300, \d+\), got \(300,\)"),
    ],
)
def test_a_kernel_with_wrong_weights(rng, rule, weights, message):
    class Wrong:
        draw = staticmethod(lambda X, rng: X)
        __call__ = staticmethod(weights)

    X, scores = draw(rng)
    with pytest.raises(ValueError, match=message):
        rule(Wrong()).fit(X, scores).predict(X)


def test_a_function_will_do_for_local_but_not_for_rlcp(rng):
    X, scores = draw(rng)
    near = lambda X, Z: np.exp(-np.abs(X[:, :1] - Z[:, 0]))  # noqa: E731
    assert len(np.unique(LocalCP(near).fit(X, scores).predict(X))) > 1
    with pytest.raises(ValueError, match=r"a call .X, Z. and draw.X, rng., got <function"):
        RLCP(near).fit(X, scores)


def test_draws_of_a_wrong_shape(rng):
    class Wrong(BoxKernel):
        def draw(self, X, rng):
            return X[:, :1]

    X, scores = draw(rng)
    with pytest.raises(
        ValueError, match=r"one finite point per row, shape \(300, 2\), got shape \(300, 1\)"
    ):
        RLCP(Wrong(1.0)).fit(X, scores).predict(X)


@both
def test_values_too_large_for_a_distance(rng, rule):
    X, scores = draw(rng)
    X[:, 1] *= 1e307
    with pytest.raises(ValueError, match=r"column 1 of X is too large .* rescale it"):
        rule().fit(X, scores)


@both
def test_values_too_small_for_a_distance(rng, rule):
    X, scores = draw(rng)
    X[:, 1] *= 1e-200
    with pytest.raises(ValueError, match=r"column 1 of X is too small .* rescale it"):
        rule().fit(X, scores)


@pytest.mark.parametrize("rule", [LocalCP, partial(LocalCP, calibrated=False), RLCP])
def test_thresholds_are_those_of_the_alpha_fitted_at(rng, rule):
    X, scores = draw(rng)
    fitted = rule(alpha=0.3, random_state=0).fit(X, scores)
    expected = fitted.predict(X / 4)
    assert_array_equal(fitted.set_params(alpha=0.5).predict(X / 4), expected)


@both
def test_a_second_fit_leaves_nothing_of_the_first(rng, rule):
    X, scores = draw(rng)
    once = rule(random_state=0).fit(X, scores)
    twice = rule(random_state=0).fit(*draw(rng, 50, 5), np.ones(50)).fit(X, scores)
    assert once.guarantee_ == twice.guarantee_
    assert vars(once).keys() == vars(twice).keys()
    points = rng.normal(size=(20, 2))
    assert_array_equal(quietly(once, X, scores, points), quietly(twice, X, scores, points))


@both
def test_a_progress_bar_for_those_who_ask(rng, rule, capsys):
    X, scores = draw(rng)
    rule("box", np.inf, verbose=True).fit(X, scores).predict(X)
    assert rule.__name__ in capsys.readouterr().err

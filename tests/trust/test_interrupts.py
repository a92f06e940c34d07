"""Whatever stops a fit leaves the earlier fit, or none: never a mix of the old and the new."""

import copy
import warnings

import numpy as np
import pytest
from interrupting import Lines, left_after, moments, own_files, state
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from stopping import seconds_of, stopped_after

from estimators import CASES, answer, make_rows
from plcp import PLCP, ConformalRegressor, LinearQuantile, OrderedPartition
from plcp.regressors import CrossFitted

pytestmark = pytest.mark.slow

X = make_rows(1, 50)[0]
N_RANDOM, N_LAST, N_SIGNALS = 2, 2, 8


@pytest.fixture(autouse=True)
def _descents_may_end_early():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def target(case, rows):
    return rows[2] if case.classes else rows[1]


def test_a_fit_stopped_at_any_line_leaves_the_one_before(case, rows, rng):
    other = make_rows(5)
    after = answer(case.fit(other), X)
    lines = Lines(own_files(case.estimator))
    with lines.watched():
        case.fit(other)
    fitted = case.fit(rows)
    found = [
        left_after(
            lambda each: each.fit(other[0], target(case, other)),
            copy.copy(fitted),
            Lines(lines.files, stop_at),
            X,
            after,
        )
        for stop_at in moments(lines.seen, N_RANDOM, N_LAST, rng)
    ]
    assert "old" in found


def test_a_first_fit_that_is_stopped_leaves_nothing_fitted(case, rows, rng):
    lines = Lines(own_files(case.estimator))
    with lines.watched():
        case.fit(rows)
    estimator = clone(case.estimator)
    before, stop = state(estimator), Lines(lines.files, int(rng.integers(2, lines.seen // 2)))
    with pytest.raises(KeyboardInterrupt), stop.watched():
        estimator.fit(rows[0], target(case, rows))
    assert state(estimator) == before
    with pytest.raises(NotFittedError):
        answer(estimator, X)


class Piecemeal(BaseEstimator):
    """An estimator as most are written: one attribute after the other."""

    def fit(self, X, y):
        self.low_ = np.min(y)
        self.high_ = np.max(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.high_ - self.low_)


def test_a_mix_of_old_and_new_would_be_noticed(rows):
    def outcome(stop_at):
        lines = Lines({__file__}, stop_at)  # its first line is the lambda's
        estimator = Piecemeal().fit(X, [0.0, 1.0])
        after = answer(Piecemeal().fit(X, [5.0, 9.0]), X)
        return left_after(lambda each: each.fit(X, [5.0, 9.0]), estimator, lines, X, after)

    assert outcome(1) == "old"
    with pytest.raises(AssertionError):
        outcome(3)  # after the lowest, before the highest


# what a signal stops while it is being made complains as it goes
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", ["plcp", "plcp, lightgbm", "local", "intervals", "plcp, network"])
def test_ctrl_c_at_random_moments(name, rows, rng):
    """A signal, as the terminal sends it: it also comes while threads and foreign code run."""
    case, other = CASES[name], make_rows(5)
    jobs = {"n_jobs": 2} if "n_jobs" in case.estimator.get_params(deep=False) else {}
    seconds = seconds_of(lambda: case.fit(other, **jobs))
    after = answer(case.fit(other, **jobs), X)
    fitted = case.fit(rows, **jobs)
    answered = answer(fitted, X)
    for moment in rng.uniform(0, seconds, N_SIGNALS):
        estimator = copy.copy(fitted)
        stopped = stopped_after(moment, lambda e=estimator: e.fit(other[0], target(case, other)))
        whole = answered if state(estimator) == state(fitted) else after
        if stopped or name != "plcp, network":  # a descent that is stopped ends early
            assert_array_equal(answer(estimator, X), whole, strict=True)


class Faulty(RegressorMixin, BaseEstimator):
    """An index that fails where its rows hold a certain number."""

    def fit(self, X, y, sample_weight=None):
        if (X == 666).any():
            raise RuntimeError("the disk of this worker is full")
        self.line_ = LinearQuantile().fit(X, y)
        return self

    def predict(self, X):
        return self.line_.predict(X)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    "make",
    [
        lambda n_jobs: PLCP(OrderedPartition(Faulty()), 2, n_jobs=n_jobs, random_state=0),
        lambda n_jobs: CrossFitted(Faulty(), n_jobs=n_jobs, random_state=0),
        lambda n_jobs: ConformalRegressor(
            LinearQuantile(),
            threshold=PLCP(OrderedPartition(Faulty()), 2, n_jobs=n_jobs),
            random_state=0,
        ),
    ],
    ids=["plcp", "cross-fitted", "intervals"],
)
def test_a_worker_that_fails_is_heard_and_leaves_the_fit_before(make, n_jobs, rows):
    estimator = make(n_jobs).fit(rows[0], rows[1])
    before, answered = state(estimator), answer(estimator, X)
    bad = make_rows(5)
    bad[0][7, 1] = 666
    with pytest.raises(RuntimeError, match="disk of this worker"):
        estimator.fit(bad[0], bad[1])
    assert state(estimator) == before
    assert_array_equal(answer(estimator, X), answered, strict=True)

"""Simulated tasks: their noise is as documented, and their coverage is exact."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kstest, norm, uniform

from bands import FALSE_ALARM, binomial_band
from plcp.datasets import make_nonlinear, make_synthetic, make_toy

TASKS = {
    "toy": (make_toy, 1),
    "synthetic": (make_synthetic, 100),
    "nonlinear": (make_nonlinear, 20),
}
every_task = pytest.mark.parametrize(("make", "d"), TASKS.values(), ids=TASKS)


@every_task
def test_shapes_and_seeds(make, d):
    task = make(50, random_state=1)
    assert task.X.shape == (50, d)
    assert task.y.shape == task.mean.shape == task.sigma.shape == task.scores.shape == (50,)
    assert_array_equal(make(50, random_state=1).y, task.y)
    assert (make(50, random_state=2).y != task.y).all()
    assert_array_equal(task.scores, np.abs(task.y - task.mean))


@every_task
def test_noise_is_normal_with_the_scale_it_states(make, d):
    task = make(5000, random_state=0)
    noise = (task.y - task.mean) / task.sigma
    assert kstest(noise, norm.cdf).pvalue > FALSE_ALARM
    assert (task.sigma > 0).all()


@every_task
def test_conditional_coverage_is_that_of_the_normal_law(make, d):
    task = make(3000, random_state=0)
    exact = task.sigma * norm.ppf(0.95)
    assert_allclose(task.conditional_coverage(exact), 0.9)
    low, high = binomial_band(3000, 0.9)
    assert low <= (task.scores <= exact).sum() <= high
    assert_array_equal(task.conditional_coverage(np.full(3000, -1.0)), 0)
    assert_array_equal(task.conditional_coverage(np.full(3000, np.inf)), 1)


def test_coverage_of_a_wrong_prediction_is_smaller_and_exact(rng):
    task = make_toy(4000, random_state=0)
    prediction = task.mean + rng.normal(size=4000)
    q = np.full(4000, 1.5)
    coverage = task.conditional_coverage(q, prediction)
    assert (coverage < task.conditional_coverage(q)).all()
    below, above = ((prediction + side * q - task.mean) / task.sigma for side in (-1, 1))
    assert_allclose(coverage, norm.cdf(above) - norm.cdf(below))
    covered = (np.abs(task.y - prediction) <= q).sum()
    low, high = binomial_band(4000, coverage.mean())  # unequal Bernoullis vary less
    assert low <= covered <= high


def test_laws_of_the_paper():
    toy = make_toy(1000, random_state=0)
    assert_array_equal(toy.mean, toy.X[:, 0])
    assert_allclose(toy.sigma**2, np.where(toy.X[:, 0] < 0, 1, 2))
    assert kstest(toy.X[:, 0], uniform(-1, 2).cdf).pvalue > FALSE_ALARM
    synthetic = make_synthetic(1000, random_state=0)
    binary = synthetic.X[:, :10]
    assert set(np.unique(binary)) == {0.0, 1.0}
    assert_allclose(synthetic.sigma**2, 0.1 + binary @ np.arange(1, 11))
    again = make_synthetic(1000, random_state=5)
    coef = np.linalg.lstsq(synthetic.X, synthetic.mean)[0]
    assert_allclose(again.X @ coef, again.mean)  # one θ for every sample of a task


def test_noise_by_deviation_is_that_of_jung_and_others_code():
    ours, theirs = (make_synthetic(500, random_state=3, noise=n) for n in ("variance", "deviation"))
    assert_allclose(theirs.sigma, 0.25 + theirs.X[:, :10] @ np.arange(1, 11))
    assert_array_equal(theirs.X, ours.X)
    assert_array_equal(theirs.mean, ours.mean)
    # the same draws of noise, on another scale
    assert_allclose((theirs.y - theirs.mean) / theirs.sigma, (ours.y - ours.mean) / ours.sigma)


def test_noise_of_no_kind_is_refused():
    with pytest.raises(ValueError, match="noise must be one of 'variance', 'deviation', got 'sd'"):
        make_synthetic(5, noise="sd")

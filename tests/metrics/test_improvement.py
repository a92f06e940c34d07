"""Percentage gained over a reference, where it is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import t as student

from bands import binomial_band
from plcp.metrics import compare, coverage, hsic, improvement, mean_size, size_correlation
from size_worlds import label_sets


def noisy_sizes(rng, covered, effect):
    return 5 + effect * covered + rng.normal(size=len(covered))


def correlation(effect, p=0.8):
    spread = np.sqrt(p * (1 - p))
    return effect * spread / np.sqrt(1 + effect**2 * p * (1 - p))


@pytest.mark.parametrize("metric", [hsic, size_correlation])
def test_percentage_is_that_of_feldman(rng, metric):
    covered, size = label_sets(rng)
    reference, measure = metric(covered, size), metric(covered, size % 3)
    found = improvement(measure, reference)
    assert_allclose(found.estimate, 100 * (1 - abs(measure.estimate / reference.estimate)))
    assert_allclose(found.terms.mean(), found.estimate)
    assert found.low < found.estimate < found.high <= 100


def test_a_method_gains_nothing_over_itself(rng):
    measure = hsic(*label_sets(rng))
    found = improvement(measure, measure)
    # the discriminant rounds at 1e-16, its root at 1e-8
    assert_allclose([found.estimate, found.low, found.high], 0, atol=1e-5)
    assert_allclose(found.terms, 0, atol=1e-9)


def test_sign_of_the_dependence_is_nothing(rng):
    covered, size = label_sets(rng)
    reference = size_correlation(covered, size)
    up, down = size_correlation(covered, size % 3), size_correlation(covered, 2 - size % 3)
    one, other = improvement(up, reference), improvement(down, reference)
    assert_allclose([one.low, one.high], [other.low, other.high])
    assert_allclose(one.terms, other.terms)


def test_ends_are_where_the_paired_difference_just_vanishes(rng):
    one, two = mean_size(rng.gamma(2, size=50)), mean_size(rng.gamma(9, size=50))
    found = improvement(one, two)
    for end in (found.low, found.high):
        differences = one.terms - (1 - end / 100) * two.terms
        error = differences.std() / np.sqrt(49)
        assert_allclose(abs(differences.mean()) / error, student.isf(0.025, 49))


def test_weights_are_copies(rng):
    (covered, size), counts = label_sets(rng, 30), rng.integers(0, 4, 30)
    copies = np.repeat(np.arange(30), counts)
    weighted, copied = (
        improvement(hsic(c, size % 3, sample_weight=w), hsic(c, size, sample_weight=w))
        for size, c, w in ((size, covered, counts), (size[copies], covered[copies], None))
    )
    for name in ("estimate", "low", "high", "standard_error"):
        assert_allclose(getattr(weighted, name), getattr(copied, name))


@pytest.mark.parametrize("effect", [0.0, 0.5])
def test_interval_holds(rng, effect):
    runs, held = 600, 0
    truth = 100 * (1 - correlation(effect) / correlation(1.0))
    for _ in range(runs):
        covered = rng.uniform(size=400) < 0.8
        reference = size_correlation(covered, noisy_sizes(rng, covered, 1.0))
        found = improvement(size_correlation(covered, noisy_sizes(rng, covered, effect)), reference)
        held += found.low <= truth <= found.high
    assert binomial_band(runs, 0.94)[0] <= held <= binomial_band(runs, 0.97)[1]


def test_a_reference_that_may_be_zero_bounds_nothing(rng):
    covered = np.arange(200) % 10 > 0
    size = np.arange(200) // 10 % 5.0  # independent of coverage but for one row
    size[0] += 1
    found = improvement(size_correlation(covered, size + covered), size_correlation(covered, size))
    assert (found.low, found.high) == (-np.inf, 100)


def test_a_reference_of_one_size_is_refused(rng):
    covered, size = label_sets(rng)
    with pytest.raises(ValueError, match=r"HSIC of the reference is exactly 0, .* clip its sets"):
        improvement(hsic(covered, size), hsic(covered, np.ones(300)))
    with pytest.raises(ValueError, match=r"size is 1\.0 in all 300 rows"):
        size_correlation(covered, np.ones(300))


def test_measures_of_other_rows_are_refused(rng):
    covered, size = label_sets(rng)
    with pytest.raises(ValueError, match="differ in number of rows, 300 and 299"):
        improvement(hsic(covered, size), hsic(covered[1:], size[1:]))
    with pytest.raises(ValueError, match="two rows at least, got 1"):
        improvement(coverage([True]), coverage([True]))


def test_improvements_are_compared_too(rng):
    covered, size = label_sets(rng)
    reference = hsic(covered, size)
    gains = {f"mod {k}": improvement(hsic(covered, size % k), reference) for k in (2, 3)}
    found = compare(gains).differences["mod 3"]
    assert_allclose(found.estimate, gains["mod 3"].estimate - gains["mod 2"].estimate)

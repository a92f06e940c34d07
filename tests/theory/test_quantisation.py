"""Bits for a quantisation error: the least number of groups whose bound is small enough."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from plcp.theory import (
    population_excess,
    quantisation_bits,
    sharp_population_excess,
    sharp_quantisation_bits,
)
from strategies import alphas, few

errors = st.floats(1e-3, 10)
variances = st.floats(1e-3, 10)
ROOM = 1 + 1e-9


def levels(bits):
    return round(2 ** float(bits))


@given(errors, variances)
@few
def test_groups_are_the_fewest_for_theorem_3_6(error, variance):
    m = levels(quantisation_bits(error, variance))
    assert population_excess(m, variance) <= error * ROOM
    assert m == 2 or population_excess(m - 1, variance) > error / ROOM


@given(errors, variances, alphas)
@few
def test_groups_are_the_fewest_for_the_sharp_bound(error, variance, alpha):
    m = levels(sharp_quantisation_bits(error, variance, alpha=alpha))
    assert sharp_population_excess(m, variance, alpha=alpha) <= error * ROOM
    assert m == 1 or sharp_population_excess(m - 1, variance, alpha=alpha) > error / ROOM


@given(errors, variances, alphas)
@few
def test_sharp_bits_are_never_more(error, variance, alpha):
    assert sharp_quantisation_bits(error, variance, alpha=alpha) <= quantisation_bits(
        error, variance
    )


def test_half_the_bits_suffice_for_a_small_error():
    """Up to a constant: halving the error costs two bits by the paper's bound, one by ours."""
    errors = 0.5 ** np.arange(10, 14)
    assert np.diff(quantisation_bits(errors, 1.0)) == pytest.approx(2, abs=1e-3)
    assert np.diff(sharp_quantisation_bits(errors, 1.0, alpha=0.1)) == pytest.approx(1, abs=1e-2)


def test_the_one_that_remark_b1_lacks_is_needed():
    """4 var / error² = 4 groups have an excess bound above the error; 5 do not."""
    assert population_excess(4, 1.0) > 1.0
    assert levels(quantisation_bits(1.0, 1.0)) == 5


def test_nothing_to_tell_apart_needs_no_bits():
    assert quantisation_bits(0.1, 0.0) == 0
    assert sharp_quantisation_bits(0.1, 0.0, alpha=0.1) == 0

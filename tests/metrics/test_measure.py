"""A mean with Student's interval, against scipy's own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose
from scipy.stats import sem, ttest_1samp

from plcp.metrics.measure import Measure, mean_measure
from strategies import few

levels = st.sampled_from([0.5, 0.9, 0.95, 0.99])
# of spread, so that neither formula divides rounding by rounding
spread = hnp.arrays(float, st.integers(2, 40), elements=st.integers(-50, 50).map(float)).filter(
    lambda terms: np.ptp(terms) > 0
)


@few
@given(spread, levels)
def test_interval_is_that_of_student(terms, confidence):
    measure = mean_measure("mean", terms, confidence=confidence)
    expected = ttest_1samp(terms, 0).confidence_interval(confidence)
    assert_allclose([measure.low, measure.high], expected, rtol=1e-9, atol=1e-9)
    assert_allclose(measure.standard_error, sem(terms), rtol=1e-9)
    assert float(measure) == measure.estimate
    assert measure.estimate == pytest.approx(terms.mean(), rel=1e-12, abs=1e-12)
    assert not measure.exact


@few
@given(spread, st.data())
def test_weights_count_rows_and_order_does_not(terms, data):
    counts = data.draw(hnp.arrays(np.intp, len(terms), elements=st.integers(0, 4)))
    counts[0] += 2
    order = np.array(data.draw(st.permutations(range(len(terms)))))
    copied = mean_measure("mean", np.repeat(terms, counts))
    weighted = mean_measure("mean", terms[order], counts[order].astype(float))
    for field in ("estimate", "low", "high", "standard_error"):
        assert_allclose(getattr(weighted, field), getattr(copied, field), rtol=1e-9, atol=1e-9)


@few
@given(spread)
def test_interval_stays_within_what_is_possible(terms):
    limits = (terms.min(), terms.max())
    measure = mean_measure("mean", terms, limits=limits)
    assert limits[0] <= measure.low <= measure.estimate + 1e-9
    assert measure.estimate - 1e-9 <= measure.high <= limits[1]


@pytest.mark.parametrize("weights", [None, np.array([1.0])])
def test_one_row_says_nothing_of_spread(weights):
    measure = mean_measure("mean", np.array([0.3]), weights, limits=(-1, 1))
    assert (measure.estimate, measure.low, measure.high) == (0.3, -1, 1)
    assert np.isnan(measure.standard_error)


def test_a_measure_tells_itself():
    table = {"group": np.array(["a", "b"]), "n": np.array([1, 2])}
    measure = Measure(
        "MSCE", 0.25, 0.2, 0.3, 0.9, 0.03, exact=False, meaning="holds x", table=table
    )
    assert str(measure) == "MSCE: 0.25, 90 % interval [0.2, 0.3]"
    assert measure.to_dict() == {
        "name": "MSCE",
        "estimate": 0.25,
        "low": 0.2,
        "high": 0.3,
        "confidence": 0.9,
        "standard_error": 0.03,
        "exact": False,
        "meaning": "x",
        "table": {"group": ["a", "b"], "n": [1, 2]},
    }
    assert measure.to_frame().to_dict("list") == measure.to_dict()["table"]

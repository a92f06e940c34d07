"""Paired comparisons of methods on the same rows."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2, norm, ttest_rel

from plcp.metrics import Measure, compare, coverage, interval_score, mean_size, size_correlation
from plcp.metrics.binomial import holm
from plcp.metrics.ert import excess_risk, predict_coverage
from plcp.metrics.measure import tango


def sizes(rng, n=60):
    base = rng.gamma(2, size=n)
    return {name: mean_size(base + rng.normal(5, 0.1, size=n)) for name in ("a", "b", "c")}


def test_differences_of_symmetric_terms_are_those_of_the_paired_t_test(rng):
    half, base = rng.normal(size=30), rng.gamma(2, size=60)
    other = base + 5 + 0.1 + np.concatenate([half, -half])
    found = compare({"a": mean_size(base), "b": mean_size(other)}).differences["b"]
    student = ttest_rel(other, base)
    assert_allclose(found.p_value, student.pvalue)
    assert_allclose((found.low, found.high), student.confidence_interval(0.95))


def test_order_of_rows_is_nothing_and_weights_are_copies(rng):
    one, two, counts = rng.gamma(2, size=20), rng.gamma(3, size=20), rng.integers(0, 4, 20)
    copies = rng.permutation(np.repeat(np.arange(20), counts))
    for metric, mine, its in ((mean_size, one, two), (coverage, one > 1, two > 2)):
        weighted = compare(
            {"a": metric(mine, sample_weight=counts), "b": metric(its, sample_weight=counts)}
        )
        copied = compare({"a": metric(mine[copies]), "b": metric(its[copies])})
        assert_allclose(weighted.differences["b"], copied.differences["b"])
        a, b = copied.measures.values()
        assert_allclose(copied.differences["b"].estimate, b.estimate - a.estimate)


def test_the_reference_turns_the_sign_and_p_values_are_corrected(rng):
    results = sizes(rng)
    found = compare(results, reference="b")
    assert list(found.differences) == ["a", "c"]
    forth, back = found.differences["a"], compare(results, reference="a").differences["b"]
    assert_allclose((forth.estimate, forth.low), (-back.estimate, -back.high))
    assert_allclose(
        list(found.p_holm.values()), holm([d.p_value for d in found.differences.values()])
    )
    assert found.ranking == sorted(results, key=lambda name: results[name].estimate)


def test_comparison_as_frame_dict_and_text(rng):
    found = compare(sizes(rng), confidence=0.9)
    frame = found.to_pandas()
    assert_array_equal(frame["method"], ["a", "b", "c"])
    assert frame["difference"].isna().tolist() == [True, False, False]
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["reference"] == "a"
    assert plain["table"]["p_holm"][1:] == list(found.p_holm.values())
    lines = str(found).splitlines()
    assert len(lines) == 4
    assert "90 % interval" in lines[0]


@pytest.mark.parametrize(("gained", "lost", "n"), [(8, 2, 100), (1, 0, 50), (3, 3, 6), (0, 9, 9)])
def test_ends_of_tango_are_where_the_constrained_score_test_just_rejects(gained, lost, n):
    def score(difference):
        # likelihood of (gained, lost) maximised over P(lost), on a grid, for a given difference
        lowest, highest = max(0.0, -difference), (1 - difference) / 2
        grid = np.linspace(lowest, highest, 400_001)[1:-1]
        rest = 1 - 2 * grid - difference
        log = gained * np.log(grid + difference) + lost * np.log(grid)
        best = grid[np.argmax(log + (n - gained - lost) * np.log(rest))]
        variance = (2 * best + difference - difference**2) / n
        return ((gained - lost) / n - difference) ** 2 / variance

    found = tango(gained, lost, n, 0.95)
    for end in (found.low, found.high):
        if abs(end) < 1 - 1e-9:
            # the grid of 4e5 points moves the variance by less than a thousandth
            assert_allclose(score(end), chi2.isf(0.05, 1), rtol=1e-3)
    differing = gained + lost
    assert_allclose(found.p_value, chi2.sf((gained - lost) ** 2 / differing, 1))


def test_methods_that_never_differ_have_an_interval_about_zero():
    found = tango(0, 0, 100, 0.95)
    z = norm.isf(0.025) ** 2
    # Wilson's end for none of 100
    assert_allclose((found.low, found.high), (-z / (100 + z), z / (100 + z)))
    assert (found.estimate, found.p_value) == (0, 1)


def test_errors_that_differ_in_few_rows_differ_by_chance(rng):
    x, covered = rng.uniform(size=(400, 1)), rng.uniform(size=400) < 0.9
    few = covered.copy()
    few[np.flatnonzero(~covered)[:4]] = True
    one = excess_risk(predicted := predict_coverage(x, covered), covered, 0.1, "L1")
    for other in (one, excess_risk(predicted, few, 0.1, "L1")):
        found = compare({"one": one, "other": other}).differences["other"]
        back = compare({"one": one, "other": other}, "other").differences["one"]
        assert found.low < 0 < found.high
        assert_allclose((found.low, found.high), (-back.high, -back.low))


def test_rounding_is_no_difference(rng):
    size, covered = rng.gamma(2, size=500), rng.uniform(size=500) < 0.9
    one, other = size_correlation(covered, size), size_correlation(covered, size / 3)
    assert compare({"a": one, "b": other}).differences["b"] == (0, 0, 0, 1)


def test_coverage_of_a_group_is_compared_by_its_mask(rng):
    one, two, mask = rng.uniform(size=(3, 80)) < [[0.9], [0.7], [0.5]]
    whole = {"a": coverage(one, sample_weight=mask), "b": coverage(two, sample_weight=mask)}
    part = {"a": coverage(one[mask]), "b": coverage(two[mask])}
    assert compare(whole).differences == compare(part).differences


HALF = coverage([True, False])


@pytest.mark.parametrize(
    ("results", "options", "message"),
    [
        ([HALF, HALF], {}, "results must be a mapping of names to measures, got list: pass"),
        ({"a": HALF}, {}, r"two methods at least, got \['a'\]"),
        ({"a": HALF, "b": HALF}, {"reference": "c"}, r"one of \['a', 'b'\], got 'c'"),
        ({"a": HALF, "b": HALF}, {"confidence": 0}, r"confidence must lie in \(0, 1\), got 0"),
        ({"a": HALF, "b": 0.5}, {}, "'b' must be a Measure, got float"),
        ({"a": HALF, "b": mean_size([1, 2])}, {}, "differ in metric, 'coverage' and 'mean size'"),
        ({"a": HALF, "b": coverage([True])}, {}, "differ in number of rows, 2 and 1"),
        ({"a": HALF, "b": coverage([True, False], confidence=0.9)}, {}, "in confidence, 0.95"),
        ({"a": HALF, "b": coverage([1, 0], sample_weight=[1, 2])}, {}, "different sample_weight"),
        (
            {name: interval_score([[0, np.inf]], [1], 0.1) for name in "ab"},
            {},
            "interval score of 'a' has no finite number for each row",
        ),
        (
            {name: Measure("x", 1.0, 0.0, 2.0, 0.95, 0.1, exact=False) for name in "ab"},
            {},
            "x of 'a' has no finite number for each row",
        ),
    ],
)
def test_errors_name_the_value_and_the_remedy(results, options, message):
    with pytest.raises(ValueError, match=message):
        compare(results, **options)

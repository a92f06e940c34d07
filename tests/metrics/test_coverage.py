"""Coverage by group, against counting by hand."""

from numpy.testing import assert_allclose, assert_array_equal

from plcp.metrics import coverage_by_group


def test_coverage_by_group_counts(rng):
    covered, size = rng.integers(0, 2, 50).astype(bool), rng.uniform(size=50)
    groups = rng.choice(["a", "b", "c"], 50)
    table = coverage_by_group(covered, size, groups)
    for label, n, coverage, mean_size in zip(*table, strict=True):
        rows = groups == label
        assert n == rows.sum()
        assert coverage == covered[rows].mean()
        assert_allclose(mean_size, size[rows].mean())
    assert_array_equal(table.group, ["a", "b", "c"])

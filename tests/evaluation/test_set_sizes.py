"""The histogram of sizes counts every set, on edges that people can read."""

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from hypothesis.extra import numpy as hnp

from plcp.evaluation import Outcome
from plcp.evaluation.summary import BARS, histogram
from strategies import few

sizes = st.integers(1, 60).flatmap(
    lambda n: st.tuples(
        *(
            hnp.arrays(float, n, elements=st.floats(0, 1e12) | st.sampled_from([0.0, 3.0, np.inf]))
            for _ in range(2)
        )
    )
)


def outcome(size):
    return Outcome(np.ones(len(size), dtype=bool), np.asarray(size, dtype=float))


@few
@given(sizes)
def test_every_finite_set_is_in_one_bar(drawn):
    found = histogram({"Split": outcome(drawn[0]), "PLCP": outcome(drawn[1])}, labels=False)
    if not np.isfinite(drawn).any() or len(np.unique(drawn)) == 1:
        assert found is None
        return
    assume(found is not None)  # sizes that differ by less than a billionth count as one
    edges = np.array(found["edges"])
    assert (np.diff(edges) > 0).all()
    assert 2 <= len(edges) <= BARS + 3
    for size, counts in zip(drawn, found["counts"].values(), strict=True):
        finite = size[np.isfinite(size)]
        assert sum(counts) == len(finite)
        # all but the last bar, which also has what is larger, by counting
        for i, count in enumerate(counts[:-1]):
            slack = 1e-9 * edges[-1]
            assert count >= ((finite >= edges[i] + slack) & (finite < edges[i + 1] - slack)).sum()
            assert count <= ((finite >= edges[i] - slack) & (finite < edges[i + 1] + slack)).sum()
    for name, size in zip(("Split", "PLCP"), drawn, strict=True):
        infinite = np.isinf(size).sum()
        assert (f"infinite set of {name}" in found["note"]) == (infinite > 0)


@few
@given(hnp.arrays(float, st.integers(1, 40), elements=st.integers(0, 25).map(float)))
def test_numbers_of_labels_have_a_bar_each(size):
    found = histogram({"ours": outcome(size)}, labels=True)
    if len(np.unique(size)) == 1:
        assert found is None
        return
    edges = np.array(found["edges"])
    np.testing.assert_allclose(np.diff(edges), 1)
    centres = (edges[:-1] + edges[1:]) / 2
    assert found["counts"]["ours"] == [int((size == centre).sum()) for centre in centres]


def test_edges_are_round_and_a_long_tail_shares_the_last_bar(rng):
    size = np.r_[rng.uniform(0, 30, size=1000), 5000.0]
    found = histogram({"ours": outcome(size)}, labels=False)
    assert found["edges"][:3] == [0, 1, 2]
    assert len(found["edges"]) <= BARS + 3
    assert found["note"] == "The last bar holds all larger sets too, up to 5000."
    assert sum(found["counts"]["ours"]) == 1001


@pytest.mark.parametrize("size", [0.0, 3.4, 1e-320, 1e99])
def test_one_size_is_told_by_its_mean_unless_others_are_infinite(size):
    assert histogram({"ours": outcome([size] * 7)}, labels=False) is None
    found = histogram({"ours": outcome([size] * 7 + [np.inf])}, labels=False)
    assert sum(count > 0 for count in found["counts"]["ours"]) == 1
    assert sum(found["counts"]["ours"]) == 7
    assert found["note"] == "1 row with an infinite set of ours not shown."

"""Products of whole numbers against Python's own, which are exact."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from plcp.out_of_core import linear as whole
from plcp.out_of_core.linear import exact_product
from strategies import few

sizes = st.sampled_from([1.0, 2.0**14, 2.0**15, 2.0**26, 2.0**40, 2.0**53, 1e100, 1e300])


@st.composite
def whole_columns(draw, n, seed):
    """Columns of whole numbers, each of a size of its own, and a few at the very edges."""
    rng = np.random.default_rng(seed)
    columns = [np.rint(rng.uniform(-size, size, n)) for size in draw(st.lists(sizes, min_size=1))]
    columns.append(rng.choice([-(2.0**26), -(2.0**15), 0.0, 2.0**15, 2.0**26], n))
    return np.column_stack(columns)


@few
@given(data=st.data(), n=st.integers(0, 50), seed=st.integers(0, 2**32))
def test_the_product_is_exact(data, n, seed):
    left, right = data.draw(whole_columns(n, seed)), data.draw(whole_columns(n, seed + 1))
    wanted = [
        [sum(int(a) * int(b) for a, b in zip(x, y, strict=True)) for y in right.T] for x in left.T
    ]
    assert exact_product(left, right).tolist() == wanted


def test_many_rows_of_the_largest_digits_do_not_overflow(monkeypatch):
    n = 3 * whole.ROWS + 1
    left, right = np.full((n, 1), 2.0**whole.LEFT), np.full((n, 1), 2.0**whole.RIGHT)
    wanted = [[n * 2 ** (whole.LEFT + whole.RIGHT)]]
    assert exact_product(left, right).tolist() == wanted
    monkeypatch.setattr(whole, "MOST_ROWS", whole.ROWS + 7)
    assert exact_product(left, right).tolist() == wanted


def test_odd_sums_at_the_edge_of_what_is_exact():
    """One more bit, and the odd number would be rounded."""
    left = np.full((whole.ROWS, 1), 2.0**whole.LEFT)
    right = np.full((whole.ROWS, 1), 2.0**whole.RIGHT)
    left[0], right[0] = 2.0**whole.LEFT - 1, 2.0**whole.RIGHT - 1
    wanted = sum(int(a) * int(b) for a, b in zip(left[:, 0], right[:, 0], strict=True))
    assert exact_product(left, right).tolist() == [[wanted]]


def test_numbers_beyond_all_bounds_are_refused():
    with pytest.raises(ValueError, match="so far apart"):
        exact_product(np.ones((1, 1)), np.array([[np.inf]]))

"""The elbow's tableau: pivots against columns worked out afresh, and a path back to its start."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from plcp.exceptions import ProgramError
from plcp.quantile_programs.kernel import Pivots, Position, Tableau, follow


@pytest.fixture
def matrix(rng):
    factor = rng.normal(size=(8, 8))
    return factor @ factor.T + np.eye(8)


def test_pivots_give_the_columns_of_the_elbow_as_it_is(rng, matrix):
    members, right = {0, 1, 2}, rng.normal(size=8)
    pivots = Pivots(Tableau(matrix, np.array([0, 1, 2])))
    direction = pivots.tableau.direction(right)
    for row in [3, 1, 3, 1, 3, 4, 1, 0]:
        direction = pivots.turn(row, pivots.column(row), direction)
        members ^= {row}
        afresh = Tableau(matrix, np.array(sorted(members)))
        assert_allclose(direction, afresh.direction(right), atol=1e-10)
        for other in range(8):
            assert_allclose(pivots.column(other), afresh.column(other), atol=1e-10)


def test_directions_keep_residuals_of_members_and_duals_of_others(rng, matrix):
    members, right = np.array([1, 4, 6]), rng.normal(size=(2, 8))
    change = Tableau(matrix, members).direction(right)
    moved, residuals = np.zeros((2, 8)), change.copy()
    moved[:, members], residuals[:, members] = change[:, members], 0.0
    assert_allclose(moved @ matrix + residuals, right, atol=1e-10)


def test_the_way_there_and_back(rng, matrix):
    # All rows are below a fit that meets none of them; rows enter and leave on the way.
    values, level = -rng.uniform(size=8), 0.7
    none = np.zeros(8, dtype=bool)
    start = Position(values, np.full(8, -np.inf), np.zeros(8), none, level)
    right = 20 * rng.normal(size=8)
    there = follow(Tableau(matrix, start.members()), start, right)
    assert there.elbow.any()
    left_side = there.point() @ matrix + there.residuals()
    assert_allclose(left_side, start.point() @ matrix + start.residuals() + right, atol=1e-10)
    back = follow(Tableau(matrix, there.members()), there, -right)
    assert_allclose(back.values, values, atol=1e-10)
    assert_array_equal(start.values, values)


def test_dependent_rows_are_an_error():
    with pytest.raises(ProgramError, match=r"3 rows and coefficients .* are dependent"):
        Tableau(np.ones((4, 4)), np.arange(3))

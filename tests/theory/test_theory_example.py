"""The example runs as it stands, and what it measures lies under what it draws above it."""

from test_examples import is_picture, run


def test_theory_prints_measurements_under_their_bounds_and_draws_them(tmp_path):
    text = run("plot_theory.py", tmp_path, "--output", str(tmp_path / "figures"))
    rows = [[float(value) for value in line.split()] for line in text.splitlines()[1:]]
    assert [row[0] for row in rows] == [2, 4, 8, 16, 32, 64]
    for _, excess, sharp, paper, error, bound in rows:
        assert excess < sharp < paper
        assert error < bound
    assert is_picture(tmp_path / "figures" / "theory.png")

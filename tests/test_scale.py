"""The benchmark of scale: its rows, its laws, its pages, and that every part of it runs."""

import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

import scale_data  # noqa: E402
import scale_laws  # noqa: E402
import scale_page  # noqa: E402
import scale_words  # noqa: E402


def test_tables_are_drawn_from_the_records():
    results = scale_page.load()
    written = (scale_page.FOLDER / "scale.md").read_text(encoding="utf-8")
    assert written == scale_page.results_page(results)
    assert (scale_page.FOLDER / "scale.png").exists() == bool(results)


def test_numbers_of_the_guide_are_drawn_from_the_records():
    text = scale_page.PAGE.read_text(encoding="utf-8")
    assert text == scale_page.guide(text, scale_page.load())
    assert text.count("<!-- /") == 6


def test_rows_are_the_same_however_they_are_cut(monkeypatch):
    monkeypatch.setattr(scale_data, "UNIT", 50)
    X, y = scale_data.whole(320)
    for together in (1, 3, 7):
        parts = scale_data.collections(320, together)
        assert parts[1].npartitions == -(-7 // together)
        assert np.array_equal(parts[0].compute(scheduler="sync"), X)
        assert np.array_equal(parts[1].compute(scheduler="sync"), y)
    assert len(np.unique(X)) == X.size  # no unit repeats another


def test_no_two_collections_share_keys():
    one, other = (set(scale_data.collections(100)[0].__dask_graph__()) for _ in range(2))
    assert not one & other


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_growth_of_a_power_is_its_exponent(exponent):
    rows = [10, 100, 3000]
    found = scale_laws.growth(rows, [7 * n**exponent for n in rows])
    assert found == pytest.approx((exponent, exponent))


def test_the_worst_step_is_the_steepest():
    assert scale_laws.growth([1, 10, 100], [1, 1, 100]).worst_step == pytest.approx(2)


@pytest.mark.parametrize(("fixed", "per_row"), [(3.0, 2e-6), (0.0, 1.0), (5.0, 0.0)])
def test_fixed_cost_and_cost_of_a_row_are_told_apart(fixed, per_row):
    rows = [10**6, 10**7, 3 * 10**7]
    law = scale_laws.spread(rows, [fixed + per_row * n / scale_laws.WORKERS for n in rows])
    assert law == pytest.approx((fixed, per_row), abs=1e-9)
    assert law.at(10**9, 100) == pytest.approx(fixed + per_row * 10**7, abs=1e-2)


@pytest.mark.parametrize(
    ("n", "told"), [(100_000, "10^5"), (30_000_000, "3·10^7"), (10**11, "10^11")]
)
def test_rows_as_people_write_them(n, told):
    assert scale_words.power(n) == told


@pytest.mark.parametrize(
    ("value", "told"), [(0.5, "0.50 s"), (90, "90.0 s"), (120, "2.0 min"), (5 * 86_400, "5.0 days")]
)
def test_seconds_as_people_write_them(value, told):
    assert scale_words.seconds(value) == told

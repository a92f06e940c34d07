"""The census experiment on a small file of the same layout, and the laws its numbers keep."""

import json
from fractions import Fraction
from math import comb

import numpy as np
import pandas as pd
import pytest
from census_file import write_census
from scipy.stats import binom
from sklearn.linear_model import LinearRegression

from bands import beta_binomial_band
from plcp.experiments import reproduce
from plcp.experiments.census import (
    BINS,
    CQR,
    CROSS_ON_CQR,
    DOCTORATE,
    EXPERIMENTS,
    GROUPS_BY_RACE,
    GROUPS_BY_SEX,
    GROUPS_BY_STATE,
    LEAST_PEOPLE,
    LOCAL,
    N_BINS,
    OVER_60,
    UNDER_25,
    People,
    chance_outside,
    claims,
    conformal_models,
    divide,
    groups_of,
    independent_people,
    judged,
    large_enough,
    linear_model,
    on_codes,
    read_people,
    run,
    table_of_chance,
)
from plcp.experiments.methods import CROSS, PUBLISHED, SPLIT
from plcp.experiments.report import outcome, summarise
from plcp.metrics.binomial import clopper_pearson
from plcp.quantiles import conformal_rank
from plcp.sets import Intervals

(CENSUS,) = EXPERIMENTS
METHODS = [SPLIT, CQR, LOCAL, BINS, PUBLISHED, CROSS, CROSS_ON_CQR]
ALL_PEOPLE = CENSUS.quick["rows"]


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    return write_census(tmp_path_factory.mktemp("data"), ALL_PEOPLE + 200)


@pytest.fixture(scope="module")
def reproduction(data_dir, tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    return reproduce("census", data_dir=data_dir, out=out, quick=True)


@pytest.fixture(scope="module")
def summary(reproduction):
    return summarise(reproduction.records)


def test_all_methods_run_and_all_files_are_written(reproduction, summary):
    assert summary.methods == METHODS
    assert {path.name for path in reproduction.files} >= {
        "census-quick.jsonl",
        "census-quick.md",
        "census-quick.json",
        "census-quick.svg",
        "census-quick.png",
    }
    assert all(path.stat().st_size for path in reproduction.files)


def test_people_beyond_the_rows_of_the_settings_are_not_read(reproduction):
    assert all(r["results"]["about"]["people"] == ALL_PEOPLE for r in reproduction.records)


@pytest.mark.parametrize("method", [SPLIT, CQR])
def test_coverage_keeps_the_law_of_one_threshold(summary, method):
    n = ALL_PEOPLE // 5
    low, high = beta_binomial_band(n, n, conformal_rank(n, CENSUS.quick["alpha"]))
    hits = summary.overall[method]["coverage"] * n
    assert ((low <= hits) & (hits <= high)).all()


@pytest.mark.parametrize("names", [GROUPS_BY_SEX, GROUPS_BY_STATE])
@pytest.mark.parametrize("method", METHODS)
def test_groups_that_divide_all_people_add_up_to_all_people(summary, names, method):
    places = [summary.groups.index(name) for name in names]
    counts = summary.counts[:, places]
    assert (counts.sum(axis=1) == ALL_PEOPLE // 5).all()
    for table, key in ((summary.coverage, "coverage"), (summary.size, "size")):
        added = np.average(table[method][:, places], axis=1, weights=counts)
        np.testing.assert_allclose(added, summary.overall[method][key])


def test_the_default_finds_who_is_uncertain_and_split_does_not(summary):
    place = summary.groups.index(DOCTORATE)
    assert summary.gap(CROSS)[place] < summary.gap(SPLIT)[place] / 2
    longer, shorter = (summary.size[CROSS][:, i].mean() for i in (place, 0))
    assert longer > shorter


def test_a_seed_gives_the_same_trial_again(data_dir):
    settings = CENSUS.quick | {"rows": 1_000}
    one, two = (run(settings, 3, data_dir) for _ in range(2))
    assert json.dumps(one) == json.dumps(two)


# People


def codes(**columns):
    return pd.DataFrame({"RAC1P": 1, "SEX": 1, "ST": 6, "AGEP": 40, "SCHL": 16} | columns)


@pytest.mark.parametrize(
    ("column", "values", "names"),
    [
        ("RAC1P", range(1, 10), GROUPS_BY_RACE),
        ("SEX", (1, 2), GROUPS_BY_SEX),
        ("ST", (6, 12, 36, 42, 48), GROUPS_BY_STATE),
    ],
)
def test_every_code_belongs_to_one_group(column, values, names):
    groups = groups_of(codes(**{column: list(values)}))
    np.testing.assert_array_equal(np.sum([groups[name] for name in names], axis=0), 1)


def test_who_belongs_to_the_unnamed_groups():
    groups = groups_of(codes(AGEP=[24, 25, 60, 61], SCHL=[22, 23, 24, 1]))
    assert groups[UNDER_25].tolist() == [True, False, False, False]
    assert groups[OVER_60].tolist() == [False, False, False, True]
    assert groups[DOCTORATE].tolist() == [False, True, True, False]


@pytest.mark.parametrize("n", [LEAST_PEOPLE - 1, LEAST_PEOPLE])
def test_a_group_that_a_test_part_may_lack_is_left_out(n):
    people = People(codes(RAC1P=[7] * n + [1] * 1_000), np.zeros(n + 1_000))
    assert ("Pacific Islander" in large_enough(people)) == (n >= LEAST_PEOPLE)


def test_parts_are_60_20_20_and_hold_all_people_once():
    people = People(codes(AGEP=np.arange(1_000)), np.arange(1_000.0))
    parts = divide(people, 0)
    assert [len(part.y) for part in parts] == [600, 200, 200]
    np.testing.assert_array_equal(np.sort(np.concatenate([part.y for part in parts])), people.y)
    assert all((part.X["AGEP"] == part.y).all() for part in parts)
    assert set(divide(people, 1)[2].y) != set(parts[2].y)


def test_a_level_has_a_column_of_its_own_in_the_linear_model():
    rng = np.random.default_rng(0)
    job = rng.permutation(np.repeat([1, 2, 3], 200))
    X = pd.DataFrame({"AGEP": rng.uniform(17, 90, 600), "OCCP": pd.Categorical(job)})
    y = X["AGEP"].to_numpy() + np.array([0.0, 500.0, -200.0])[job - 1]
    np.testing.assert_allclose(linear_model().fit(X, y).predict(X), y)
    assert on_codes(LinearRegression()).fit(X, y).score(X, y) < 1 / 2


def test_ten_bins_are_reported_the_prediction_and_nothing_else(data_dir):
    people, _ = read_people({"rows": 2_000}, data_dir)
    train, calibration, test = divide(people, 0)
    linear = linear_model().fit(train.X, train.y)
    model = conformal_models(CENSUS.quick, 0, train, linear)[BINS].fit(calibration.X, calibration.y)
    by_prediction = model.predict_set(test.X)[np.argsort(linear.predict(test.X))]
    changes = ~np.isclose(np.diff(by_prediction.size), 0)
    assert changes.sum() == N_BINS - 1


def test_the_band_of_cqr_is_fitted_the_quantiles_that_leave_alpha_out():
    X, y = codes(AGEP=np.arange(100)), np.arange(100.0)
    train = People(X, y)
    linear = on_codes(LinearRegression()).fit(X, y)
    band = conformal_models(CENSUS.quick, 0, train, linear)[CQR].estimator
    levels = [member.estimator[-1].quantile for member in (band.lower, band.upper)]
    np.testing.assert_allclose(levels, [0.05, 0.95])


# Lengths


def test_lengths_are_cut_to_possible_incomes_and_coverage_is_not():
    train = People(codes(AGEP=[40, 41]), np.array([10_000.0, 30_000.0]))
    test = People(codes(AGEP=[40, 41, 42, 43]), np.array([5_000.0, 40_000.0, 90_000.0, 1_000.0]))
    sets = Intervals([-4_000, 20_000, 0, 2_000], [6_000, 50_000, np.inf, 3_000])
    found = judged({SPLIT: sets}, train, test, {"all": np.ones(4, bool), "last": [0, 0, 0, 1]})
    overall = found[SPLIT]["overall"]
    assert found[SPLIT]["size"] == [(6 + 10 + 30 + 1) / 4, 1.0]  # thousands; 30 is the largest
    assert found[SPLIT]["coverage"] == [3 / 4, 0.0]
    assert overall["cut_at_zero"] == overall["unbounded"] == 1 / 4


def test_dependence_is_that_of_lengths_in_units_of_the_mean_income():
    rng = np.random.default_rng(0)
    upper, y = rng.uniform(1_000, 50_000, 200), rng.uniform(0, 50_000, 200)
    found = [
        judged(
            {SPLIT: Intervals(np.zeros(200), upper * unit)},
            People(codes(AGEP=np.zeros(2)), np.array([0.0, 60_000 * unit])),
            People(codes(AGEP=np.zeros(200)), y * unit),
            {"all": np.ones(200, bool)},
        )[SPLIT]["overall"]
        for unit in (1.0, 0.01)  # dollars, or hundreds of them
    ]
    for key in ("hsic", "pearson"):
        np.testing.assert_allclose(found[0][key], found[1][key])


# What chance allows


@pytest.mark.parametrize("trials", [1, 2, 5, 50])
def test_independent_people_are_squares_of_sums_over_sums_of_squares(trials):
    share, n = 0.2, 1_000
    tested = binom(trials, share)
    expected = (n * tested.moment(1)) ** 2 / (n * tested.moment(2))
    counts = np.full((trials, 1), n * share)
    np.testing.assert_allclose(independent_people(counts, share), expected)


@pytest.mark.parametrize("n", [1, 10, 33, 100, 300])
def test_chance_outside_is_the_sum_over_all_counts(n):
    target, within = Fraction(9, 10), Fraction(3, 100)
    outside = sum(
        comb(n, k) * target**k * (1 - target) ** (n - k)
        for k in range(n + 1)
        if abs(Fraction(k, n) - target) > within
    )
    np.testing.assert_allclose(chance_outside(n, 0.9, 0.03), float(outside), atol=1e-12)


# Claims


def records_with(coverage, counts, trials=2):
    """Records in which the default covers so much of each group, and no other method does."""

    def method(name):
        dependence = 0.5 if name == SPLIT else 0.1
        made = outcome(np.ones(1), np.ones(1), {}, hsic=dependence, pearson=dependence)
        covered = [share if name == CROSS else 0.5 for share in coverage.values()]
        return made | {"coverage": covered, "size": [1.0] * len(coverage)}

    results = {
        "groups": dict.fromkeys(coverage, 0) | counts,
        "methods": {name: method(name) for name in METHODS},
    }
    return [{"settings": {"alpha": 0.1}, "results": results}] * trials


def judged_claims(coverage, counts):
    return claims(summarise(records_with(coverage, counts)))


NEAR = {"White": 0.91, "women": 0.929, OVER_60: 0.88, DOCTORATE: 0.9}
MANY = dict.fromkeys(NEAR, 10_000)


def test_claims_hold_where_every_group_is_near():
    assert [claim.holds for claim in judged_claims(NEAR, MANY)] == [True] * 4


def test_a_group_too_small_to_show_fails_the_claim_but_not_the_one_of_large_groups():
    found = judged_claims(NEAR | {"Pacific Islander": 0.97}, MANY | {"Pacific Islander": 30})
    assert [claim.holds for claim in found] == [False, True, True, True, True]
    assert "all but Pacific Islander" in found[1].text


def test_gains_below_the_papers_are_not_reached():
    records = records_with(NEAR, MANY)
    records[0]["results"]["methods"][CROSS]["overall"]["pearson"] = -0.2  # a gain of 60 %
    published, default = claims(summarise(records))[-2:]
    assert published.holds
    assert not default.holds


def test_gains_over_a_split_without_dependence_are_not_reached():
    records = records_with(NEAR, MANY)
    records[0]["results"]["methods"][SPLIT]["overall"].update(hsic=0.0, pearson=0.0)
    for claim in claims(summarise(records))[-2:]:
        assert not claim.holds
        assert claim.measured == "none is defined and none is defined"


def test_bounds_that_hold_together_are_wider_and_hold_the_coverage():
    rows = table_of_chance(summarise(records_with(NEAR, MANY))).rows
    for (_, _, people, _, coverage, together), expected in zip(rows, NEAR.values(), strict=True):
        n = int(people.replace(",", ""))
        low, high = clopper_pearson(expected * n, n)
        low_all, high_all = map(float, together.split(" to "))
        assert low_all < low < float(coverage) < high < high_all
        assert float(coverage) == expected

"""The synthetic regression: its groups, its exact coverage, and claims that follow the numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bands import beta_binomial_band, binomial_band
from plcp.datasets import make_synthetic
from plcp.experiments import find_experiment
from plcp.experiments.methods import CROSS, PUBLISHED, SPLIT, as_published
from plcp.experiments.runner import run_trial
from plcp.experiments.synthetic import (
    BATCH_GCP,
    coverage_over_draws,
    group_names,
    members,
    report,
)
from plcp.partitions import SoftmaxPartition
from plcp.thresholds import BatchGCP

METHODS = [SPLIT, BATCH_GCP, PUBLISHED, CROSS]
NAMES = ("synthetic", "synthetic-deviation")
SIZES = {"n_train": 500, "n_calibration": 300, "n_test": 1000}


def trial(name, seed=3):
    experiment = find_experiment(name)
    return run_trial(experiment, experiment.quick | SIZES, seed, None)


@pytest.fixture(scope="module")
def records():
    """One small trial of each experiment."""
    return {name: trial(name) for name in NAMES}


def results(records, name="synthetic"):
    return records[name]["results"]


def test_groups_are_those_of_the_paper():
    X = make_synthetic(200, random_state=0).X
    columns = members(X)
    for i in range(1, 11):
        assert_array_equal(columns[:, 2 * i - 2], X[:, i - 1] == 0)  # group 2i - 1
        assert_array_equal(columns[:, 2 * i - 1], X[:, i - 1] == 1)  # group 2i
    assert group_names() == [str(number) for number in range(1, 21)]


def test_batch_gcp_is_reported_the_first_eighteen_groups_and_no_more(records):
    coef, train, cal, test, _ = (int(s) for s in np.random.SeedSequence(3).generate_state(5))
    teach, pairs, new = (
        make_synthetic(SIZES[part], state, coef)
        for part, state in (("n_train", train), ("n_calibration", cal), ("n_test", test))
    )
    line = np.linalg.lstsq(np.column_stack([teach.X, np.ones(len(teach.X))]), teach.y)[0]
    scores, passed = (np.abs(p.y - p.X @ line[:-1] - line[-1]) for p in (pairs, new))
    rule = BatchGCP(alpha=0.1).fit(pairs.X, scores, groups=members(pairs.X)[:, :18])
    threshold = rule.predict(new.X, groups=members(new.X)[:, :18])
    found = results(records)["methods"][BATCH_GCP]
    assert_allclose(found["overall"]["size"], 2 * threshold.mean())
    rows = members(new.X).astype(float)
    covered = (passed <= threshold) @ rows / rows.sum(axis=0)
    assert_allclose(found["coverage"], covered)


def test_coverage_over_draws_is_the_chance_that_many_draws_show(rng):
    task = make_synthetic(2000, random_state=1)
    rule = as_published(SoftmaxPartition(), 3, 0.1, random_state=0).fit(task.X, task.scores)
    row, n = 5, 20_000
    one = make_synthetic(6, random_state=9)
    prediction = one.mean + 1.0
    exact = coverage_over_draws(rule, one, prediction)[row]
    labels = one.mean[row] + one.sigma[row] * rng.normal(size=n)
    # equal rows share their draw: rows that differ in no digit that counts do not
    drawn = rule.predict(one.X[row] + 1e-9 * rng.normal(size=(n, one.X.shape[1])))
    assert len(np.unique(drawn)) > 1
    low, high = binomial_band(n, exact)
    assert low <= (np.abs(labels - prediction[row]) <= drawn).sum() <= high


def without_times(found):
    return {
        method: {**parts, "overall": {**parts["overall"], "seconds": 0.0}}
        for method, parts in found["methods"].items()
    }


def test_a_trial_is_its_seed_and_nothing_else(records):
    again = trial("synthetic")["results"]
    assert without_times(again) == without_times(results(records))
    assert (again["groups"], again["about"]) == (
        results(records)["groups"],
        results(records)["about"],
    )


def test_another_seed_is_another_task(records, monkeypatch):
    monkeypatch.setattr("plcp.experiments.synthetic._rules", lambda settings, state: {})
    other = trial("synthetic", seed=4)["results"]
    assert other["about"] != results(records)["about"]
    assert other["groups"] != results(records)["groups"]


@pytest.mark.parametrize("name", NAMES)
def test_both_halves_of_every_covariate_make_up_the_whole(records, name):
    found = results(records, name)
    counts = np.array(list(found["groups"].values()))
    n = SIZES["n_test"]
    assert_array_equal(counts[::2] + counts[1::2], n)
    assert list(found["methods"]) == METHODS
    for method in METHODS:
        for what in ("coverage", "size"):
            total = counts * np.array(found["methods"][method][what])
            whole = found["methods"][method]["overall"][what]
            assert_allclose((total[::2] + total[1::2]) / n, whole)


@pytest.mark.parametrize("name", NAMES)
def test_split_covers_as_its_law_states_with_one_length(records, name):
    split = results(records, name)["methods"][SPLIT]
    n_cal, n_test = SIZES["n_calibration"], SIZES["n_test"]
    low, high = beta_binomial_band(n_test, n_cal, int(np.ceil(0.9 * (n_cal + 1))))
    assert low <= round(n_test * split["overall"]["coverage"]) <= high
    assert_allclose(split["size"], split["overall"]["size"])


@pytest.mark.parametrize("name", NAMES)
def test_exact_error_is_at_least_that_of_the_whole_and_falls_over_draws(records, name):
    """Jensen: a mean square is no less than the square of the mean."""
    for method, found in results(records, name)["methods"].items():
        overall = found["overall"]
        assert 0 < overall["msce_over_draws"] <= overall["msce"]
        draws = method == PUBLISHED
        assert (overall["msce_over_draws"] < overall["msce"]) == draws


def test_noise_is_the_setting_s(records):
    """A deviation of 0.25 + Σ i X_i is larger than the root of 0.1 + Σ i X_i, if any X_i is one."""
    variance, deviation = (results(records, name)["methods"][SPLIT]["size"] for name in NAMES)
    assert deviation[0] > 2 * variance[0]


def made_up(coverage):
    """Two trials whose mean coverage by method is given."""
    return [
        {
            "seed": seed,
            "settings": find_experiment("synthetic").settings,
            "results": {
                "groups": dict.fromkeys(group_names(), 25_000),
                "methods": {
                    method: {
                        "coverage": (np.array(values) + shift).tolist(),
                        "size": [1.0] * 20,
                        "overall": dict.fromkeys(
                            ("coverage", "size", "msce", "msce_over_draws", "seconds"), 0.5
                        ),
                    }
                    for method, values in coverage.items()
                },
            },
        }
        for seed, shift in enumerate((-0.002, 0.002))
    ]


GOOD = {
    SPLIT: [0.92, 0.88] * 10,
    BATCH_GCP: [0.9] * 18 + [0.93, 0.87],
    PUBLISHED: [0.895] * 20,
    CROSS: [0.901] * 19 + [0.891],
}


def verdicts(**changes):
    names = {"published": PUBLISHED, "default": CROSS}
    world = GOOD | {names[key]: values for key, values in changes.items()}
    return [claim.holds for claim in report(made_up(world)).claims]


def test_claims_hold_where_the_numbers_do_and_fail_where_they_do_not():
    assert verdicts() == [True, True, True, True]
    assert verdicts(default=[0.9] * 19 + [0.889]) == [False, True, True, True]
    assert verdicts(default=[0.911] + [0.9] * 19) == [False, True, True, True]
    assert verdicts(published=[0.86] * 18 + [0.9] * 2) == [True, False, True, True]
    assert verdicts(published=[0.9] * 18 + [0.9, 0.875]) == [True, True, False, True]
    assert verdicts(published=[0.9] * 18 + [0.935, 0.9]) == [True, True, False, False]

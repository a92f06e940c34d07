"""Experiments with shifted groups: halves, rules, ties and claims."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from bands import beta_binomial_band, binomial_band
from plcp.experiments.methods import CROSS, PUBLISHED, SPLIT
from plcp.experiments.shifted import (
    CONDITIONAL,
    ORACLE,
    RULES,
    BrokenTies,
    HeldOut,
    Wording,
    compare_rules,
    fitted,
    least_coverage,
    mean_or_one,
    report_shifted,
    split_at_random,
)
from plcp.partitions.torch import mlp
from plcp.scores import CumulativeProbability
from shifted_worlds import held_out

SETTINGS = {"alpha": 0.1, "n_groups": 3, "partition_epochs": 3, "break_ties": True}
N = 800


def halves_of(rows, seed=0, **settings):
    return split_at_random(rows, mlp(4), SETTINGS | settings, seed)


@pytest.fixture(scope="module")
def halves():
    return halves_of(held_out(N, seed=1))


@pytest.fixture(scope="module")
def results(halves):
    return compare_rules(halves)


def test_halves_are_disjoint_and_whole_and_blind_to_everything_but_the_seed():
    rows = held_out(101, seed=0)
    numbered = HeldOut(rows.logits, rows.features, np.arange(101), rows.label, rows.experiment)
    first, again, other = (halves_of(numbered, seed) for seed in (0, 0, 1))
    assert (len(first.calibration.label), len(first.test.label)) == (50, 51)
    both = np.concatenate([first.calibration.inputs, first.test.inputs])
    assert_array_equal(np.sort(both), np.arange(101))
    assert_array_equal(first.test.inputs, again.test.inputs)
    assert not np.array_equal(first.test.inputs, other.test.inputs)
    for part in (first.calibration, first.test):  # all columns went the same way
        assert_array_equal(part.label, rows.label[part.inputs])
        assert_array_equal(part.logits, rows.logits[part.inputs])
        assert_array_equal(part.features, rows.features[part.inputs])
        assert_array_equal(part.experiment, rows.experiment[part.inputs])


def test_halves_and_rules_draw_from_streams_of_their_own():
    rows = held_out(101, seed=0)
    numbered = replace(rows, inputs=np.arange(101))
    halves = halves_of(numbered, seed=5)
    again = np.random.default_rng(halves.seed).permutation(101)
    drawn = np.concatenate([halves.calibration.inputs, halves.test.inputs])
    assert not np.array_equal(again, drawn)


def test_an_experiment_too_small_to_be_halved_is_reported_at_once():
    rows = held_out(120, seed=0)
    rare = replace(rows, experiment=np.where(np.arange(120) < 19, 7, rows.experiment % 2))
    with pytest.raises(ValueError, match="experiment 7 has 19 rows, fewer than 20"):
        halves_of(rare)
    rows.experiment[:] = np.arange(120) % 6
    assert set(halves_of(rows).test.experiment) <= set(range(6))


def test_the_score_is_the_mass_above_the_label_at_the_likeliest_temperature(halves, results):
    cal = halves.calibration

    def loss(log_t):
        own = log_softmax(np.exp(log_t) * cal.logits, axis=1)[np.arange(len(cal.label)), cal.label]
        return -own.mean()

    expected = np.exp(minimize_scalar(loss, bounds=(-3, 3), options={"xatol": 1e-8}).x)
    found = results["about"]["temperature"]
    assert_allclose(loss(np.log(found)), loss(np.log(expected)), rtol=1e-10)
    score = fitted(CumulativeProbability(temperature="fit"), halves)
    pi = softmax(found * cal.logits, axis=1)
    by_hand = [row[row > row[y]].sum() for row, y in zip(pi, cal.label, strict=True)]
    assert_allclose(score(softmax(cal.logits, axis=1), cal.label), by_hand, atol=1e-12)


def test_all_rules_are_judged_on_the_same_test_rows(halves, results):
    names = [SPLIT, CONDITIONAL, PUBLISHED, CROSS, ORACLE]
    counts = {str(k): int((halves.test.experiment == k).sum()) for k in range(3)}
    assert results["groups"] == counts
    for kind in ("methods", "ties_broken"):
        assert list(results[kind]) == names
        for found in results[kind].values():
            weights = list(counts.values())
            assert_allclose(np.average(found["coverage"], weights=weights), overall(found))


def overall(found, key="coverage"):
    return found["overall"][key]


@pytest.mark.parametrize("kind", ["methods", "ties_broken"])
def test_split_covers_all_and_the_oracle_each_experiment_within_the_band(halves, results, kind):
    n_cal, n_test = len(halves.calibration.label), len(halves.test.label)
    low, high = beta_binomial_band(n_test, n_cal, int(np.ceil(0.9 * (n_cal + 1))))
    assert low <= n_test * overall(results[kind][SPLIT]) <= high
    for k, coverage in enumerate(results[kind][ORACLE]["coverage"]):
        n_own = int((halves.calibration.experiment == k).sum())
        n_new = int((halves.test.experiment == k).sum())
        low, high = beta_binomial_band(n_new, n_own, int(np.ceil(0.9 * (n_own + 1))))
        # a tie at zero may only raise what the first kind covers
        assert low <= n_new * coverage <= (n_new if kind == "methods" else high)


def thresholds(name, halves):
    score = fitted(CumulativeProbability(temperature="fit"), halves)
    probabilities = softmax(halves.calibration.logits, axis=1)
    return RULES[name](halves, score(probabilities, halves.calibration.label))[0]


@pytest.fixture(scope="module")
def few():
    return halves_of(held_out(240, seed=4))


@pytest.fixture(scope="module")
def found(few):
    return {name: thresholds(name, few) for name in RULES}


@pytest.mark.parametrize("name", RULES)
def test_no_rule_uses_test_labels_and_the_oracle_alone_their_experiments(few, found, name):
    rng = np.random.default_rng(0)
    relabelled = replace(few.test, label=rng.permutation(few.test.label))
    assert_array_equal(thresholds(name, replace(few, test=relabelled)), found[name])
    moved = replace(few.test, experiment=rng.permutation(few.test.experiment))
    same = np.array_equal(thresholds(name, replace(few, test=moved)), found[name])
    assert same == (name != ORACLE)


@pytest.mark.parametrize("name", RULES)
def test_the_published_rule_learns_from_inputs_and_the_others_from_features(few, found, name):
    rng = np.random.default_rng(0)
    shuffled = {
        field: replace(
            few,
            calibration=replace(
                few.calibration, **{field: rng.permutation(getattr(few.calibration, field))}
            ),
        )
        for field in ("inputs", "features")
    }
    changed = {
        field: not np.array_equal(thresholds(name, other), found[name])
        for field, other in shuffled.items()
    }
    learns = {PUBLISHED: ["inputs"], CONDITIONAL: ["features"], CROSS: ["features"]}
    assert [field for field in changed if changed[field]] == learns.get(name, [])


@pytest.mark.parametrize("name", RULES)
def test_thresholds_fall_as_alpha_rises(few, found, name):
    lenient = replace(few, settings=few.settings | {"alpha": 0.4})
    assert thresholds(name, lenient).mean() < found[name].mean()


def test_conditional_calibration_gives_experiments_on_one_half_and_calibrates_on_the_other(few):
    cal, half = few.calibration, len(few.calibration.label) // 2
    scores = np.random.default_rng(0).exponential(size=len(cal.label))
    rule = RULES[CONDITIONAL]
    first, _ = rule(few, scores)
    other_scores = np.concatenate([scores[:half] + 1, scores[half:]])
    assert_array_equal(rule(few, other_scores)[0], first)
    experiment = np.concatenate([cal.experiment[:half], 0 * cal.experiment[half:]])
    unknown = replace(few, calibration=replace(cal, experiment=experiment))
    assert_array_equal(rule(unknown, scores)[0], first)
    assert (rule(few, np.concatenate([scores[:half], scores[half:] + 1]))[0] != first).any()


def test_broken_ties_empty_some_sets_and_kept_ones_none_but_conditional_calibrations(results):
    for name in (SPLIT, PUBLISHED, CROSS, ORACLE):
        assert overall(results["methods"][name], "empty") == 0
    assert overall(results["ties_broken"][ORACLE], "empty") > 0


def test_breaking_ties_moves_nothing_above_zero(halves, results):
    assert results["methods"][SPLIT]["coverage"] == results["ties_broken"][SPLIT]["coverage"]
    assert results["methods"][SPLIT]["size"] == results["ties_broken"][SPLIT]["size"]
    probabilities = softmax(halves.test.logits, axis=1)
    codes = np.arange(probabilities.shape[1])
    kept = np.array([CumulativeProbability()(probabilities, np.full(N // 2, y)) for y in codes])
    broken = np.array(
        [BrokenTies(random_state=3)(probabilities, np.full(N // 2, y)) for y in codes]
    )
    assert_array_equal(broken[kept > 0], kept[kept > 0])
    draws = broken[kept == 0]
    assert len(draws) == N // 2
    low, high = binomial_band(N // 2, 0.5)
    assert low <= (draws < -0.5).sum() <= high
    assert ((draws > -1) & (draws <= 0)).all()


def test_coverage_of_hard_rows_is_that_of_the_rows_that_are_not_easy(halves, results):
    rule = thresholds(SPLIT, halves)
    score = fitted(CumulativeProbability(temperature="fit"), halves)
    sets = score.invert(softmax(halves.test.logits, axis=1), rule)
    covered = sets.contains(halves.test.label)
    assert 0 < halves.easy.sum() < len(covered)
    found = results["methods"][SPLIT]["overall"]["hard"]
    assert_allclose(found, covered[~halves.easy].mean())
    assert (mean_or_one(covered[:0]), mean_or_one(np.array([True, False]))) == (1.0, 0.5)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_least_coverage_where_the_likeliest_label_is_always_or_never_right(share):
    rows = held_out(90, seed=2)
    label = (rows.logits.argmax(axis=1) + (share == 0)) % rows.logits.shape[1]
    rows = HeldOut(rows.logits, rows.features, rows.inputs, label, rows.experiment)
    halves = halves_of(rows)
    assert_array_equal(least_coverage(halves), 1.0 if share else 0.9)
    assert_array_equal(halves.easy, bool(share))


def test_least_coverage_where_a_column_gives_easy_rows_from_hard():
    rows = held_out(2000, seed=3)
    rng = np.random.default_rng(0)
    easy, top = rng.random(2000) < 0.5, rows.logits.argmax(axis=1)
    right = rng.random(2000) < np.where(easy, 0.98, 0.5)
    label = np.where(right, top, (top + 1) % rows.logits.shape[1])
    halves = halves_of(HeldOut(rows.logits, easy[:, None] + 0.0, rows.inputs, label, top))
    test_easy = halves.test.features[:, 0] == 1
    least = least_coverage(halves)
    assert_array_equal(least[~test_easy], 0.9)
    right = halves.test.logits.argmax(axis=1) == halves.test.label
    assert_array_equal(least[test_easy], right[test_easy])


WORDS = Wording("a title", "What is it?", "batch", "batches", "not given", ("a stand-in",))
OVERALL = {"coverage": 0.9, "hard": 0.85, "empty": 0.0, "seconds": 1.0}
METHODS = (SPLIT, CONDITIONAL, PUBLISHED, CROSS, ORACLE)


def record(coverage, size, seed=0):
    """A trial with given coverages of two batches and mean sizes, by method."""
    methods = {
        name: {
            "coverage": coverage.get(name, [0.9, 0.9]),
            "size": [size.get(name, 2.0)] * 2,
            "overall": dict(OVERALL, size=size.get(name, 2.0)),
        }
        for name in METHODS
    }
    about = {"temperature": 1.0, "accuracy": [0.5, 0.99], "least": [0.9, 0.99]}
    results = {"groups": {"4": 50, "5": 50}, "methods": methods, "about": about}
    return {"settings": {"alpha": 0.1, "n_groups": 3}, "seed": seed, "results": results}


def claims_of(coverage, size):
    report = report_shifted([record(one, size, seed) for seed, one in enumerate(coverage)], WORDS)
    return [(claim.text, claim.holds) for claim in report.claims]


def test_claims_follow_the_mean_over_trials():
    split = {SPLIT: [0.8, 0.95]}
    off_alone_right_together = [split | {CROSS: [c, 0.92]} for c in (0.75, 1.0)]
    (near, nearer), (small, smaller), *_ = claims_of(off_alone_right_together, {})
    assert CROSS in near
    assert nearer
    assert CONDITIONAL in small
    assert smaller  # as large is no larger
    (_, nearer), (_, smaller), *_ = claims_of([split | {CROSS: [0.9, 0.96]}], {CROSS: 2.1})
    assert not nearer
    assert not smaller
    (_, nearer), *_ = claims_of([split | {CROSS: split[SPLIT]}], {})
    assert not nearer  # as near is not nearer

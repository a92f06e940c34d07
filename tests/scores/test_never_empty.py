"""The likeliest label in every set: no rule undoes it, and coverage is kept."""

import numpy as np
import pytest
from sklearn.base import clone

from bands import beta_binomial_band
from plcp import PLCP, LinearQuantile, Mondrian, OrderedPartition, SplitConformal
from plcp.quantiles import conformal_rank
from plcp.scores import LabelProbability

LINEAR = OrderedPartition(LinearQuantile())
RULES = {
    "split": SplitConformal(),
    "mondrian": Mondrian(lambda X: is_hard(X)),
    "cross": PLCP(calibration="cross", random_state=0),
    "joint": PLCP(LINEAR, 3, calibration="joint", random_state=0),
    "halves": PLCP(LINEAR, 3, calibration="split", random_state=0),
    "regressor": PLCP(LINEAR, 3, within="regressor", calibration="joint", random_state=0),
}
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


def is_hard(X):
    return X[:, 0] > 0.9


def draw(rng, n, lowest=0.98):
    """Inputs, probabilities of three classes, and labels drawn from these.

    The likeliest class has a probability of ``lowest`` to 1 on easy inputs, 0.5 to 0.8 on hard.
    """
    X = rng.uniform(size=(n, 2))
    u = X[:, 1]
    best = np.where(is_hard(X), 0.5 + 0.3 * u, lowest + (1 - lowest) * u)
    second = (1 - best) * rng.uniform(0.6, 0.9, n)
    probabilities = np.column_stack([best, second, 1 - best - second])
    probabilities = rng.permuted(probabilities, axis=1)
    y = (probabilities.cumsum(axis=1) < rng.uniform(size=(n, 1))).sum(axis=1)
    return X, probabilities, np.minimum(y, 2)


def sets_of(rule, score, calibration, new):
    X, probabilities, y = calibration
    fitted = clone(rule).fit(X, score(probabilities, y))
    return score.invert(new[1], fitted.predict(new[0]))


@every_rule
def test_no_set_is_empty_and_each_holds_the_likeliest_label(rng, rule):
    calibration, new = draw(rng, 1000), draw(rng, 2000)
    best = new[1].argmax(axis=1)
    assert sets_of(rule, LabelProbability(), calibration, new).is_empty.any()
    sets = sets_of(rule, LabelProbability(never_empty=True), calibration, new)
    assert not sets.is_empty.any()
    assert sets.contains(best).all()


def test_marginal_coverage_is_at_least_that_of_the_band(rng):
    (X, probabilities, y), new = draw(rng, 400), draw(rng, 3000)
    score = LabelProbability(never_empty=True)
    # right more often than 1 - alpha: the threshold is the atom at 0, and sets are one label each
    rule = SplitConformal().fit(X, score(probabilities, y))
    sets = score.invert(new[1], rule.predict(new[0]))
    assert rule.threshold_ == 0
    assert (sets.size == 1).all()
    low, _ = beta_binomial_band(3000, 400, conformal_rank(400, 0.1))
    assert sets.contains(new[2]).sum() >= low


def test_by_group_only_the_easy_one_covers_more_and_only_it_had_empty_sets(rng):
    calibration, new = draw(rng, 2000), draw(rng, 5000)
    rule, hard, y = RULES["mondrian"], is_hard(new[0]), new[2]
    right = new[1].argmax(axis=1) == y
    plain = sets_of(rule, LabelProbability(), calibration, new)
    sets = sets_of(rule, LabelProbability(never_empty=True), calibration, new)
    n_cal = int(is_hard(calibration[0]).sum())
    low, high = beta_binomial_band(hard.sum(), n_cal, conformal_rank(n_cal, 0.1))
    assert low <= sets[hard].contains(y[hard]).sum() <= high
    np.testing.assert_array_equal(sets[~hard].contains(y[~hard]), right[~hard])
    # a set that is not empty holds the likeliest label: to miss more often than it, some are empty
    assert not plain.is_empty[hard].any()
    missed = ~plain[~hard].contains(y[~hard])
    assert plain.is_empty[~hard].sum() >= missed.sum() - (~right[~hard]).sum() > 0

"""Rules that draw answer a row alone as among others, and cover rows served one by one."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator

from bands import beta_binomial_band
from plcp import (
    PLCP,
    RLCP,
    ConditionalCalibration,
    ConformalClassifier,
    CumulativeProbability,
    KernelShifts,
    PosteriorConformal,
    SplitConformal,
)
from plcp.kernels import GaussianKernel
from plcp.partitions import SoftmaxPartition
from plcp.quantiles import conformal_rank


class OwnKernel:
    """A kernel of the user's own, which draws as it likes."""

    def __call__(self, X, Z):
        return GaussianKernel(1.0)(X, Z)

    def draw(self, X, rng):
        return X + rng.normal(size=X.shape)


class Fixed(ClassifierMixin, BaseEstimator):
    """The same probabilities for every row."""

    classes_ = np.arange(3)

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        return np.tile([0.5, 0.3, 0.2], (len(X), 1))

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


SAMPLED = PLCP(SoftmaxPartition(), 3, calibration="split", assignment="sample", random_state=0)
RULES = {
    "RLCP": RLCP(random_state=0),
    "RLCP, box": RLCP("box", random_state=0),
    "RLCP, own kernel": RLCP(OwnKernel(), random_state=0),
    "RLCP, two levels": RLCP(alpha=[0.1, 0.2], random_state=0),
    "posterior": PosteriorConformal(random_state=0),
    "PLCP": SAMPLED,
    "conditional": ConditionalCalibration(randomized=True, random_state=0),
    "kernel": ConditionalCalibration(kernel=KernelShifts(), randomized=True, random_state=0),
}


def pairs(rng, n):
    X = rng.normal(size=(n, 2))
    return X, (1.5 + np.sin(X[:, 0])) * rng.exponential(size=n)


@pytest.mark.filterwarnings("ignore::plcp.InfiniteThresholdWarning")
@pytest.mark.parametrize("as_rows", [np.asarray, pd.DataFrame], ids=["array", "frame"])
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_row_alone_is_answered_as_among_others(rule, as_rows, rng):
    X, scores = pairs(rng, 300)
    new = pairs(rng, 40)[0]
    X, new = (as_rows(rows) for rows in (X, new))
    if as_rows is pd.DataFrame:
        X.columns = new.columns = ["a", "b"]
    rule.fit(X, scores)
    batch = rule.predict(new)
    alone = np.concatenate([rule.predict(new[i : i + 1]) for i in range(40)])
    if isinstance(rule, ConditionalCalibration):  # products of matrices round by their shape
        targets = [rule._targets(new[i : i + 1], None)[0] for i in range(40)]
        assert_array_equal(targets, rule._targets(new, None))
        assert_allclose(alone, batch, rtol=1e-9)
    else:
        assert_array_equal(alone, batch)
        assert_array_equal(rule.predict(new[::-1]), batch[::-1])


def test_equal_rows_share_their_draw_and_those_that_differ_do_not(rng):
    X, scores = pairs(rng, 300)
    rule = RLCP(random_state=0).fit(X, scores)
    assert len(set(rule.predict(np.zeros((50, 2))))) == 1
    near = 1e-9 * np.arange(50)[:, None] * np.ones(2)  # weighted alike, but for the draw
    assert len(set(rule.predict(near))) > 5


def test_groups_given_by_hand_are_content_of_the_row(rng):
    X, scores = np.zeros((200, 1)), rng.exponential(size=200)
    groups = rng.integers(0, 2, (200, 6)).astype(bool)
    rule = ConditionalCalibration(randomized=True, random_state=0)
    drawn = rule.fit(X, scores, groups=groups)._targets(X, groups)
    assert len(set(drawn)) == len(np.unique(groups, axis=0))


def test_sampled_groups_cover_rows_served_one_by_one(rng):
    X, scores = pairs(rng, 600)
    new, new_scores = pairs(rng, 800)
    rule = SAMPLED.fit(X, scores)
    groups = np.concatenate([rule.groups(row[None]) for row in new])
    covered = new_scores <= np.concatenate([rule.predict(row[None]) for row in new])
    assert rule.n_groups_ > 1
    for g, n_cal in enumerate(rule.group_sizes_.astype(int)):
        low, high = beta_binomial_band((groups == g).sum(), n_cal, conformal_rank(n_cal, 0.1))
        assert low <= covered[groups == g].sum() <= high


@pytest.mark.parametrize("seed", [0, 1, None])
def test_randomised_ranks_cover_rows_served_one_by_one(rng, seed):
    """Scores are uniform, whatever the label: counts follow the law of a single threshold."""
    y, new_y = (rng.choice(3, p=[0.5, 0.3, 0.2], size=n) for n in (400, 800))
    X, new = np.arange(400.0)[:, None], np.arange(800.0)[:, None]  # the first 400 calibrated
    score = CumulativeProbability("random", random_state=seed)
    model = ConformalClassifier(FrozenEstimator(Fixed()), score, SplitConformal()).fit(X, y)
    alone = [model.predict_set(row[None]).to_numpy()[0] for row in new]
    assert_array_equal(alone, model.predict_set(new).to_numpy())
    low, high = beta_binomial_band(800, 400, conformal_rank(400, 0.1))
    covered = np.array(alone)[np.arange(800), new_y]
    assert low <= covered.sum() <= high
    seen = model.examine(new, new_y)  # scores and sets of new rows have one draw
    assert_array_equal(seen.sets.contains(new_y), seen.scores[:, 0] <= seen.thresholds[:, 0])
    assert_array_equal(seen.sets.to_numpy(), alone)


def test_a_calibration_row_and_an_equal_new_one_draw_apart(rng):
    X = np.arange(500.0)[:, None]
    y = rng.choice(3, p=[0.5, 0.3, 0.2], size=500)
    score = CumulativeProbability("random", random_state=0)
    model = ConformalClassifier(FrozenEstimator(Fixed()), score, SplitConformal()).fit(X, y)
    calibrated = model.tail_rules_[0].threshold_
    new = model.examine(X, y).scores[:, 0]
    once = model.conformity_(Fixed().predict_proba(X), y)
    assert calibrated in once
    assert calibrated not in new
    assert not np.isin(once, new).any()


def test_a_score_by_itself_draws_by_the_prediction():
    rng = np.random.default_rng(0)
    predictions = rng.dirichlet(np.ones(4), size=50)
    score = CumulativeProbability("random", random_state=0)
    batch = score.invert(predictions, 0.6).to_numpy()
    alone = [score.invert(row[None], 0.6).to_numpy()[0] for row in predictions]
    assert_array_equal(alone, batch)

"""Any classifier as H: the cost-weighted reduction against brute force."""

from itertools import count

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from plcp import ClassifierPartition
from plcp.partitions import CollapseWarning
from plcp.partitions.classifier import predict_groups, start_thresholds, train_on_costs
from plcp.quantiles import pinball_loss


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [0.1, 0.4])
def test_a_lookup_table_finds_the_group_of_least_loss_at_each_x(rng, alpha, weighted):
    x = rng.integers(0, 8, 400)
    scores = rng.exponential(size=400) * (1 + x)
    weights = rng.uniform(size=400) if weighted else np.ones(400)
    costs = pinball_loss(np.array([1.0, 4.0, 9.0, 20.0]), scores[:, None], alpha)
    model = train_on_costs(DecisionTreeClassifier(), x[:, None], costs, weights)
    best = [np.argmin(weights[x == value] @ costs[x == value]) for value in range(8)]
    assert_array_equal(predict_groups(model, np.arange(8)[:, None]), best)


@pytest.mark.parametrize(("scores", "best"), [([9.0, 8.0], 1), ([0.0, 0.5], 0), ([1.0, 1.0], 0)])
def test_where_one_group_is_best_for_all_it_is_taken(scores, best):
    costs = pinball_loss(np.array([1.0, 2.0]), np.array(scores)[:, None], 0.1)
    X = np.array([[0.0], [1.0]])
    model = train_on_costs(DecisionTreeClassifier(), X, costs, np.ones(2))
    assert_array_equal(predict_groups(model, X), best)


def test_starts_rise_about_the_quantile_sought(rng):
    scores, weights = rng.exponential(size=1000), rng.integers(1, 4, size=1000)
    starts = start_thresholds(scores, weights, 5, 0.1)
    assert (np.diff(starts) > 0).all()
    sought = np.quantile(scores.repeat(weights), 0.9, method="inverted_cdf")
    assert starts[2] == sought
    assert_array_equal(start_thresholds(scores, weights, 1, 0.1), sought)


def test_the_history_is_the_loss_out_of_fold(rng):
    scores, weights = rng.exponential(size=200), rng.integers(1, 4, size=200)
    partition = ClassifierPartition(DecisionTreeClassifier(), 1).fit(
        scores[:, None], scores, weights
    )
    best = np.quantile(scores.repeat(weights), 0.9, method="inverted_cdf")
    expected = np.average(pinball_loss(best, scores, 0.1), weights=weights)
    assert {step["out_of_fold"] for step in partition.history_} == {expected}


def step(rng, n=600):
    X = rng.uniform(-1, 1, size=(n, 1))
    return X, np.where(X[:, 0] > 0, 5.0, 1.0) * rng.exponential(size=n)


@pytest.mark.parametrize(
    "classifier", [None, LogisticRegression(), DecisionTreeClassifier(max_depth=1)]
)
def test_groups_are_in_order_and_hard(rng, classifier):
    X, scores = step(rng)
    partition = ClassifierPartition(classifier, n_groups=2, random_state=0).fit(X, scores)
    assert_array_equal(partition.predict([[-0.9], [0.9]]), [0, 1])
    memberships = partition.predict_proba(X)
    assert set(np.unique(memberships)) <= {0.0, 1.0}
    assert_array_equal(memberships.argmax(axis=1), partition.predict(X))
    assert (np.diff(partition.thresholds_) > 0).all()
    assert partition.group_sizes_.sum() == len(X)
    assert len(partition.history_) == partition.n_rounds


@pytest.mark.parametrize("seed", range(3))
def test_nothing_to_learn_is_warned_of(seed):
    scores = np.random.default_rng(seed).exponential(size=200)
    tree = DecisionTreeClassifier(max_depth=1)
    partition = ClassifierPartition(tree, n_groups=3, random_state=seed)
    with pytest.warns(CollapseWarning, match="nothing to learn"):
        partition.fit(np.zeros((200, 1)), scores)
    assert len(np.unique(partition.predict(np.zeros((3, 1))))) == 1


class Moody(ClassifierMixin, BaseEstimator):
    """Puts every row in one group, another one each time it is trained."""

    fits = count()

    def fit(self, X, y, sample_weight=None):
        self.group_ = next(self.fits) % 3
        return self

    def predict(self, X):
        return np.full(len(X), self.group_)


def test_collapse_of_the_final_model_is_warned_of_though_its_folds_disagree(rng):
    X, scores = step(rng, n=90)
    partition = ClassifierPartition(Moody(), n_groups=3, n_rounds=1, random_state=0)
    with pytest.warns(CollapseWarning, match="one group of 3 holds 100%"):
        partition.fit(X, scores)
    assert partition.group_sizes_.max() == 30


def test_a_classifier_that_takes_no_weights():
    with pytest.raises(ValueError, match="KNeighborsClassifier does not accept sample_weight"):
        ClassifierPartition(KNeighborsClassifier()).fit(np.zeros((20, 1)), np.arange(20))


def test_folds_of_the_user(rng):
    X, scores = step(rng)
    weights = rng.integers(0, 3, size=600)
    tree = DecisionTreeClassifier(max_depth=1, random_state=0)
    by_splitter, by_pairs = (
        ClassifierPartition(tree, 2, cv=cv).fit(X, scores, weights)
        for cv in (KFold(4), [*KFold(4).split(X)])
    )
    assert by_splitter.history_ == by_pairs.history_

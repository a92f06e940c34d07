"""Any scikit-learn classifier as the class H, by a cost-weighted reduction."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from plcp._folds import Fold, copy_ids, given_folds, shuffled_folds
from plcp._options import check_count
from plcp._rows import count, take
from plcp._validation import check_features, check_weights, feature_errors, takes_nan
from plcp.partitions.base import Partition, group_masses, one_hot, warn_if_collapsed
from plcp.quantiles import FloatArray, IntArray, pinball_loss, weighted_quantiles
from plcp.regressors.base import fit_weighted, seeded

START_ODDS = 3.0  # thresholds start where the odds of a miss are a third to three times alpha's


class ClassifierPartition(Partition):
    """The groups are the classes that an off-the-shelf classifier predicts.

    With thresholds q held, training on every pair (x_j, i) with weight
    max_k ℓ_α(q_k, s_j) - ℓ_α(q_i, s_j) makes the likeliest class of x the group of least expected
    pinball loss, equation (7) of the paper. Rounds of that alternate with reading q off the groups
    predicted out of fold, since a strong classifier overfits its own training rows.
    Memberships are hard: h(x) is one for the likeliest class.

    The classifier is trained on n · n_groups weighted rows, ``cv`` + 1 times per round.

    Parameters
    ----------
    classifier : classifier, default=None
        Must accept ``sample_weight`` (a pipeline: its last step). None:
        ``HistGradientBoostingClassifier`` with 50 small trees per class, which takes missing values
        and columns of categorical type.
    n_groups : int, default=4
        Number of groups m.
    alpha : float, default=0.1
        Miscoverage rate.
    n_rounds : int, default=3
        Rounds of training and reading thresholds.
    cv : int, splitter of scikit-learn or iterable of (learn, hold) rows, default=3
        Number of folds, drawn at random in each round, where copies of a row share a fold; or the
        folds. They give the out-of-fold groups.
    random_state : int, RandomState or None
        Seed of the folds.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from plcp import ClassifierPartition
    >>> from plcp.datasets import make_toy
    >>> task = make_toy(2000, random_state=0)
    >>> stump = DecisionTreeClassifier(max_depth=1)
    >>> partition = ClassifierPartition(stump, n_groups=2, random_state=0)
    >>> partition.fit(task.X, task.scores).predict([[-0.9], [0.9]])
    array([0, 1])
    """

    def __init__(
        self,
        classifier: Any = None,
        n_groups: int = 4,
        *,
        alpha: float = 0.1,
        n_rounds: int = 3,
        cv: Any = 3,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.n_groups = n_groups
        self.alpha = alpha
        self.n_rounds = n_rounds
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn groups from features ``X`` and scores ``y``."""
        rows = X
        X, scores, given = self._check_fit(rows, y, sample_weight)
        check_count("n_rounds", self.n_rounds, 1)
        folds = given_folds(self.cv, rows, y, check_weights(sample_weight, rows))
        weights = np.ones(len(scores)) if given is None else given
        rng = check_random_state(self.random_state)
        classifier = seeded(self._template(), rng)
        thresholds = start_thresholds(scores, weights, self.n_groups, self.alpha)
        self.history_ = []
        ids = copy_ids(X, scores)
        for _ in range(self.n_rounds):
            costs = pinball_loss(thresholds, scores[:, None], self.alpha)
            groups = np.zeros(len(scores), dtype=np.intp)
            for learn, hold in self._own_folds(ids, rng) if folds is None else folds:
                fold = train_on_costs(classifier, take(X, learn), costs[learn], weights[learn])
                groups[hold] = predict_groups(fold, take(X, hold))
            members = one_hot(groups, self.n_groups) * weights[:, None]
            found = weighted_quantiles(scores, members, 1 - self.alpha)
            thresholds = np.where(np.isnan(found), thresholds, found)
            loss = pinball_loss(thresholds[groups], scores, self.alpha)
            self.history_.append({"out_of_fold": float(np.average(loss, weights=weights))})
        self.classifier_ = train_on_costs(classifier, X, costs, weights)
        self.store_groups(thresholds, members.sum(axis=0))
        # Folds may each have one group and not the same: the final model decides which are used.
        used = self._group_of[predict_groups(self.classifier_, X)]
        in_use = group_masses(used, weights, self.n_groups_)
        warn_if_collapsed(max(self.group_sizes_, in_use, key=np.max), self.n_groups)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Hard memberships: one for the likeliest class, shape (n, ``n_groups_``)."""
        return one_hot(self.predict(X), self.n_groups_)

    def predict(self, X: Any) -> IntArray:
        """Group of each row."""
        check_is_fitted(self, "thresholds_")
        X = check_features(self, X, reset=False)
        return self._group_of[predict_groups(self.classifier_, X)]

    def _template(self) -> Any:
        if self.classifier is not None:
            return self.classifier
        return HistGradientBoostingClassifier(max_iter=50, max_leaf_nodes=8, early_stopping=False)

    def _own_folds(self, ids: IntArray, rng: np.random.RandomState) -> list[Fold]:
        """Folds drawn at random; none for a single row."""
        n_folds, seed = min(self.cv, len(ids)), rng.randint(np.iinfo(np.int32).max)
        return shuffled_folds(ids, n_folds, seed) if n_folds > 1 else []

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = takes_nan(self._template())
        return tags


def start_thresholds(
    scores: FloatArray, weights: FloatArray, n_groups: int, alpha: float
) -> FloatArray:
    """Quantiles of all scores about the one sought, spread evenly in the log-odds of a miss."""
    spread = np.geomspace(START_ODDS, 1 / START_ODDS, n_groups) if n_groups > 1 else np.ones(1)
    odds = alpha / (1 - alpha) * spread
    return np.array([weighted_quantiles(scores, weights[:, None], q)[0] for q in 1 / (1 + odds)])


def train_on_costs(classifier: Any, X: Any, costs: FloatArray, weights: FloatArray) -> Any:
    """Train on every (row, group) with the saving over the row's dearest group as weight.

    A lone group where no other saves anything, so that there is nothing to distinguish.
    """
    savings = (costs.max(axis=1, keepdims=True) - costs) * weights[:, None]
    rows, groups = np.nonzero(savings)
    if len(np.unique(groups)) < 2:
        return int(groups.max(initial=0))
    importance = savings[rows, groups]
    with feature_errors(X):
        return fit_weighted(
            clone(classifier), take(X, rows), groups, importance / importance.mean()
        )


def predict_groups(model: Any, X: Any) -> IntArray:
    """Class of each row as a group number; the lone group where there is no model."""
    if isinstance(model, int):
        return np.full(count(X), model, dtype=np.intp)
    with feature_errors(X):
        return np.asarray(model.predict(X), dtype=np.intp)

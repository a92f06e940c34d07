"""The paper's partition: softmax of a linear map, learned by alternating steps."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from plcp._folds import copy_ids, split_rows
from plcp._options import check_count, check_share
from plcp._parallel import threads_for
from plcp._validation import check_table, relative_weights
from plcp.partitions.base import Partition, merge_columns, warn_if_collapsed
from plcp.quantiles import FloatArray, pinball_loss, weighted_quantiles
from plcp.regressors.base import unit_of
from plcp.regressors.linear import LinearQuantile

ROUNDS_WITHOUT_GAIN = 3


@dataclass(frozen=True)
class _Pairs:
    """Standardised features with a column of ones, scores, and weights that sum to one."""

    Z: FloatArray
    scores: FloatArray
    weights: FloatArray


class SoftmaxPartition(Partition):
    """h(x) = softmax(W x + b), learned with the thresholds by the paper's Algorithm 1.

    mean_j Σ_i h_i(x_j) ℓ_α(q_i, s_j) + l2/2 ‖W‖², over standardised features. Given h, each q_i is
    a weighted quantile in closed form (the q-step); given q, a few quasi-Newton steps on (W, b)
    (the h-step). The problem is not convex, unlike the paper states: the best of several starts is
    kept. One start lays the groups along a linear quantile regression of the scores, the others
    are random. Run to the end it overfits, so it stops when held-out loss no longer falls.

    Parameters
    ----------
    n_groups : int, default=8
        Number of groups m.
    alpha : float, default=0.1
        Miscoverage rate.
    l2 : float, default=0.0
        Ridge penalty on W.
    h_steps : int, default=2
        Quasi-Newton iterations on (W, b) between two q-steps.
    max_rounds : int, default=50
        Rounds of one h-step and one q-step.
    n_starts : int, default=3
        Starts, the best of which by held-out (else training) loss is kept.
    early_stopping : bool, default=True
        Stop when the pinball loss on ``validation_fraction`` of the rows no longer falls.
    validation_fraction : float, default=0.2
        Share of rows held out for that.
    random_state : int, RandomState or None
        Seed of the starts and the held-out rows.

    References
    ----------
    Kiyani, Pappas, Hassani (2024). Conformal Prediction with Learned Features, Algorithm 1.

    Examples
    --------
    >>> from plcp import SoftmaxPartition
    >>> from plcp.datasets import make_toy
    >>> task = make_toy(2000, random_state=0)
    >>> partition = SoftmaxPartition(n_groups=2, random_state=0).fit(task.X, task.scores)
    >>> partition.predict([[-0.9], [0.9]])
    array([0, 1])
    """

    def __init__(
        self,
        n_groups: int = 8,
        *,
        alpha: float = 0.1,
        l2: float = 0.0,
        h_steps: int = 2,
        max_rounds: int = 50,
        n_starts: int = 3,
        early_stopping: bool = True,
        validation_fraction: float = 0.2,
        random_state: Any = None,
    ) -> None:
        self.n_groups = n_groups
        self.alpha = alpha
        self.l2 = l2
        self.h_steps = h_steps
        self.max_rounds = max_rounds
        self.n_starts = n_starts
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn W, b and q from features ``X`` and scores ``y``."""
        X, scores, given = self._check_fit(X, y, sample_weight)
        for name in ("h_steps", "max_rounds", "n_starts"):
            check_count(name, getattr(self, name), 1)
        check_share("validation_fraction", self.validation_fraction)
        if not self.l2 >= 0:
            raise ValueError(f"l2 must not be negative, got {self.l2}")
        rng = check_random_state(self.random_state)
        X = check_table(self, X, reset=True)
        shares, total = relative_weights(given), len(scores) if given is None else given.sum()
        weights = np.ones(len(scores)) if shares is None else shares
        self._center = np.average(X, axis=0, weights=weights)
        spread = np.sqrt(np.average((X - self._center) ** 2, axis=0, weights=weights))
        self._spread = np.where(spread > 0, spread, 1.0)
        unit = unit_of(scores, shares)
        pairs = _Pairs(self._standardise(X), scores / unit, weights / weights.sum())
        learn = hold = pairs
        if self.early_stopping and len(scores) * self.validation_fraction >= 1 / self.alpha:
            parts = split_rows(copy_ids(X, pairs.scores), self.validation_fraction, rng)
            learn, hold = (
                _Pairs(pairs.Z[rows], pairs.scores[rows], pairs.weights[rows]) for rows in parts
            )
        shape = pairs.Z.shape[1], self.n_groups
        with threads_for(X, self):
            starts = [ordered_start(learn, self.n_groups, self.alpha)]
            while len(starts) < self.n_starts:
                starts.append(rng.normal(size=shape) / np.sqrt(shape[0]))
            runs = [self._descend(start, learn, hold, self.l2 / unit) for start in starts]
        _, self._weights, thresholds, history = min(runs, key=lambda run: run[0])
        self.history_ = [{name: unit * loss for name, loss in step.items()} for step in history]
        thresholds = threshold_step(pairs, self._weights, self.alpha, previous=thresholds)
        masses = (pairs.weights @ softmax(pairs.Z @ self._weights, axis=1)) * total
        # a group of less than one point is dead
        self.store_groups(thresholds * unit, masses, least=total / len(scores))
        warn_if_collapsed(self.group_sizes_, self.n_groups)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Memberships h(x), shape (n, ``n_groups_``)."""
        check_is_fitted(self, "thresholds_")
        X = check_table(self, X, reset=False)
        raw = softmax(self._standardise(X) @ self._weights, axis=1)
        return merge_columns(raw, self._group_of, self.n_groups_)

    def _standardise(self, X: FloatArray) -> FloatArray:
        Z = np.empty((X.shape[0], X.shape[1] + 1))
        Z[:, :-1] = (X - self._center) / self._spread
        Z[:, -1] = 1.0
        return Z

    def _descend(
        self, W: FloatArray, learn: _Pairs, hold: _Pairs, l2: float
    ) -> tuple[float, FloatArray, FloatArray, list[dict[str, float]]]:
        """Alternate h- and q-steps from one start; the state of least held-out loss."""
        history: list[dict[str, float]] = []
        best: tuple[float, FloatArray, FloatArray] = (np.inf, W, np.zeros(self.n_groups))
        stale = 0
        q = threshold_step(learn, W, self.alpha)
        for _ in range(self.max_rounds):
            losses = pinball_loss(q, learn.scores[:, None], self.alpha)
            W, objective = membership_step(W, losses, learn, l2, self.h_steps)
            q = threshold_step(learn, W, self.alpha, previous=q)
            held = objective_value(W, q, hold, self.alpha)
            history.append({"objective": objective, "held_out": held})
            stale = 0 if held < best[0] * (1 - 1e-5) else stale + 1
            if held < best[0]:
                best = (held, W, q)
            if stale >= ROUNDS_WITHOUT_GAIN:
                break
        return *best, history


def membership_step(
    W: FloatArray, losses: FloatArray, pairs: _Pairs, l2: float, n_steps: int
) -> tuple[FloatArray, float]:
    """A few L-BFGS iterations on (W, b) with the thresholds held."""

    def objective(flat: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = membership_objective(flat.reshape(W.shape), losses, pairs, l2)
        return value, gradient.ravel()

    options = {"maxiter": n_steps}
    result = minimize(objective, W.ravel(), jac=True, method="L-BFGS-B", options=options)
    return result.x.reshape(W.shape), float(result.fun)


def membership_objective(
    W: FloatArray, losses: FloatArray, pairs: _Pairs, l2: float
) -> tuple[float, FloatArray]:
    """Objective of Algorithm 1 as a function of W, thresholds fixed, and its gradient."""
    H = softmax(pairs.Z @ W, axis=1)
    expected = np.einsum("ij,ij->i", H, losses)
    penalised = W.copy()
    penalised[-1] = 0.0  # the intercepts go free
    slope = H * (losses - expected[:, None]) * pairs.weights[:, None]
    value = pairs.weights @ expected + l2 / 2 * np.sum(penalised**2)
    return float(value), pairs.Z.T @ slope + l2 * penalised


def objective_value(W: FloatArray, q: FloatArray, pairs: _Pairs, alpha: float) -> float:
    """Mean pinball loss Σ_i h_i(x) ℓ_α(q_i, s) of a state on some pairs."""
    losses = pinball_loss(q, pairs.scores[:, None], alpha)
    H = softmax(pairs.Z @ W, axis=1)
    return float(pairs.weights @ np.einsum("ij,ij->i", H, losses) / pairs.weights.sum())


def threshold_step(
    pairs: _Pairs, W: FloatArray, alpha: float, previous: FloatArray | None = None
) -> FloatArray:
    """Exact q-step: each threshold is the weighted (1 - alpha)-quantile under its memberships."""
    H = softmax(pairs.Z @ W, axis=1) * pairs.weights[:, None]
    q = weighted_quantiles(pairs.scores, H, 1 - alpha)
    if previous is None:
        previous = weighted_quantiles(pairs.scores, pairs.weights[:, None], 1 - alpha)
    return np.where(np.isnan(q), previous, q)


def ordered_start(pairs: _Pairs, n_groups: int, alpha: float) -> FloatArray:
    """Weights that lay the groups along a linear g: logits -(g - c_i)²/2τ², linear in g."""
    features, weights = pairs.Z[:, :-1], pairs.weights
    linear = LinearQuantile(quantile=1 - alpha).fit(features, pairs.scores, weights)
    g = linear.predict(features)
    if not np.ptp(g) > 0:
        return np.zeros((pairs.Z.shape[1], n_groups))
    middles = (np.arange(n_groups) + 0.5) / n_groups
    centers = np.array([weighted_quantiles(g, weights[:, None], middle)[0] for middle in middles])
    width = np.average((g - np.average(g, weights=weights)) ** 2, weights=weights) / n_groups
    W = np.empty((pairs.Z.shape[1], n_groups))
    W[:-1] = np.outer(linear.coef_, centers) / width
    W[-1] = (linear.intercept_ * centers - centers**2 / 2) / width
    return W

"""An index fitted on all folds but one, over and over: honest on its own rows, averaged on new."""

from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin, clone
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from plcp.estimator import Estimator
from plcp.indices.averaged import AveragedBoosters
from plcp.indices.levels import seeded
from plcp.indices.linear import LinearQuantile
from plcp.indices.sparse import SparseScale
from plcp.indices.weights import fit_weighted
from plcp.progress import in_threads, one_thread_for_few
from plcp.quantiles import FloatArray, IntArray
from plcp.rows import take
from plcp.validation import (
    check_count,
    check_features,
    check_lengths,
    check_scores,
    check_weights,
    relative_weights,
    takes_images,
    takes_nan,
)

Fold = tuple[IntArray, IntArray]
ROWS_TO_FIT = 60_000
REPEATS = (2, 5)


class CrossFitted(RegressorMixin, Estimator):
    """The average of an index's fold models, with its out-of-fold values on the fitted rows.

    Row j's out-of-fold value comes from models that never saw it, so thresholds read off it are
    honest. New rows are served by the average of all fold models, which is less noisy than the
    one model behind an out-of-fold value and would over-cover; repeating the folds evens that out.

    Parameters
    ----------
    index : regressor
        Refitted on each fold's complement.
    cv : int, default=3
        Folds.
    n_repeats : int or "auto", default="auto"
        Times the rows are shuffled and folded anew; "auto": 60,000 / n, between two and five.
    n_jobs : int or None
        Folds fitted at once, in threads.
    verbose : bool, default=False
        Show a progress bar (needs the extra ``progress``).
    random_state : int, RandomState or None
        Seed of the folds.

    Attributes
    ----------
    out_of_fold_ : ndarray of shape (n,)
        Mean over repeats of each row's value by the model that did not see it.
    history_ : list of dict
        Iterations of each fold model, of those that tell.
    models_ : list
        The fold models; linear ones are averaged into one (``SparseScale``: their variances).

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.indices import LinearQuantile
    >>> X = np.arange(20.0)[:, None]
    >>> index = CrossFitted(LinearQuantile(quantile=0.5), n_repeats=1, random_state=0)
    >>> index.fit(X, 3 * X[:, 0]).predict([[5.0]]).round(6)
    array([15.])
    """

    _of_rows = ("out_of_fold_",)  # what files leave out

    def __init__(
        self,
        index: Any,
        *,
        cv: int = 3,
        n_repeats: int | str = "auto",
        n_jobs: int | None = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.index = index
        self.cv = cv
        self.n_repeats = n_repeats
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit one model for each fold and repeat.

        Only shares of ``sample_weight`` count, and the index is given weights of one on average:
        those that are all alike are none.
        """
        rng = check_random_state(self.random_state)
        X = check_features(self, X, reset=True)
        scores = check_scores(y)
        check_lengths(X, scores)
        weights = relative_weights(check_weights(sample_weight, X))
        folds = make_folds(len(scores), self.cv, self.n_repeats, rng)
        index = seeded(self.index, rng)
        if hasattr(index, "tune"):  # what can be chosen once is not chosen anew in each fold
            index = index.tune(X, scores, weights)
        jobs = [partial(_fit_fold, index, X, scores, weights, fold) for fold in folds]
        fitted = in_threads(jobs, self.n_jobs, self.verbose, type(index).__name__)
        total = np.zeros(len(scores))
        for (_, hold), (_, values) in zip(folds, fitted, strict=True):
            total[hold] += values
        self.out_of_fold_ = total / repeats(self.n_repeats, len(scores))
        models = [model for model, _ in fitted]
        self.history_ = histories(models)
        self.models_ = average_linear(models)
        self._tables = AveragedBoosters.of(self.models_)  # now: predict changes nothing
        return self

    def predict(self, X: Any) -> FloatArray:
        """Mean of the fold models."""
        check_is_fitted(self)
        X = check_features(self, X, reset=False)
        if isinstance(X, np.ndarray) and self._tables is not None:
            mean = self._tables.predict(X)
            if mean is not None:
                return mean
        total = self.models_[0].predict(X)
        for model in self.models_[1:]:
            total = total + model.predict(X)
        return total / len(self.models_)

    def forget_rows(self) -> None:
        """Drop what is known of the fitted rows, which new rows do not need."""
        for name in self._of_rows:
            delattr(self, name)

    @cached_property
    def _tables(self) -> AveragedBoosters | None:
        """All trees of the fold models, if they are made of trees."""
        return AveragedBoosters.of(self.models_)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is kept on disk: tables are made anew."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_tables"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "models_" in state:
            self._tables = AveragedBoosters.of(self.models_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = takes_nan(self.index)
        tags.input_tags.three_d_array = takes_images(self.index)
        tags.regressor_tags.poor_score = True
        return tags


def histories(models: list[Any]) -> list[dict[str, Any]]:
    """What each iteration of each model reached, for models that tell."""
    return [
        {"model": number, **step}
        for number, model in enumerate(models)
        for step in getattr(model, "history_", [])
    ]


def repeats(n_repeats: int | str, n: int) -> int:
    """Number of repeats: fewer for more rows, where averaging gains little and costs more."""
    if n_repeats == "auto":
        return int(np.clip(round(ROWS_TO_FIT / n), *REPEATS))
    return check_count("n_repeats", n_repeats, 1)


def make_folds(n: int, cv: int, n_repeats: int | str, rng: np.random.RandomState) -> list[Fold]:
    """Learn and hold rows of every fold of every repeat."""
    if n < 2:
        raise ValueError(f"n_samples={n}: one row makes no folds, give at least two")
    n_folds = min(check_count("cv", cv, 2), n)
    seeds = [rng.randint(np.iinfo(np.int32).max) for _ in range(repeats(n_repeats, n))]
    return [
        fold
        for seed in seeds
        for fold in KFold(n_folds, shuffle=True, random_state=seed).split(np.empty(n))
    ]


def _fit_fold(
    index: Any, X: Any, scores: FloatArray, weights: FloatArray | None, fold: Fold
) -> tuple[Any, FloatArray]:
    learn, hold = fold
    own = None if weights is None else weights[learn]
    with one_thread_for_few(X):
        model = fit_weighted(clone(index), take(X, learn), scores[learn], own)
        return model, model.predict(take(X, hold))


def average_linear(models: list[Any]) -> list[Any]:
    """One model in place of several of one linear kind, whose lines can be averaged for good."""
    kinds = {type(model) for model in models}
    if kinds == {LinearQuantile}:
        return [models[0].mean_with(models[1:])]
    if kinds == {SparseScale} and all(model.columns_.plain for model in models):
        return [models[0].mean_with(models[1:])]
    return models

"""Linear quantile regression on blocks of rows, the same to the last bit however they are cut."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from plcp.blocks.look import Look, looked_at
from plcp.blocks.newton import Evaluation, Search, one_thread
from plcp.blocks.passes import Passes
from plcp.blocks.pinball import fold_of, sums_of
from plcp.blocks.start import Lesson, begin
from plcp.indices.linear import LinearQuantile
from plcp.validation import check_count, check_share

__all__ = ["fit_folds", "fit_line", "fold_of"]

MOST_PASSES = 100
NOBODY = -1  # a fold that has no rows


def fit_folds(blocks: Passes, quantile: float, n_folds: int, seed: int = 0) -> list[LinearQuantile]:
    """Lines through the quantile of the scores, one for each fold that it has not seen.

    Parameters
    ----------
    blocks : Passes
        Blocks of features and scores.
    quantile : float
        Level of the quantile.
    n_folds : int
        Number of folds; ``fold_of(hash_rows(X, scores, seed), n_folds)`` is the fold of a row.
    seed : int
        Seed of the folds, and of the rows that are fitted first.

    Returns
    -------
    list of LinearQuantile
        Model k has learned from the rows of all folds but k: its mean pinball loss on them is
        within 0.1 % of the least. Of the rows of fold k it knows no more than the range, centre
        and spread of features, by which numbers are rounded.
    """
    n_folds = check_count("n_folds", n_folds, 2)
    return _fit(blocks, quantile, n_folds, list(range(n_folds)), seed)


def fit_line(blocks: Passes, quantile: float, seed: int = 0) -> LinearQuantile:
    """Line through the quantile of the scores of all rows, within 0.1 % of the least mean loss.

    Examples
    --------
    >>> from plcp.blocks import Held
    >>> X = np.arange(101.0)[:, None]
    >>> one, other = (X[:60], 2 * X[:60, 0]), (X[60:], 2 * X[60:, 0])
    >>> fit_line(Held([one, other]), 0.5).predict([[10.0]]).round(6)
    array([20.])
    """
    return _fit(blocks, quantile, 1, [NOBODY], seed)[0]


def _fit(
    blocks: Passes, quantile: float, n_folds: int, left_out: list[int], seed: int
) -> list[LinearQuantile]:
    seen = looked_at(blocks, seed)
    start = begin(blocks, seen, Lesson(check_share("quantile", quantile), n_folds, left_out, seed))
    searches = [Search(candidate) for candidate in start.candidates]
    for _ in range(MOST_PASSES):
        going_on = [search for search in searches if not search.is_certified]
        if not going_on:
            break
        asked = [search.candidates for search in going_on]
        sums = blocks.total(sums_of, [c for some in asked for c in some], start.grid, n_folds, seed)
        found = (
            Evaluation.of(sums, i, c, quantile)
            for i, c in enumerate(c for some in asked for c in some)
        )
        with one_thread():
            for search, some in zip(going_on, asked, strict=True):
                search.learn([next(found) for _ in some])
    else:
        warnings.warn(
            f"not certified within 0.1 % of the least loss after {MOST_PASSES} passes: clip far "
            "values of X and of the scores",
            ConvergenceWarning,
            stacklevel=3,
        )
    for model, search in zip(start.models, searches, strict=False):  # no searches after all rows
        model.coef_, model.intercept_ = start.grid.coefficients(search.candidate.theta)
        model.n_iter_ = search.n_iter
    return [_named(model, seen) for model in start.models]


def _named(model: LinearQuantile, seen: Look) -> LinearQuantile:
    """Give the model the names of columns, if they are strings."""
    if seen.names and all(isinstance(name, str) for name in seen.names):
        model.feature_names_in_ = np.array(seen.names, dtype=object)
    return model

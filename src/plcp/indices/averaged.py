"""The mean of fold models that are made of boosters, from all their trees at once."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import gen_batches
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

from plcp.indices.boosted import ScaledQuantile
from plcp.indices.category_means import CategoryMeans
from plcp.indices.forest import MOST_LEAVES, AnyBooster, Forest, numbered_columns, width
from plcp.indices.light_trees import LightBooster, is_light
from plcp.indices.tables import without_rare
from plcp.indices.trees import Booster
from plcp.quantiles import FloatArray

ROWS = 16_384  # at a time: they stay in the cache; with fewer, threads wait for the interpreter
MOST_BYTES = 2**26  # of all tables: a column may have a category for every other row


@dataclass(frozen=True)
class Parts:
    """A model taken apart: it predicts the product of what its boosters do, times a unit."""

    boosters: Sequence[AnyBooster]
    unit: float = 1.0

    def combine(self, *predictions: FloatArray) -> FloatArray:
        """Return what the model makes of its boosters' predictions."""
        return reduce(np.multiply, predictions, np.asarray(self.unit))


class AveragedBoosters:
    """Mean of several models made of boosters, the same to the last bit as their own mean."""

    def __init__(self, models: Sequence[Parts]) -> None:
        self.models = models
        self.forest = Forest([booster for model in models for booster in model.boosters])

    @classmethod
    def of(cls, models: Sequence[Any]) -> Self | None:
        """Take fitted models apart; None where it cannot be done, or nothing would be gained."""
        apart = [taken_apart(model) for model in models]
        known = [parts for parts in apart if parts is not None]
        boosters = [booster for parts in known for booster in parts.boosters]
        if len(known) < len(apart) or not all(map(_fits, boosters)):
            return None
        return cls(known) if _is_worth_tables(boosters) else None

    def predict(self, X: NDArray[Any]) -> FloatArray:
        """Mean of the models, in blocks of rows and in as many threads as scikit-learn takes."""
        blocks = [X[rows] for rows in gen_batches(len(X), ROWS)]
        n_threads = min(len(blocks), _openmp_effective_n_threads())
        if n_threads == 1:
            return np.concatenate([*map(self._block, blocks)])
        with ThreadPoolExecutor(n_threads) as threads:
            return np.concatenate([*threads.map(self._block, blocks)])

    def _block(self, X: NDArray[Any]) -> FloatArray:
        predictions = iter(self.forest.predict(X))
        values = (
            model.combine(*(next(predictions) for _ in model.boosters)) for model in self.models
        )
        return reduce(np.add, values) / len(self.models)


def taken_apart(model: Any) -> Parts | None:
    """Boosters of a fitted model, if it is made of nothing else."""
    if isinstance(model, Pipeline):
        return _without_rare_apart(model)
    if is_light(model):
        return Parts([LightBooster(model)])
    if type(model) is HistGradientBoostingRegressor:
        return Parts([Booster(model)])
    if type(model) is ScaledQuantile:
        return Parts([Booster(model.scale_), Booster(model.shape_)], model.unit_)
    if type(model) is CategoryMeans and (parts := taken_apart(model.index_)) is not None:
        given = [replace(b, means=model.means_) for b in parts.boosters if isinstance(b, Booster)]
        return replace(parts, boosters=given) if len(given) == len(parts.boosters) else None
    return None


def _without_rare_apart(model: Pipeline) -> Parts | None:
    """A booster that never saw rare categories takes them for missing without being told to."""
    first, last = model[0], model[-1]
    if len(model) != 2 or not isinstance(first, FunctionTransformer):
        return None
    parts = taken_apart(last)
    if first.func is not without_rare or parts is None:
        return None
    columns = np.flatnonzero(first.kw_args["columns"]).tolist()
    told = all(booster.holds_codes(i) for booster in parts.boosters for i in columns)
    return parts if told else None


def _is_worth_tables(boosters: Sequence[AnyBooster]) -> bool:
    columns = numbered_columns(boosters)
    n_numbers = sum(len(column.samples) for column in columns.values())
    n_bytes = n_numbers * sum(b.n_trees * width(b.most_leaves) // 8 for b in boosters)
    # to number the values of a column takes about as long as to walk through a tree
    return len(columns) <= sum(b.n_trees for b in boosters) and n_bytes <= MOST_BYTES


def _fits(booster: AnyBooster) -> bool:
    return booster.is_plain and booster.most_leaves <= MOST_LEAVES

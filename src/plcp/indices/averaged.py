"""The mean of fold models that are made of boosters, from all their trees at once."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
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
from plcp.indices.walks import Walks
from plcp.quantiles import FloatArray

MOST_TO_WALK = 64  # rows: of more, the models themselves are as fast
ROWS_FOR_TABLES = 10_000  # below, making tables of all trees takes longer than they spare
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
    """Mean of several models made of boosters, the same to the last bit as their own mean.

    A few rows walk through the trees, many are looked up in tables of them, which take longer to be
    made than some thousand predictions; either is made when it is first asked for.
    """

    def __init__(self, models: Sequence[Parts]) -> None:
        self.models = models
        self.boosters = [booster for model in models for booster in model.boosters]

    @classmethod
    def of(cls, models: Sequence[Any]) -> Self | None:
        """Take fitted models apart; None where it cannot be done."""
        apart = [taken_apart(model) for model in models]
        known = [parts for parts in apart if parts is not None]
        return cls(known) if len(known) == len(apart) else None

    def predict(self, X: NDArray[Any]) -> FloatArray | None:
        """Mean of the models; None where they would tell it sooner themselves."""
        if len(X) <= MOST_TO_WALK:
            return None if self.walks is None else self._mean(self.walks, X)
        is_many = len(X) >= ROWS_FOR_TABLES or "forest" in vars(self)
        return self._in_blocks(self.forest, X) if is_many and self.forest is not None else None

    @cached_property
    def walks(self) -> Walks | None:
        """All trees, for few rows; None for LightGBM, whose trees take a second to be told."""
        own = [b for b in self.boosters if isinstance(b, Booster) and b.is_plain and b.n_trees]
        return Walks(own) if len(own) == len(self.boosters) else None

    @cached_property
    def forest(self) -> Forest | None:
        """Tables of all trees, for many rows; None where they would gain nothing."""
        fit = all(b.is_plain and b.most_leaves <= MOST_LEAVES for b in self.boosters)
        return Forest(self.boosters) if fit and _is_worth_tables(self.boosters) else None

    def _in_blocks(self, trees: Forest, X: NDArray[Any]) -> FloatArray:
        """Mean of the models block by block, in as many threads as scikit-learn takes."""
        blocks = [X[rows] for rows in gen_batches(len(X), ROWS)]
        n_threads = min(len(blocks), _openmp_effective_n_threads())
        mean = partial(self._mean, trees)
        if n_threads == 1:
            return np.concatenate([*map(mean, blocks)])
        with ThreadPoolExecutor(n_threads) as threads:
            return np.concatenate([*threads.map(mean, blocks)])

    def _mean(self, trees: Walks | Forest, X: NDArray[Any]) -> FloatArray:
        predictions = iter(trees.predict(X))
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
